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
GREY = ("1", "L", "LA")  # modes of Pillow
DEEP = ("I", "F")  # modes of 16 bits and more begin so
Pixels = NDArray[np.uint8]


def pixels_of(picture: Path | bytes, where: str, size: tuple[int, ...] | None = None, grey: bool = False) -> Pixels:
    """`[channels, h, w]`, upright as its EXIF data says: one channel if it is grey or asked to be, else three."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(picture) if isinstance(picture, bytes) else picture) as opened:
                pixels = _pixels(opened, size, grey)
    except Exception as error:  # decoders raise errors of all kinds when a file is corrupt
        why = str(error).splitlines()[0] if str(error) else repr(error)
        raise UserError(f"{where} cannot be read as a picture: {why}; remove it or save it again") from error
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def _pixels(picture: Image.Image, size: tuple[int, ...] | None, grey: bool) -> Pixels:
    if picture.mode.startswith(DEEP):
        raise ValueError(f"it has more than 8 bits per pixel (mode {picture.mode})")
    is_grey = grey or picture.mode in GREY
    upright = ImageOps.exif_transpose(picture)
    if "transparency" in upright.info:
        upright = upright.convert("RGBA")  # Pillow's own advice, without which it warns
    made = upright.convert("L" if is_grey else "RGB")
    return np.array(made if size is None else made.resize((size[1], size[0]), Image.Resampling.BILINEAR))


def stacked(pictures: Sequence[Pixels], names: Sequence[str]) -> Pixels:
    """`[n, channels, h, w]`; grey ones among coloured ones get three channels, two sizes are refused."""
    check_same_size([picture.shape for picture in pictures], names)
    channels = max(picture.shape[0] for picture in pictures)
    together = np.empty((len(pictures), channels, *pictures[0].shape[1:]), np.uint8)
    for k, picture in enumerate(pictures):
        together[k] = picture  # a single channel is written into all three
    return together


def check_same_size(shapes: Sequence[tuple[int, ...]], names: Sequence[str]) -> None:
    """Of shapes that end with height and width."""
    height, width = shapes[0][-2:]
    for shape, name in zip(shapes, names, strict=True):
        if shape[-2:] != (height, width):
            raise UserError(
                f"{names[0]} is {height} x {width} pixels and {name} is {shape[-2]} x {shape[-1]}; all must be of one "
                f"size: set data.size = [{height}, {width}], for instance"
            )


def check_size(size: tuple[int, ...] | None) -> None:
    if size is not None and len(size) != 2:
        raise UserError(f"data.size must be [height, width], not {list(size)}")
