"""One file = one rule of who gets which samples."""

from hiermo.core.registry import Registry

PARTITIONS = Registry(
    "partition",
    {
        "iid": "hiermo.data.partition.iid:Iid",
        "classes": "hiermo.data.partition.classes:Classes",
        "dirichlet": "hiermo.data.partition.dirichlet:Dirichlet",
        "sizes": "hiermo.data.partition.sizes:Sizes",
        "natural": "hiermo.data.partition.natural:Natural",
    },
)
