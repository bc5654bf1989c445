"""Models by name: options without torch, which is imported when a model is built."""

from hiermo.core.registry import Registry

MODELS = Registry(
    "model",
    {
        "linear": "hiermo.models.linear:Linear",
        "logistic": "hiermo.models.linear:Logistic",
        "mlp": "hiermo.models.mlp:Mlp",
        "cnn": "hiermo.models.cnn:Cnn",
        "cnn-har": "hiermo.models.cnn_har:CnnHar",
        "vgg16": "hiermo.models.vgg:Vgg16",
        "resnet18": "hiermo.models.resnet:ResNet18",
    },
)
