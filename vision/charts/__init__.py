"""Charts as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dg_sglang.vision.picture import read_picture

if TYPE_CHECKING:
    from dg_sglang.vision.asking import SeeingEngine
    from dg_sglang.vision.charts.model import Chart

__all__ = ["analyze_chart"]


def analyze_chart(image: object, *, engine: SeeingEngine | None = None, **settings: Any) -> Chart:
    """Read a chart by its text and its pixels: plain bar, line, scatter and pie charts with labels in print.

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.
        engine: of a checkpoint that sees; it then reads the picture itself, and `method` is "model".
        settings: for the engine, as for `Engine.generate`.

    Returns:
        The chart; `method` is "geometry". Values are read off the axes, so they are about as exact as a pixel.

    Raises:
        ImageError: it can't be read as an image, is too large, or RapidOCR isn't installed.
        ChartError: it is no such chart, or lacks what its values could be read from. Nothing is guessed.
    """
    if engine is not None:
        from dg_sglang.vision.written import ask_chart

        return ask_chart(image, engine=engine, **settings)
    straight = read_picture(image)

    from dg_sglang.vision.charts.reader import read_chart

    chart = read_chart(straight.pixels, straight.texts)
    for series in chart.series:
        for point in series.points:
            point.box = straight.given_box(point.box) if point.box else None
    return chart
