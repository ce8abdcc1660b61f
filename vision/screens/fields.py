"""What a rectangle with little in it is: a button, a text field, a list to choose from, or just a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.geometry.ink import crop, ink
from dg_sglang.vision.geometry.regions import Region
from dg_sglang.vision.ocr import Text
from dg_sglang.vision.screens.model import Role, State

_PALE = 0.66  # of the usual contrast, below which text in a field is a hint
_GREY = 26  # levels between the channels of a colour, up to which fields are grey or white


@dataclass(frozen=True)
class Typical:
    """What is usual on this screen: the height of a line of text and the font's size in pixels, and the contrast."""

    height: float
    size: float
    contrast: float


def read_field(
    pixels: NDArray[np.uint8], region: Region, texts: Sequence[Text], typical: Typical
) -> tuple[Role, State | None] | None:
    """Role and state of a rectangle that holds one line of text, or none; None where its look doesn't tell."""
    if not 1.15 * typical.height <= region.height <= 3.6 * max(typical.height, *(text.height for text in texts), 0):
        return None
    grey = max(region.color) - min(region.color) <= _GREY
    if not texts:
        return ("textbox", "empty") if grey and region.width > 3.5 * region.height else None
    (text,) = texts
    before, after = text.box[0] - region.box[0], region.box[2] - text.box[2]
    if _has_arrow(pixels, region, text):
        return "combobox", "filled"
    if abs(before - after) <= max(6.0, 0.3 * (before + after)) and before > 0.2 * text.height:
        return "button", None
    if grey and before < 1.8 * text.height and after > 1.5 * before:
        pale = ink(pixels, text.box).contrast < _PALE * typical.contrast
        return "textbox", "placeholder" if pale else "filled"
    return None


def _has_arrow(pixels: NDArray[np.uint8], region: Region, text: Text) -> bool:
    """Whether a small mark that narrows downwards stands at the right end."""
    x1, reach, middle = region.box[2], 1.5 * text.height, (region.box[1] + region.box[3]) / 2
    if text.box[2] > x1 - reach:
        return False
    part = crop(pixels, (x1 - reach, middle - 0.45 * text.height, x1 - 4, middle + 0.45 * text.height))
    drawn = np.abs(part - region.color).max(2) > 60
    rows, columns = np.flatnonzero(drawn.any(1)), np.flatnonzero(drawn.any(0))
    if len(rows) < 3 or len(columns) < 5 or len(columns) < len(rows):
        return False
    spread = [
        int(np.ptp(np.flatnonzero(drawn[row]))) if drawn[row].any() else 0 for row in (rows[0], rows[1], rows[-1])
    ]
    return max(spread[:2]) >= 2 * max(1, spread[2])
