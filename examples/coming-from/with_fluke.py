"""FedAvg with fluke: logistic regression on 4000 digits at 4 clients, 15 rounds of one local epoch."""

from fluke import DDict, FlukeENV
from fluke.algorithms.fedavg import FedAVG
from fluke.data import DataSplitter, DummyDataContainer, FastDataLoader
import numpy as np
import torch
from torch import nn

CLIENTS, ROUNDS, EPOCHS, BATCH, ETA = 4, 15, 1, 50, 0.1


def digits(name):
    with np.load("digits.npz") as file:
        return torch.tensor(file[f"{name}_x"], dtype=torch.float32) / 255, torch.tensor(file[f"{name}_y"])


def zeros():
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    return model


FlukeENV().set_seed(0)
FlukeENV().set_eval_cfg(pre_fit=False, post_fit=False, locals=False, server=False)
clients = [
    FastDataLoader(*digits(f"worker_{i}"), num_labels=10, batch_size=BATCH, shuffle=True) for i in range(CLIENTS)
]
data = DummyDataContainer(clients, [None] * CLIENTS, None, num_classes=10)
algorithm = FedAVG(
    CLIENTS,
    DataSplitter(data),
    DDict(
        model=zeros(),
        client=DDict(
            batch_size=BATCH,
            local_epochs=EPOCHS,
            loss="CrossEntropyLoss",
            optimizer=DDict(name="SGD", lr=ETA),
            scheduler=DDict(name="StepLR", step_size=1, gamma=1),
        ),
        server=DDict(weighted=True),
    ),
)
algorithm.run(ROUNDS, eligible_perc=1)

x, y = digits("test")
print(f"accuracy {(algorithm.server.model(x).argmax(1) == y).float().mean():.4f}")
