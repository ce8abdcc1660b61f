"""Pictures a few degrees out of level, as hand-held scans are: turned straight by the slope of their lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.geometry.boxes import Box
from dg_sglang.vision.ocr import Text

_LEAST, _MOST = 0.2, 6.0  # degrees; below nothing is gained, above it is no accident
_EDGE = 24  # levels between two rows
_LEAST_EDGES = 300  # pixels, for a slope to be known
_CLEARLY = 1.1  # times as sharp as level rows must turned ones be
_AGREE = 1.2  # degrees between the slope of everything drawn and that of the lines of text


@dataclass(frozen=True)
class Level:
    """A levelled picture, its texts, the size (width, height) of the picture as given, and the affine map [2, 3] to it.

    The map is None where nothing was turned.
    """

    pixels: NDArray[np.uint8]
    texts: tuple[Text, ...]
    given_size: tuple[int, int]
    back: NDArray[np.float64] | None = None

    def given_box(self, box: Box) -> Box:
        """The upright box around a box of the levelled picture, in the picture as given."""
        if self.back is None:
            return box
        x0, y0, x1, y1 = box
        corners = self.back @ np.array([[x0, x1, x1, x0], [y0, y0, y1, y1], [1, 1, 1, 1]])
        low, high = corners.min(1), corners.max(1)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])


def level(pixels: NDArray[np.uint8], texts: Sequence[Text]) -> Level:
    """Turn a picture, uint8 [height, width, 3], so that its lines of text run level.

    New corners take the most frequent colour of the picture's first and last row.
    """
    height, width = pixels.shape[:2]
    slope = _slope(pixels, texts)
    if abs(slope) < _LEAST:
        return Level(pixels, tuple(texts), (width, height))
    turn: NDArray[np.float64] = np.array(cv2.getRotationMatrix2D((width / 2, height / 2), slope, 1.0), np.float64)
    new_width = int(height * abs(turn[0, 1]) + width * abs(turn[0, 0]))
    new_height = int(height * abs(turn[0, 0]) + width * abs(turn[0, 1]))
    turn[:, 2] += (new_width - width) / 2, (new_height - height) / 2
    colours, counts = np.unique(np.concatenate([pixels[0], pixels[-1]]), axis=0, return_counts=True)
    paper = [int(part) for part in colours[counts.argmax()]]
    turned = cv2.warpAffine(pixels, turn, (new_width, new_height), flags=cv2.INTER_CUBIC, borderValue=paper)
    moved = tuple(_moved(text, turn) for text in texts)
    return Level(np.asarray(turned, np.uint8), moved, (width, height), np.asarray(cv2.invertAffineTransform(turn)))


def _slope(pixels: NDArray[np.uint8], texts: Sequence[Text]) -> float:
    """The slope in degrees, clockwise: the one along which edges fall into the fewest rows.

    That of everything drawn (axes, grids, frames) is the most exact, but counts only if the lines of text run the same
    way: the lines of a graph may slope on a level picture. Else that of the letters counts.
    """
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.int16)
    edges = np.zeros(grey.shape, np.bool_)
    edges[1:] = np.abs(np.diff(grey, axis=0)) > _EDGE
    letters = np.zeros(grey.shape, np.bool_)
    for text in texts:
        if not text.is_vertical and len(text.text) > 1:
            x0, y0, x1, y1 = (max(0, round(edge)) for edge in text.box)
            letters[y0:y1, x0:x1] = edges[y0:y1, x0:x1]
    found, said = _sharpest(edges), _text_slope(texts)
    if found and said is not None and abs(found - said) < _AGREE:
        ys, xs = np.nonzero(letters)
        if not len(xs) or _sharpness(xs, ys, found) >= _sharpness(xs, ys, 0.0):
            return found
    return _sharpest(letters)


def _sharpest(edges: NDArray[np.bool_]) -> float:
    """The slope along which edges fall into the fewest rows; 0 where no slope is clearly better than none."""
    ys, xs = np.nonzero(edges)
    if len(xs) < _LEAST_EDGES:
        return 0.0
    level_score = _sharpness(xs, ys, 0.0)
    rough = max(np.arange(-_MOST, _MOST + 0.01, 0.25), key=lambda degrees: _sharpness(xs, ys, degrees))
    fine = max(np.arange(rough - 0.25, rough + 0.26, 0.05), key=lambda degrees: _sharpness(xs, ys, degrees))
    return float(fine) if _sharpness(xs, ys, fine) > _CLEARLY * level_score else 0.0


def _text_slope(texts: Sequence[Text]) -> float | None:
    """The slope of the lines of text by their corners: their median, each counted by its length; None without any."""
    slopes, lengths = [], []
    for text in texts:
        if text.corners and not text.is_vertical and len(text.text) > 1:
            (ax, ay), (bx, by), (cx, cy), (dx, dy) = text.corners
            slopes.append(float(np.degrees(np.arctan2(by - ay + cy - dy, bx - ax + cx - dx))))
            lengths.append(bx - ax)
    if not slopes:
        return None
    order = np.argsort(slopes)
    reach = np.cumsum(np.array(lengths)[order])
    return slopes[int(order[np.searchsorted(reach, reach[-1] / 2)])]


def _sharpness(xs: NDArray[np.intp], ys: NDArray[np.intp], degrees: float) -> float:
    """How unevenly pixels fall into rows of a slope: the sum of the squares of their numbers."""
    rows = np.round(ys - xs * np.tan(np.radians(degrees))).astype(np.intp)
    counts = np.bincount(rows - rows.min())
    return float((counts.astype(np.float64) ** 2).sum())


def _moved(text: Text, turn: NDArray[np.float64]) -> Text:
    """The text in the turned picture; its box keeps the size that its line has."""
    x, y = (float(part) for part in turn @ np.array([text.x, text.y, 1.0]))
    width, height = text.box[2] - text.box[0], text.height
    if text.corners:
        (ax, ay), (bx, by), _, (dx, dy) = text.corners
        width, height = float(np.hypot(bx - ax, by - ay)), float(np.hypot(dx - ax, dy - ay))
        if text.is_vertical:
            width, height = min(width, height), max(width, height)
    return replace(text, box=(x - width / 2, y - height / 2, x + width / 2, y + height / 2), corners=())
