"""What the pixels of a line of text tell: its colour, an underline, a strip under it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.geometry.boxes import Box

_CLEAR = 40  # levels in a channel that tell two colours apart


@dataclass(frozen=True)
class Ink:
    """The colour of letters and of what they stand on, uint8 RGB."""

    letters: NDArray[np.int16]
    ground: NDArray[np.int16]

    @property
    def contrast(self) -> float:
        """The difference in lightness, 0 to 255."""
        return float(abs(_lightness(self.letters) - _lightness(self.ground)))

    @property
    def is_chromatic(self) -> bool:
        """Whether the letters are neither black, white nor grey."""
        return int(np.ptp(self.letters)) > _CLEAR


def crop(pixels: NDArray[np.uint8], box: Box) -> NDArray[np.int16]:
    """The part of a picture in a box, at least one pixel, as signed levels."""
    height, width = pixels.shape[:2]
    x0, y0 = min(width - 1, max(0, round(box[0]))), min(height - 1, max(0, round(box[1])))
    return pixels[y0 : max(y0 + 1, round(box[3])), x0 : max(x0 + 1, round(box[2]))].astype(np.int16)


def ink(pixels: NDArray[np.uint8], box: Box) -> Ink:
    """The colours of the text in a box: the most frequent one, and the one farthest from it."""
    part = crop(pixels, box).reshape(-1, 3)
    ground = common(part)
    distance = np.abs(part - ground).max(1)
    letters = np.median(part[distance >= 0.8 * distance.max()], 0).astype(np.int16)
    return Ink(np.asarray(letters), ground)


def common(colours: NDArray[np.int16]) -> NDArray[np.int16]:
    """The most frequent colour of [n, 3], told apart by eighths of the levels' range."""
    cells = colours // 8
    keys = (cells[:, 0].astype(np.int32) << 16) | (cells[:, 1].astype(np.int32) << 8) | cells[:, 2]
    values, counts = np.unique(keys, return_counts=True)
    return np.asarray(np.median(colours[keys == values[counts.argmax()]], 0), np.int16)


def is_underlined(pixels: NDArray[np.uint8], box: Box, colours: Ink) -> bool:
    """Whether a line in the colour of the letters runs under them, though descenders may cut it.

    Under grey letters it must run on: the feet of letters with serifs make a broken one.
    """
    height, width = box[3] - box[1], box[2] - box[0]
    reach = max(_CLEAR, np.abs(colours.letters - colours.ground).max() * 0.5)

    def same_as_letters(x0: float, x1: float) -> NDArray[np.bool_]:
        part = crop(pixels, (x0, box[3] - 0.35 * height, x1, box[3] + 0.2 * height))
        return np.asarray(np.abs(part - colours.letters).max(2) < reach)

    same = same_as_letters(box[0] + 1, box[2] - 2)
    after = same_as_letters(box[2] + 0.2 * height, box[2] + 0.6 * height)  # a line that runs on is a border
    before = same_as_letters(box[0] - 0.6 * height, box[0] - 0.2 * height)
    border = [one.all() or other.all() for one, other in zip(before, after, strict=True)]
    share, least = (
        (0.6, max(0.25 * width, min(0.7 * height, 0.5 * width))) if colours.is_chromatic else (0.7, 0.6 * width)
    )
    rows = [row for row, on in zip(same, border, strict=True) if not on and row.mean() > share]
    rows = [row for row in rows if _longest_run(row) >= least]
    return 0 < len(rows) <= max(2, 0.2 * height)


def _longest_run(row: NDArray[np.bool_]) -> int:
    ends = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(np.int8)))
    return int((ends[1::2] - ends[::2]).max()) if len(ends) else 0


@dataclass(frozen=True)
class Strip:
    """A bar of one colour: its box and colour."""

    box: Box
    color: tuple[int, ...]


def strip_below(pixels: NDArray[np.uint8], box: Box, ground: NDArray[np.int16]) -> Strip | None:
    """The first bar under the middle of a text, within its height; None where there is none, or it is no bar."""
    height, middle = box[3] - box[1], round((box[0] + box[2]) / 2)
    top = round(box[3])
    column = pixels[top : top + round(1.3 * height), middle].astype(np.int16)
    other = np.abs(column - ground).max(1) > _CLEAR / 2 if len(column) else np.zeros(0, np.bool_)
    if not other.any():
        return None
    first = int(other.argmax())
    color = column[min(first + 1, len(column) - 1)] if other[min(first + 1, len(other) - 1)] else column[first]
    thick = first
    while thick < len(column) and np.abs(column[thick] - color).max() < _CLEAR:
        thick += 1
    row = pixels[top + (first + thick) // 2].astype(np.int16)
    same = np.abs(row - color).max(1) < _CLEAR
    left = right = middle
    while left > 0 and same[left - 1]:
        left -= 1
    while right < len(row) and same[right]:
        right += 1
    return Strip(
        (float(left), float(top + first), float(right), float(top + thick)), tuple(int(part) for part in color)
    )


def _lightness(colour: NDArray[np.int16]) -> float:
    return float(colour @ np.array([0.299, 0.587, 0.114]))
