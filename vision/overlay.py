"""What was read, drawn on the picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

    from dg_sglang.vision.geometry.boxes import Box

_INK = ("#c2185b", "#1565c0", "#2e7d32", "#e65100", "#6a1b9a", "#00838f")


def draw_boxes(image: Image, marks: Iterable[tuple[Box, str, str]]) -> Image:
    """A copy of the picture with a frame around each (box, kind, words): one colour a kind, the words inside."""
    from PIL import ImageDraw

    copy = image.convert("RGB").copy()
    pen = ImageDraw.Draw(copy)
    colors: dict[str, str] = {}
    for box, kind, words in marks:
        color = colors.setdefault(kind, _INK[len(colors) % len(_INK)])
        pen.rectangle(box, outline=color, width=2)
        pen.text((box[0] + 3, box[1] + 3), words, fill=color)
    return copy
