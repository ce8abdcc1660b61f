"""Lines of text on a picture, through RapidOCR (its wheel carries the models: no download)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dg_sglang.errors import ImageError
from dg_sglang.vision.geometry.boxes import Box, area, common

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONG_SIDE = 1600  # small print is found more reliably on an enlarged picture
_MOST_ENLARGED = 2.0
_MOST_NARROW = 3  # times its shorter side, which the reader enlarges to 736 pixels
_FAINTEST = 8  # levels between ink and paper
_OVERLAP = 120  # pixels that parts of a tall picture share: more than a line of text is high
_UPRIGHT = 1.5  # times its width; a taller line of several characters runs upwards


@dataclass(frozen=True)
class Text:
    """A line of text, its box, how sure its reader was, and its corners clockwise from where it begins, if known."""

    text: str
    box: Box
    confidence: float = 1.0
    corners: tuple[tuple[float, float], ...] = ()

    @property
    def x(self) -> float:
        """The middle."""
        return (self.box[0] + self.box[2]) / 2

    @property
    def y(self) -> float:
        """The middle."""
        return (self.box[1] + self.box[3]) / 2

    @property
    def height(self) -> float:
        """Of the box."""
        return self.box[3] - self.box[1]

    @property
    def is_vertical(self) -> bool:
        """Whether it runs up or down."""
        return len(self.text) > 1 and self.height > _UPRIGHT * (self.box[2] - self.box[0])


def read_lines(pixels: NDArray[np.uint8]) -> list[Text]:
    """The lines of text on an RGB picture (uint8 [height, width, 3]), also those that run upwards.

    Raises ImageError where RapidOCR isn't installed.
    """
    try:
        import cv2
        from rapidocr.utils.process_img import ResizeImgError

        read = reader()
    except ImportError as error:
        raise ImageError(f"text on pictures needs an extra ({error}): pip install 'dg-sglang[documents]'") from error

    lines: list[Text] = []
    for top, part in _tiles(pixels):
        if np.ptp(part, axis=(0, 1)).max() < _FAINTEST:
            continue  # nothing is printed on it
        tile = _padded(part)
        factor = min(_MOST_ENLARGED, max(1.0, _LONG_SIDE / max(tile.shape[:2])))
        size = (round(tile.shape[1] * factor), round(tile.shape[0] * factor))
        enlarged = tile if factor == 1.0 else cv2.resize(tile, size, interpolation=cv2.INTER_CUBIC)
        try:
            result = read(enlarged[:, :, ::-1])  # it expects BGR, as OpenCV gives it
        except ResizeImgError:  # too narrow for a single letter
            continue
        if result.boxes is None:
            continue
        for corners, text, confidence in zip(result.boxes, result.txts, result.scores, strict=True):
            xs, ys = [float(x) / factor for x, _ in corners], [top + float(y) / factor for _, y in corners]
            if text.strip():
                box = min(xs), min(ys), max(xs), max(ys)
                line = Text(text.strip(), box, float(confidence), tuple(zip(xs, ys, strict=True)))
                _add(lines, line)
    return lines


def _tiles(pixels: NDArray[np.uint8]) -> list[tuple[int, NDArray[np.uint8]]]:
    """Top and pixels of overlapping parts of a tall picture, whose text would vanish where it is scaled down."""
    height, width = pixels.shape[:2]
    size = max(_LONG_SIDE, round(1.5 * width))
    if height <= 1.3 * size:
        return [(0, pixels)]
    starts = [*range(0, height - size, size - _OVERLAP), height - size]
    return [(start, pixels[start : start + size]) for start in starts]


def _padded(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """With a margin to the right or below where one side is so short that the reader would enlarge it much."""
    import cv2

    height, width = pixels.shape[:2]
    least = max(height, width) // _MOST_NARROW
    if min(height, width) >= least:
        return pixels
    paper = [int(level) for level in pixels[-1, -1]]
    below, right = max(0, least - height), max(0, least - width)
    return np.asarray(cv2.copyMakeBorder(pixels, 0, below, 0, right, cv2.BORDER_CONSTANT, value=paper), np.uint8)


def _add(lines: list[Text], line: Text) -> None:
    """Add a line; of two readings of the same place in overlapping tiles the larger one, which isn't cut, stays."""
    for index, other in enumerate(lines):
        areas = [area(one.box) for one in (line, other)]
        shared = common(line.box, other.box)
        if shared and shared > 0.5 * min(areas):
            if areas[0] > areas[1]:
                lines[index] = line
            return
    lines.append(line)


@cache
def reader() -> Any:
    """The one OCR engine of this process; as many threads as OMP_NUM_THREADS allows. Raises ImportError."""
    from rapidocr import RapidOCR

    threads = int(os.environ.get("OMP_NUM_THREADS") or -1)
    return RapidOCR(
        params={
            "Global.log_level": "error",
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )
