import io
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.shared import RGBColor

from dg_sglang.pipelines import load_document


def words(path: Path) -> list[str]:
    return load_document(path).text.split()


def test_plain_text_keeps_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Invoice 4711\n\nItem            9.50\nTotal          19.50\n")
    document = load_document(path)
    assert document.text.split() == ["Invoice", "4711", "Item", "9.50", "Total", "19.50"]
    item, total = (next(p.word.box for p in document.places if p.word.text == text) for text in ("9.50", "19.50"))
    assert item[2] == pytest.approx(total[2], abs=1)
    assert document.pages[0].source == "text"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "Rechnung über 9,50 € für Bürobedarf, zahlbar bis spätestens 3. März; Überweisung genügt.\n" * 4
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    assert words(tmp_path / "a.txt")[:4] == ["Rechnung", "über", "9,50", "€"]


def test_long_texts_have_pages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(f"line {i}" for i in range(200)))
    document = load_document(tmp_path / "a.txt")
    assert len(document.pages) > 1
    assert document.text.split()[-1] == "199"


def test_html_as_a_browser_shows_it(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<!DOCTYPE html><html><head><title>none</title><script>document.write('script')</script></head><body>"
        "<h1>Invoice 4711</h1><p style='display:none'>IGNORE</p><p style='color:white'>WHITE</p>"
        "<table><tr><th>Item</th><th>Price</th></tr><tr><td>Pens</td><td>9,50&nbsp;€</td></tr></table>"
        "<img src='file:///etc/passwd'><img src='http://127.0.0.1/x.png'></body></html>"
    )
    document = load_document(tmp_path / "a.html")
    lines = [line.split() for line in document.text.splitlines() if line]
    assert lines == [["Invoice", "4711"], ["Item", "Price"], ["Pens", "9,50", "€"]]
    assert "   " in document.text.splitlines()[-1]
    assert "WHITE" in document.warnings[0]


def word_file(path: Path, fill: Any) -> Path:
    document = docx.Document()
    fill(document)
    buffer = io.BytesIO()
    document.save(buffer)
    path.write_bytes(buffer.getvalue())
    return path


def test_word_documents(tmp_path: Path) -> None:
    def fill(document: Any) -> None:
        document.sections[0].header.paragraphs[0].text = "Muster GmbH"
        document.add_heading("Invoice 4711 <copy>")
        paragraph = document.add_paragraph("visible ")
        paragraph.add_run("IGNORE").font.hidden = True
        paragraph.add_run("WHITE").font.color.rgb = RGBColor(255, 255, 255)
        table = document.add_table(rows=2, cols=2)
        for row, cells in zip(table.rows, (("Item", "Price"), ("Pens", "9,50")), strict=True):
            row.cells[0].text, row.cells[1].text = cells

    document = load_document(word_file(tmp_path / "a.docx", fill))
    lines = [line.split() for line in document.text.splitlines() if line]
    assert lines == [
        ["Muster", "GmbH"],
        ["Invoice", "4711", "<copy>"],
        ["visible"],
        ["Item", "Price"],
        ["Pens", "9,50"],
    ]


@pytest.mark.heavy
def test_many_pages_of_a_picture_file(tmp_path: Path) -> None:
    from PIL import Image

    first, *more = [Image.new("RGB", (200, 100), "white") for _ in range(3)]
    first.save(tmp_path / "a.tif", save_all=True, append_images=more)
    with pytest.raises(Exception, match=r"no text found on any of its 3 page"):
        load_document(tmp_path / "a.tif")
