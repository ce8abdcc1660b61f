"""Constrained generation, end to end, on a model that has learnt nothing: validity must not depend on the model."""

import json
import re
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel

from dg_sglang import Engine
from dg_sglang.errors import BudgetError
from dg_sglang.grammar import (
    Choice,
    Ebnf,
    JsonObject,
    JsonSchema,
    Regex,
    StructuralTag,
    Template,
    Verbatim,
    VerbatimSource,
)


class Item(BaseModel):
    name: str
    price: float | None


class Order(BaseModel):
    colour: Literal["red", "green"]
    paid: bool
    items: list[Item]


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 8},
        "n": {"type": "integer"},
        "l": {"type": "array", "items": {"type": "boolean"}, "maxItems": 4},
    },
    "required": ["a", "n", "l"],
    "additionalProperties": False,
}
POLICIES: list[dict[str, Any]] = [
    {},
    {"accept": "tilted", "condition": "tilted", "stop": "confident"},
    {"accept": "tilted", "frontier_window": 4, "entropy_bound": 0.3, "stop_after": 4},
    {"condition": "tilted", "tail": "scored"},
    {"flatten": 0.25, "whitespace": "compact", "stop_after": 1},
]


@pytest.mark.parametrize("policy", POLICIES)
def test_always_valid_and_always_closed(engine: Engine, policy: dict[str, Any]) -> None:
    requests = [
        {"prompt": "go", "constraint": SCHEMA, "seed": seed, "max_new_tokens": budget, "policy": policy}
        for seed, budget in enumerate((16, 17, 23, 31, 32, 33, 48, 60))
    ]
    for request, result in zip(requests, engine.generate_batch(requests), strict=True):
        assert len(result.token_ids) <= request["max_new_tokens"]
        assert result.finish_reason == "stop"
        jsonschema.validate(json.loads(result.text), SCHEMA)
        assert result.parsed == json.loads(result.text)
        if policy.get("whitespace") == "compact":
            assert result.text == json.dumps(result.parsed, separators=(",", ":"), ensure_ascii=False)


def test_an_answer_over_several_canvases(engine: Engine) -> None:
    result = engine.generate("go", constraint=Regex("(ab?c){20,30}"), seed=0, max_new_tokens=80)
    assert re.fullmatch("(ab?c){20,30}", result.text)
    assert result.usage.canvases >= 3
    assert result.parsed is None


def test_the_shortest_budget_and_one_less(engine: Engine) -> None:
    shortest = engine.compile(SCHEMA).min_tokens(engine.compile(SCHEMA).start)
    result = engine.generate("go", constraint=SCHEMA, max_new_tokens=shortest, seed=0)
    assert len(result.token_ids) == shortest and result.finish_reason == "stop"
    jsonschema.validate(result.parsed, SCHEMA)
    with pytest.raises(BudgetError):
        engine.generate("go", constraint=SCHEMA, max_new_tokens=shortest - 1)


def test_a_pydantic_model(engine: Engine) -> None:
    for seed in range(3):
        result = engine.generate("go", constraint=Order, seed=seed, max_new_tokens=90)
        Order.model_validate(result.parsed)


def test_choices_and_verbatim_pieces(engine: Engine) -> None:
    options = ["yes", "no", "perhaps not"]
    source = VerbatimSource("the total is 12 euros")
    schema = {"type": "string", "x-verbatim": {"source": "document"}}
    for seed in range(4):
        assert engine.generate("go", constraint=Choice(options), seed=seed).text in options
        piece = engine.generate("go", constraint=JsonSchema(schema, sources={"document": source}), seed=seed).parsed
        assert piece in source.text


