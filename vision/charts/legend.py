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
    """Texts one under (or beside) the other, each with one colour directly to its left and none in common.

    A single text is a legend where the colour to its left is a stroke or patch of its own, wider than high.
    """
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
    alone = [] if groups else [entry for entry in entries if _stands_alone(entry, colours[entry[0]].mask)]
    if not groups and len(alone) != 1:
        return Legend({}, None)
    group = max(groups, key=len) if groups else alone
    pad = max(text.height for _, text, _ in group) * 0.6
    box = (
        min(left for *_, left in group) - pad,
        min(text.box[1] for _, text, _ in group) - pad,
        max(text.box[2] for _, text, _ in group) + pad,
        max(text.box[3] for _, text, _ in group) + pad,
    )
    return Legend({colour: text.text for colour, text, _ in group}, box)


def _stands_alone(entry: tuple[int, Text, float], mask: Mask) -> bool:
    """Whether the sample before a text is a short stroke or a patch that nothing of its colour joins."""
    _, text, left = entry
    reach = round(0.7 * text.height)
    x0, x1, y0, y1 = int(left), int(text.box[0]), int(text.y) - reach, int(text.y) + reach + 1
    window = _window(mask, x0 - 4, y0, x1 + 1, y1)
    rows, columns = np.flatnonzero(window.any(1)), np.flatnonzero(window.any(0))
    if not len(rows) or window[0].any() or window[-1].any() or window[:, :2].any() or window[:, -1].any():
        return False
    return bool(np.ptp(columns) + 1 >= 1.2 * text.height and np.ptp(columns) > 1.5 * np.ptp(rows))


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
