"""Whatever is drawn is valid and closes in budget: a slice of tests/benchmarks/soundness.py that needs no data."""

from functools import cache

import pytest
from random_canvases import random_answers
from validity import Judge
from vocabularies import nano

from dg_sglang.grammar import JsonSchema, TokenAutomaton, compile_constraint
from dg_sglang.pipelines import Invoice

LEAF = {"type": "string", "maxLength": 4}
SCHEMAS = {
    "invoice": Invoice.model_json_schema(),
    "numbers": {
        "type": "array",
        "items": {"anyOf": [{"type": "number", "minimum": -1.5, "exclusiveMaximum": 12}, {"multipleOf": 7}]},
        "minItems": 2,
        "maxItems": 5,
    },
    "strings": {
        "type": "object",
        "properties": {
            "code": {"type": "string", "pattern": "^[A-Z]{2,3}[0-9]+$", "maxLength": 6},
            "when": {"type": "string", "format": "date-time"},
            "not": {"type": "string", "not": {"pattern": "a"}, "minLength": 1},
        },
        "required": ["code", "when", "not"],
    },
    "combined": {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "x": LEAF, "y": {"type": "integer"}},
        "required": ["kind"],
        "oneOf": [
            {"properties": {"kind": {"const": "a"}}, "required": ["x"]},
            {"properties": {"kind": {"const": "b"}, "y": {"minimum": 10}}, "required": ["y"]},
        ],
        "if": {"required": ["y"]},
        "then": {"properties": {"y": {"maximum": 99}}},
    },
    "maps": {
        "type": "object",
        "patternProperties": {"^n": {"type": "integer"}},
        "additionalProperties": LEAF,
        "propertyNames": {"pattern": "^[a-z]+$"},
        "maxProperties": 3,
    },
    "unique": {"type": "array", "items": {"enum": [1, "1", None, True]}, "uniqueItems": True, "contains": {"const": 1}},
}


@cache
def tokens():
    return nano()


@pytest.mark.parametrize("open_world", [False, True])
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_draw_is_valid_and_closes_in_budget(name, open_world):
    judge = Judge(SCHEMAS[name])
    grammar = compile_constraint(JsonSchema(SCHEMAS[name], open=open_world))
    automaton = TokenAutomaton(
        grammar, tokens().vocabulary, end_token_ids=tokens().end_token_ids, pad_token_id=tokens().pad_token_id
    )
    texts = set()
    for drawn in random_answers(automaton, [], 150, seed=1):
        assert drawn.closed, drawn
        assert judge.fault(drawn.text) == "", drawn
        assert grammar.accepts(drawn.text), drawn
        texts.add(drawn.text)
    assert len(texts) > 5
