"""Bars: rectangles that stand on a common line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import ChartError
from dg_sglang.vision.charts.marks import Colour, Piece, closed, pieces
from dg_sglang.vision.charts.model import Chart, ChartKind, Point
from dg_sglang.vision.charts.picture import Picture
from dg_sglang.vision.charts.scale import Scale
from dg_sglang.vision.charts.text import AxisText

_LEVEL = 4.0  # pixels by which the foot of a bar may miss the line that it stands on
_GAP = 5  # pixels that a grid line may cut out of a bar
_OFF_CENTRE = 0.15  # of the distance between bars, by which a number may miss the middle of its bar
_WIDE, _LARGE = 0.25, 0.1  # share of the columns, of the pixels of the bars, from which other marks are worth a warning


@dataclass(frozen=True)
class Bar:
    """A rectangle and the index of its colour."""

    colour: int
    box: tuple[float, float, float, float]

    def along(self, vertical: bool) -> tuple[float, float]:
        """Its extent in the direction of the values."""
        return (self.box[1], self.box[3]) if vertical else (self.box[0], self.box[2])

    def across(self, vertical: bool) -> tuple[float, float]:
        """Its extent in the direction of the categories."""
        return (self.box[0], self.box[2]) if vertical else (self.box[1], self.box[3])


def read_bars(picture: Picture, bars: Sequence[Bar]) -> Chart:
    """A bar chart whose bars were found. Raises ChartError where no axis has a scale, or bars stand on nothing."""
    vertical = _stand(bars, picture)
    values, names = (picture.left, picture.bottom) if vertical else (picture.bottom, picture.left)
    scale = picture.scale(values)
    base = scale.position(0.0) if scale.kind == "linear" else None
    stacked = _stacked(bars, vertical)
    _refuse_floating(bars, base, vertical)
    labels = _names(bars, names, vertical)
    series: dict[int, list[Point]] = {}
    for bar, name in zip(bars, labels, strict=True):
        value = _bar_value(bar, scale, base, vertical=vertical, stacked=stacked)
        series.setdefault(bar.colour, []).append(Point(x=name, y=value, box=bar.box))
    kind: ChartKind = "bar" if vertical else "horizontal bar"
    plain = not _share_places(bars, vertical)
    if len(series) > 1 and not plain:
        kind = "stacked bar" if stacked else "grouped bar"
    if plain and not any(colour in picture.legend.names for colour in series):
        chart = picture.chart(kind, {bars[0].colour: [point for points in series.values() for point in points]})
        if len(series) > 1:
            chart.series[0].color = None  # each bar has its own
    else:
        chart = picture.chart(kind, series)
    return chart.model_copy(update={"warnings": [*chart.warnings, *_left_over(picture, bars, names, labels)]})


def _left_over(picture: Picture, bars: Sequence[Bar], names: AxisText, own: Sequence[str | None]) -> list[str]:
    """Warnings of labels without a bar, and of marks that are no bars."""
    empty = [label.text for label in names.labels if names.scale is None and label.text not in own]
    coloured = {bar.colour for bar in bars}
    largest = max(int(picture.colours[index].mask.sum()) for index in coloured)
    others = [
        colour
        for index, colour in enumerate(picture.colours)
        if index not in coloured and (colour.mask.any(0).mean() > _WIDE or colour.mask.sum() > _LARGE * largest)
    ]
    warnings = [f"no bar was found at {', '.join(map(repr, empty))}"] if empty else []
    return [*warnings, *(["there are marks beside the bars, such as a line, that weren't read"] if others else [])]


def _names(bars: Sequence[Bar], labels: AxisText, vertical: bool) -> list[str | None]:
    """Each bar's label: None where it is far away, or nearer to another bar of the same colour.

    Where the labels are numbers, bars between two labels take the numbers between them. Raises ChartError where the
    labels don't stand at bars, as those of histograms do.
    """
    places = [label.x if vertical else label.y for label in labels.labels]
    middles = [sum(bar.across(vertical)) / 2 for bar in bars]
    pitch = _pitch(bars, vertical)
    reach = 0.6 * min(pitch, float(np.median(np.abs(np.diff(places)))))
    owners: dict[tuple[int, int], tuple[float, int]] = {}
    for index, (bar, middle) in enumerate(zip(bars, middles, strict=True)):
        distance, label = min((abs(place - middle), number) for number, place in enumerate(places))
        if distance <= reach:
            owners[bar.colour, label] = min((distance, index), owners.get((bar.colour, label), (distance, index)))
    own: dict[int, str] = {index: labels.labels[label].text for (_, label), (_, index) in owners.items()}
    if labels.scale is not None and len({bar.colour for bar in bars}) == 1:
        inner = [place for place in places if min(middles) - reach < place < max(middles) + reach]
        apart = [place for place in inner if min(abs(place - middle) for middle in middles) > _OFF_CENTRE * pitch]
        if len(apart) > 0.3 * len(inner):
            raise ChartError(
                "the numbers on the axis don't stand at the bars: it is a histogram, or no plain bar chart"
            )
        own |= _numbers_between(middles, own, labels.scale, pitch)
    return [own.get(index) for index in range(len(bars))]


def _numbers_between(middles: Sequence[float], own: dict[int, str], scale: Scale, pitch: float) -> dict[int, str]:
    """For bars without a label the numbers at which they stand, if all bars are evenly spaced from a labelled one."""
    if not own or len(own) == len(middles):
        return {}
    start = min(own)
    step = abs(scale.value(middles[start] + pitch) - scale.value(middles[start]))
    step = float(f"{step:.2g}")
    first = min(scale.ticks, key=lambda tick: abs(tick.position - middles[start])).value
    found = {}
    for index, middle in enumerate(middles):
        number = (scale.value(middle) - first) / step
        if abs(number - round(number)) < _OFF_CENTRE and index not in own:
            found[index] = f"{first + round(number) * step:.10g}"
    return found


def _pitch(bars: Sequence[Bar], vertical: bool) -> float:
    """The usual distance in pixels between neighbouring bars of one colour; of all where each has its own."""
    distances: list[float] = []
    for colour in {bar.colour for bar in bars}:
        distances += np.diff(sorted(sum(bar.across(vertical)) / 2 for bar in bars if bar.colour == colour)).tolist()
    distances = distances or np.diff(sorted(sum(bar.across(vertical)) / 2 for bar in bars)).tolist()
    apart = [distance for distance in distances if distance > _LEVEL]
    return float(np.median(apart)) if apart else float("inf")


def _refuse_floating(bars: Sequence[Bar], base: float | None, vertical: bool) -> None:
    """Raises ChartError where a bar stands neither at zero, nor beside the others, nor on another one that does."""
    foot = 1 if vertical else 0
    lowest = [bar.along(vertical)[foot] for bar in bars if not any(_beyond(bar, other, vertical) for other in bars)]
    lines = [*([float(np.median(lowest))] if lowest else []), *([] if base is None else [base])]
    floating = [bar for bar in bars if all(abs(end - line) > _LEVEL for end in bar.along(vertical) for line in lines)]
    while floating:
        standing = [bar for bar in bars if bar not in floating]
        rest = [bar for bar in floating if not any(_touch(bar, other, vertical) for other in standing)]
        if len(rest) == len(floating):
            raise ChartError("the bars don't stand on a common line, so their ends aren't their values")
        floating = rest


def _beyond(bar: Bar, other: Bar, vertical: bool) -> bool:
    """Whether a bar begins where another one of the same place ends."""
    foot, top = (1, 0) if vertical else (0, 1)
    return _touch(bar, other, vertical) and abs(bar.along(vertical)[foot] - other.along(vertical)[top]) <= _LEVEL + 1


def _touch(bar: Bar, other: Bar, vertical: bool) -> bool:
    """Whether of two bars of different colours at the same place one begins where the other ends."""
    if bar.colour == other.colour or _overlap(bar.across(vertical), other.across(vertical)) <= 0.7:
        return False
    (low, high), (other_low, other_high) = bar.along(vertical), other.along(vertical)
    return min(abs(low - other_high), abs(high - other_low)) <= _LEVEL + 1


def find_bars(colours: Sequence[Colour]) -> list[Bar]:
    """All solid rectangles."""
    bars = []
    for index, colour in enumerate(colours):
        mask = closed(colour.mask, _GAP)
        found, labels = pieces(mask, least=16)
        for piece in found:
            if piece.fill > 0.88 and min(piece.width, piece.height) >= 3 and max(piece.width, piece.height) >= 8:
                bars.append(Bar(index, _edges(piece, labels)))
    return bars


def _edges(piece: Piece, labels: NDArray[np.int32]) -> tuple[float, float, float, float]:
    """The rectangle's edges; a row or column that the piece covers by half moves an edge by nothing."""
    x0, y0, x1, y1 = piece.box
    part = labels[y0:y1, x0:x1] == piece.label
    rows, columns = part.mean(1) > 0.5, part.mean(0) > 0.5
    ys, xs = np.flatnonzero(rows), np.flatnonzero(columns)
    if not len(ys) or not len(xs):
        return float(x0), float(y0), float(x1), float(y1)
    return float(x0 + xs[0]), float(y0 + ys[0]), float(x0 + xs[-1] + 1), float(y0 + ys[-1] + 1)


