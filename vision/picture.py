"""What all readers of pictures begin with: a loaded picture, its lines of text, and both turned level."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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

    pixels = np.asarray(load_image(image, max_pixels=MOST_PIXELS))
    texts = read_lines(pixels)  # says so where the extra isn't installed, which level needs, too

    from dg_sglang.vision.level import level

    straight = level(pixels, texts)
    if straight.back is None:
        return straight
    return replace(straight, texts=tuple(read_lines(straight.pixels)))  # level lines are read, and placed, more exactly
