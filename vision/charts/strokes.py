"""Black and grey lines and dots, told from the axes, the grid and the words, which are black and grey, too."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.charts.marks import CHROMATIC, Colour, Mask, pieces
from dg_sglang.vision.geometry.ink import common
from dg_sglang.vision.ocr import Text

_CLEAR = 90  # levels in lightness between a mark and its background; grids are paler
_RULE = 0.3  # share of a row or column of the plot that rules take at least
_ACROSS = 0.3  # share of the plot's columns that a line takes at least
_LEAST_DOTS = 4
_EDGE = 7  # pixels around a mark's pixel that its smooth edge may take


def find_strokes(
    pixels: NDArray[np.uint8], area: Mask, texts: Sequence[Text], colours: Sequence[Colour]
) -> Colour | None:
    """All that is drawn in grey or black inside an area and is neither a word nor a rule; None where there is nothing.

    Args:
        pixels: uint8 [height, width, 3], RGB.
        area: where to look, [height, width].
        texts: the lines of text on the picture.
        colours: other colours, whose pixels are left out.
    """
    lab = cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB).astype(np.float32)
    chroma = np.hypot(lab[..., 1] - 128, lab[..., 2] - 128)
    lightness = lab[..., 0]
    paper = common(pixels[area].astype(np.int16)) @ np.array([0.299, 0.587, 0.114])
    drawn = area & (chroma < CHROMATIC) & (np.abs(lightness - paper) > _CLEAR)
    for colour in colours:  # with their edges, whose blended pixels may be grey
        drawn &= cv2.dilate(colour.mask.astype(np.uint8), np.ones((_EDGE, _EDGE), np.uint8)) == 0
    for text in texts:
        x0, y0, x1, y1 = (max(0, round(edge)) for edge in text.box)
        drawn[y0 : y1 + 1, x0 : x1 + 1] = False
    inner = _without_rules(drawn, area)
    inner = cv2.morphologyEx(inner.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)) > 0
    found, labels = pieces(inner, least=8)
    mask = np.isin(labels, [piece.label for piece in found])
    if not mask.any():
        return None
    red, green, blue = (int(level) for level in np.median(pixels[mask & drawn], 0))
    return Colour((red, green, blue), mask)


def is_drawn(strokes: Colour, area: Mask) -> bool:
    """Whether strokes are a line across the plot, or dots in it, rather than remains of its rules and ticks."""
    if strokes.mask.any(0).sum() > _ACROSS * area.any(0).sum():
        return True
    found, _ = pieces(strokes.mask, least=8)
    dots = [piece for piece in found if 0.6 < piece.width / piece.height < 1.6 and min(piece.width, piece.height) > 3]
    return len(dots) >= max(_LEAST_DOTS, 0.8 * len(found))


def _without_rules(drawn: Mask, area: Mask) -> Mask:
    """Without rows and columns that are drawn for the most part, and without the ticks beyond the outermost of them."""
    inner = drawn.copy()
    for turned, shares in (
        (inner, drawn.sum(1) / area.any(0).sum()),
        (inner[:, ::-1].T, drawn.sum(0)[::-1] / area.any(1).sum()),
    ):
        rules = np.flatnonzero(shares > _RULE)
        for rule in rules:
            turned[max(0, rule - 1) : rule + 2] = False
        if len(rules) and rules[-1] > 0.8 * np.flatnonzero(shares > 0)[-1]:
            turned[rules[-1] :] = False
    return inner
