"""Pictures as they arrive: blurred, scaled, compressed, turned; and where a box lies in the spoiled picture."""

from collections.abc import Callable
from io import BytesIO
from math import cos, radians, sin

from PIL import Image, ImageFilter

SPOILS = ("clean", "blur", "small", "large", "jpeg", "turn1", "turn3")
"""Gaussian blur of one pixel; scaled to 75 % and 150 %; JPEG of quality 40; turned by 1 and by -3 degrees."""

Box = tuple[float, float, float, float]


def spoil(image: Image.Image, how: str) -> tuple[Image.Image, Callable[[Box], Box]]:
    """The spoiled picture, and what maps a box of the given one to the upright box around it there."""
    image = image.convert("RGB")
    if how == "blur":
        return image.filter(ImageFilter.GaussianBlur(1.0)), lambda box: box
    if how == "jpeg":
        file = BytesIO()
        image.save(file, "JPEG", quality=40)
        return Image.open(file).convert("RGB"), lambda box: box
    if how in ("small", "large"):
        factor = 0.75 if how == "small" else 1.5
        size = round(image.width * factor), round(image.height * factor)
        x, y = size[0] / image.width, size[1] / image.height
        scaled = image.resize(size, Image.Resampling.LANCZOS)
        return scaled, lambda box: (box[0] * x, box[1] * y, box[2] * x, box[3] * y)
    if how in ("turn1", "turn3"):
        degrees = 1.0 if how == "turn1" else -3.0
        paper = image.getpixel((image.width - 1, image.height - 1))
        turned = image.rotate(degrees, expand=True, fillcolor=paper, resample=Image.Resampling.BICUBIC)
        return turned, lambda box: _turned(box, degrees, image.size, turned.size)
    return image, lambda box: box


def _turned(box: Box, degrees: float, size: tuple[int, int], new: tuple[int, int]) -> Box:
    """Pillow turns counterclockwise about the middle."""
    cosine, sine = cos(radians(degrees)), sin(radians(degrees))
    xs, ys = [], []
    for x, y in ((box[0], box[1]), (box[2], box[1]), (box[2], box[3]), (box[0], box[3])):
        right, down = x - size[0] / 2, y - size[1] / 2
        xs.append(new[0] / 2 + cosine * right + sine * down)
        ys.append(new[1] / 2 - sine * right + cosine * down)
    return min(xs), min(ys), max(xs), max(ys)
