"""Checkboxes and radio buttons: small squares and discs, with or without a mark in them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.geometry.boxes import Box
from dg_sglang.vision.geometry.ink import common, crop

_SAME = 48  # levels in a channel within which two colours are one
_FAINT = 12  # levels by which a mark differs at least
_RING = 0.8  # share of the outline that has one colour


def read_tick(
    pixels: NDArray[np.uint8], box: Box
) -> tuple[Literal["checkbox", "radio"], Literal["checked", "unchecked"]] | None:
    """What a small square or disc is; None where it is neither, or its inside is no tick.

    An inside of one colour is unchecked where it is that of the surroundings, or a shade of white: a dot of another
    colour may be anything.
    """
    x0, y0, x1, y1 = box
    sides = _sides((x0 - 4, y0 - 4, x1 + 4, y1 + 4))
    around = common(np.concatenate([crop(pixels, side).reshape(-1, 3) for side in sides]))
    if any((np.abs(crop(pixels, side) - around).max(2) < _SAME).mean() < 0.6 for side in sides):
        return None  # it doesn't stand free: the knob of a switch, for example
    part = crop(pixels, box)
    height, width = part.shape[:2]
    drawn = _filled(np.abs(part - around).max(2) > _SAME / 3)
    corner = max(1, round(0.14 * min(height, width)))
    corners = [drawn[:corner, :corner], drawn[:corner, -corner:], drawn[-corner:, :corner], drawn[-corner:, -corner:]]
    is_round = all(one.mean() < 0.5 for one in corners) and _is_disc(drawn)
    ys, xs = np.mgrid[:height, :width]
    if is_round:
        radius = np.hypot((xs - (width - 1) / 2) / (width / 2), (ys - (height - 1) / 2) / (height / 2))
        ring, inner, core = (radius > 0.8) & (radius < 0.98), radius < 0.72, radius < 0.3
    else:
        depth = np.minimum(np.minimum(xs, width - 1 - xs) / width, np.minimum(ys, height - 1 - ys) / height)
        depth_pixels = np.minimum(np.minimum(xs, width - 1 - xs), np.minimum(ys, height - 1 - ys))
        cut = np.minimum(xs, width - 1 - xs) + np.minimum(ys, height - 1 - ys) < 0.3 * width  # rounded corners
        ring, inner, core = (depth_pixels < 2) & ~cut, depth > 0.16, depth > 0.35
        rims = [part[(depth_pixels == step) & ~cut] for step in range(3)]
    if drawn[ring].mean() < _RING and not _is_paper(part, inner):
        return None
    colour = common(part[inner])
    other = np.abs(part - colour).max(2) > _SAME
    marked = float(other[inner].mean())
    kind: Literal["checkbox", "radio"] = "radio" if is_round else "checkbox"
    if marked < 0.03:
        faint = (np.abs(part - colour).max(2) > _FAINT)[core].mean()
        if np.abs(colour - around).max() > _SAME / 2 and faint > 0.15:
            return kind, "checked"  # pale on pale, as controls are that can't be used
        neutral = int(colour.max() - colour.min()) < 20
        empty = np.abs(colour - around).max() < _SAME or (neutral and colour.min() > 215)
        return (kind, "unchecked") if empty else None
    if not 0.06 < marked < 0.8:
        return None
    if is_round:
        dot = common(part[core])
        uniform = (np.abs(part[core] - dot).max(1) < _SAME).mean() > 0.85
        return (kind, "checked") if uniform and other[inner & ~core].any() else None
    mark = common(part[inner & other])
    solid = any((np.abs(rim - common(rim)).max(1) < _SAME).mean() > _RING for rim in rims)
    two = (np.abs(part[inner] - colour).max(1) < _SAME) | (np.abs(part[inner] - mark).max(1) < 2 * _SAME)
    return (kind, "checked") if solid and two.mean() > 0.8 else None


def _filled(drawn: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """With what lies between the first and the last pixel of each row."""
    after, before = np.logical_or.accumulate(drawn, 1), np.logical_or.accumulate(drawn[:, ::-1], 1)[:, ::-1]
    return np.asarray(after & before)


def _is_disc(drawn: NDArray[np.bool_]) -> bool:
    """Whether each row of the outline is as wide as a circle's."""
    height, width = drawn.shape
    wrong = 0
    for row in range(height):
        columns = np.flatnonzero(drawn[row])
        reach = width * np.sqrt(max(0.0, 1 - ((row + 0.5) / height * 2 - 1) ** 2))
        extent = columns[-1] - columns[0] + 1 if len(columns) else 0
        wrong += int(abs(extent - reach) > max(2.5, 0.2 * width))
    return bool(wrong <= max(1, 0.15 * height))


def _is_paper(part: NDArray[np.int16], inner: NDArray[np.bool_]) -> bool:
    colour = common(part[inner])
    return bool(colour.min() > 215)


def _sides(box: Box) -> tuple[Box, Box, Box, Box]:
    x0, y0, x1, y1 = box
    return (x0, y0, x1, y0 + 1), (x0, y1 - 1, x1, y1), (x0, y0, x0 + 1, y1), (x1 - 1, y0, x1, y1)
