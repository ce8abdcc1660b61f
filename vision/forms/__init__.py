"""Forms as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dg_sglang.vision.forms.model import Form

__all__ = ["read_form"]


def read_form(image: object) -> Form:
    """Read a filled form, on a screen or on paper, by its text and its pixels.

    Fields are: boxes with a label above or before them, checkboxes and radio buttons before a text, and "label: value"
    in print. Handwriting isn't read.

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.

    Returns:
        The form, boxes in pixels of the picture; `method` is "geometry". No fields where none were found.

    Raises:
        ImageError: it can't be read as an image, is too large, or RapidOCR isn't installed.
    """
    from dg_sglang.vision.forms.model import Form
    from dg_sglang.vision.forms.reader import fields_of
    from dg_sglang.vision.screens import analyze_screenshot

    return Form(fields=fields_of(analyze_screenshot(image)), method="geometry")
