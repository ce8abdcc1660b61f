"""Screenshots as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dg_sglang.vision.ocr import UNSURE
from dg_sglang.vision.picture import read_picture

if TYPE_CHECKING:
    from dg_sglang.vision.asking import SeeingEngine
    from dg_sglang.vision.screens.model import Screen

__all__ = ["analyze_screenshot"]


def analyze_screenshot(image: object, *, engine: SeeingEngine | None = None, **settings: Any) -> Screen:
    """Read a screenshot by its text and its pixels.

    What can't be told is called what it surely is: a line of text "text", a rectangle "box".

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.
        engine: of a checkpoint that sees; it then reads the picture itself, and `method` is "model".
        settings: for the engine, as for `Engine.generate`; `tile` shows it parts of at most so many pixels a side.

    Returns:
        The screen, boxes in pixels of the picture; `method` is "geometry". An empty picture has no elements.

    Raises:
        ImageError: it can't be read as an image, is too large, or RapidOCR isn't installed.
    """
    if engine is not None:
        from dg_sglang.vision.written import ask_screen

        return ask_screen(image, engine=engine, **settings)
    straight = read_picture(image)

    from dg_sglang.vision.screens.reader import read_screen

    screen = read_screen(straight.pixels, straight.texts)
    elements = [one.model_copy(update={"box": straight.given_box(one.box)}) for one in screen.elements]
    width, height = straight.given_size
    unsure = sum(text.confidence < UNSURE for text in straight.texts)
    warnings = [f"{unsure} line(s) of text may be misread, or in a script that isn't known"] if unsure else []
    return screen.model_copy(update={"elements": elements, "width": width, "height": height, "warnings": warnings})
