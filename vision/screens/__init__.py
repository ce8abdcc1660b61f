"""Screenshots as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dg_sglang.vision.images import load_image
from dg_sglang.vision.ocr import read_lines

if TYPE_CHECKING:
    from dg_sglang.vision.screens.model import Screen

__all__ = ["analyze_screenshot"]


def analyze_screenshot(image: object) -> Screen:
    """Read a screenshot by its text and its pixels.

    What can't be told is called what it surely is: a line of text "text", a rectangle "box".

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.

    Returns:
        The screen, boxes in pixels of the picture; `method` is "geometry". An empty picture has no elements.

    Raises:
        ImageError: it can't be read as an image, or RapidOCR isn't installed.
    """
    import numpy as np

    from dg_sglang.vision.level import level
    from dg_sglang.vision.screens.reader import read_screen

    pixels = np.asarray(load_image(image))
    straight = level(pixels, read_lines(pixels))
    screen = read_screen(straight.pixels, straight.texts)
    height, width = pixels.shape[:2]
    elements = [one.model_copy(update={"box": straight.given_box(one.box)}) for one in screen.elements]
    return screen.model_copy(update={"elements": elements, "width": width, "height": height})
