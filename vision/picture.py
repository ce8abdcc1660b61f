"""What all readers of pictures begin with: a loaded picture, its lines of text, and both turned level."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dg_sglang.errors import ImageError
from dg_sglang.vision.images import load_image
from dg_sglang.vision.ocr import read_lines

if TYPE_CHECKING:
    from dg_sglang.vision.level import Level

MOST_PIXELS = 40_000_000
"""A larger picture is refused: reading it would take gigabytes."""


def read_picture(image: object) -> Level:
    """Load a picture, read its text, and turn both level. Of an animation the first frame counts.

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.

    Raises:
        ImageError: it can't be read as an image, is empty or too large, or RapidOCR isn't installed.
    """
    import numpy as np

    picture = load_image(image)
    if not picture.width * picture.height:
        raise ImageError("the image has no pixels")
    if picture.width * picture.height > MOST_PIXELS:
        size = f"{picture.width} x {picture.height}"
        raise ImageError(f"the image has {size} pixels, more than {MOST_PIXELS:,}: scale it down, or crop it")
    pixels = np.asarray(picture)
    texts = read_lines(pixels)  # says so where the extra isn't installed, which level needs, too

    from dg_sglang.vision.level import level

    straight = level(pixels, texts)
    if straight.back is None:
        return straight
    return replace(straight, texts=tuple(read_lines(straight.pixels)))  # level lines are read, and placed, more exactly
