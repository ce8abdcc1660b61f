"""Pies: shares by the angle that each colour takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import ChartError
from dg_sglang.vision.charts.legend import find_legend
from dg_sglang.vision.charts.marks import Colour, find_colours
from dg_sglang.vision.charts.model import Chart, Point, Series
from dg_sglang.vision.charts.picture import title
from dg_sglang.vision.grid import PixelBox
from dg_sglang.vision.ocr import Text

_ANGLES = 3600
_TWO_RINGS = 0.3  # share of the angles at which a second colour is seen more than once


@dataclass(frozen=True)
class Wedge:
    """A colour's sector: share of the circle, the direction of its middle (a unit vector, y down), a point inside."""

    colour: int
    share: float
    direction: tuple[float, float]


@dataclass(frozen=True)
class Pie:
    """Centre and radius in pixels, and the wedges in the order of their angles."""

    centre: tuple[float, float]
    radius: float
    wedges: tuple[Wedge, ...]


def read_pie(pixels: NDArray[np.uint8], texts: Sequence[Text]) -> Chart | None:
    """A pie chart, shares in percent; None where there is no pie. Raises ChartError where it is no plain one."""
    colours = find_colours(pixels, np.ones(pixels.shape[:2], np.bool_))
    pie = find_pie(colours)
    if pie is None or len(pie.wedges) < 2:
        return None
    legend = find_legend([text for text in texts if _distance_to_centre(pie, text) > pie.radius], colours)
    points = []
    for wedge in pie.wedges:
        name = legend.names.get(wedge.colour) or _wedge_label(pie, wedge.direction, texts)
        points.append(Point(x=name, y=round(100 * wedge.share, 2), box=_wedge_box(pie, wedge.direction)))
    return Chart(
        kind="pie",
        title=title(texts, above=pie.centre[1] - pie.radius),
        series=[Series(points=points)],
        legend=list(legend.names.values()),
        method="geometry",
    )


def _wedge_label(pie: Pie, direction: tuple[float, float], texts: Sequence[Text]) -> str | None:
    """The text outside the circle that is nearest to the wedge's rim."""
    rim = (pie.centre[0] + 1.1 * pie.radius * direction[0], pie.centre[1] + 1.1 * pie.radius * direction[1])
    outside = [
        text
        for text in texts
        if not text.text.rstrip().endswith("%") and _distance_to_centre(pie, text) > 0.95 * pie.radius
    ]
    if not outside:
        return None
    nearest = min(outside, key=lambda text: _distance(text, rim))
    return nearest.text if _distance(nearest, rim) < 0.4 * pie.radius else None


def _distance_to_centre(pie: Pie, text: Text) -> float:
    return float(np.hypot(text.x - pie.centre[0], text.y - pie.centre[1]))


def _distance(text: Text, point: tuple[float, float]) -> float:
    x = max(text.box[0] - point[0], 0, point[0] - text.box[2])
    y = max(text.box[1] - point[1], 0, point[1] - text.box[3])
    return float(np.hypot(x, y))


def _wedge_box(pie: Pie, direction: tuple[float, float]) -> PixelBox:
    x, y = pie.centre[0] + 0.6 * pie.radius * direction[0], pie.centre[1] + 0.6 * pie.radius * direction[1]
    half = 0.1 * pie.radius
    return x - half, y - half, x + half, y + half


def find_pie(colours: Sequence[Colour]) -> Pie | None:
    """A disc that two or more colours share, or None. Raises ChartError where it has several rings."""
    if len(colours) < 2:
        return None
    union = np.any([colour.mask for colour in colours], axis=0).astype(np.uint8)
    union = cv2.morphologyEx(union, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8))
    contours, _ = cv2.findContours(union, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return None
    contour = max(contours, key=cv2.contourArea)
    hull = cv2.convexHull(contour)
    (x, y), radius = cv2.minEnclosingCircle(hull)
    area = cv2.contourArea(hull)
    if radius < 20 or area < 0.93 * np.pi * radius**2 or union.sum() > 1.25 * area:
        return None
    radius = (area / np.pi) ** 0.5
    angles = np.arange(_ANGLES) / _ANGLES * 2 * np.pi
    votes = np.zeros((len(colours), _ANGLES))
    for share in (0.3, 0.42, 0.54, 0.66, 0.78, 0.85, 0.9, 0.93):
        xs = np.clip((x + share * radius * np.cos(angles)).round().astype(int), 0, union.shape[1] - 1)
        ys = np.clip((y + share * radius * np.sin(angles)).round().astype(int), 0, union.shape[0] - 1)
        for index, colour in enumerate(colours):
            votes[index] += colour.mask[ys, xs]
    if (np.sort(votes, 0)[-2] > 1).mean() > _TWO_RINGS:
        raise ChartError("two rings of different colours, one in the other: crop the picture to a plain pie")
    owner = votes.argmax(0)
    owner[votes.max(0) == 0] = -1
    return Pie((float(x), float(y)), float(radius), tuple(_wedges(owner, angles)))


def _wedges(owner: NDArray[np.intp], angles: NDArray[np.float64]) -> list[Wedge]:
    known = np.flatnonzero(owner >= 0)
    if not len(known):
        return []
    filled = owner[known[np.searchsorted(known, np.arange(len(owner))).clip(max=len(known) - 1)]]
    changes = np.flatnonzero(filled != np.roll(filled, 1))
    if not len(changes):
        return [Wedge(int(filled[0]), 1.0, (1.0, 0.0))]
    wedges = []
    for start, end in zip(changes, np.append(changes[1:], changes[0] + len(filled)), strict=True):
        if end - start < len(filled) / 400:
            continue
        middle = angles[(start + end) // 2 % len(angles)]
        wedges.append(Wedge(int(filled[start]), 0.0, (float(np.cos(middle)), float(np.sin(middle)))))
        wedges[-1] = Wedge(wedges[-1].colour, float(end - start), wedges[-1].direction)
    total = sum(wedge.share for wedge in wedges)
    return [Wedge(wedge.colour, wedge.share / total, wedge.direction) for wedge in wedges]
