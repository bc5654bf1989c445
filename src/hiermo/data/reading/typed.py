"""Anyone's arrays as a data set wants them: samples uint8 or float32, labels whole numbers or texts."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hiermo.core.errors import UserError
from hiermo.data.dataset import Samples

Layout = Literal["auto", "channels_first", "channels_last"]


def samples(array: NDArray[Any], where: str, layout: Layout = "auto") -> Samples:
    """uint8 stays, all other numbers become float32; the channels of images come to stand before height and width.

    `auto` takes `[n, h, w]` for images without a channel axis and gives them one, and takes `[n, h, w, c]` for
    channels_last where c is 1 or 3 and h is neither; `channels_first` leaves every shape as it is.

    >>> samples(np.zeros((5, 8, 9, 3)), "here").shape
    (5, 3, 8, 9)
    """
    if array.dtype.kind not in "biuf":
        raise UserError(f"{where}: samples must be numbers, not of type {array.dtype}; save them as a plain array")
    if array.ndim < 2:
        raise UserError(f"{where}: samples must be [n, ...], one or more numbers each, not {list(array.shape)}")
    if array.size == 0:
        raise UserError(f"{where}: there is no sample in it, its shape is {list(array.shape)}")
    with np.errstate(over="ignore"):  # what is too large for float32 is named below
        x = array if array.dtype == np.uint8 else array.astype(np.float32, copy=False)
    finite = np.isfinite(x).reshape(len(x), -1).all(1)
    if not finite.all():
        raise UserError(
            f"{where}: sample {finite.argmin()} has a value that is no finite float32 "
            f"({(~finite).sum()} such samples); remove or mend them"
        )
    return _channels_first(x, where, layout).copy()


def _channels_first(x: Samples, where: str, layout: Layout) -> Samples:
    if layout == "auto" and x.ndim == 3:
        return x[:, None]
    if layout == "channels_last" and x.ndim < 3:
        raise UserError(f"{where}: layout = 'channels_last' is for [n, ..., channels], and this is {list(x.shape)}")
    moved = x.ndim == 4 and x.shape[3] in (1, 3) and x.shape[1] not in (1, 3)
    if layout == "channels_last" or (layout == "auto" and moved):
        return x.transpose(0, x.ndim - 1, *range(1, x.ndim - 1))
    return x


def labels(array: NDArray[Any], where: str) -> NDArray[Any]:
    """One whole number (int64) or one text per sample.

    >>> labels(np.array([[2.0], [5.0]]), "here").tolist()
    [2, 5]
    """
    flat = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if flat.ndim != 1:
        raise UserError(
            f"{where}: labels must be a list [n], one class per sample, not {list(array.shape)}; "
            "of rows of zeros with a single one, save labels.argmax(1)"
        )
    if flat.dtype.kind == "U":
        return flat
    if flat.dtype.kind not in "biuf":
        raise UserError(f"{where}: labels must be whole numbers or texts, not of type {array.dtype}")
    whole = np.isfinite(flat) & (flat == np.trunc(flat))
    if not whole.all():
        at = whole.argmin()
        raise UserError(f"{where}: labels must be classes, and that of sample {at} is {flat[at]}, not a whole number")
    return flat.astype(np.int64)
