import datetime as dt

import pytest
from made_documents import document_of
from pydantic import BaseModel, Field

from dg_sglang import Engine
from dg_sglang.errors import EmptyDocumentError, ExtractionError, PromptTooLongError, UnsupportedSchemaError
from dg_sglang.pipelines import extract_pages


class Slip(BaseModel):
    number: str = Field(pattern="^[A-Z]-[0-9]+$")


def test_every_page_is_a_document_of_its_own(engine: Engine) -> None:
    document = document_of(["Slip A-1"], [], ["no number"], ["Slip B-22"])
    notes: list[str] = []
    pages = list(extract_pages(document, Slip, engine=engine, seed=1, progress=notes.append))
    assert [page.page for page in pages] == [1, 2, 3, 4]
    first, blank, lacking, last = pages
    assert first.result is not None
    assert last.result is not None
    assert (first.result.value.number, last.result.value.number) == ("A-1", "B-22")
    assert (first.result.evidence["number"].page, last.result.evidence["number"].page) == (1, 4)
    assert isinstance(blank.error, EmptyDocumentError)
    assert isinstance(lacking.error, ExtractionError)
    assert [page.to_json().get("error", {}).get("category") for page in pages] == [None, "empty", "invalid", None]
    assert last.to_json()["page"] == 4
    assert last.to_json()["value"] == {"number": "B-22"}
    assert "page 4 of 4" in notes


def test_conventions_come_from_the_whole_document(engine: Engine) -> None:
    class Dated(BaseModel):
        on: dt.date

    document = document_of(["03/04/2024"], ["25/12/2024"])
    first, last = (page.result for page in extract_pages(document, Dated, engine=engine, seed=1))
    assert first is not None
    assert last is not None
    assert (first.value.on, last.value.on) == (dt.date(2024, 4, 3), dt.date(2024, 12, 25))


def test_a_schema_that_cant_be_extracted_is_refused_at_once(engine: Engine) -> None:
    with pytest.raises(UnsupportedSchemaError):
        extract_pages(document_of(["anything"]), {"type": "array", "items": {"type": "string"}}, engine=engine)


def test_a_line_that_is_too_long_costs_its_page_alone(engine: Engine) -> None:
    document = document_of(["A-1"], ["word " * 3000], ["B-22"])
    pages = list(extract_pages(document, Slip, engine=engine, seed=1))
    assert [type(page.error) for page in pages] == [type(None), PromptTooLongError, type(None)]
