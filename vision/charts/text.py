"""The words of a chart: which are tick labels, legend entries, titles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dg_sglang.vision.charts.scale import Scale, Tick, fit_scale, read_number
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
        ticks = [
            Tick(number[0], label.y if vertical else label.x, number[1])
            for label in labels
            if (number := read_number(label.text))
        ]
        scale = fit_scale(ticks) if len(ticks) > 0.6 * len(labels) else None
        axes.append(AxisText(labels, scale))
    return max(axes, key=lambda axis: (axis.scale is not None and len(axis.labels) > 2, len(axis.labels)), default=None)
