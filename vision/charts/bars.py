"""Bars: rectangles that stand on a common line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    if not stacked:
        _refuse_floating(bars, base, vertical)
    series: dict[int, list[Point]] = {}
    for bar, name in zip(bars, _names(bars, names, vertical), strict=True):
        value = _bar_value(bar, scale, base, vertical=vertical, stacked=stacked)
        series.setdefault(bar.colour, []).append(Point(x=name, y=value, box=bar.box))
    kind: ChartKind = "bar" if vertical else "horizontal bar"
    if len(series) > 1:
        kind = "stacked bar" if stacked else "grouped bar"
    return picture.chart(kind, series)


def _names(bars: Sequence[Bar], labels: AxisText, vertical: bool) -> list[str | None]:
    """Each bar's label. One that is far away, or nearer to another bar of the same colour, isn't its own: None."""
    places = [label.x if vertical else label.y for label in labels.labels]
    reach = 0.6 * float(np.median(np.abs(np.diff(places))))
    owners: dict[tuple[int, int], tuple[float, int]] = {}
    for index, bar in enumerate(bars):
        middle = sum(bar.across(vertical)) / 2
        distance, label = min((abs(place - middle), number) for number, place in enumerate(places))
        if distance <= reach:
            owners[bar.colour, label] = min((distance, index), owners.get((bar.colour, label), (distance, index)))
    own = {index: labels.labels[label].text for (_, label), (_, index) in owners.items()}
    return [own.get(index) for index in range(len(bars))]


def _refuse_floating(bars: Sequence[Bar], base: float | None, vertical: bool) -> None:
    """Raises ChartError where a bar neither begins at zero nor beside the others: its end isn't its value."""
    feet = [bar.along(vertical)[1 if vertical else 0] for bar in bars]
    lines = [float(np.median(feet)), *([] if base is None else [base])]
    for bar in bars:
        if all(abs(end - line) > _LEVEL for end in bar.along(vertical) for line in lines):
            raise ChartError("the bars don't stand on a common line, so their ends aren't their values")


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


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common / max(1.0, min(one[1] - one[0], other[1] - other[0]))


def _bar_value(bar: Bar, scale: Scale, base: float | None, *, vertical: bool, stacked: bool) -> float:
    low, high = bar.along(vertical)
    foot, top = (high, low) if vertical else (low, high)
    if stacked:
        return scale.value(top) - scale.value(foot)
    if base is not None and abs(top - base) < abs(foot - base) and abs(top - base) < 3:
        top = foot  # it hangs down from zero
    return scale.value(top)
