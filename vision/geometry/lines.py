"""Lines of text as their ink shows them: trimmed, cut where a wide gap parts two of them, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.geometry.ink import crop, ink
from dg_sglang.vision.ocr import Text

_ABOVE = frozenset("bdfhkltij0123456789!?()[]{}/\\|&%$€£#@'\"")
_BELOW = frozenset("gjpqy,;()[]{}/|QJç")
_HIGHER = frozenset("ÀÁÂÃÄÅÈÉÊËÌÍÎÏÒÓÔÕÖÙÚÛÜÝÑŠŽČ")
_X_HEIGHT, _CAPITAL, _DESCENT, _ACCENT = 0.55, 0.74, 0.21, 0.17  # of the font's size, in common fonts
_RULE = 0.95  # share of a row from which it is a rule, not letters
_GAP = 0.85  # of the font's size, from which a gap parts two lines; a space has a third


def prepare(pixels: NDArray[np.uint8], texts: Sequence[Text]) -> list[Text]:
    """Lines trimmed to their ink on both sides and cut at wide gaps; without those that run upwards."""
    return [part for text in texts if not text.is_vertical for part in _parts(pixels, text)]


def font_size(pixels: NDArray[np.uint8], text: Text) -> float:
    """Of a line, in pixels: by the height of its ink and by which letters reach above and below."""
    shares = _drawn(pixels, text).mean(1)
    rows = np.flatnonzero((shares > 0) & (shares < _RULE))
    height = float(rows[-1] - rows[0]) if len(rows) else text.height  # the outermost rows are half covered
    tall = any(character in _ABOVE or character.isupper() for character in text.text)
    share = (_CAPITAL if tall else _X_HEIGHT) + (_DESCENT if set(text.text) & _BELOW else 0.0)
    return height / (share + (_ACCENT if set(text.text) & _HIGHER else 0.0))


def _parts(pixels: NDArray[np.uint8], text: Text) -> list[Text]:
    columns = np.flatnonzero(_drawn(pixels, text).any(0))
    if not len(columns):
        return [text]
    x0, y0, _, y1 = text.box
    left = max(0, round(x0))
    gaps = np.flatnonzero(np.diff(columns) > _GAP * font_size(pixels, text))
    starts = [int(columns[0]), *(int(columns[gap + 1]) for gap in gaps)]
    ends = [*(int(columns[gap]) for gap in gaps), int(columns[-1])]
    spaces = [index for index, character in enumerate(text.text) if character == " "]
    cuts: list[int] = []
    span = columns[-1] - columns[0]
    for gap in gaps:
        place = (columns[gap] + columns[gap + 1]) / 2 - columns[0]
        near = min(spaces, key=lambda index: abs((index + 0.5) / len(text.text) * span - place), default=None)
        if near is None or near in cuts or abs((near + 0.5) / len(text.text) * span - place) > 0.15 * span:
            starts, ends, cuts = [starts[0]], [ends[-1]], []
            break
        cuts.append(near)
    words = [text.text[a:b].strip() for a, b in zip([0, *cuts], [*cuts, len(text.text)], strict=True)]
    return [
        replace(text, text=word, box=(left + start - 1.0, y0, left + end + 2.0, y1), corners=())
        for word, start, end in zip(words, starts, ends, strict=True)
    ]


def _drawn(pixels: NDArray[np.uint8], text: Text) -> NDArray[np.bool_]:
    """Where the letters are, in the box's pixels."""
    colours = ink(pixels, text.box)
    reach = 0.35 * np.abs(colours.letters - colours.ground).max()
    return np.asarray(np.abs(crop(pixels, text.box) - colours.ground).max(2) > max(8.0, reach))
