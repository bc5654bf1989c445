"""Models by name: options without torch, which is imported when a model is built."""

from hiermo.core.registry import Registry

MODELS = Registry(
    "model",
    {
        "linear": "hiermo.models.linear:Linear",
        "logistic": "hiermo.models.linear:Logistic",
        "cnn": "hiermo.models.cnn:Cnn",
    },
)
