"""What was read, drawn on the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

    from dg_sglang.vision.charts.model import Chart

_INK = "#c2185b"


def draw_chart(image: Image, chart: Chart) -> Image:
    """A copy of the picture with a frame around each mark that was read, and its value."""
    from PIL import ImageDraw

    copy = image.convert("RGB").copy()
    pen = ImageDraw.Draw(copy)
    for series in chart.series:
        for point in series.points:
            if point.box is not None:
                pen.rectangle(point.box, outline=_INK, width=2)
                pen.text((point.box[0] + 3, point.box[1] + 3), f"{point.y:.4g}", fill=_INK)
    return copy
