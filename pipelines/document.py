"""Documents as the pipeline sees them: pages of lines of words with boxes, and one layout-preserving text.

Boxes are (x0, y0, x1, y1) in PDF points (1/72 inch), origin at the top left corner of the page as displayed (the page's
rotation is applied), x to the right and y down.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dg_sglang.errors import (
    DocumentError,
    DocumentLimitError,
    EmptyDocumentError,
    MissingDocumentError,
    UnsupportedDocumentError,
)

if TYPE_CHECKING:
    from dg_sglang.vision.tables.model import Table

Box = tuple[float, float, float, float]
PAGE_BREAK = "\n\n"


@dataclass(frozen=True)
class Limits:
    """What a document may cost. Exceeding one is a DocumentError that names it."""

    max_pages: int = 1000
    max_bytes: int = 200_000_000
    max_pixels: int = 100_000_000
    """Of one image, or of one embedded image that OCR would have to decode."""
    max_seconds: float = 600.0
    """For reading all pages. Looked at between pages: a single page that never ends is a batch's timeout's business."""


@dataclass(frozen=True)
class Word:
    """One word, its box, and how sure its reader was (1.0 for a PDF text layer).

    `run` numbers the stretches that OCR found in one piece, where a wide gap is spacing rather than a column's edge.
    """

    text: str
    box: Box
    confidence: float = 1.0
    run: int | None = None


@dataclass(frozen=True)
class Line:
    """Words side by side, from left to right. `text` shows column gaps as runs of spaces; `starts` index it."""

    words: tuple[Word, ...]
    text: str
    starts: tuple[int, ...]
    space_before: bool = False
    """A larger vertical gap separates this line from the one above."""


@dataclass(frozen=True)
class Page:
    """One page: number (from 1), size in points as displayed, where its words come from, and what was left out."""

    number: int
    width: float
    height: float
    lines: tuple[Line, ...]
    source: Literal["text", "ocr"]
    notes: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The page's lines, larger vertical gaps as one blank line."""
        return "".join(_separator(index, line) + line.text for index, line in enumerate(self.lines))

    @cached_property
    def tables(self) -> "list[Table]":
        """The tables among its words, see `page_tables`; sought when they are asked for."""
        from dg_sglang.pipelines.page_tables import tables_of

        return tables_of(self)


@dataclass(frozen=True)
class Place:
    """A word of the document: offsets [start, end) in `Document.text`, page (from 1), line of that page (from 0)."""

    start: int
    end: int
    page: int
    line: int
    word: Word


@dataclass(frozen=True)
class Document:
    """A read document. `text` is what the model reads; `places` leads from its characters back to the page.

    `attachments` names the structured invoices inside a PDF, which are not read.
    """

    name: str
    pages: tuple[Page, ...]
    attachments: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its reader should know: hidden text, text layers that lie, attachments that say the same."""
        found = tuple(f"the PDF carries a structured invoice ({name}), which was not read" for name in self.attachments)
        return (*(note for page in self.pages for note in page.notes), *found)

    @cached_property
    def text(self) -> str:
        """All pages, separated by one blank line. Pages without words add nothing."""
        return PAGE_BREAK.join(page.text for page in self.pages if page.lines)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Every word in reading order, with its offsets in `text`."""
        places: list[Place] = []
        offset = 0
        for page in self.pages:
            for index, line in enumerate(page.lines):
                offset += len(_separator(index, line))
                for word, start in zip(line.words, line.starts, strict=True):
                    begin = offset + start
                    places.append(Place(begin, begin + len(word.text), page.number, index, word))
                offset += len(line.text)
            if page.lines:
                offset += len(PAGE_BREAK)
        return tuple(places)

    @cached_property
    def _starts(self) -> list[int]:
        return [place.start for place in self.places]

    def places_at(self, start: int, end: int) -> Sequence[Place]:
        """The words that share at least one character with `text[start:end]`."""
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self.places[first].end <= start:
            first += 1
        return self.places[first : bisect_left(self._starts, end)]


def _separator(index: int, line: Line) -> str:
    return "" if index == 0 else "\n\n" if line.space_before else "\n"


def load_document(
    path: str | Path,
    *,
    password: str | None = None,
    limits: Limits | None = None,
    progress: Callable[[str], None] | None = None,
) -> Document:
    """Read a PDF, an image (PNG, JPEG, TIFF of several pages, WebP, …), plain text, HTML, or a Word document (.docx).

    A PDF's page is read from its text layer where that can be believed, else by OCR, as images are; its form's ticks
    become ☒ and ☐. Text that nobody sees (invisible, tiny, of its background's colour, covered, off the page) is left
    out, and `warnings` say so. Attachments, such as an embedded XML invoice, are never read. Text, HTML and Word
    documents are laid out on A4, so that they have pages and boxes too; their pictures are left out. `progress` gets
    one short message per slow step.

    Raises:
        DocumentError: of the kind that names the problem: missing, empty, damaged, encrypted, unsupported, or over a
            limit.
    """
    path, limits = Path(path), limits or Limits()
    head = _head(path, limits)
    attachments: tuple[str, ...] = ()
    try:
        if b"%PDF-" in head[:1024]:
            from dg_sglang.pipelines.documents.pdf import open_pdf, read_pages, structured_invoices

            with open_pdf(path, password) as pdf:
                attachments = structured_invoices(pdf)
                pages = tuple(read_pages(pdf, path, limits, progress))
        else:
            pages = tuple(_other_pages(path, head, limits, progress))
    except ImportError as error:
        raise UnsupportedDocumentError(
            f"{path}: documents need an extra ({error}); pip install 'dg-sglang[documents]'"
        ) from error
    document = Document(path.name, pages, attachments)
    if not document.places:
        raise EmptyDocumentError(f"{path}: no text found on any of its {len(document.pages)} page(s), not even by OCR")
    return document


def _other_pages(path: Path, head: bytes, limits: Limits, progress: Callable[[str], None] | None) -> Iterator[Page]:
    from dg_sglang.pipelines.documents.ocr import is_image, read_image_file
    from dg_sglang.pipelines.documents.reflow import kind_of, read_reflowed

    kind = None if is_image(path) else kind_of(path, head)
    return read_image_file(path, limits, progress) if kind is None else read_reflowed(path, kind, limits, progress)


def _head(path: Path, limits: Limits) -> bytes:
    """The first 4 KiB of a file that exists and is neither empty nor too large."""
    try:
        if not path.exists():
            raise MissingDocumentError(f"{path}: no such file")
        if not path.is_file():
            raise DocumentError(f"{path}: not a file")
        size = path.stat().st_size
        if size == 0:
            raise EmptyDocumentError(f"{path}: the file is empty")
        if size > limits.max_bytes:
            raise DocumentLimitError(
                f"{path}: {size:,} bytes are more than the limit of {limits.max_bytes:,} (Limits.max_bytes)"
            )
        with path.open("rb") as file:
            return file.read(4096)
    except OSError as error:
        raise MissingDocumentError(f"{path}: can't be read: {error.strerror}") from error
