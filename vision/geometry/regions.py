"""Rectangles and pictures on a screen: flat areas with straight sides, and what is neither flat nor text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.geometry.boxes import Box, inside, overlap
from dg_sglang.vision.ocr import Text

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

_STEP = 5  # levels between two neighbours from which they are an edge on a clean picture
_RIPPLED = 0.008  # share of pixels with small steps, from which a picture is no longer as it was drawn
_SHADES = 40  # levels by which the pixels of one colour may differ
_LEAST_SIDE = 9  # pixels; smaller ones are parts of letters
_FILL = 0.76  # of its box that a rectangle covers at least: pills and circles do, triangles don't
_BORDER = 3  # pixels around a rectangle's edge that belong to it


@dataclass(frozen=True)
class Region:
    """A flat area with straight sides: its box with the border, the colour inside, and its shape, holes filled.

    `shape` is a mask [height, width] whose first pixel lies at `origin` (x, y).
    """

    box: Box
    color: tuple[int, int, int]
    shape: Mask
    origin: tuple[int, int]

    @property
    def width(self) -> float:
        """In pixels."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> float:
        """In pixels."""
        return self.box[3] - self.box[1]


def find_regions(pixels: Pixels) -> list[Region]:
    """All rectangles, rounded or not, of one colour (whatever stands in them), from the largest to the smallest.

    `pixels` is uint8 [height, width, 3], RGB.
    """
    flat = ~_edges(pixels)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(flat.astype(np.uint8), connectivity=4)
    regions = []
    for index in range(1, count):
        x, y, width, height, area = (int(value) for value in stats[index])
        if min(width, height) < _LEAST_SIDE or area < 30:
            continue
        part = np.pad((labels[y : y + height, x : x + width] == index).astype(np.uint8), 1)
        contours, _ = cv2.findContours(part, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        contour = np.asarray(max(contours, key=cv2.contourArea), np.int32)
        fill = cv2.contourArea(contour) / max(1, (width - 1) * (height - 1))
        if fill < _FILL or not _straight(contour, width, height):
            continue
        inside = pixels[y : y + height, x : x + width][part[1:-1, 1:-1] > 0]
        red, green, blue = (int(value) for value in np.median(inside, 0))
        if (np.abs(inside.astype(np.int16) - (red, green, blue)).max(1) < _SHADES).mean() < 0.8:
            continue  # a gradient: part of a picture
        box = _grown((x, y, x + width, y + height), pixels)
        shape = cv2.drawContours(np.zeros_like(part), [contour], -1, 1, cv2.FILLED)[1:-1, 1:-1] > 0
        regions.append(Region(box, (red, green, blue), shape, (x, y)))
    regions.sort(key=lambda region: -region.width * region.height)
    return _distinct(regions)


def find_pictures(pixels: Pixels, regions: Sequence[Region], texts: Sequence[Text]) -> list[Box]:
    """Boxes of what is drawn on the screen, but neither text nor the borders of rectangles."""
    height, width = pixels.shape[:2]
    drawn = np.ones((height, width), np.bool_)
    for region in regions:  # the largest first: what stands in one is compared with its colour
        (x, y), (rows, columns) = region.origin, region.shape.shape
        part = np.abs(pixels[y : y + rows, x : x + columns].astype(np.int16) - region.color).max(2) > 3 * _STEP
        drawn[y : y + rows, x : x + columns][region.shape] = part[region.shape]
    for region in regions:
        (x, y), shape = region.origin, np.pad(region.shape.astype(np.uint8), 2 * _BORDER)
        size = 2 * _BORDER + 1
        rim = cv2.morphologyEx(shape, cv2.MORPH_GRADIENT, np.ones((size, size), np.uint8)) > 0
        top, left = max(0, y - 2 * _BORDER), max(0, x - 2 * _BORDER)
        part = drawn[top : y + region.shape.shape[0] + 2 * _BORDER, left : x + region.shape.shape[1] + 2 * _BORDER]
        rim = rim[top - y + 2 * _BORDER :, left - x + 2 * _BORDER :][: part.shape[0], : part.shape[1]]
        part[rim] = False
    joined = cv2.morphologyEx(drawn.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))
    _, _, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    boxes = [
        (float(x), float(y), float(x + w), float(y + h))
        for x, y, w, h, area in stats[1:]
        if min(w, h) >= _LEAST_SIDE and area > 0.15 * w * h and (w < 0.95 * width or h < 0.95 * height)
    ]
    words = [text.box for text in texts]
    boxes = [box for box in boxes if not any(_belongs(box, word) for word in words)]
    return [box for box in boxes if not any(other != box and inside(box, other) for other in boxes)]


