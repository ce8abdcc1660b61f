"""The words of a chart: which are tick labels, legend entries, titles."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.charts.scale import Scale, Tick, fit_scale, read_numbers
from dg_sglang.vision.geometry.ink import crop, ink
from dg_sglang.vision.ocr import Text

_FACTOR = re.compile(r"[1lI]e\+?(-?\d+)|[×xX*]?10([⁻-]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_OFFSET = re.compile(r"[+-][\dl][\d.,]*e\+?-?\d+")
_LOW = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_HIGH = str.maketrans("0123456789-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻")
_RAISED = 0.15  # of the height of a label, by which the foot of a raised digit lies higher


@dataclass(frozen=True)
class AxisText:
    """The labels along one axis, their scale where they are numbers on one, and what is doubtful about it.

    `notation` is the factor or offset at the axis's end, which the scale takes into account.
    """

    labels: tuple[Text, ...]
    scale: Scale | None
    doubt: str | None = None
    notation: Text | None = None


def left_labels(texts: Sequence[Text], pixels: NDArray[np.uint8]) -> AxisText | None:
    """The labels of the vertical axis: a column of texts that end at the same place, left of everything it labels."""
    width = pixels.shape[1]
    columns = _aligned(
        [text for text in texts if text.box[2] < 0.45 * width and not text.is_vertical], lambda text: text.box[2]
    )
    return _with_notation(_best(columns, pixels, vertical=True), texts, pixels, vertical=True)


def bottom_labels(texts: Sequence[Text], pixels: NDArray[np.uint8], left: AxisText | None) -> AxisText | None:
    """The labels of the horizontal axis: a row of texts in the lower part, at one height or hanging from one.

    Numbers on the scale of the vertical axis are none.
    """
    taken = [] if left is None or left.scale is None else [tick.position for tick in left.scale.ticks]
    own = [] if left is None else [label for label in left.labels if label.y in taken]
    low = [text for text in texts if text.y > 0.55 * pixels.shape[0] and text not in own]
    rows = _aligned([text for text in low if not text.is_vertical], lambda text: text.y)
    rows += _aligned([text for text in low if text.is_vertical], lambda text: text.box[1])
    return _with_notation(_best(rows, pixels, vertical=False), texts, pixels, vertical=False)


def second_axis(texts: Sequence[Text], pixels: NDArray[np.uint8], left: AxisText) -> AxisText | None:
    """A further column of three or more numbers on a scale: of a second axis, of a second chart, or of a colour bar."""
    edge = max(label.box[2] for label in left.labels) + 0.05 * pixels.shape[1]
    rest = [text for text in texts if text.box[0] > edge and not text.is_vertical]
    columns = [*_aligned(rest, lambda text: text.box[0]), *_aligned(rest, lambda text: text.box[2])]
    axis = _best([column for column in columns if len(column) > 2], pixels, vertical=True)
    return axis if axis is not None and axis.scale is not None else None


def _aligned(texts: Sequence[Text], place: Callable[[Text], float]) -> list[list[Text]]:
    """Texts whose places follow one another closely, two or more together."""
    groups: list[list[Text]] = []
    for text in sorted(texts, key=place):
        slack = 0.45 * min(text.height, text.box[2] - text.box[0])
        if groups and abs(place(text) - place(groups[-1][-1])) < slack:
            groups[-1].append(text)
        else:
            groups.append([text])
    return [group for group in groups if len(group) > 1]


def _best(groups: list[list[Text]], pixels: NDArray[np.uint8], *, vertical: bool) -> AxisText | None:
    """The group that makes a scale, with most labels; else the largest group."""
    axes = []
    for group in groups:
        labels = tuple(sorted(group, key=lambda text: text.y if vertical else text.x))
        numbers, doubt = read_numbers([_said(label, pixels) for label in labels])
        ticks = [
            Tick(number[0], label.y if vertical else label.x, number[1])
            for label, number in zip(labels, numbers, strict=True)
            if number
        ]
        scale = fit_scale(ticks) if len(ticks) > 0.6 * len(labels) else None
        axes.append(AxisText(labels, scale, doubt if scale else None))
    return max(axes, key=lambda axis: (axis.scale is not None and len(axis.labels) > 2, len(axis.labels)), default=None)


def _said(label: Text, pixels: NDArray[np.uint8]) -> str:
    """What a label says; where the last digit of 102 stands high, it is 10²."""
    match = re.fullmatch(r"10([-−]?\d)", label.text.replace(" ", ""))
    if match is None:
        return label.text
    colours = ink(pixels, label.box)
    drawn = np.abs(crop(pixels, label.box) - colours.letters).max(2) < np.abs(
        crop(pixels, label.box) - colours.ground
    ).max(2)
    columns = np.flatnonzero(drawn.any(0))
    if len(columns) < 4:
        return label.text
    cut = columns[0] + round(0.75 * (columns[-1] - columns[0]))
    feet = [np.flatnonzero(part.any(1)) for part in (drawn[:, :cut], drawn[:, cut + 1 :])]
    if not all(map(len, feet)):
        return label.text
    high = feet[0][-1] - feet[1][-1] > _RAISED * label.height
    return f"10{match[1].translate(_HIGH)}" if high else label.text


def _with_notation(
    axis: AxisText | None, texts: Sequence[Text], pixels: NDArray[np.uint8], *, vertical: bool
) -> AxisText | None:
    """With a factor ("1e6", "×10⁶") or an offset ("+2000") that stands at the end of the axis taken into account."""
    if axis is None or axis.scale is None or axis.scale.kind != "linear":
        return axis
    width, line = pixels.shape[1], max(label.height for label in axis.labels)
    if vertical:
        top, right = min(label.box[1] for label in axis.labels), max(label.box[2] for label in axis.labels)
        near = [text for text in texts if text.y < top and text.x < right + 0.15 * width]
    else:
        low, end = max(label.box[3] for label in axis.labels), axis.labels[-1].x
        near = [text for text in texts if low - line < text.y < low + 3 * line and text.x > end - 0.15 * width]
    for text in near:
        said = _said(text, pixels).replace(" ", "").replace("−", "-")
        factor, offset = _FACTOR.fullmatch(said), _OFFSET.fullmatch(said)
        if factor:
            power = int((factor[1] or factor[2]).translate(_LOW))
            return replace(axis, scale=axis.scale.times(10.0**power), notation=text)
        if offset:
            more = float(offset[0].replace(",", "").replace("l", "1"))
            return replace(axis, scale=axis.scale.times(1.0, more), notation=text)
    return axis
