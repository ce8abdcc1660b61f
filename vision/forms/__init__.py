"""Forms as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dg_sglang.vision.asking import SeeingEngine
    from dg_sglang.vision.forms.model import Form

__all__ = ["read_form"]


def read_form(image: object, *, engine: SeeingEngine | None = None, **settings: Any) -> Form:
    """Read a filled form, on a screen or on paper, by its text and its pixels.

    Fields are: boxes with a label above or before them, checkboxes and radio buttons before a text, and "label: value"
    in print. Handwriting isn't read.

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.
        engine: of a checkpoint that sees; it then reads the picture itself, and `method` is "model".
        settings: for the engine, as for `Engine.generate`.

    Returns:
        The form, boxes in pixels of the picture; `method` is "geometry". No fields where none were found.

    Raises:
        ImageError: it can't be read as an image, is too large, or RapidOCR isn't installed.
    """
    if engine is not None:
        from dg_sglang.vision.written import ask_form

        return ask_form(image, engine=engine, **settings)
    from dg_sglang.vision.forms.model import Form
    from dg_sglang.vision.forms.reader import fields_of
    from dg_sglang.vision.screens import analyze_screenshot

    return Form(fields=fields_of(analyze_screenshot(image)), method="geometry")