def _belongs(box: Box, word: Box) -> bool:
    """Whether something drawn is part of a line of text; a square where the line begins may be a checkbox."""
    tall = word[3] - word[1]
    common = min(box[2], word[2]) - max(box[0], word[0]), min(box[3], word[3]) - max(box[1], word[1])
    width, height = box[2] - box[0], box[3] - box[1]
    if min(common) <= 0 or common[0] * common[1] < 0.5 * width * height:
        return False
    return not (0.8 < width / height < 1.25 and 0.5 * tall < height and box[0] < word[0] + 0.4 * tall)


def smoothed(pixels: Pixels) -> Pixels:
    """Without the ripples of strong compression; a picture that has none comes back as it is."""
    steps = _steps(pixels)
    if ((steps > 0) & (steps <= 2 * _STEP)).mean() < _RIPPLED:
        return pixels
    return np.asarray(cv2.bilateralFilter(pixels, 5, 30.0, 2.0), np.uint8)


def _edges(pixels: Pixels) -> Mask:
    """Where a pixel differs from a neighbour in any channel by more than the noise."""
    steps = _steps(pixels)
    noise = float(np.percentile(steps, 60))  # most of a screen is flat
    return np.asarray(steps > max(_STEP, 3 * noise))


def _steps(pixels: Pixels) -> NDArray[np.int16]:
    """The largest difference from the four neighbours in any channel, [height, width]."""
    levels = pixels.astype(np.int16)
    steps = np.zeros(pixels.shape[:2], np.int16)
    across, down = np.abs(np.diff(levels, axis=1)).max(2), np.abs(np.diff(levels, axis=0)).max(2)
    steps[:, :-1] = across
    steps[:-1] = np.maximum(steps[:-1], down)
    steps[:, 1:] = np.maximum(steps[:, 1:], across)
    steps[1:] = np.maximum(steps[1:], down)
    return steps


def _straight(contour: NDArray[np.int32], width: int, height: int) -> bool:
    """Whether the middle part of each side lies on the box: true of rectangles, pills and circles."""
    points = contour[:, 0] - 1
    slack = 2
    for axis, size, other in ((0, width, height), (1, height, width)):
        middle = points[np.abs(points[:, 1 - axis] - other / 2) < max(2, 0.12 * other)]
        if not len(middle) or middle[:, axis].min() > slack or middle[:, axis].max() < size - 1 - slack:
            return False
    return True


def _grown(box: tuple[int, int, int, int], pixels: Pixels) -> Box:
    """The box with the edge pixels around the flat part: a filled one's rim, an outlined one's border."""
    x0, y0, x1, y1 = box
    height, width = pixels.shape[:2]
    middle_x, middle_y = (x0 + x1) // 2, (y0 + y1) // 2
    return (
        float(x0 - _rim(pixels[middle_y, :x0][::-1])),
        float(y0 - _rim(pixels[:y0, middle_x][::-1])),
        float(min(width, x1 + _rim(pixels[middle_y, x1:]))),
        float(min(height, y1 + _rim(pixels[y1:, middle_x]))),
    )


def _rim(outwards: NDArray[np.uint8], most: int = 6) -> int:
    """How many pixels outwards it takes until they no longer change: the border's width, up to `most`."""
    levels = outwards[: most + 1].astype(np.int16)
    if len(levels) < 2:
        return len(levels)
    steps = np.abs(np.diff(levels, axis=0)).max(1)
    changing = np.flatnonzero(steps > _STEP)
    return int(changing[-1]) + 1 if len(changing) and changing[-1] < most else min(1, len(levels))


def _distinct(regions: Sequence[Region]) -> list[Region]:
    """Without those that are nearly the same as a larger one: the two sides of a border."""
    kept: list[Region] = []
    for region in regions:
        if all(overlap(region.box, other.box) < 0.9 for other in kept):
            kept.append(region)
    return kept
