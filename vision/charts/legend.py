"""The legend: names beside a sample of their colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dg_sglang.vision.charts.marks import Colour, Mask
from dg_sglang.vision.ocr import Text


@dataclass(frozen=True)
class Legend:
    """Names by the index of their colour, and the box around all of it; no names where there is no legend."""

    names: dict[int, str]
    box: tuple[float, float, float, float] | None


def find_legend(texts: Sequence[Text], colours: Sequence[Colour]) -> Legend:
    """Texts one under (or beside) the other, each with one colour directly to its left and none in common."""
    entries: list[tuple[int, Text, float]] = []
    for text in texts:
        found = _sample(text, colours)
        if found is not None:
            entries.append((found[0], text, found[1]))
    columns: list[list[tuple[int, Text, float]]] = []
    for entry in sorted(entries, key=lambda entry: entry[1].y):
        for column in columns:
            before = column[-1][1]
            aligned = abs(entry[1].box[0] - before.box[0]) < 0.6 * before.height
            if aligned and entry[1].y - before.y < 3.5 * before.height:
                column.append(entry)
                break
        else:
            columns.append([entry])
    rows: list[list[tuple[int, Text, float]]] = []
    for entry in sorted(entries, key=lambda entry: entry[1].x):
        for row in rows:
            if abs(entry[1].y - row[-1][1].y) < 0.4 * entry[1].height:
                row.append(entry)
                break
        else:
            rows.append([entry])
    groups = [group for group in (*columns, *rows) if len({colour for colour, *_ in group}) == len(group) > 1]
    if not groups:
        return Legend({}, None)
    group = max(groups, key=len)
    pad = max(text.height for _, text, _ in group) * 0.6
    box = (
        min(left for *_, left in group) - pad,
        min(text.box[1] for _, text, _ in group) - pad,
        max(text.box[2] for _, text, _ in group) + pad,
        max(text.box[3] for _, text, _ in group) + pad,
    )
    return Legend({colour: text.text for colour, text, _ in group}, box)


def _sample(text: Text, colours: Sequence[Colour]) -> tuple[int, float] | None:
    """The colour next to a text on its left, and where its sample begins; None where there is none or no gap."""
    height = text.height
    x0, x1 = max(0, int(text.box[0] - 3.5 * height)), int(text.box[0])
    y0, y1 = int(text.y - 0.2 * height), int(text.y + 0.2 * height) + 1
    best: tuple[int, int, int] | None = None
    for index, colour in enumerate(colours):
        columns = np.flatnonzero(_window(colour.mask, x0, y0, x1, y1).any(0))
        if not len(columns) or (x1 - x0) - columns[-1] > 1.5 * height:
            continue
        breaks = np.flatnonzero(np.diff(columns) > 2)
        start = int(columns[breaks[-1] + 1] if len(breaks) else columns[0])
        if columns[-1] - start >= 0.2 * height and (best is None or columns[-1] > best[2]):
            best = (index, start, int(columns[-1]))
    return None if best is None else (best[0], float(x0 + best[1]))


def _window(mask: Mask, x0: int, y0: int, x1: int, y1: int) -> Mask:
    return mask[max(0, y0) : y1, max(0, x0) : x1]
