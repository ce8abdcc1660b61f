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
    pie = read_pie(pixels, texts)
    if pie is not None:
        return pie
    height, width = pixels.shape[:2]
    left, bottom = left_labels(texts, width), bottom_labels(texts, height)
    if left is None or bottom is None:
        raise ChartError("no chart with labelled axes, and no pie: crop the picture to one chart")
    if second_axis(texts, left, width) is not None:
        raise ChartError(
            "a second axis, chart or colour bar stands beside the first: crop the picture to one plain chart"
        )
    found = find_colours(pixels, _plot_area(pixels, texts, left, bottom))
    legend = find_legend(texts, found)
    colours = _without(found, legend)
    bars = find_bars(colours)
    total = sum(int(colour.mask.sum()) for colour in colours)
    if not total:
        raise ChartError("the chart has no marks that can be told from its background")
    picture = Picture(tuple(texts), tuple(colours), legend, left, bottom)
    covered = sum((bar.box[2] - bar.box[0]) * (bar.box[3] - bar.box[1]) for bar in bars)
    return read_bars(picture, bars) if covered > _BARS_SHARE * total else read_lines_or_dots(picture)


def _plot_area(pixels: NDArray[np.uint8], texts: Sequence[Text], left: AxisText, bottom: AxisText) -> NDArray[np.bool_]:
    """Between the labels and the far edges; words are cut out."""
    area = np.zeros(pixels.shape[:2], np.bool_)
    x0 = int(max(label.box[2] for label in left.labels)) + 2
    y1 = int(min(label.box[1] for label in bottom.labels)) - 1
    first = min(texts, key=lambda text: text.box[1])  # the title, where there is one
    above = first.box[3] < min(label.box[1] for label in left.labels) and first not in left.labels
    area[int(first.box[3]) if above else 0 : y1, x0:] = True
    return area


def _without(colours: Sequence[Colour], legend: Legend) -> list[Colour]:
    if legend.box is None:
        return list(colours)
    x0, y0, x1, y1 = (max(0, int(edge)) for edge in legend.box)
    cleaned = []
    for colour in colours:
        mask = colour.mask.copy()
        mask[y0:y1, x0:x1] = False
        cleaned.append(replace(colour, mask=mask))
    return cleaned
