"""What was found on a chart's picture, and the parts of a `Chart` that all kinds share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dg_sglang.errors import ChartError
from dg_sglang.vision.charts.legend import Legend
from dg_sglang.vision.charts.marks import Colour
from dg_sglang.vision.charts.model import Axis, Chart, ChartKind, Point, Series
from dg_sglang.vision.charts.scale import Scale
from dg_sglang.vision.charts.text import AxisText
from dg_sglang.vision.geometry.boxes import inside
from dg_sglang.vision.ocr import Text


@dataclass(frozen=True)
class Picture:
    """The texts, the colours of marks (without the legend's samples), the legend, and the labels of both axes."""

    texts: tuple[Text, ...]
    colours: tuple[Colour, ...]
    legend: Legend
    left: AxisText
    bottom: AxisText

    def scale(self, axis: AxisText) -> Scale:
        """An axis's scale. Raises ChartError where it has none."""
        if axis.scale is None:
            raise ChartError("the value axis has no numbers that make a scale: crop the picture to one chart")
        return axis.scale

    def series(self, colour: int, points: Sequence[Point]) -> Series:
        """The points of one colour, under its name in the legend."""
        return Series(
            name=self.legend.names.get(colour), color=self.colours[colour].name, points=sorted(points, key=_place)
        )

    def chart(self, kind: ChartKind, series: dict[int, list[Point]]) -> Chart:
        """The chart; series in the legend's order."""
        names = list(self.legend.names)
        order = sorted(series, key=lambda colour: names.index(colour) if colour in names else len(names) + colour)
        top = min(label.box[1] for label in self.left.labels)
        words = [
            text
            for text in self.texts
            if text not in (self.left.notation, self.bottom.notation)
            and not (self.legend.box and inside(text.box, self.legend.box))
        ]
        return Chart(
            kind=kind,
            title=title(words, above=top),
            x_axis=_axis(self.bottom, _below(words, self.bottom)),
            y_axis=_axis(self.left, _beside(words, self.left)),
            series=[self.series(colour, series[colour]) for colour in order],
            legend=list(self.legend.names.values()),
            method="geometry",
            warnings=[axis.doubt for axis in (self.left, self.bottom) if axis.doubt],
        )


def title(texts: Sequence[Text], *, above: float) -> str | None:
    """The largest text above a height."""
    candidates = [text for text in texts if text.y < above and len(text.text) > 2 and not text.is_vertical]
    return max(candidates, key=lambda text: (text.height, -text.y)).text if candidates else None


def _place(point: Point) -> float:
    return point.box[0] if point.box else 0.0


def _axis(labels: AxisText, name: str | None) -> Axis:
    if labels.scale is None:
        return Axis(title=name, scale="category", categories=[label.text for label in labels.labels])
    values = [tick.value for tick in labels.scale.ticks]
    units = {tick.suffix for tick in labels.scale.ticks} - {""}
    return Axis(
        title=name,
        unit=units.pop() if len(units) == 1 else None,
        scale=labels.scale.kind,
        minimum=min(values),
        maximum=max(values),
    )


def _below(texts: Sequence[Text], labels: AxisText) -> str | None:
    """The text under the labels of the horizontal axis."""
    bottom = max(label.y for label in labels.labels)
    under = [text for text in texts if text.box[1] > bottom and not text.is_vertical]
    return min(under, key=lambda text: text.y).text if under else None


def _beside(texts: Sequence[Text], labels: AxisText) -> str | None:
    """The text that runs upwards left of the labels of the vertical axis."""
    left = max(label.box[2] for label in labels.labels)
    beside = [text for text in texts if text.is_vertical and text.box[2] < left]
    return max(beside, key=lambda text: text.height).text if beside else None
