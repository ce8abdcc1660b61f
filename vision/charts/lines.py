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
from dg_sglang.vision.charts.refusals import have_whiskers, is_disc, look_at
from dg_sglang.vision.charts.scale import Scale
from dg_sglang.vision.grid import PixelBox

_NEAR = 2.5  # pixels between a corner or marker and the value that it stands at
_LEAST_STEP, _WIDE_STEP = 15, 40  # pixels between two values of a grid: finer ones fit by chance; hardly any does
_LEAST_MARKERS = 3
_BUBBLES = 2.5  # times the area of the smallest dot, from which dots differ in size
_SPECK = 16  # pixels; smaller pieces are no dots of their own


def read_lines_or_dots(picture: Picture) -> Chart:
    """A line or scatter chart. Raises ChartError where its axes have no scale, or nothing runs through it."""
    scale = picture.scale(picture.left)
    clouds = [dots(colour.mask) for colour in picture.colours]
    if _is_scatter(picture, clouds):
        across = picture.scale(picture.bottom)
        if any(have_whiskers(colour.mask) for colour in picture.colours):
            raise ChartError("bars stand on the dots (error bars), and where the values lie on them can't be told")
        sizes = _sizes([colour.mask for colour in picture.colours])
        points = {
            index: [Point(x=across.value(x), y=scale.value(y), box=box) for x, y, box in cloud]
            for index, cloud in enumerate(clouds)
        }
        chart = picture.chart("scatter", points)
        return chart.model_copy(update={"warnings": [*chart.warnings, *sizes]})
    looks = [look_at(colour.mask) for colour in picture.colours]
    lines = [index for index, look in enumerate(looks) if not look.is_filled]
    for index in lines or range(len(looks)):
        if looks[index].problem:
            raise ChartError(f"it is no plain bar, line, scatter or pie chart: {looks[index].problem}")
    places = {index: _places(picture, picture.colours[index].mask) for index in lines}
    grid = next((one for one, regular in places.values() if regular), [])
    series = {
        index: _line_points(picture.colours[index].mask, scale, own if regular or not grid else grid)
        for index, (own, regular) in places.items()
    }
    kept = {index: points for index, points in series.items() if len(points) > 1}
    if not kept:
        raise ChartError("no line runs through the chart, and no bars or dots stand in it")
    warnings = []
    if len(looks) > len(lines):
        warnings.append(
            f"{len(looks) - len(lines)} filled area(s) beside the lines, such as bands of confidence, weren't read"
        )
    if picture.bottom.scale is None and any(_bends(picture, picture.colours[index].mask) for index in kept):
        warnings.append("the lines bend between the labels, too: they were read at the labels only")
    chart = picture.chart("line", kept)
    return chart.model_copy(update={"warnings": [*chart.warnings, *warnings]})


def _bends(picture: Picture, mask: Mask) -> bool:
    """Whether several of a line's corners lie far from all labels."""
    places = [label.x for label in picture.bottom.labels]
    reach = 0.2 * float(np.median(np.diff(places)))
    found = [x for x, _ in markers(mask)] or corners(centre_line(mask), tolerance=4.0)
    return sum(min(abs(x - place) for place in places) > reach for x in found[1:-1]) > 2


def _sizes(masks: Sequence[Mask]) -> list[str]:
    """A warning where dots differ in size. Raises ChartError where some of these overlap."""
    found = [piece for mask in masks for piece in pieces(mask, least=6)[0]]
    discs = [piece.area for piece in found if is_disc(piece) and piece.area > _SPECK]
    if not discs or max(discs) < _BUBBLES * min(discs):
        return []
    if any(not is_disc(piece) and piece.area > 0.5 * min(discs) for piece in found):
        raise ChartError("the dots differ in size (bubbles), and some overlap or are cut: they can't be told apart")
    return ["the dots differ in size (bubbles): their sizes weren't read"]


