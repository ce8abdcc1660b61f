"""A chart read from its text and its pixels: axes by their labels, values by the marks' places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import ChartError
from dg_sglang.vision.charts.bars import find_bars, read_bars
from dg_sglang.vision.charts.legend import Legend, find_legend
from dg_sglang.vision.charts.lines import read_lines_or_dots
from dg_sglang.vision.charts.marks import Colour, find_colours
from dg_sglang.vision.charts.model import Chart
from dg_sglang.vision.charts.picture import Picture
from dg_sglang.vision.charts.pie import read_pie
from dg_sglang.vision.charts.strokes import find_strokes, is_drawn
from dg_sglang.vision.charts.text import AxisText, bottom_labels, left_labels, second_axis
from dg_sglang.vision.ocr import Text

_BARS_SHARE = 0.6
"""A chart whose marks are rectangles by this share of their area is a bar chart."""


def read_chart(pixels: NDArray[np.uint8], texts: Sequence[Text]) -> Chart:
    """Read a plain bar, line, scatter or pie chart.

    Args:
        pixels: uint8 [height, width, 3], RGB.
        texts: the lines of text on it.

    Raises:
        ChartError: it is none of these, or lacks what values could be read from (it never guesses).
    """
    if not texts:
        raise ChartError("no text can be read on the picture, so nothing says what its marks stand for")
    pie = read_pie(pixels, texts)
    if pie is not None:
        return pie
    left = left_labels(texts, pixels)
    bottom = bottom_labels(texts, pixels, left)
    if left is None or bottom is None:
        raise ChartError(
            "no chart with labels to the left of it and below it, and no pie: crop the picture to one chart whose axes "
            "are labelled there"
        )
    if second_axis(texts, pixels, left) is not None:
        raise ChartError(
            "a second axis, chart or colour bar stands beside the first: crop the picture to one plain chart"
        )
    seen = np.zeros(pixels.shape[:2], np.bool_)
    seen[:, _left_edge(left) :] = True
    area = _plot_area(pixels.shape[:2], texts, left, bottom)
    found = find_colours(pixels, seen)
    strokes = find_strokes(pixels, seen, texts, found)
    everything = [*found, *([strokes] if strokes else [])]
    legend = find_legend([text for text in texts if text not in (*left.labels, *bottom.labels)], everything)
    colours = _plotted(everything, area, legend)
    picture = Picture(tuple(texts), tuple(colours[: len(found)]), legend, left, bottom)
    bars = find_bars(picture.colours)
    total = sum(int(colour.mask.sum()) for colour in picture.colours)
    covered = sum((bar.box[2] - bar.box[0]) * (bar.box[3] - bar.box[1]) for bar in bars)
    if covered > _BARS_SHARE * total:
        return read_bars(picture, bars)
    if strokes and is_drawn(colours[-1], area):
        picture = replace(picture, colours=tuple(colours))
    if not any(colour.mask.any() for colour in picture.colours):
        raise ChartError("the chart has no marks that can be told from its background")
    return read_lines_or_dots(picture)


def _left_edge(left: AxisText) -> int:
    return int(max(label.box[2] for label in left.labels)) + 2


def _plot_area(shape: tuple[int, ...], texts: Sequence[Text], left: AxisText, bottom: AxisText) -> NDArray[np.bool_]:
    """Between the labels and the far edges, without the title."""
    area = np.zeros(shape, np.bool_)
    y1 = int(min(label.box[1] for label in bottom.labels)) - 1
    first = min(texts, key=lambda text: text.box[1])  # the title, where there is one
    above = first.box[3] < min(label.box[1] for label in left.labels) and first not in left.labels
    area[int(first.box[3]) if above else 0 : y1, _left_edge(left) :] = True
    return area


def _plotted(colours: Sequence[Colour], area: NDArray[np.bool_], legend: Legend) -> list[Colour]:
    """The colours within the plot, the legend's samples left out. What is seen elsewhere only has an empty mask."""
    if legend.box is not None:
        x0, y0, x1, y1 = (max(0, int(edge)) for edge in legend.box)
        area = area.copy()
        area[y0:y1, x0:x1] = False
    return [replace(colour, mask=colour.mask & area) for colour in colours]
