"""Charts as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dg_sglang.vision.images import load_image
from dg_sglang.vision.ocr import read_lines

if TYPE_CHECKING:
    from dg_sglang.vision.charts.model import Chart

__all__ = ["analyze_chart"]


def analyze_chart(image: object) -> Chart:
    """Read a chart by its text and its pixels: plain bar, line, scatter and pie charts with labels in print.

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.

    Returns:
        The chart; `method` is "geometry". Values are read off the axes, so they are about as exact as a pixel.

    Raises:
        ImageError: it can't be read as an image, or RapidOCR isn't installed.
        ChartError: it is no such chart, or lacks what its values could be read from. Nothing is guessed.
    """
    import numpy as np

    from dg_sglang.vision.charts.reader import read_chart

    pixels = np.asarray(load_image(image))
    return read_chart(pixels, read_lines(pixels))
