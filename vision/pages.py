"""Pages of a PDF as pictures, in as many pixels as the model's soft tokens can use."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from dg_sglang.errors import ImageError
from dg_sglang.vision.grid import PixelBox, to_pixels
from dg_sglang.vision.images import MAX_BYTES

if TYPE_CHECKING:
    from PIL.Image import Image

PATCH = 16
"""Pixels of a patch's side in Gemma 4's vision tower (`vision_config.patch_size`)."""
POOLING = 3
"""Patches along a soft token's side (`vision_config.pooling_kernel_size`)."""


@dataclass(frozen=True)
class PageImage:
    """A page as people see it.

    Attributes:
        picture: RGB, on white.
        number: of the page, from 1.
        width, height: of the page in points (1/72 inch).
    """

    picture: Image
    number: int
    width: float
    height: float

    def to_points(self, box: list[int]) -> PixelBox:
        """A box on the model's grid as (x0, y0, x1, y1) in points, origin at the page's top left corner."""
        return to_pixels(box, (self.width, self.height))


def page_pixels(width: float, height: float, soft_tokens: int) -> tuple[int, int]:
    """How many pixels (width, height) of a page the model sees with at most so many soft tokens.

    That is the size to which Gemma 4's processor brings any picture of the page (transformers'
    `get_aspect_ratio_preserving_size`): drawn at it, nothing is shrunk away. A page more than four times as long as
    wide may be stretched by the processor, as any picture of it is.

    Raises:
        ImageError: the page has no area, or is so long and thin that the model can't be shown it.
    """
    from transformers.models.gemma4.image_processing_pil_gemma4 import get_aspect_ratio_preserving_size

    if not (width > 0 and height > 0 and soft_tokens > 0):
        raise ImageError(f"a page of {width:g} x {height:g} points can't be shown in {soft_tokens} soft tokens")
    try:
        rows, columns = get_aspect_ratio_preserving_size(height, width, PATCH, soft_tokens * POOLING**2, POOLING)
    except ValueError as error:
        raise ImageError(f"a page of {width:g} x {height:g} points can't be shown to the model: {error}") from error
    return columns, rows


def is_pdf(source: object) -> TypeGuard[str | Path | bytes]:
    """Whether it is a PDF's path or bytes, by its first bytes."""
    if isinstance(source, str | Path):
        with suppress(OSError, ValueError), Path(source).open("rb") as file:
            return file.read(5) == b"%PDF-"
    return isinstance(source, bytes) and source.startswith(b"%PDF-")


def render_page(
    source: str | Path | bytes, number: int | None = None, *, soft_tokens: int, password: str | None = None
) -> PageImage:
    """Draw a page of a PDF for the model.

    Args:
        source: the PDF's path or bytes.
        number: of the page, from 1; may be left out where there is only one.
        soft_tokens: the most that a picture may take: `engine.soft_tokens`, or 70, 140, 280, 560, 1120.
        password: of an encrypted PDF.

    Raises:
        ImageError: PyMuPDF is missing, the PDF is damaged, encrypted or too large, or has no such page.
    """
    try:
        import pymupdf
        from PIL import Image
    except ImportError as error:
        raise ImageError("pages of a PDF need pip install 'dg-sglang[documents]'") from error

    try:
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
    except OSError as error:
        raise ImageError(f"the PDF can't be read: {error}") from error
    if len(data) > MAX_BYTES:
        raise ImageError(f"the PDF has {len(data):,} bytes, more than {MAX_BYTES:,}: split it")
    try:
        with pymupdf.open(stream=data, filetype="pdf") as pdf:
            if pdf.needs_pass and not pdf.authenticate(password or ""):
                raise ImageError("the PDF is encrypted: pass its password")
            number = _checked(number, pdf.page_count)
            page = pdf[number - 1]
            width, height = page.rect.width, page.rect.height
            columns, rows = page_pixels(width, height, soft_tokens)
            matrix = pymupdf.Matrix(columns / width, rows / height)
            pixels = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csRGB, alpha=False)
            picture = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
    except ImageError:
        raise
    except Exception as error:  # MuPDF says "broken" in many ways
        raise ImageError(f"the PDF can't be drawn: {error}") from error
    return PageImage(picture, number, width, height)


def _checked(number: int | None, count: int) -> int:
    if number is None and count == 1:
        return 1
    if number is None:
        raise ImageError(f"the PDF has {count} pages: say which one, counted from 1")
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
        raise ImageError(f"the PDF has pages 1 to {count}, not {number!r}")
    return number
