"""Which arrays compiled code can work on; asks without importing a framework."""

from typing import Any

from array_api_compat import is_torch_array


def compiles(array: Any) -> bool:
    """Torch's, in memory that the processor reads, in single or double precision."""
    return is_torch_array(array) and array.is_cpu and str(array.dtype) in ("torch.float32", "torch.float64")


def is_double(array: Any) -> bool:
    return bool(array.dtype.itemsize == 8)
