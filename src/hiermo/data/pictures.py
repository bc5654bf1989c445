"""Picture files as arrays of pixels."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from hiermo.core.errors import UserError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")
GREY, DEEP = ("1", "L"), ("I", "F")  # modes of Pillow; those of 16 bits and more begin with the latter
Pixels = NDArray[np.uint8]


def decoded(picture: Path | bytes, where: str, size: tuple[int, ...] | None = None, grey: bool = False) -> Pixels:
    """`[channels, h, w]`, upright as its EXIF data says: one channel if it is grey or asked to be, else three."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(picture) if isinstance(picture, bytes) else picture) as opened:
                mode, upright = opened.mode, ImageOps.exif_transpose(opened)
                eight_bit = upright.convert("RGBA" if "transparency" in upright.info else upright.mode)
                made = eight_bit.convert("L" if grey or mode in GREY else "RGB")
                resized = made if size is None else made.resize((size[1], size[0]), Image.Resampling.BILINEAR)
                pixels = np.array(resized)
    except Exception as error:  # decoders raise errors of all kinds when a file is corrupt
        why = str(error).splitlines()[0] if str(error) else repr(error)
        raise UserError(f"{where} cannot be read as a picture: {why}; remove it or save it again") from error
    if mode.startswith(DEEP):
        raise UserError(f"{where} has more than 8 bits per pixel (mode {mode}); save it with 8")
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def stacked(pictures: Sequence[Pixels], names: Sequence[str]) -> Pixels:
    """`[n, channels, h, w]`; grey ones among coloured ones get three channels, two sizes are refused."""
    height, width = pictures[0].shape[1:]
    channels = max(picture.shape[0] for picture in pictures)
    together = np.empty((len(pictures), channels, height, width), np.uint8)
    for k, picture in enumerate(pictures):
        if picture.shape[1:] != (height, width):
            raise UserError(
                f"{names[0]} is {height} x {width} pixels and {names[k]} {picture.shape[1]} x {picture.shape[2]}; "
                f"all must be of one size: set data.size = [{height}, {width}], for instance"
            )
        together[k] = picture  # one channel is written into all three
    return together


def check_size(size: tuple[int, ...] | None) -> None:
    if size is not None and len(size) != 2:
        raise UserError(f"data.size must be [height, width], not {list(size)}")
