"""Documents that the tests make: PDFs from placed text, and Document objects without any file."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pymupdf

from dg_sglang.pipelines.document import Document, Page, Word
from dg_sglang.pipelines.documents.layout import build_lines

Placed = tuple[float, float, str]  # x, baseline y, text


def make_pdf(path: Path, pages: Iterable[Iterable[Placed]], *, rotation: int = 0, **saving: object) -> Path:
    """Write a PDF with a text layer."""
    pdf = pymupdf.open()
    for texts in pages:
        page = pdf.new_page(width=595, height=842)
        for x, y, text in texts:
            page.insert_text((x, y), text, fontsize=11)
        page.set_rotation(rotation)
    pdf.save(path, **saving)
    return path


def make_scan(path: Path, texts: Iterable[Placed], *, dpi: int = 150) -> Path:
    """Write a picture of a page, in the format of the file's suffix."""
    from PIL import Image

    pdf = pymupdf.open()
    page = pdf.new_page(width=420, height=300)
    for x, y, text in texts:
        page.insert_text((x, y), text, fontsize=16)
    pixmap = page.get_pixmap(dpi=dpi)
    picture = Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)
    picture.save(path, dpi=(dpi, dpi))
    return path


def document_of(*pages: Sequence[str], name: str = "made.pdf") -> Document:
    """A document whose lines are the given ones: words 6 points a character wide, runs of spaces as column gaps,
    an empty line as a larger gap."""
    read = []
    for number, lines in enumerate(pages, 1):
        words = []
        for row, line in enumerate(lines):
            start = 0
            for part in line.split():
                start = line.index(part, start)
                words.append(Word(part, (6.0 * start, 14.0 * row, 6.0 * (start + len(part)), 14.0 * row + 10)))
                start += len(part)
        read.append(Page(number, 595.0, 842.0, build_lines(words), "text"))
    return Document(name, tuple(read))
