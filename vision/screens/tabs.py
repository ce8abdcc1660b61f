"""Tabs: texts side by side, one of them over a bar that the others lack."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.geometry.boxes import Box
from dg_sglang.vision.geometry.ink import crop, ink, strip_below
from dg_sglang.vision.ocr import Text


def find_tabs(pixels: NDArray[np.uint8], texts: Sequence[Text]) -> dict[int, tuple[Box, bool]]:
    """By the index of the text: the tab's box and whether it is selected.

    The bar under the selected one tells how far a tab reaches beyond its text.
    """
    found: dict[int, tuple[Box, bool]] = {}
    for row in _rows(texts):
        bars = []
        for index in row:
            text = texts[index]
            strip = strip_below(pixels, text.box, ink(pixels, text.box).ground)
            free = strip and _is_bar(strip.box, text) and _stands_free(pixels, strip.box, text)
            bars.append(strip.box if strip and free else None)
        if sum(bar is not None for bar in bars) != 1:
            continue
        for index, bar in zip(row, bars, strict=True):
            if bar is not None:
                before, below = texts[index].box[0] - bar[0], bar[3]
        for index, bar in zip(row, bars, strict=True):
            x0, y0, x1, y1 = texts[index].box
            found[index] = (x0 - before, y0 - max(0.0, below - y1), x1 + before, below), bar is not None
    return found


def _is_bar(bar: Box, text: Text) -> bool:
    width, thick = text.box[2] - text.box[0], bar[3] - bar[1]
    beyond = text.box[0] - bar[0], bar[2] - text.box[2]
    return (
        2 <= thick <= 0.4 * text.height
        and bar[2] - bar[0] < width + 5 * text.height
        and min(beyond) > -0.3 * text.height
        and abs(beyond[0] - beyond[1]) < 0.8 * text.height
    )


def _stands_free(pixels: NDArray[np.uint8], bar: Box, text: Text) -> bool:
    """Whether nothing rises from the bar's ends, as the sides of a button do."""
    ground = ink(pixels, text.box).ground
    return all(
        np.abs(crop(pixels, (x - 2, text.box[1], x + 2, bar[1] - 2)) - ground).max() < 40 for x in (bar[0], bar[2])
    )


def _rows(texts: Sequence[Text]) -> list[list[int]]:
    """Indices of texts at the same height, side by side with little between them; two or more."""
    rows: list[list[int]] = []
    for index in sorted(range(len(texts)), key=lambda index: texts[index].box[0]):
        text = texts[index]
        if len(text.text) < 2:  # a bullet
            continue
        for row in rows:
            last = texts[row[-1]]
            if abs(last.y - text.y) < 0.3 * text.height and 0 < text.box[0] - last.box[2] < 5 * text.height:
                row.append(index)
                break
        else:
            rows.append([index])
    return [row for row in rows if len(row) > 1]
