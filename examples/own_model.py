"""A model of one's own: any torch.nn.Module; hiermo is not imported.

Run it with `hiermo run examples/own_model.toml`.
"""

from torch import nn


class Net(nn.Module):
    """Two convolutions with BatchNorm and one fully connected layer."""

    def __init__(self, shape, classes, width=16):  # shape and classes are filled in from the data
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(shape[0], width, 3, stride=2, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),  # images of any size
            nn.Flatten(),
        )
        self.head = nn.Linear(2 * width * 4 * 4, classes)

    def forward(self, x):
        return self.head(self.body(x))
