"""Pictures a few degrees out of level, as hand-held scans are: turned straight by the slope of their lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.ocr import Box, Text

_LEAST, _MOST = 0.3, 12.0  # degrees; below nothing is gained, above it is no accident
_AGREEING = 1.0  # degrees by which a line's slope may differ from the others'
_LONG = 3.0  # times its height, for the slope of a line to be known


@dataclass(frozen=True)
class Level:
    """A levelled picture, its texts, and the affine map [2, 3] from it to the picture as given; None where unturned."""

    pixels: NDArray[np.uint8]
    texts: tuple[Text, ...]
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

    New corners take the picture's most frequent edge colour. Lines that disagree about the slope leave it as it is.
    """
    slope = _slope(texts)
    if abs(slope) < _LEAST:
        return Level(pixels, tuple(texts))
    height, width = pixels.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), slope, 1.0)
    new_width = int(height * abs(turn[0, 1]) + width * abs(turn[0, 0]))
    new_height = int(height * abs(turn[0, 0]) + width * abs(turn[0, 1]))
    turn[:, 2] += (new_width - width) / 2, (new_height - height) / 2
    colours, counts = np.unique(np.concatenate([pixels[0], pixels[-1]]), axis=0, return_counts=True)
    paper = [int(part) for part in colours[counts.argmax()]]
    turned = cv2.warpAffine(pixels, turn, (new_width, new_height), flags=cv2.INTER_CUBIC, borderValue=paper)
    moved = tuple(_moved(text, turn) for text in texts)
    return Level(np.asarray(turned, np.uint8), moved, np.asarray(cv2.invertAffineTransform(turn)))


def _slope(texts: Sequence[Text]) -> float:
    """In degrees, clockwise; 0 where most of the text has no common one."""
    slopes, weights = [], []
    for text in texts:
        if not text.corners or text.is_vertical:
            continue
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = text.corners
        across, down = np.hypot(bx - ax, by - ay), np.hypot(dx - ax, dy - ay)
        if across > _LONG * down:
            slopes.append(float(np.degrees(np.arctan2(by - ay + cy - dy, bx - ax + cx - dx))))
            weights.append(float(across))
    if not slopes:
        return 0.0
    order = np.argsort(slopes)
    total = np.cumsum(np.array(weights)[order])
    middle = slopes[int(order[np.searchsorted(total, total[-1] / 2)])]
    agreeing = [
        (slope, weight) for slope, weight in zip(slopes, weights, strict=True) if abs(slope - middle) < _AGREEING
    ]
    weight = sum(weight for _, weight in agreeing)
    if weight < 0.6 * total[-1]:
        return 0.0
    mean = sum(slope * weight for slope, weight in agreeing) / weight
    return mean if abs(mean) <= _MOST else 0.0


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
