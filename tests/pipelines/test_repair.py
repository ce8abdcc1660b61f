from typing import Any

from dg_sglang.grammar import JsonSchema, VerbatimSource, compile_constraint
from dg_sglang.pipelines.reading import Failure
from dg_sglang.pipelines.repair import repairable, tighter_schema
from dg_sglang.pipelines.schema_tree import schema_tree

SCHEMA = {
    "type": "object",
    "properties": {
        "number": {"type": "string"},
        "note": {"type": ["string", "null"]},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}},
        },
    },
    "required": ["number"],
}
NODES = schema_tree(SCHEMA).children
ANSWER: dict[str, Any] = {"number": "4711", "note": None, "rows": [{"name": "Pens", "price": "9,50"}]}
SOURCE = VerbatimSource(["Invoice 4711 Pens 9,50 12,00"], {"number": ["4711", "9,50", "12,00"]})


def failure(*path: str | int) -> Failure:
    return Failure("field", None, "reason", path)


def test_only_leaves_with_a_value_are_repaired() -> None:
    failures = [
        failure("number"),
        failure("note"),
        failure("rows"),
        failure("rows", 0, "price"),
        failure("rows", 7, "x"),
    ]
    assert repairable([*failures, failure()], ANSWER) == {("number",): "4711", ("rows", 0, "price"): "9,50"}


def test_the_rest_is_held_and_the_value_excluded() -> None:
    schema = tighter_schema(NODES, ANSWER, {("rows", 0, "price"): ["9,50"]}, ["number"])
    grammar = compile_constraint(JsonSchema(schema, sources={"document": SOURCE}))
    for price, allowed in (('"12,00"', True), ('"4711"', True), ('"9,50"', False), ('"Pens"', False), ("null", True)):
        text = '{"number":"4711","note":null,"rows":[{"name":"Pens","price":' + price + "}]}"
        assert grammar.accepts(text) == allowed
    for other in (
        '{"number":"Invoice","note":null,"rows":[{"name":"Pens","price":"12,00"}]}',
        '{"number":"4711","note":"Pens","rows":[{"name":"Pens","price":"12,00"}]}',
        '{"number":"4711","note":null,"rows":[]}',
    ):
        assert not grammar.accepts(other)
