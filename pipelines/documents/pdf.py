"""PDF files through PyMuPDF. Page by page: the text layer where there is one that can be believed, else OCR."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dg_sglang.errors import DamagedDocumentError, DocumentError, DocumentLimitError, EncryptedDocumentError
from dg_sglang.pipelines.document import Limits, Page, Word
from dg_sglang.pipelines.documents.layout import Direction, build_lines, join_lines
from dg_sglang.pipelines.documents.text_layer import TextLayer, read_text_layer
from dg_sglang.pipelines.documents.trust import is_suspicious, judge

if TYPE_CHECKING:
    import pymupdf

Progress = Callable[[str], None]

POINTS_PER_INCH = 72
OCR_DPI = 200
END_MARKER = b"%%EOF"
MIN_LETTERS = 8
"""A page whose text layer holds fewer letters and digits than this, beside an image, counts as a scan."""
FEW_LETTERS = 300
"""Fewer than this on a picture that fills the page may be a stamp on a scan."""
FILLED = 0.6
"""Share of the page from which on a picture fills it."""
INVOICES = ("factur-x.xml", "zugferd-invoice.xml", "xrechnung.xml", "order-x.xml", "cii.xml", "ubl.xml")
"""Attachments of structured invoices (ZUGFeRD, Factur-X, XRechnung), by lower-case name."""


def open_pdf(path: Path, password: str | None) -> "pymupdf.Document":
    """Open a PDF file. Raises DocumentError."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        pdf = pymupdf.open(stream=path.read_bytes(), filetype="pdf")  # MuPDF opens no names that aren't UTF-8
    except Exception as error:
        raise DamagedDocumentError(
            f"{path}: a damaged or truncated PDF ({error}); save or download it again"
        ) from error
    _check(pdf, path, password)
    return pdf


def structured_invoices(pdf: "pymupdf.Document") -> tuple[str, ...]:
    """The names of the attachments that are structured invoices. They are never read as text."""
    return tuple(name for name in pdf.embfile_names() if name.lower() in INVOICES)


def read_pages(pdf: "pymupdf.Document", path: Path, limits: Limits, progress: Progress | None) -> Iterator[Page]:
    """Yield the pages of an open document. Raises DocumentError."""
    import pymupdf

    if pdf.page_count > limits.max_pages:
        raise DocumentLimitError(
            f"{path}: {pdf.page_count} pages are more than the limit of {limits.max_pages}; "
            "split it or raise Limits.max_pages"
        )
    started = time.monotonic()
    for index in range(pdf.page_count):
        if time.monotonic() - started > limits.max_seconds:
            raise DocumentLimitError(
                f"{path}: page {index} of {pdf.page_count} was reached after {limits.max_seconds:g} seconds "
                "(Limits.max_seconds)"
            )
        try:
            yield _Reader(pdf[index], path, limits, progress).read()
        except (DocumentError, ImportError):
            raise
        except Exception as error:
            raise DamagedDocumentError(f"{path}: page {index + 1} can't be read ({error})") from error
        pymupdf.TOOLS.store_shrink(100)  # what MuPDF keeps of a page would grow with the pages


def _check(pdf: "pymupdf.Document", path: Path, password: str | None) -> None:
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