def test_a_template_gives_its_holes_back(engine: Engine) -> None:
    template = Template(
        "{name} owes {amount}: {{{items}}}",
        name=Verbatim("Ann Lee, Bo"),
        amount={"type": "integer", "minimum": 0, "maximum": 99},
        items=JsonSchema({"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, whitespace="compact"),
    )
    for seed in range(3):
        result = engine.generate("go", constraint=template, seed=seed, max_new_tokens=60)
        holes = result.parsed
        assert result.text == "{name} owes {amount}: {{{items}}}".format(
            **holes | {"items": json.dumps(holes["items"], separators=(",", ":"))}
        )
        assert holes["name"] in "Ann Lee, Bo"
        assert 0 <= holes["amount"] <= 99


def test_structural_tags_and_grammars_without_nesting(engine: Engine) -> None:
    call = {"type": "json_schema", "json_schema": {"type": "array", "items": {"type": "null"}, "maxItems": 3}}
    tag = {"type": "tag", "begin": "<call>", "content": call, "end": "</call>"}
    tags = {"type": "triggered_tags", "triggers": ["<call"], "tags": [tag], "at_least_one": True}
    grammar = Ebnf('root ::= word ("," word)*\nword ::= "ab" | [xyz]{2,3}')
    for seed in range(3):
        text = engine.generate("go", constraint=StructuralTag({"format": tags}), seed=seed, max_new_tokens=40).text
        for piece in text.split("<call")[1:]:
            assert re.match(r">\[\s*(null\s*(,\s*null\s*){0,2})?\]</call>", piece), text
        assert "<call>" in text
        text = engine.generate("go", constraint=grammar, seed=seed, max_new_tokens=40).text
        assert all(re.fullmatch("ab|[xyz]{2,3}", word) for word in text.split(",")), text


JSON = r"""
root   ::= "{" (string ":" value ("," string ":" value)*)? "}"
value  ::= root | "[" (value ("," value)*)? "]" | string | [0-9]{1,3} | "true" | "null"
string ::= "\"" [a-z]{0,4} "\""
"""


def test_texts_that_nest_without_bound(engine: Engine) -> None:
    for seed in range(4):
        for constraint in (Ebnf(JSON), JsonObject(), Ebnf('root ::= "(" root ")" | "a"')):
            result = engine.generate("go", constraint=constraint, seed=seed, max_new_tokens=48)
            assert result.finish_reason == "stop"
            if constraint == JsonObject():
                assert isinstance(result.parsed, dict)
            elif constraint == Ebnf(JSON):
                assert isinstance(json.loads(result.text), dict)
            else:
                depth = result.text.count("(")
                assert result.text == "(" * depth + "a" + ")" * depth


def test_python_types(engine: Engine) -> None:
    assert engine.generate("go", constraint=Literal["yes", "no"], seed=0).text in ("yes", "no")
    assert engine.generate("go", constraint=tuple[bool, bool], seed=0, max_new_tokens=40).parsed in (
        [a, b] for a in (True, False) for b in (True, False)
    )


def test_fixed_tokens_steer_a_constrained_answer(engine: Engine) -> None:
    no = engine.tokenizer("n", add_special_tokens=False)["input_ids"][0]
    for seed in range(3):
        assert engine.generate("go", constraint=Choice(["yes", "no"]), seed=seed, fixed_tokens={0: no}).text == "no"


def test_confidence_is_high_where_the_constraint_leaves_no_choice(engine: Engine) -> None:
    result = engine.generate("go", constraint=Regex("(abab){3}c"), seed=0)
    assert len(result.token_ids) == len(result.token_confidence)
    only = engine.generate("go", constraint=Regex("x"), seed=0)
    assert only.token_confidence[0] == pytest.approx(1.0, abs=1e-5)


def test_an_answer_that_fills_its_canvas_needs_no_other_one_for_the_end(engine: Engine) -> None:
    length = engine.canvas_length
    result = engine.generate("go", constraint=Regex(f"[xyz]{{{length}}}"), seed=0, max_new_tokens=4 * length)
    assert (len(result.token_ids), result.usage.canvases, result.finish_reason) == (length, 1, "stop")
    assert len(result.text) == length
