"""One file = one data set and how it is read; files do not import each other."""

from hiermo.core.registry import Registry

SOURCES = Registry(
    "dataset",
    {
        "mnist-5k": "hiermo.data.sources.mnist_5k:Mnist5k",
        "mnist": "hiermo.data.sources.mnist:Mnist",
        "synthetic": "hiermo.data.sources.synthetic:Synthetic",
    },
)
