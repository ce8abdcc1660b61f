"""Pictures of pages: image files through Pillow, words through RapidOCR (its wheel carries the models: no download)."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dg_sglang.errors import DamagedDocumentError, DocumentError, DocumentLimitError, UnsupportedDocumentError
from dg_sglang.pipelines.document import Box, Limits, Page, Word
from dg_sglang.pipelines.documents.layout import build_lines
from dg_sglang.vision.images import readable_formats
from dg_sglang.vision.ocr import reader

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image

DEFAULT_DPI = 72.0
"""Resolution of an image file that states none: one pixel is one point."""
MAX_ASPECT = 8
"""Pictures longer than this many times their other side are padded for the reader, which enlarges the short side."""


def read_image_file(path: Path, limits: Limits, progress: Callable[[str], None] | None) -> Iterator[Page]:
    """Yield the pages of an image file (a TIFF may have several), turned upright by EXIF. Raises DocumentError."""
    import numpy as np
    from PIL import Image, ImageOps, UnidentifiedImageError

    with _naming(path):
        try:
            image = Image.open(path, formats=readable_formats())
        except UnidentifiedImageError as error:
            if _begins_as_image(path):
                raise DamagedDocumentError(f"{path}: the image is damaged or truncated from its header on") from error
            raise UnsupportedDocumentError(
                f"{path}: neither a PDF nor an image, a text, HTML or a Word document; convert it to PDF, PNG or JPEG"
            ) from error
        except Image.DecompressionBombError as error:
            raise DocumentLimitError(f"{path}: the image is far too large to decode safely ({error})") from error
    with image:
        with _naming(path):
            frames = getattr(image, "n_frames", 1)
        if frames > limits.max_pages:
            raise DocumentLimitError(
                f"{path}: {frames} pages are more than the limit of {limits.max_pages} (Limits.max_pages)"
            )
        for frame in range(frames):
            with _naming(path):
                image.seek(frame)
                _check_pixels(image, path, limits)
                upright = ImageOps.exif_transpose(image)
                pixels = np.asarray(flatten(upright))
                scale = DEFAULT_DPI / _dpi(image)
            if progress:
                progress(f"page {frame + 1}: reading it by OCR")
            height, width = pixels.shape[:2]
            words = recognise(pixels, points_per_pixel=scale)
            yield Page(frame + 1, width * scale, height * scale, build_lines(words), "ocr")


def _begins_as_image(path: Path) -> bool:
    """Whether the first bytes are those of a format that can be read."""
    from PIL import Image

    with path.open("rb") as file:
        begin = file.read(16)
    accepts = (Image.OPEN[name][1] for name in readable_formats())
    return any(accept is not None and accept(begin) is True for accept in accepts)


def is_image(path: Path) -> bool:
    """Whether Pillow knows the file's format, damaged or not."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Image.open(path, formats=readable_formats()).close()
    except UnidentifiedImageError:
        return False
    except Exception:  # a bomb, or damaged: an image all the same
        return True
    return True


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors of Pillow's decoders, which say "broken" in many ways, as ours; its warnings of odd metadata unsaid."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except DocumentError:
        raise
    except Exception as error:
        raise DamagedDocumentError(f"{path}: the image is damaged or truncated ({error})") from error


def recognise(pixels: "np.ndarray", *, points_per_pixel: float) -> list[Word]:
    """The words on an RGB picture (uint8 [height, width, 3]), with axis-parallel boxes in points."""
    result = reader()(_padded(pixels)[:, :, ::-1], return_word_box=True)  # the reader expects BGR, as OpenCV gives it
    words: list[Word] = []
    if result.boxes is None:  # nothing found; word_results then has another shape
        return words
    for run, line in enumerate(result.word_results or ()):
        for text, confidence, corners in line:
            if not text or corners is None:
                continue
            xs, ys = [x * points_per_pixel for x, _ in corners], [y * points_per_pixel for _, y in corners]
            words.extend(_split(text, (min(xs), min(ys), max(xs), max(ys)), float(confidence), run))
    return words


def _padded(pixels: "np.ndarray") -> "np.ndarray":
    """With white to the right or below, where one side is so short that the reader would enlarge it beyond memory."""
    import numpy as np

    height, width = pixels.shape[:2]
    least = max(height, width) // MAX_ASPECT
    below, right = max(least - height, 0), max(least - width, 0)
    return np.pad(pixels, ((0, below), (0, right), (0, 0)), constant_values=255) if below or right else pixels


def _split(text: str, box: Box, confidence: float, run: int) -> Iterator[Word]:
    """One word per white-space separated part, the box shared out by length."""
    width = (box[2] - box[0]) / len(text)
    position = 0
    for part in text.split():
        position = text.index(part, position)
        left = box[0] + position * width
        yield Word(part, (left, box[1], left + len(part) * width, box[3]), confidence, run)
        position += len(part)


def _check_pixels(image: "Image.Image", path: Path, limits: Limits) -> None:
    width, height = image.size
    if width * height > limits.max_pixels:
        raise DocumentLimitError(
            f"{path}: {width} x {height} pixels are more than the limit of {limits.max_pixels:,} (Limits.max_pixels)"
        )


def flatten(image: "Image.Image") -> "Image.Image":
    """RGB, with transparency laid on white paper."""
    from PIL import Image

    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        paper.alpha_composite(image)
        image = paper
    elif image.mode.startswith(("I;16", "I")):
        image = image.point(lambda value: value / 256).convert("L")
    return image.convert("RGB")


def _dpi(image: "Image.Image") -> float:
    x, y = map(float, image.info.get("dpi", (0, 0)))
    return x if abs(x - y) < 1 and 50 <= x <= 1200 else DEFAULT_DPI
