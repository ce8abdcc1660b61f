"""Screenshots as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dg_sglang.vision.picture import read_picture

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
        ImageError: it can't be read as an image, is too large, or RapidOCR isn't installed.
    """
    straight = read_picture(image)

    from dg_sglang.vision.screens.reader import read_screen

    screen = read_screen(straight.pixels, straight.texts)
    elements = [one.model_copy(update={"box": straight.given_box(one.box)}) for one in screen.elements]
    width, height = straight.given_size
    return screen.model_copy(update={"elements": elements, "width": width, "height": height})
