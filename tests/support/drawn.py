"""Pictures drawn shape by shape, with the lines of text that a reader would find on them."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from dg_sglang.vision.ocr import Text


class Drawing:
    """A picture to draw on; `texts` are its lines of text."""

    def __init__(self, width: int = 600, height: int = 400, ground: str = "#ffffff") -> None:
        self.image = Image.new("RGB", (width, height), ground)
        self.pen = ImageDraw.Draw(self.image)
        self.texts: list[Text] = []

    @property
    def pixels(self) -> np.ndarray:
        return np.asarray(self.image)

    def write(self, x: float, y: float, words: str, color: str = "#222222", size: int = 15) -> Text:
        """A line whose top left corner is (x, y)."""
        font = ImageFont.load_default(size)
        self.pen.text((x, y), words, fill=color, font=font)
        x0, y0, x1, y1 = self.pen.textbbox((x, y), words, font=font)
        self.texts.append(Text(words, (x0 - 2, y0 - 3, x1 + 2, y1 + 3)))
        return self.texts[-1]

    def box(self, x0: float, y0: float, x1: float, y1: float, *, line: str | None = "#888888", fill=None) -> None:
        self.pen.rectangle((x0, y0, x1 - 1, y1 - 1), outline=line, fill=fill)
