"""Lines of text on a picture, through RapidOCR (its wheel carries the models: no download)."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dg_sglang.errors import ImageError
from dg_sglang.vision.geometry.boxes import Box, area, common, overlap

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNSURE = 0.75
"""A line's confidence below which it may say something else, or be of a script that the recogniser doesn't know."""
_LONG_SIDE = 1600  # small print is found more reliably on an enlarged picture
_MOST_ENLARGED = 2.0
_SECOND_LOOK = 0.75  # at most that large is the picture at the second look, and never enlarged
_SURER, _FAR_SURER = 0.05, 0.3  # by which its reading of a line must be surer than the first of the same, of others
_MOST_NARROW = 3  # times its shorter side, which the reader enlarges to 736 pixels
_FAINTEST = 8  # levels between ink and paper
_OVERLAP = 120  # pixels that parts of a tall picture share: more than a line of text is high
_SAME_PLACE = 0.3  # share of the smaller of two boxes, from which they are one line's
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
        reader()
    except ImportError as error:
        raise ImageError(f"text on pictures needs an extra ({error}): pip install 'dg-sglang[documents]'") from error

    lines: list[Text] = []
    for top, part in _tiles(pixels):
        if np.ptp(part, axis=(0, 1)).max() < _FAINTEST:
            continue  # nothing is printed on it
        above = len(lines)
        for line in _read_twice(part):
            box = (line.box[0], line.box[1] + top, line.box[2], line.box[3] + top)
            corners = tuple((x, y + top) for x, y in line.corners)
            _add(lines, above, replace(line, box=box, corners=corners))
    return [_read_upright(pixels, line) if line.is_vertical else line for line in lines]


def _read_twice(pixels: NDArray[np.uint8]) -> list[Text]:
    """The lines on a part of a picture, looked at in two sizes: at any one size the detector misses some short words.

    The first look counts, unless the second is surer of the very same line, or the first has nothing there.
    """
    first = min(_MOST_ENLARGED, max(1.0, _LONG_SIDE / max(pixels.shape[:2])))
    lines = _read(pixels, first)
    for line in _read(pixels, min(1.0, _SECOND_LOOK * first)):
        rivals = [one for one in lines if common(one.box, line.box) > _SAME_PLACE * min(area(one.box), area(line.box))]
        margin = _SURER if len(rivals) == 1 and overlap(rivals[0].box, line.box) > 0.5 else _FAR_SURER
        if all(line.confidence > one.confidence + margin for one in rivals):
            lines = [*(one for one in lines if one not in rivals), line]
    return [line for line in lines if line.confidence >= UNSURE or not any(_holds(line, other) for other in lines)]


def _holds(line: Text, other: Text) -> bool:
    """Whether a line's box is mostly that of another line, which is surer: a drawing was taken for a letter."""
    surer = other.confidence > line.confidence + _SURER
    return surer and common(line.box, other.box) > 0.5 * area(other.box)


def _read(pixels: NDArray[np.uint8], factor: float) -> list[Text]:
    """The lines that are found when the picture is scaled by a factor."""
    import cv2
    from rapidocr.utils.process_img import ResizeImgError

    tile = _padded(pixels)
    size = (max(1, round(tile.shape[1] * factor)), max(1, round(tile.shape[0] * factor)))
    how = cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA
    scaled = tile if factor == 1.0 else cv2.resize(tile, size, interpolation=how)
    try:
        result = reader()(scaled[:, :, ::-1])  # it expects BGR, as OpenCV gives it
    except ResizeImgError:  # too narrow for a single letter
        return []
    if result.boxes is None:
        return []
    lines = []
    for corners, text, confidence in zip(result.boxes, result.txts, result.scores, strict=True):
        xs, ys = [float(x) / factor for x, _ in corners], [float(y) / factor for _, y in corners]
        if text.strip():
            box = min(xs), min(ys), max(xs), max(ys)
            lines.append(Text(text.strip(), box, float(confidence), tuple(zip(xs, ys, strict=True))))
    return lines


def _read_upright(pixels: NDArray[np.uint8], line: Text) -> Text:
    """A line that runs up or down, read again from its own pixels, turned both ways: the surer reading counts.

    The whole page's reader tells the two ways apart by a classifier that is made for upright pages, and often errs.
    """
    height, width = pixels.shape[:2]
    x0, y0, x1, y1 = line.box
    part = pixels[max(0, int(y0)) : min(height, int(y1) + 1), max(0, int(x0)) : min(width, int(x1) + 1), ::-1]
    best = line
    for turns in (1, -1):
        result = _line_reader()(np.ascontiguousarray(np.rot90(part, turns)))
        if result.txts and result.txts[0].strip() and result.scores[0] > best.confidence:
            best = replace(line, text=result.txts[0].strip(), confidence=float(result.scores[0]))
    return best


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


def _add(lines: list[Text], above: int, line: Text) -> None:
    """Add a line; of it and its reading in the tile above, among the first, the larger one, which isn't cut, stays."""
    for index, other in enumerate(lines[:above]):
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
    return _rapid_ocr()


@cache
def _line_reader() -> Any:
    """An engine that takes a picture for one line of text."""
    return _rapid_ocr(**{"Global.use_det": False, "Global.use_cls": False})


def _rapid_ocr(**more: object) -> Any:
    from rapidocr import RapidOCR

    threads = int(os.environ.get("OMP_NUM_THREADS") or -1)
    return RapidOCR(
        params={
            "Global.log_level": "error",
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            **more,
        }
    )
