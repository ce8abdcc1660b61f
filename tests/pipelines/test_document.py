from pathlib import Path

import pytest
from made_documents import document_of, make_pdf

from dg_sglang.errors import DocumentError
from dg_sglang.pipelines import Limits, load_document


def test_text_keeps_columns_blank_lines_and_pages() -> None:
    document = document_of(["Total      9,50", "", "Thank you"], [], ["Page 3"])
    assert document.text == "Total      9,50\n\nThank you\n\nPage 3"


def test_every_offset_leads_back_to_its_word() -> None:
    document = document_of(["Total      9,50", "", "Thank you"], ["Page 2"])
    assert [document.text[p.start : p.end] for p in document.places] == [p.word.text for p in document.places]
    start = document.text.index("9,50")
    (place,) = document.places_at(start + 1, start + 2)
    assert (place.page, place.line, place.word.text) == (1, 0, "9,50")
    start = document.text.index("you")
    assert [p.word.text for p in document.places_at(start, len(document.text))] == ["you", "Page", "2"]
    assert document.places_at(5, 8) == ()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "no such file"),
        (b"", "the file is empty"),
        (b"PK\x03\x04 not a document", "a damaged Word document"),
        (b"%PDF-1.7\n1 0 obj << /Type", "damaged or truncated"),
    ],
)
def test_files_that_are_no_documents(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "input.pdf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DocumentError, match=problem):
        load_document(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="not a file"):
        load_document(tmp_path)


def test_limits_are_named(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "long.pdf", [[(72, 72, "x")]] * 3)
    with pytest.raises(DocumentError, match=r"3 pages are more than the limit of 2.*Limits\.max_pages"):
        load_document(path, limits=Limits(max_pages=2))
    with pytest.raises(DocumentError, match=r"Limits\.max_bytes"):
        load_document(path, limits=Limits(max_bytes=10))


def test_a_thousand_pages_are_the_default_limit(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "book.pdf", [[]] * 1001)
    with pytest.raises(DocumentError, match="1001 pages"):
        load_document(path)


def test_a_document_without_any_text(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no text found"):
        load_document(make_pdf(tmp_path / "blank.pdf", [[]]))
