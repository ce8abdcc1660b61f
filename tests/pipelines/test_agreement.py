from typing import Any

import pytest

from dg_sglang.pipelines.agreement import SURE, settle
from dg_sglang.pipelines.schema_tree import schema_tree

TEXT = {"type": ["string", "null"]}
SCHEMA = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "number": {"type": "string"},
        "paid": {"type": ["boolean", "null"]},
        "seller": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]}},
    },
    "required": ["name", "number", "paid", "seller", "rows"],
}
NODES = schema_tree(SCHEMA).children
CAUSAL: dict[str, Any] = {
    "name": "Oak",
    "number": "12",
    "paid": True,
    "seller": {"name": "Elm"},
    "rows": [{"name": "x"}],
}
OTHER: dict[str, Any] = {
    "name": "Ash",
    "number": "13",
    "paid": False,
    "seller": {"name": None},
    "rows": [{"name": "y"}],
}
UNSURE = dict.fromkeys([("name",), ("number",), ("paid",), ("seller", "name"), ("rows", 0, "name")], SURE / 2)


def test_what_both_read_stands_however_unsure() -> None:
    assert settle(NODES, CAUSAL, CAUSAL, UNSURE) == (CAUSAL, [])


def test_what_they_differ_in_is_null_where_it_may_be_and_was_stated() -> None:
    answer, doubts = settle(NODES, CAUSAL, OTHER, UNSURE)
    assert answer == CAUSAL | {"name": None, "seller": {"name": None}}
    assert [str(doubt) for doubt in doubts] == [
        "name is null: left to right it reads 'Oak', denoised 'Ash'",
        "seller.name is null: left to right it reads 'Elm', denoised nothing",
    ]


@pytest.mark.parametrize(("confidence", "kept"), [(SURE, True), (SURE - 0.01, False)])
def test_a_sure_value_stands_alone(confidence: float, kept: bool) -> None:
    answer, doubts = settle(NODES, CAUSAL, OTHER, UNSURE | {("name",): confidence})
    assert answer["name"] == ("Oak" if kept else None)
    assert len(doubts) == (1 if kept else 2)


def test_null_stays_null() -> None:
    answer, doubts = settle(NODES, CAUSAL | {"name": None}, OTHER, {("name",): 0.1})
    assert answer["name"] is None
    assert not doubts
