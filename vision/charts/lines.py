"""Line and scatter charts: where a colour's line runs, where its points lie."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import ChartError
from dg_sglang.vision.charts.marks import Mask, pieces
from dg_sglang.vision.charts.model import Chart, Point
from dg_sglang.vision.charts.picture import Picture
from dg_sglang.vision.charts.refusals import have_whiskers, look_at
from dg_sglang.vision.charts.scale import Scale
from dg_sglang.vision.grid import PixelBox


def read_lines_or_dots(picture: Picture) -> Chart:
    """A line or scatter chart. Raises ChartError where its axes have no scale, or nothing runs through it."""
    scale = picture.scale(picture.left)
    clouds = [dots(colour.mask) for colour in picture.colours]
    if _is_scatter(picture, clouds):
        across = picture.scale(picture.bottom)
        if any(have_whiskers(colour.mask) for colour in picture.colours):
            raise ChartError("bars stand on the dots (error bars), and where the values lie on them can't be told")
        points = {
            index: [Point(x=across.value(x), y=scale.value(y), box=box) for x, y, box in cloud]
            for index, cloud in enumerate(clouds)
        }
        return picture.chart("scatter", points)
    looks = [look_at(colour.mask) for colour in picture.colours]
    lines = [index for index, look in enumerate(looks) if not look.is_filled]
    for index in lines or range(len(looks)):
        if looks[index].problem:
            raise ChartError(f"it is no plain bar, line, scatter or pie chart: {looks[index].problem}")
    series = {index: _line_points(picture, picture.colours[index].mask, scale) for index in lines}
    kept = {index: points for index, points in series.items() if len(points) > 1}
    if not kept:
        raise ChartError("no line runs through the chart, and no bars or dots stand in it")
    filled = len(looks) - len(lines)
    warnings = (
        [f"{filled} filled area(s) beside the lines, such as bands of confidence, weren't read"] if filled else []
    )
    return picture.chart("line", kept).model_copy(update={"warnings": warnings})


def _is_scatter(picture: Picture, clouds: Sequence[Sequence[object]]) -> bool:
    """Compact dots, rather than pieces that run on from one column to the next."""
    if picture.bottom.scale is None:
        return False
    covered = [float((~np.isnan(centre_line(colour.mask))).mean()) for colour in picture.colours]
    return all(len(cloud) >= 4 and share < 0.6 for cloud, share in zip(clouds, covered, strict=True))


def _line_points(picture: Picture, mask: Mask, scale: Scale) -> list[Point]:
    """A line's heights: at the categories, or at the numbers where it has its corners."""
    line, across = centre_line(mask), picture.bottom.scale
    if across is None:
        places: list[tuple[str | float, float]] = [(label.text, label.x) for label in picture.bottom.labels]
    else:
        places = [(value, across.position(value)) for value in _regular(across, corners(line))]
    heights = [(name, x, height_at(line, x)) for name, x in places]
    return [
        Point(x=name, y=scale.value(y + 0.5), box=(x - 3, y - 3, x + 3, y + 3))
        for name, x, y in heights
        if y is not None
    ]


def _regular(scale: Scale, places: Sequence[float]) -> list[float]:
    """The values at a line's corners; where most of them lie on a regular grid, all of the grid's."""
    values = sorted(scale.value(place) for place in places)
    step_of_labels = min(abs(one.value - other.value) for one, other in zip(scale.ticks, scale.ticks[1:], strict=False))
    pixel = abs(scale.value(1.0) - scale.value(0.0))
    for parts in (1, 2, 3, 4, 5, 6, 10, 12):
        step = step_of_labels / parts
        if step < 6 * pixel:
            break
        near = [abs(value / step - round(value / step)) * step < 3 * pixel for value in values]
        if sum(near) >= 0.8 * len(near):
            first, last = round(values[0] / step), round(values[-1] / step)
            return [round(number * step, 10) for number in range(first, last + 1)]
    return values


def centre_line(mask: Mask) -> NDArray[np.float64]:
    """The middle of a line at each column, [width]; NaN where the colour is absent.

    Where a line is steep a column holds much of it: its middle is still on the line. Other lines that cross it, and
    gaps between dashes, leave holes that are filled in between.
    """
    rows = np.arange(mask.shape[0])[:, None]
    count = mask.sum(0)
    with np.errstate(invalid="ignore"):
        middle: NDArray[np.float64] = (mask * rows).sum(0) / count
    middle[count == 0] = np.nan
    return middle


def height_at(line: NDArray[np.float64], x: float, reach: float = 2.0) -> float | None:
    """The line's height at a column, interpolated over holes; None beyond its ends."""
    known = np.flatnonzero(~np.isnan(line))
    if not len(known) or x < known[0] - reach or x > known[-1] + reach:
        return None
    return float(np.interp(x, known, line[known]))


def corners(line: NDArray[np.float64], tolerance: float = 1.6) -> list[float]:
    """The columns at which the line changes its direction, both ends included (Ramer–Douglas–Peucker)."""
    known = np.flatnonzero(~np.isnan(line))
    if len(known) < 3:
        return [float(x) for x in known]
    curve = np.stack([known, line[known]], 1).astype(np.float32)[:, None]
    return [float(point[0][0]) for point in cv2.approxPolyDP(curve, tolerance, closed=False)]


def dots(mask: Mask) -> list[tuple[float, float, PixelBox]]:
    """Points of a scatter chart: x, y and the box of each. Touching ones are told apart by their common size."""
    found, labels = pieces(mask, least=6)
    round_ones = [piece for piece in found if 0.5 < piece.width / piece.height < 2]
    if not round_ones:
        return []
    typical = float(np.median([piece.area for piece in round_ones]))
    size = typical**0.5
    points = []
    for piece in found:
        if piece.area < 0.3 * typical:
            continue
        count = max(1, round(piece.area / typical))
        ys, xs = np.nonzero(labels == piece.label)
        centres: Sequence[Sequence[float]] = [piece.centre]
        if count > 1 and (piece.width > 1.3 * size or piece.height > 1.3 * size):
            stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 50, 0.1)
            data = np.stack([xs, ys], 1).astype(np.float32)
            _, _, means = cv2.kmeans(data, count, np.empty(0, np.int32), stop, 5, cv2.KMEANS_PP_CENTERS)
            centres = means.tolist()
        half = size / 2
        points += [(x + 0.5, y + 0.5, (x - half, y - half, x + half, y + half)) for x, y in centres]
    return points
