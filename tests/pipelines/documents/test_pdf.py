from pathlib import Path

import pymupdf
import pytest
from made_documents import make_pdf, make_scan

from dg_sglang.errors import DocumentError
from dg_sglang.pipelines import Limits, load_document

TEXT = [(72, 100, "Invoice 4711"), (400, 100, "9,50"), (72, 130, "Thank you")]


def test_words_have_boxes_in_points_from_the_top_left(tmp_path: Path) -> None:
    document = load_document(make_pdf(tmp_path / "a.pdf", [TEXT]))
    (page,) = document.pages
    assert (page.number, page.width, page.height, page.source) == (1, 595, 842, "text")
    assert document.text.split() == ["Invoice", "4711", "9,50", "Thank", "you"]
    x0, y0, x1, y1 = document.places[2].word.box
    assert 399 < x0 < 401 < x1 < 430
    assert 85 < y0 < 95 < 100 < y1 < 106


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_boxes_of_rotated_pages_lie_on_the_page_as_displayed(tmp_path: Path, rotation: int) -> None:
    document = load_document(make_pdf(tmp_path / "a.pdf", [TEXT], rotation=rotation))
    (page,) = document.pages
    assert (page.width, page.height) == ((595, 842) if rotation == 180 else (842, 595))
    for place in document.places:
        x0, y0, x1, y1 = place.word.box
        assert 0 <= x0 < x1 <= page.width
        assert 0 <= y0 < y1 <= page.height
    assert document.text.splitlines()[-1] == "Thank you"


@pytest.mark.parametrize("angle", [90, 180, 270])
def test_a_page_of_sideways_text_is_read_in_its_own_direction(tmp_path: Path, angle: int) -> None:
    path = tmp_path / "a.pdf"
    with pymupdf.open() as pdf:
        page = pdf.new_page(width=600, height=600)
        for line, text in enumerate(("first line", "second line")):
            across = 20 * line
            at = {90: (100 + across, 300), 180: (300, 200 - across), 270: (200 - across, 100)}[angle]
            page.insert_text(at, text, rotate=angle)
        pdf.save(path)
    assert load_document(path).text.splitlines() == ["first line", "second line"]


def test_a_side_note_stays_out_of_the_lines(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [TEXT])
    with pymupdf.open(path) as pdf:
        pdf[0].insert_text((40, 160), "Copyright 2013", rotate=90)
        pdf.saveIncr()
    assert load_document(path).text.splitlines()[-1] == "Copyright 2013"


def test_encrypted_files_need_their_password(tmp_path: Path) -> None:
    path = make_pdf(
        tmp_path / "a.pdf", [TEXT], encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="owner"
    )
    with pytest.raises(DocumentError, match="encrypted; give its password"):
        load_document(path)
    with pytest.raises(DocumentError, match="encrypted; the password is wrong"):
        load_document(path, password="wrong")
    assert "4711" in load_document(path, password="secret").text


def test_attachments_are_not_read(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [TEXT])
    with pymupdf.open(path) as pdf:
        pdf.embfile_add("factur-x.xml", b"<GrandTotal>123456</GrandTotal>")
        pdf.saveIncr()
    assert "123456" not in load_document(path).text


def test_truncated_files(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [TEXT] * 3)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(DocumentError, match=r"damaged or truncated|no text found"):
        load_document(path)


@pytest.mark.heavy
def test_pages_without_text_are_read_by_ocr(tmp_path: Path) -> None:
    scan = make_scan(tmp_path / "scan.png", [(40, 60, "Invoice 4711"), (40, 120, "Total 9.50")])
    path = make_pdf(tmp_path / "a.pdf", [TEXT, []])
    with pymupdf.open(path) as pdf:
        pdf[1].insert_image((50, 50, 470, 350), filename=str(scan))
        pdf.saveIncr()
    messages: list[str] = []
    document = load_document(path, progress=messages.append)
    assert [page.source for page in document.pages] == ["text", "ocr"]
    assert messages == ["page 2: no text layer, reading it by OCR"]
    word = next(place.word for place in document.places if place.page == 2 and "4711" in place.word.text)
    assert 140 < word.box[0] < 200  # 50 + 40 points and "Invoice " before it
    assert 90 < word.box[1] < 112
    with pytest.raises(DocumentError, match=r"Limits\.max_pixels"):
        load_document(path, limits=Limits(max_pixels=10_000))


def test_a_file_name_that_is_not_utf_8(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", [TEXT]).rename(tmp_path / "b\udcff\n.pdf")
    assert load_document(path).name == "b\udcff\n.pdf"
