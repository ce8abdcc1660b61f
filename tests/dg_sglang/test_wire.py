"""What a constraint means survives the way to a server and back."""

import json

import pytest
from pydantic import BaseModel

from dg_sglang.errors import GrammarError, InvalidSchemaError
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
    compile_constraint,
)
from dg_sglang.wire import read_schema, to_wire


class Pair(BaseModel):
    left: str
    right: int | None


@pytest.mark.parametrize("schema", [{"type": "integer"}, {"enum": ["ü", None]}, True, '{"type": "null"}', Pair])
def test_a_schema_travels_as_it_is(schema: object) -> None:
    constraint = JsonSchema(schema)
    (text,) = to_wire(constraint).values()
    assert read_schema(text) == JsonSchema(constraint.resolved())
    assert json.loads(text) == constraint.resolved()


def test_sources_annotations_and_the_open_world_travel_in_a_keyword_of_their_own() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-verbatim": {"source": "s", "kind": "date"}}}}
    sources = {"s": VerbatimSource(["on 1 May", "or 2 June"], {"date": ["1 May"]}), "t": "plain"}
    schema["properties"]["a"]["format"] = "own"
    text = to_wire(JsonSchema(schema, sources=sources, open=True, annotations={"own"}))["json_schema"]
    back = read_schema(text)
    assert back.annotations == ["own"]
    assert back.schema == schema
    assert back.open
    assert back.sources == {name: VerbatimSource.of(source) for name, source in sources.items()}
    grammar = compile_constraint(back)
    assert grammar.accepts('{"a": "1 May"}')
    assert not grammar.accepts('{"a": "2 June"}')


def test_any_object_is_a_schema() -> None:
    assert read_schema(to_wire(JsonObject())["json_schema"]) == JsonSchema({"type": "object"})


@pytest.mark.parametrize("options", [["yes", "no"], ["a|b", "(c)", "d.e", "[f]", "{1}", "^$", "g\\h", "i/j", "k*+?"]])
def test_choices_travel_as_a_pattern_of_just_them(options: list[str]) -> None:
    grammar = compile_constraint(Regex(to_wire(Choice(options))["regex"]))
    assert all(grammar.accepts(option) for option in options)
    assert not any(grammar.accepts(text) for text in ("", "a", "b", "dxe", "f", "1", "gh", "kk", "yesno"))


def test_a_pattern_travels_as_it_is() -> None:
    assert to_wire(Regex("a|b")) == {"regex": "a|b"}
    assert to_wire(Regex("")) == to_wire(Choice([""])) == {"regex": "()"}  # SGLang drops empty texts


def test_grammars_and_structural_tags_travel_as_they_are() -> None:
    assert to_wire(Ebnf('root ::= "a"')) == {"ebnf": 'root ::= "a"'}
    tag = {"type": "structural_tag", "format": {"type": "regex", "pattern": "a"}}
    assert json.loads(to_wire(StructuralTag(tag))["structural_tag"]) == tag


def test_a_template_travels_as_a_structural_tag() -> None:
    inner = Template("({x})", x=Choice(["a*", "b"]))
    template = Template(
        "{one}, {two}: {three}; {four}", one=Regex("[0-9]"), two=int, three=inner, four=Ebnf('root ::= "z"+')
    )
    (text,) = to_wire(template).values()
    grammar = compile_constraint(StructuralTag(text))
    assert grammar.accepts("1, -25: (a*); zz")
    assert not any(map(grammar.accepts, ("1, x: (b); z", "1, 2: (a); z", "1, 2: (b); ", "1, 2: (b); zz ")))


def test_what_is_no_constraint_is_refused() -> None:
    with pytest.raises(GrammarError):
        to_wire(compile_constraint(Regex("a")))
    for unsayable in (
        Verbatim("a text"),
        Ebnf('start ::= "a"', root="start"),
        Template("{a}", a=JsonSchema({"type": "string"}, sources={"s": "t"})),
        Template("{a}", a=JsonSchema({"type": "array"}, whitespace="compact")),
        Template("{a}", a=JsonObject(whitespace="compact")),
    ):
        with pytest.raises(GrammarError, match="can't be sent"):
            to_wire(unsayable)
    with pytest.raises(InvalidSchemaError, match="not JSON"):
        to_wire(JsonSchema({"const": float("nan")}))
    with pytest.raises(InvalidSchemaError, match="x-dg"):
        to_wire(JsonSchema({"x-dg": 1}, open=True))
    with pytest.raises(InvalidSchemaError, match="annotations must be a list of names, not 'own'"):
        to_wire(JsonSchema({}, annotations="own"))


@pytest.mark.parametrize(
    ("extras", "pointer"),
    [
        (1, "/x-dg"),
        ({"sauces": {}}, "/x-dg"),
        ({"open": 1}, "/x-dg"),
        ({"sources": []}, "/x-dg/sources"),
        ({"sources": {"a/b": {"spans": {}}}}, "/x-dg/sources/a~1b"),
    ],
    ids=str,
)
def test_a_malformed_keyword_is_refused_where_it_stands(extras: object, pointer: str) -> None:
    with pytest.raises(InvalidSchemaError) as caught:
        read_schema(json.dumps({"x-dg": extras}))
    assert caught.value.pointer == pointer


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidSchemaError, match="not valid JSON"):
        read_schema("{")
