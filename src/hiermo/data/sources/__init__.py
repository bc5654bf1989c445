"""One file = one data set and how it is read; files do not import each other."""

from hiermo.core.registry import Registry

SOURCES = Registry(
    "dataset",
    {
        "mnist-5k": "hiermo.data.sources.mnist_5k:Mnist5k",
        "mnist": "hiermo.data.sources.mnist:Mnist",
        "fashion-mnist": "hiermo.data.sources.mnist:FashionMnist",
        "cifar10": "hiermo.data.sources.cifar10:Cifar10",
        "uci-har": "hiermo.data.sources.uci_har:UciHar",
        "tiny-imagenet": "hiermo.data.sources.tiny_imagenet:TinyImageNet",
        "synthetic": "hiermo.data.sources.synthetic:Synthetic",
        "arrays": "hiermo.data.sources.arrays:Arrays",
        "csv": "hiermo.data.sources.csv_table:CsvTable",
        "images": "hiermo.data.sources.images:Images",
        "hugging-face": "hiermo.data.sources.hugging_face:HuggingFace",
    },
)
