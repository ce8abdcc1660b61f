"""What coloured pixels show beside lines and dots, where a reader of lines would read nonsense: said, not read."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.charts.marks import Mask, Piece, pieces

_SOLID = 17  # pixels; what holds a square of that side is no line and no dot
_FILLED = 0.25  # share of a mask that such squares cover, from which it is an area
_APART = 6  # pixels between two strokes in one column
_TWO_STROKES = 0.15  # share of the columns that hold two, from which it is not one line
_HOLE = 0.08  # of the plot's width that a line may be hidden; a pixel count where that is less
_LEAST_HOLE = 25
_SPIKE = 12  # pixels by which a column is longer than those on both sides, as error bars are
_SPIKES = 3  # of them


@dataclass(frozen=True)
class Look:
    """What speaks against reading a mask as one line, in words; None where nothing does."""

    is_filled: bool
    problem: str | None


def look_at(mask: Mask) -> Look:
    """Judge the mask [height, width] of one colour as a line over the horizontal axis."""
    if is_filled(mask):
        return Look(True, "a filled area, of which the upper edge may not be the value")
    strokes = _strokes(mask)
    known = np.flatnonzero(strokes > 0)
    if len(known) < 2:
        return Look(False, None)
    if (strokes[known] > 1).mean() > _TWO_STROKES:
        return Look(False, "several strokes of one colour above one another (boxes, or two lines of one colour)")
    if spikes(mask) >= _SPIKES:
        return Look(False, "vertical bars on the line (error bars, or steps)")
    if np.diff(known).max() > max(_LEAST_HOLE, _HOLE * mask.shape[1]):
        return Look(False, "separate marks instead of a line (the medians of a box plot, or a line with gaps)")
    return Look(False, None)


def is_filled(mask: Mask) -> bool:
    """Whether much of it is solid."""
    inner = cv2.erode(mask.astype(np.uint8), np.ones((_SOLID, _SOLID), np.uint8))
    solid = cv2.dilate(inner, np.ones((_SOLID, _SOLID), np.uint8))
    return bool(solid.sum() > _FILLED * mask.sum())


def is_disc(piece: Piece) -> bool:
    """Whether it is a single round dot, of whatever size."""
    return 0.85 < piece.width / piece.height < 1.18 and 0.64 < piece.fill < 0.87


def have_whiskers(mask: Mask) -> bool:
    """Whether many of a scatter chart's dots are far taller, or wider, than broad: bars stand on them."""
    found, _ = pieces(mask)
    if not found:
        return False
    least = min(min(piece.width, piece.height) for piece in found)
    long = [max(piece.width, piece.height) > max(2.2 * min(piece.width, piece.height), 2.5 * least) for piece in found]
    return sum(long) > 0.3 * len(long)


def spikes(mask: Mask) -> int:
    """How many narrow columns are far longer than those some pixels to their left and right."""
    counts = mask.sum(0).astype(np.int32)
    width, reach = len(counts), 7
    tall = np.zeros(width, np.bool_)
    for x in range(reach, width - reach):
        beside = max(counts[x - reach : x - 3].min(), counts[x + 4 : x + reach + 1].min())
        tall[x] = counts[x] > beside + _SPIKE and counts[x] > 2 * beside
    starts = np.flatnonzero(np.diff(np.concatenate([[False], tall]).astype(np.int8)) == 1)
    return sum(int(_run(tall, int(start)) <= 6) for start in starts)


def _run(values: NDArray[np.bool_], start: int) -> int:
    end = start
    while end < len(values) and values[end]:
        end += 1
    return end - start


def _strokes(mask: Mask) -> NDArray[np.int64]:
    """How many strokes each column holds, those closer than a few pixels taken together, [width]."""
    joined = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((2 * _APART + 1, 1), np.uint8))
    starts = np.diff(np.vstack([np.zeros((1, mask.shape[1]), np.int8), joined.astype(np.int8)]), axis=0) == 1
    return np.asarray(starts.sum(0), np.int64)