def _is_scatter(picture: Picture, clouds: Sequence[Sequence[object]]) -> bool:
    """Compact dots, rather than pieces that run on from one column to the next."""
    if picture.bottom.scale is None:
        return False
    covered = [float((~np.isnan(centre_line(colour.mask))).mean()) for colour in picture.colours]
    return all(len(cloud) >= 4 and share < 0.6 for cloud, share in zip(clouds, covered, strict=True))


Place = tuple[str | float, float]
"""What stands on the horizontal axis, and the column at which it does."""


def _places(picture: Picture, mask: Mask) -> tuple[list[Place], bool]:
    """Where to read a line, and whether that is a grid that other lines of the chart may have, too.

    At the categories; at the numbers where it has its markers or, without any, its corners.
    """
    across = picture.bottom.scale
    if across is None:
        return [(label.text, label.x) for label in picture.bottom.labels], True
    marked = [x for x, _ in markers(mask)]
    values, regular = _regular(across, marked or corners(centre_line(mask)), marked=bool(marked))
    return [(value, across.position(value)) for value in values], regular


def _line_points(mask: Mask, scale: Scale, places: Sequence[Place]) -> list[Point]:
    """A line's heights at some places: those of its markers, where it has some there."""
    line, marked = centre_line(mask), markers(mask)
    points = []
    for name, x in places:
        near = [y for place, y in marked if abs(place - x) < _NEAR]
        y = near[0] if near else height_at(line, x)
        if y is not None:
            points.append(Point(x=name, y=scale.value(y + 0.5), box=(x - 3, y - 3, x + 3, y + 3)))
    return points


def _regular(scale: Scale, places: Sequence[float], *, marked: bool) -> tuple[list[float], bool]:
    """The values at a line's corners or markers, and whether they lie on a grid; if so, the values on it.

    Corners lack where a line runs straight on: then the whole grid counts.
    """
    values = sorted(scale.value(place) for place in places)
    step_of_labels = min(abs(one.value - other.value) for one, other in zip(scale.ticks, scale.ticks[1:], strict=False))
    pixel = abs(scale.value(1.0) - scale.value(0.0))
    for parts in (1, 2, 3, 4, 5, 6, 10, 12):
        step = step_of_labels / parts
        if step < _LEAST_STEP * pixel:
            break
        near = [abs(value / step - round(value / step)) * step < _NEAR * pixel for value in values]
        if sum(near) >= (0.7 if step > _WIDE_STEP * pixel else 0.8) * len(near):  # a hidden part gives false corners
            numbers = range(round(values[0] / step), round(values[-1] / step) + 1)
            steps = sorted({round(value / step) for value in values}) if marked else numbers
            return [round(number * step, 10) for number in steps], True
    return values, False


def markers(mask: Mask) -> list[tuple[float, float]]:
    """Centres of the dots or squares of one size on a line, from left to right; none where there are fewer than three.

    They are what is left of the mask where nothing as thin as the line counts.
    """
    counts = mask.sum(0)
    if not counts.any():
        return []
    thick = round(float(np.percentile(counts[counts > 0], 20)))
    size = max(4, thick + 2)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size))
    found, _ = pieces(cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, kernel) > 0)
    if len(found) < _LEAST_MARKERS:
        return []
    typical = float(np.median([piece.area for piece in found]))
    alike = [piece for piece in found if 0.6 < piece.width / piece.height < 1.6 and 0.6 < piece.area / typical < 1.7]
    if len(alike) < max(_LEAST_MARKERS, 0.8 * len(found)):
        return []
    return [((piece.box[0] + piece.box[2] - 1) / 2, (piece.box[1] + piece.box[3] - 1) / 2) for piece in alike]


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


def height_at(line: NDArray[np.float64], x: float, reach: float = 6.0) -> float | None:
    """The line's height at a column, interpolated over holes; None beyond its ends, where a dash may be missing."""
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
        if is_disc(piece) and piece.area > _SPECK:
            points.append((piece.centre[0] + 0.5, piece.centre[1] + 0.5, _floats(piece.box)))
            continue
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


def _floats(box: tuple[int, int, int, int]) -> PixelBox:
    x0, y0, x1, y1 = box
    return float(x0), float(y0), float(x1), float(y1)
