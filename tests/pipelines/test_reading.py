import datetime as dt
from decimal import Decimal
from typing import Any, Literal

import pytest
from made_documents import document_of
from pydantic import BaseModel, Field

from dg_sglang.pipelines.evidence import trace
from dg_sglang.pipelines.normalise import conventions_of
from dg_sglang.pipelines.reading import Failure, Reading, claims, path_name, read_answer, to_json_value
from dg_sglang.pipelines.schema_tree import schema_tree
from dg_sglang.pipelines.segments import segments_of

DOCUMENT = document_of(
    [
        "Muster GmbH           Rechnung Nr. 4711",
        "",
        "vom 03.05.2024    zahlbar 03/04/24",
        "",
        "3 x 1.234,50 €    3.703,50 €",
    ]
)


class Item(BaseModel):
    quantity: int
    price: Decimal | None = None


class Bill(BaseModel):
    number: str
    date: dt.date | None = None
    due: dt.date | None = None
    currency: str | None = Field(None, json_schema_extra={"x-kind": "currency"})
    total: float | None = None
    status: Literal["open", "paid"] | None = None
    paid: bool | None = None
    level: Literal[1, 2] | None = None
    note: str = "none"
    items: list[Item] = []
    tags: list[str] | None = None
    item: Item | None = None


def read(answer: dict[str, Any], confidences: dict[Any, float] | None = None) -> Reading:
    nodes = schema_tree(Bill).children
    traced = trace(claims(nodes, answer), segments_of(DOCUMENT))
    return read_answer(nodes, answer, traced, conventions_of(""), confidences or {})


def test_values_are_typed_and_traced() -> None:
    reading = read(
        {
            "number": "4711",
            "date": "03.05.2024",
            "total": "3.703,50",
            "status": "paid",
            "paid": False,
            "level": "2",
            "items": [{"quantity": "3", "price": "1.234,50"}],
            "item": None,
            "tags": [],
        },
        {("number",): 0.75, ("item",): 0.5},
    )
    assert reading.values == {
        "number": "4711",
        "date": dt.date(2024, 5, 3),
        "due": None,
        "currency": None,
        "total": 3703.5,
        "status": "paid",
        "paid": False,
        "level": 2,
        "items": [{"quantity": 3, "price": Decimal("1234.50")}],
        "tags": None,
        "item": None,
    }
    assert reading.failures == []
    assert reading.warnings == []
    number, date = reading.evidence["number"], reading.evidence["date"]
    assert (number.match, number.verbatim, number.page, number.confidence) == ("exact", "4711", 1, 0.75)
    assert len(number.boxes) == number.occurrences == 1
    assert (date.match, date.verbatim) == ("normalised", "03.05.2024")
    assert reading.evidence["items"][0]["price"].match == "normalised"
    assert (reading.evidence["paid"].match, reading.evidence["item"].confidence) == ("none", 0.5)


def test_a_null_that_the_schema_doesnt_know_leaves_its_default() -> None:
    reading = read({"number": "4711", "note": None})
    assert "note" not in reading.values
    assert Bill.model_validate(reading.values).note == "none"


def test_what_cant_be_read_is_null_with_a_warning() -> None:
    reading = read({"number": "4711", "due": "03/04/24", "currency": "kr", "total": "abc"})
    assert (reading.values["due"], reading.values["currency"], reading.values["total"]) == (None, None, None)
    assert len(reading.warnings) == 3
    assert reading.warnings[0].startswith("due is null: '03/04/24' may be 2024-04-03 or 2024-03-04")
    assert reading.evidence["due"].verbatim == "03/04/24"
    assert reading.evidence["due"].page == 1


def test_what_the_schema_requires_and_isnt_there_is_a_failure() -> None:
    reading = read({"number": None, "items": [{"quantity": "1,5", "price": None}]})
    assert reading.failures == [
        Failure("number", None, "the schema requires it, but it was not found in the document"),
        Failure("items[0].quantity", "1,5", "1.5 is not a whole number"),
    ]
    assert str(reading.failures[1]) == "items[0].quantity: 1.5 is not a whole number (the model chose '1,5')"


@pytest.mark.parametrize(
    "answer",
    [
        {"number": ["a"], "items": "none", "item": "x", "status": "closed", "paid": "yes", "level": 3, "date": {}},
        {"number": 4711, "items": [None, "x", {}], "tags": {"a": 1}},
        {},
    ],
)
def test_an_answer_of_any_shape_is_read_without_a_crash(answer: dict[str, Any]) -> None:
    reading = read(answer)
    assert reading.evidence.keys() == Bill.model_fields.keys()
    assert reading.failures


def test_words_that_stand_nowhere_have_no_place() -> None:
    evidence = read({"number": "4712"}).evidence["number"]
    assert (evidence.match, evidence.verbatim, evidence.page, evidence.boxes) == ("none", "4712", None, ())


def test_names_and_json_values() -> None:
    assert path_name(("items", 2, "price")) == "items[2].price"
    assert path_name(()) == ""
    assert to_json_value({"a": [dt.date(2024, 5, 3), Decimal("1.5"), None]}) == {"a": ["2024-05-03", 1.5, None]}
