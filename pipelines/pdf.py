"""PDF files through PyMuPDF: the text layer where there is one, OCR where there is none."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dg_sglang.errors import DamagedDocumentError, DocumentError, DocumentLimitError, EncryptedDocumentError
from dg_sglang.pipelines.document import Limits, Page, Word
from dg_sglang.pipelines.layout import Direction, build_lines, join_lines

if TYPE_CHECKING:
    import pymupdf

POINTS_PER_INCH = 72
OCR_DPI = 200
END_MARKER = b"%%EOF"
MIN_LETTERS = 8
"""A page whose text layer holds fewer letters and digits than this, beside an image, counts as a scan."""


def read_pdf(
    path: Path, password: str | None, limits: Limits, progress: Callable[[str], None] | None
) -> Iterator[Page]:
    """Yield the pages of a PDF file. Raises DocumentError."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        pdf = pymupdf.open(stream=path.read_bytes(), filetype="pdf")  # MuPDF opens no names that aren't UTF-8
    except Exception as error:
        raise DamagedDocumentError(
            f"{path}: a damaged or truncated PDF ({error}); save or download it again"
        ) from error
    with pdf:
        _check(pdf, path, password, limits)
        for index in range(pdf.page_count):
            try:
                page = pdf[index]
                yield _read_page(page, path, limits, progress)
            except (DocumentError, ImportError):
                raise
            except Exception as error:
                raise DamagedDocumentError(f"{path}: page {index + 1} can't be read ({error})") from error


def _check(pdf: "pymupdf.Document", path: Path, password: str | None, limits: Limits) -> None:
    if pdf.needs_pass and not pdf.authenticate(password or ""):
        hint = "the password is wrong" if password else "give its password"
        raise EncryptedDocumentError(f"{path}: the PDF is encrypted; {hint}")
    if pdf.page_count == 0:
        raise DamagedDocumentError(
            f"{path}: a damaged or truncated PDF without readable pages; save or download it again"
        )
    if pdf.is_repaired and END_MARKER not in _tail(path):
        raise DamagedDocumentError(
            f"{path}: the PDF is truncated: it has no end marker (%%EOF) and may lack pages; save or download it again"
        )
    if pdf.page_count > limits.max_pages:
        raise DocumentLimitError(
            f"{path}: {pdf.page_count} pages are more than the limit of {limits.max_pages}; "
            "split it or raise Limits.max_pages"
        )


def _tail(path: Path) -> bytes:
    """The last 2 KiB, where a reader looks for the end marker."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 2048, 0))
        return file.read()


def _read_page(page: "pymupdf.Page", path: Path, limits: Limits, progress: Callable[[str], None] | None) -> Page:
    number, (width, height) = page.number + 1, (page.rect.width, page.rect.height)
    groups = _text_layer(page)
    letters = sum(character.isalnum() for words in groups.values() for word in words for character in word.text)
    if letters >= MIN_LETTERS or (groups and not page.get_images()):
        ordered = sorted(groups.items(), key=lambda group: -len(group[1]))  # a stamp or side note after the body
        return Page(number, width, height, join_lines(build_lines(words, way) for way, words in ordered), "text")
    if not page.get_images() and not page.get_drawings():
        return Page(number, width, height, (), "text")
    if progress:
        progress(f"page {number}: no text layer, reading it by OCR")
    return Page(number, width, height, build_lines(_ocr(page, path, limits)), "ocr")


def _text_layer(page: "pymupdf.Page") -> dict[Direction, list[Word]]:
    """The page's words in display coordinates, by the direction in which they run."""
    import pymupdf

    layer = page.get_textpage(flags=pymupdf.TEXTFLAGS_WORDS & ~pymupdf.TEXT_PRESERVE_LIGATURES)
    ways = {
        (block["number"], index): _direction(line["dir"], page.rotation)
        for block in layer.extractDICT()["blocks"]
        for index, line in enumerate(block["lines"])
    }
    groups: dict[Direction, list[Word]] = {}
    for x0, y0, x1, y1, text, block, line, _ in layer.extractWORDS():
        rect = pymupdf.Rect(x0, y0, x1, y1) * page.rotation_matrix
        rect.normalize()
        groups.setdefault(ways[block, line], []).extend(Word(part, tuple(rect)) for part in text.split())
    return groups


def _direction(vector: tuple[float, float], rotation: int) -> Direction:
    """The nearest of the four directions, on the page as it is displayed (turned clockwise by `rotation` degrees)."""
    x, y = vector
    way: Direction = (1 if x > 0 else -1, 0) if abs(x) >= abs(y) else (0, 1 if y > 0 else -1)
    for _ in range(rotation // 90 % 4):
        way = (-way[1], way[0])
    return way


def _ocr(page: "pymupdf.Page", path: Path, limits: Limits) -> list[Word]:
    import numpy as np
    import pymupdf

    from dg_sglang.pipelines.ocr import recognise

    for image in page.get_images():
        if image[2] * image[3] > limits.max_pixels:
            raise DocumentLimitError(
                f"{path}: page {page.number + 1} holds an image of {image[2]} x {image[3]} pixels, more than "
                f"the limit of {limits.max_pixels:,} (Limits.max_pixels)"
            )
    area = page.rect.width * page.rect.height
    scale = min(OCR_DPI / POINTS_PER_INCH, (limits.max_pixels / max(area, 1.0)) ** 0.5)
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False)
    pixels = np.frombuffer(pixmap.samples, dtype=np.uint8).reshape(pixmap.height, pixmap.width, 3)
    return recognise(pixels, points_per_pixel=1 / scale)
