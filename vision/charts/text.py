"""The words of a chart: which are tick labels, legend entries, titles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dg_sglang.vision.charts.scale import Scale, Tick, fit_scale, read_numbers
from dg_sglang.vision.ocr import Text


@dataclass(frozen=True)
class AxisText:
    """The labels along one axis: a scale where they are numbers on one, and what each label says where."""

    labels: tuple[Text, ...]
    scale: Scale | None


def left_labels(texts: Sequence[Text], width: int) -> AxisText | None:
    """The labels of the vertical axis: a column of texts that end at the same place, left of everything it labels."""
    columns = _aligned(
        [text for text in texts if text.box[2] < 0.45 * width and not text.is_vertical], lambda text: text.box[2]
    )
    return _best(columns, vertical=True)


def bottom_labels(texts: Sequence[Text], height: int) -> AxisText | None:
    """The labels of the horizontal axis: a row of texts at the same height in the lower part."""
    rows = _aligned([text for text in texts if text.y > 0.55 * height and not text.is_vertical], lambda text: text.y)
    return _best(rows, vertical=False)


def second_axis(texts: Sequence[Text], left: AxisText, width: int) -> AxisText | None:
    """A further column of three or more numbers on a scale: of a second axis, of a second chart, or of a colour bar."""
    edge = max(label.box[2] for label in left.labels) + 0.05 * width
    rest = [text for text in texts if text.box[0] > edge and not text.is_vertical]
    columns = [*_aligned(rest, lambda text: text.box[0]), *_aligned(rest, lambda text: text.box[2])]
    axis = _best([column for column in columns if len(column) > 2], vertical=True)
    return axis if axis is not None and axis.scale is not None else None


def _aligned(texts: Sequence[Text], place: Callable[[Text], float]) -> list[list[Text]]:
    """Texts whose places follow one another closely, two or more together."""
    groups: list[list[Text]] = []
    for text in sorted(texts, key=place):
        if groups and abs(place(text) - place(groups[-1][-1])) < 0.45 * text.height:
            groups[-1].append(text)
        else:
            groups.append([text])
    return [group for group in groups if len(group) > 1]


def _best(groups: list[list[Text]], *, vertical: bool) -> AxisText | None:
    """The group that makes a scale, with most labels; else the largest group."""
    axes = []
    for group in groups:
        labels = tuple(sorted(group, key=lambda text: text.y if vertical else text.x))
        numbers = read_numbers([label.text for label in labels])
        ticks = [
            Tick(number[0], label.y if vertical else label.x, number[1])
            for label, number in zip(labels, numbers, strict=True)
            if number
        ]
        scale = fit_scale(ticks) if len(ticks) > 0.6 * len(labels) else None
        axes.append(AxisText(labels, scale))
    return max(axes, key=lambda axis: (axis.scale is not None and len(axis.labels) > 2, len(axis.labels)), default=None)
