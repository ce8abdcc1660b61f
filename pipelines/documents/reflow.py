"""Files without pages of their own: text, HTML and Word documents, laid out on A4 by MuPDF."""

import html
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dg_sglang.errors import DamagedDocumentError, DocumentError, DocumentLimitError, UnsupportedDocumentError
from dg_sglang.pipelines.document import Limits, Page
from dg_sglang.pipelines.documents.pdf import Progress, read_pages

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from docx.table import Table
    from docx.text.paragraph import Paragraph

Kind = Literal["docx", "html", "txt"]
_A4 = (595, 842)
_FONT_SIZE = 10
_STYLE = "<style>td, th { padding-right: 24pt; text-align: left }</style>"
_PICTURE = re.compile(r"<(?:img|svg|object|embed)\b[^>]*>", re.IGNORECASE)
_OTHER_TEXTS = (b"%!", b"{\\rtf")  # programs in PostScript and RTF are text, but not for people


def kind_of(path: Path, head: bytes) -> Kind | None:
    """What the file is by its first bytes, and for text by its name; None if it is none of these."""
    if head.startswith(b"PK\x03\x04"):
        return "docx"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")) or (
        start.startswith(b"<") and path.suffix.lower() in (".html", ".htm")
    ):
        return "html"
    if start.startswith(_OTHER_TEXTS):
        return None
    encoded = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    controls = sum(byte < 9 or 13 < byte < 32 for byte in head)
    return "txt" if encoded or controls <= len(head) / 100 else None


def read_reflowed(path: Path, kind: Kind, limits: Limits, progress: Progress | None) -> Iterator[Page]:
    """Yield the file's pages as laid out on A4. Raises DocumentError."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    if kind == "docx":
        text = _STYLE + _docx_html(path, limits)
    elif kind == "html":
        text = _STYLE + _PICTURE.sub("", _decoded(path))
    else:
        text = _decoded(path)
    try:
        document = pymupdf.open(stream=text.encode(), filetype="txt" if kind == "txt" else "html")
        document.layout(width=_A4[0], height=_A4[1], fontsize=_FONT_SIZE)
    except Exception as error:
        raise DamagedDocumentError(f"{path}: can't be laid out ({error})") from error
    with document:
        yield from read_pages(document, path, limits, progress)


def _decoded(path: Path) -> str:
    """The file's text: by its mark, as UTF-8, or in the most likely of the older encodings."""
    import charset_normalizer

    data = path.read_bytes()
    try:
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        best = charset_normalizer.from_bytes(data).best()
    if best is None:
        raise DamagedDocumentError(f"{path}: the text's encoding can't be told; save it as UTF-8")
    return str(best)


def _docx_html(path: Path, limits: Limits) -> str:
    """The document's text as HTML: headers, body in order with tables as tables, footers. Hidden runs are left out."""
    import docx

    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            known = "word/document.xml" in archive.namelist()
        if size > limits.max_bytes:
            raise DocumentLimitError(
                f"{path}: {size:,} bytes when unpacked are more than the limit of {limits.max_bytes:,} "
                "(Limits.max_bytes)"
            )
        if not known:
            raise UnsupportedDocumentError(f"{path}: an archive, but no Word document; convert it to PDF")
        with path.open("rb") as file:
            document: WordDocument = docx.Document(file)
        headers = [part for section in document.sections for part in section.header.iter_inner_content()]
        footers = [part for section in document.sections for part in section.footer.iter_inner_content()]
        return "".join(map(_block_html, [*headers, *document.iter_inner_content(), *footers]))
    except DocumentError:
        raise
    except Exception as error:  # what zipfile, lxml and python-docx raise at damaged files
        raise DamagedDocumentError(f"{path}: a damaged Word document ({error}); save or download it again") from error


def _block_html(block: "Paragraph | Table") -> str:
    from docx.text.paragraph import Paragraph

    if isinstance(block, Paragraph):
        return f"<p>{html.escape(_visible(block))}</p>"
    rows = []
    for row in block.rows:
        cells = {id(cell._tc): cell for cell in row.cells}.values()  # a merged cell stands for several
        inner = ("".join(map(_block_html, cell.iter_inner_content())) for cell in cells)
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in inner) + "</tr>")
    return f"<table>{''.join(rows)}</table>"


def _visible(paragraph: "Paragraph") -> str:
    """The text of its runs and links but for hidden and white ones."""
    from docx.shared import RGBColor

    text = ""
    for part in paragraph.iter_inner_content():
        for run in getattr(part, "runs", [part]):
            if not run.font.hidden and run.font.color.rgb != RGBColor(255, 255, 255):
                text += run.text
    return text