def _tail(path: Path) -> bytes:
    """The last 2 KiB, where a reader looks for the end marker."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 2048, 0))
        return file.read()


class _Reader:
    """One page: its text layer, what OCR sees, and which of them to believe."""

    def __init__(self, page: "pymupdf.Page", path: Path, limits: Limits, progress: Progress | None) -> None:
        self.page, self.path, self.limits, self.progress = page, path, limits, progress
        self.images = page.get_image_info()
        self.notes: list[str] = []

    def read(self) -> Page:
        too_large = any(image["width"] * image["height"] > self.limits.max_pixels for image in self.images)
        layer = read_text_layer(self.page, render=not too_large)
        scan = self._is_filled()
        words = layer.words
        if layer.veiled and not scan:
            invisible = [word.text for part in layer.veiled.values() for word in part]
            layer.hidden.setdefault("invisible", []).extend(invisible)
        if scan and layer.veiled:
            words = _united(layer)
        self._report(layer)
        text = " ".join(word.text for part in words.values() for word in part)
        letters = sum(char.isalnum() for char in text)
        if letters < MIN_LETTERS and self.images:
            return self._by_ocr("no text layer, reading it by OCR")
        if not words:
            if not self.images and not self.page.get_drawings():
                return self._page({}, "text")
            return self._by_ocr("no text layer, reading it by OCR")
        veiled = words is not layer.words
        if veiled or is_suspicious(text) or (scan and letters < FEW_LETTERS):
            return self._checked(words)
        return self._page(words, "text")

    def _checked(self, words: dict[Direction, list[Word]]) -> Page:
        """The text layer if OCR bears it out, else what OCR reads."""
        self._tell("comparing its text layer with what it shows")
        seen = self._ocr()
        verdict = judge([word for part in words.values() for word in part], seen)
        if verdict == "layer":
            return self._page(words, "text")
        if verdict == "lies":
            self.notes.append(
                f"page {self.number}: its text layer isn't what the page shows; it was read by OCR instead"
            )
        return self._page({(1, 0): seen}, "ocr")

    def _by_ocr(self, message: str) -> Page:
        self._tell(message)
        return self._page({(1, 0): self._ocr()}, "ocr")

    def _page(self, words: dict[Direction, list[Word]], source: str) -> Page:
        ordered = sorted(words.items(), key=lambda group: -len(group[1]))  # a stamp or side note after the body
        lines = join_lines(build_lines(part, way) for way, part in ordered)
        size = self.page.rect.width, self.page.rect.height
        return Page(self.number, *size, lines, "text" if source == "text" else "ocr", tuple(self.notes))

    @property
    def number(self) -> int:
        return int(self.page.number) + 1

    def _is_filled(self) -> bool:
        area = abs(self.page.mediabox.width * self.page.mediabox.height) or 1.0
        covered = 0.0
        for image in self.images:
            x0, y0, x1, y1 = image["bbox"]
            covered += max(x1 - x0, 0) * max(y1 - y0, 0)
        return covered >= FILLED * area

    def _report(self, layer: TextLayer) -> None:
        for reason, words in layer.hidden.items():
            shown = " ".join(words)
            shown = shown if len(shown) <= 60 else shown[:57] + "…"
            self.notes.append(f"page {self.number}: hidden text was left out ({reason}): {shown!r}")

    def _tell(self, message: str) -> None:
        if self.progress:
            self.progress(f"page {self.number}: {message}")

    def _ocr(self) -> list[Word]:
        import numpy as np
        import pymupdf

        from dg_sglang.pipelines.documents.ocr import recognise

        for image in self.images:
            if image["width"] * image["height"] > self.limits.max_pixels:
                raise DocumentLimitError(
                    f"{self.path}: page {self.number} holds an image of {image['width']} x {image['height']} pixels, "
                    f"more than the limit of {self.limits.max_pixels:,} (Limits.max_pixels)"
                )
        area = self.page.rect.width * self.page.rect.height
        scale = min(OCR_DPI / POINTS_PER_INCH, (self.limits.max_pixels / max(area, 1.0)) ** 0.5)
        pixmap = self.page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False)
        pixels = np.frombuffer(pixmap.samples, dtype=np.uint8).reshape(pixmap.height, pixmap.width, 3)
        return recognise(pixels, points_per_pixel=1 / scale)


def _united(layer: TextLayer) -> dict[Direction, list[Word]]:
    ways = [*layer.words, *(way for way in layer.veiled if way not in layer.words)]
    return {way: [*layer.words.get(way, []), *layer.veiled.get(way, [])] for way in ways}
