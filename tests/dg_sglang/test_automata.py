import re
from typing import Literal

import pytest
from pydantic import BaseModel

from dg_sglang import Engine
from dg_sglang.automata import AutomatonCache
from dg_sglang.errors import GrammarError
from dg_sglang.grammar import (
    Choice,
    Ebnf,
    Grammar,
    JsonSchema,
    Regex,
    StructuralTag,
    Template,
    TokenAutomaton,
    Verbatim,
    VerbatimSource,
    compile_constraint,
)


class Answer(BaseModel):
    value: int


def test_equal_constraints_share_an_automaton(engine: Engine) -> None:
    schema = {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}
    assert engine.compile(schema) is engine.compile(dict(schema)) is engine.compile(JsonSchema(schema))
    assert engine.compile(Answer) is engine.compile(JsonSchema(Answer))
    assert engine.compile(Regex("a+")) is engine.compile(Regex("a+"))
    assert engine.compile(Choice(["a", "b"])) is engine.compile(Choice(("a", "b")))
    grammar = compile_constraint(Regex("a+"))
    assert engine.compile(grammar) is engine.compile(grammar)


def test_different_constraints_do_not(engine: Engine) -> None:
    schema = {"type": "array", "items": {"type": "boolean"}}
    assert engine.compile(schema) is not engine.compile(schema, whitespace="compact")
    assert engine.compile(JsonSchema(schema, whitespace="compact")) is engine.compile(schema, whitespace="compact")
    assert engine.compile(Choice(["a", "b"])) is not engine.compile(Choice(["a'", "b"]))
    # The order of properties is part of the schema.
    one = {"properties": {"a": {"type": "null"}, "b": {"type": "null"}}}
    other = {"properties": {"b": {"type": "null"}, "a": {"type": "null"}}}
    shape = {"type": "object", "required": ["a", "b"], "additionalProperties": False}
    assert engine.compile(shape | one) is not engine.compile(shape | other)


def test_closed_and_open_schemas_are_told_apart(engine: Engine) -> None:
    finite = {"enum": [1]}
    assert engine.compile(JsonSchema(finite, open=True)) is not engine.compile(finite)


def test_every_kind_of_constraint_is_kept(engine: Engine) -> None:
    tag = {"format": {"type": "const_string", "value": "a"}}
    for make in (
        lambda: Ebnf('root ::= "a"+'),
        lambda: StructuralTag(dict(tag)),
        lambda: Template("{a}", a=Choice(["x"])),
        lambda: Verbatim("some text", pattern="t.*"),
        lambda: Literal["a", "b"],
        lambda: re.compile("ab"),
        lambda: tuple[bool, bool],
    ):
        assert engine.compile(make()) is engine.compile(make())


def test_sources_are_told_apart(engine: Engine) -> None:
    schema = {"type": "string", "x-verbatim": {"source": "document"}}
    automata = [
        engine.compile(JsonSchema(schema, sources={"document": VerbatimSource(text)})) for text in ("one", "two")
    ]
    assert automata[0] is not automata[1]


def test_the_least_recently_used_is_dropped(engine: Engine) -> None:
    made: list[Grammar] = []

    def make(grammar: Grammar) -> TokenAutomaton:
        made.append(grammar)
        return TokenAutomaton(grammar, engine.vocabulary, end_token_ids=[1])

    cache = AutomatonCache(capacity=2)
    for pattern in ("a", "b", "a", "c", "a", "b"):
        cache.get(Regex(pattern), "json", make)
    assert len(made) == 4  # a, b, c, and b again


def test_what_can_not_be_a_key_is_left_to_the_compiler(engine: Engine) -> None:
    circle: dict[str, object] = {"type": "array"}
    circle["items"] = circle
    for constraint in (circle, {("a",): 1}, Regex([]), Choice(5)):  # type: ignore[arg-type]
        with pytest.raises(GrammarError):
            engine.compile(constraint)
