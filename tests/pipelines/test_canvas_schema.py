import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from dg_sglang.grammar import JsonSchema, VerbatimSource, compile_constraint
from dg_sglang.pipelines import Invoice
from dg_sglang.pipelines.canvas_schema import MOST_COUNTED, SOURCE, SPAN_KINDS, canvas_schema, prompt_fields
from dg_sglang.pipelines.prompt import render_fields
from dg_sglang.pipelines.schema_tree import schema_tree

TEXT = "Invoice 4711 of 3 May 2024 from Muster GmbH: 9,50 €"
SPANS = {"date": ["3 May 2024"], "number": ["4711", "3", "2024", "9,50"], "currency": ["€"]}


class Order(BaseModel):
    number: str
    note: str | None = None
    total: float
    status: Literal["open", "paid"]
    paid: bool | None = None
    items: list[str] = Field(max_length=2)


def accepts(answer: dict[str, Any], schema: Any = Order, spans: dict[str, list[str]] = SPANS) -> bool:
    available = [kind for kind in SPAN_KINDS if spans.get(kind)]
    canvas = canvas_schema(schema_tree(schema).children, available)
    grammar = compile_constraint(JsonSchema(canvas, sources={SOURCE: VerbatimSource(TEXT, spans)}))
    return grammar.accepts(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))


GOOD = {"number": "4711", "note": None, "total": "9,50", "status": "open", "paid": True, "items": []}


@pytest.mark.parametrize(
    "change",
    [{}, {"note": "Muster GmbH"}, {"paid": None}, {"status": "paid"}, {"items": ["3 May 2024"]}, {"total": "2024"}],
)
def test_pieces_of_the_document_and_judged_values_are_accepted(change: dict[str, Any]) -> None:
    assert accepts(GOOD | change)


@pytest.mark.parametrize(
    "change",
    [
        {"number": "4712"},
        {"number": None},
        {"number": "471"},
        {"total": 9.5},
        {"total": "9"},
        {"status": "closed"},
        {"items": ["Invoice", "Invoice", "Invoice"]},
        {"surplus": "4711"},
    ],
)
def test_anything_else_is_not(change: dict[str, Any]) -> None:
    assert not accepts(GOOD | change)


def test_keys_come_in_schema_order_and_none_is_left_out() -> None:
    assert not accepts(dict(reversed(GOOD.items())))
    assert not accepts({name: value for name, value in GOOD.items() if name != "note"})


def test_a_kind_that_the_document_lacks_can_only_be_null() -> None:
    spans = SPANS | {"number": []}
    assert accepts(GOOD | {"total": None}, spans=spans)
    assert not accepts(GOOD, spans=spans)


def test_large_item_counts_are_left_to_validation() -> None:
    class Long(BaseModel):
        names: list[str] = Field(min_length=MOST_COUNTED + 5, max_length=500)

    schema = canvas_schema(schema_tree(Long).children, ())["properties"]["names"]
    assert (schema["minItems"], schema.get("maxItems")) == (MOST_COUNTED, None)


def test_the_prompt_shows_names_kinds_and_descriptions() -> None:
    lines = render_fields(prompt_fields(schema_tree(Invoice).children)).splitlines()
    assert lines[:2] == ["invoice_number: text", "issue_date: date (date the document was issued)"]
    assert "line_items: list of objects" in lines
    assert "  quantity: number" in lines
    assert render_fields(prompt_fields(schema_tree(Order).children)).splitlines()[3] == "status: one of open | paid"