def _stand(bars: Sequence[Bar], picture: Picture) -> bool:
    """Whether the bars stand: their feet are level, rather than their left ends."""
    if picture.left.scale is None or picture.bottom.scale is None:
        return picture.left.scale is not None
    return _spread([bar.box[3] for bar in bars]) < _spread([bar.box[0] for bar in bars])


def _spread(values: Sequence[float]) -> float:
    return float(np.median(np.abs(np.array(values) - np.median(values))))


def _stacked(bars: Sequence[Bar], vertical: bool) -> bool:
    """Whether bars of different colours stand on one another."""
    pairs = [
        (one, other)
        for index, one in enumerate(bars)
        for other in bars[index + 1 :]
        if one.colour != other.colour and _overlap(one.across(vertical), other.across(vertical)) > 0.7
    ]
    return len(pairs) > 0.3 * len(bars)


def _share_places(bars: Sequence[Bar], vertical: bool) -> bool:
    """Whether bars stand on, or right beside, one another, rather than each at a place of its own."""
    spans = sorted(bar.across(vertical) for bar in bars)
    gaps = [after[0] - before[1] for before, after in pairwise(spans)]
    wide = float(np.median([end - start for start, end in spans]))
    nearest, farthest = min(gaps, default=wide), max(gaps, default=wide)
    return nearest < -0.5 * wide or nearest < 0.05 * wide < farthest


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common / max(1.0, min(one[1] - one[0], other[1] - other[0]))


def _bar_value(bar: Bar, scale: Scale, base: float | None, *, vertical: bool, stacked: bool) -> float:
    low, high = bar.along(vertical)
    foot, top = (high, low) if vertical else (low, high)
    if stacked:
        if base is not None:  # the axis covers some pixels of a bar that stands on it
            foot, top = (base if abs(end - base) <= _LEVEL else end for end in (foot, top))
        size = abs(scale.value(top) - scale.value(foot))
        return -size if scale.value((top + foot) / 2) < 0 else size
    if base is not None and abs(top - base) < abs(foot - base) and abs(top - base) < 3:
        top = foot  # it hangs down from zero
    return scale.value(top)
