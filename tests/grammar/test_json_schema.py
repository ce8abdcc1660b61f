import json
import re

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from dg_sglang.errors import EmptyLanguageError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import Choice, JsonSchema, compile_constraint
from dg_sglang.grammar.json_schema import explain_schema

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-20, 2000), st.floats(-1e6, 1e6), st.text('aé"\\\n\U0001f600', max_size=4),
    st.sampled_from(["2024-02-29", "2023-02-29", "2024-13-01", "1900-02-29", "2000-02-29"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda child: (
        st.lists(child, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", 'k"y', "z"]), child, max_size=3)
    ),
    max_leaves=5,
)
BOUNDS = st.tuples(st.integers(0, 2), st.integers(2, 4))
LEAVES = st.one_of(
    st.sampled_from([{"type": t} for t in ("number", "integer", "boolean", "null", "string")]),
    st.just({"type": "string", "format": "date"}),
    st.just({"type": ["string", "null"]}),
    BOUNDS.map(lambda b: {"type": "string", "minLength": b[0], "maxLength": b[1]}),
    st.lists(SCALARS, min_size=1, max_size=3).map(lambda v: {"enum": v}),
    SCALARS.map(lambda v: {"const": v}),
)


def objects(child):
    names = st.lists(st.sampled_from(["a", "b", 'k"y']), unique=True, max_size=3)
    return st.tuples(names, st.lists(child, min_size=3, max_size=3), st.sets(st.integers(0, 2))).map(
        lambda t: {
            "type": "object",
            "properties": dict(zip(t[0], t[1], strict=False)),
            "required": [n for i, n in enumerate(t[0]) if i in t[2]],
            "additionalProperties": False,
        }
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda child: st.one_of(
        objects(child),
        st.tuples(child, BOUNDS).map(
            lambda t: {"type": "array", "items": t[0], "minItems": t[1][0], "maxItems": t[1][1]}
        ),
        st.lists(child, min_size=1, max_size=2).map(lambda c: {"anyOf": c}),
    ),
    max_leaves=4,
)


@given(SCHEMAS, st.lists(VALUES, min_size=5, max_size=5), st.sampled_from([None, 1, "\t"]))
@settings(max_examples=300, deadline=None)
def test_accepts_only_what_the_validator_accepts(schema, values, indent):
    try:
        grammar = compile_constraint(JsonSchema(schema))
    except EmptyLanguageError:
        grammar = None
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    for value in values:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
        if grammar is not None and grammar.accepts(text):
            assert validator.is_valid(value), (schema, text)


@given(LEAVES, st.lists(SCALARS, min_size=8, max_size=8))
@settings(max_examples=200, deadline=None)
def test_scalars_are_decided_as_the_validator_does(schema, values):
    grammar = compile_constraint(JsonSchema(schema))
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    for value in values:
        if isinstance(value, float) and value.is_integer():
            continue  # 1.0 is an integer to the standard; the grammar writes it 1
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, float) and re.search(r"e[-+]\d{3}", text):
            continue  # the closed world writes exponents of two digits
        assert grammar.accepts(text) == validator.is_valid(value), (schema, text)


OBJECT = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "array", "items": {"$ref": "#/$defs/x"}},
        "c": {"type": "null"},
    },
    "required": ["b"],
    "$defs": {"x": {"anyOf": [{"type": "boolean"}, {"type": "string", "maxLength": 1}]}},
}


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ('{"b":[]}', True),
        ('{"a":-1,"b":[true,"x"],"c":null}', True),
        ('{ "b" : [ true , false ] }', True),
        ('{\n  "b": [\n    true\n  ]\n}', True),
        ('{"b":[true],"a":1}', False),  # properties come in schema order
        ('{"b":[true],"d":1}', False),
        ('{"a":1}', False),
        ('{"b":["xy"]}', False),
        ('{"b":[true,]}', False),
        ('{"a":01,"b":[]}', False),
        ('{"a":1,,"b":[]}', False),
        ('{"b":[]', False),
        ('{"b":[]} ', False),
        ("{" + " " * 40 + '"b":[]}', False),  # white space can't be padding
    ],
)
def test_objects(text, valid):
    assert compile_constraint(JsonSchema(OBJECT)).accepts(text) == valid


def test_whitespace_compact():
    grammar = compile_constraint(JsonSchema(OBJECT, whitespace="compact"))
    assert grammar.accepts('{"b":[true]}')
    assert not grammar.accepts('{"b": [true]}')


def test_optional_properties_only():
    schema = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}}
    grammar = compile_constraint(JsonSchema(schema))
    for text in ("{}", "{ }", '{"a":null}', '{"b":null}', '{"a":null, "b":null}'):
        assert grammar.accepts(text), text
    for text in ("{,}", '{,"b":null}', '{"a":null,}', '{"a":null "b":null}'):
        assert not grammar.accepts(text), text


class Line(BaseModel):
    text: str = Field(min_length=1)
    count: int | None = None


class Order(BaseModel):
    model_config = {"extra": "forbid"}
    number: str
    lines: list[Line] = Field(max_length=2)


def test_pydantic_models_and_schema_texts():
    for schema in (Order, Order.model_json_schema(), json.dumps(Order.model_json_schema())):
        grammar = compile_constraint(JsonSchema(schema))
        assert grammar.accepts('{"number": "1", "lines": [{"text": "x"}, {"text": "y", "count": 2}]}')
        assert not grammar.accepts('{"number": "1", "lines": [{"text": ""}]}')


STRINGS_ITEMS = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}


@pytest.mark.parametrize(
    ("schema", "keyword", "pointer"),
    [
        ({"type": "string", "pattern": r"(a)\1"}, "pattern", ""),
        (
            {"type": "object", "properties": {"a/b": {"type": "string", "pattern": r"(?>x)"}}},
            "pattern",
            "/properties/a~1b",
        ),
        ({"type": "string", "format": "regex"}, "format", ""),
        ({"type": "string", "format": "iso-code"}, "format", ""),
        ({"type": "integer", "multipleOf": 1234567}, "multipleOf", ""),
        ({"type": "array", "items": {"type": "object"}, "uniqueItems": True}, "uniqueItems", ""),
        ({"properties": {"a": STRINGS_ITEMS}}, "uniqueItems", "/properties/a"),
        ({"type": "object", "additionalProperties": True, "minProperties": 2}, "minProperties", ""),
        ({"minimum": 3, "minLength": 2}, "type", ""),
        ({"type": "string", "maxlength": 3}, "maxlength", ""),
        ({"$ref": "other.json"}, "$ref", ""),
        ({"items": {"$ref": "https://example.com/x#/y"}}, "$ref", "/items"),
    ],
)
def test_refused_with_keyword_and_pointer(schema, keyword, pointer):
    with pytest.raises(UnsupportedSchemaError) as caught:
        compile_constraint(JsonSchema(schema))
    assert (caught.value.keyword, caught.value.pointer) == (keyword, pointer)
    assert repr(keyword) in str(caught.value)


@pytest.mark.parametrize(
    "schema",
    [
        "{not json", 3, {"type": "text"}, {"type": []}, {"type": "string", "minLength": -1},
        {"type": "string", "maxLength": "3"}, {"type": "object", "properties": []}, {"type": "object", "required": "a"},
        {"enum": []}, {"enum": "ab"}, {"anyOf": []}, {"$ref": "#/$defs/none"},
        {"const": float("nan")}, {"enum": [{1, 2}]}, {"type": "object", "properties": {"a": 1}},
        {"$ref": "#"}, {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"$ref": "#"}}}, {"not": 3}, {"if": []},
        {"multipleOf": 0}, {"minimum": "1"}, {"required": [1]}, {"pattern": "("}, {"prefixItems": {}},
        {"uniqueItems": 1}, {"dependentRequired": {"a": "b"}}, {"minContains": 0.5, "contains": True},
        {"properties": {"a": {"type": "int"}}}, {("a",): 1}, {"properties": {1: {}}}, {"const": {1: 2}}, None, [],
    ],
)  # fmt: skip
def test_malformed(schema):
    with pytest.raises(InvalidSchemaError):
        compile_constraint(JsonSchema(schema))


@pytest.mark.parametrize(
    "constraint",
    [
        JsonSchema({"type": "string", "minLength": 3, "maxLength": 2}),
        JsonSchema({"enum": ["a"], "const": "b"}),
        JsonSchema({"type": "integer", "enum": ["a"]}),
        JsonSchema({"type": "array", "items": {"enum": ["a"], "type": "null"}, "minItems": 1}),
        JsonSchema(False),
        JsonSchema({"not": {}}),
        JsonSchema({"type": "string", "pattern": "^a", "allOf": [{"pattern": "^b"}]}),
        JsonSchema({"type": "string", "pattern": "^.{4}$", "maxLength": 3}),
        JsonSchema({"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 10}),
        JsonSchema({"type": "number", "exclusiveMinimum": 1, "maximum": 1}),
        JsonSchema({"oneOf": [{"const": 1}, {"const": 1.0}]}),
        JsonSchema({"type": "object", "required": ["a"], "properties": {"a": False}}),
        JsonSchema({"type": "object", "required": ["a"], "propertyNames": {"maxLength": 0}}),
        JsonSchema({"type": "array", "contains": {"type": "null"}, "items": {"type": "string"}}),
        Choice([]),
    ],
)
def test_contradictions_have_no_members(constraint):
    with pytest.raises(EmptyLanguageError):
        compile_constraint(constraint)


def test_choice():
    grammar = compile_constraint(Choice(["ja", "ja, gern", ""]))
    assert [grammar.accepts(t) for t in ("ja", "ja, gern", "", "ja,", "nein")] == [True, True, True, False, False]
    for wrong in ("ja", [1, 2]):
        with pytest.raises(InvalidSchemaError):
            compile_constraint(Choice(wrong))


def test_the_closed_world_generates_what_is_declared_and_the_open_one_follows_the_standard():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    closed, standard = (compile_constraint(JsonSchema(schema, open=choice)) for choice in (False, True))
    assert (closed.accepts('{"a":1}'), standard.accepts('{"a":1}')) == (True, True)
    assert (closed.accepts('{"a":1,"b":[]}'), standard.accepts('{"a":1,"b":[]}')) == (False, True)
    assert (closed.accepts('{"a":1.0}'), standard.accepts('{"a":1.0}')) == (False, True)
    for more in ({"additionalProperties": True}, {"patternProperties": {"^b": {"type": "array"}}}):
        assert compile_constraint(JsonSchema(schema | more)).accepts('{"a":1,"b":[]}'), more
    assert standard.accepts('"no object"') is False
    untyped = {"properties": {"a": {"type": "integer"}}}
    assert compile_constraint(JsonSchema(untyped, open=True)).accepts('"no object"')
    assert not compile_constraint(JsonSchema(untyped)).accepts('"no object"')


@pytest.mark.parametrize("schema", [{}, True, {"title": "anything"}])
def test_free_json_of_any_depth(schema):
    grammar = compile_constraint(JsonSchema(schema))
    deep = 5000
    assert grammar.accepts("[" * deep + '{"a":[-1.5e3,"x",null,true]}' + "]" * deep)
    assert not grammar.accepts("[" * deep + "]" * (deep - 1))
    assert not grammar.accepts('{"a"}')


def test_recursion_has_no_limit_of_depth():
    tree = {"type": "object", "properties": {"x": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["x"]}
    grammar = compile_constraint(JsonSchema(tree, whitespace="compact"))
    depth = 2000
    assert grammar.accepts('{"x":1,"next":' * depth + '{"x":1}' + "}" * depth)
    assert not grammar.accepts('{"x":1,"next":' * depth + '{"y":1}' + "}" * depth)


DRAFTS = {"http://json-schema.org/draft-04/schema#": False, "http://json-schema.org/draft-06/schema#": True, "": True}


@pytest.mark.parametrize("rest", [{}, {"minimum": 0}, {"enum": [1, 2]}, {"const": 1}, {"multipleOf": 1}], ids=str)
@pytest.mark.parametrize("draft", DRAFTS)
def test_an_integer_with_a_point_is_one_from_draft_6_on(draft, rest):
    schema = {"$schema": draft, "type": "integer"} | rest
    for open_world in (False, True):
        grammar = compile_constraint(JsonSchema(schema, open=open_world))
        assert grammar.accepts("1")
        assert grammar.accepts("1.0") == (open_world and DRAFTS[draft])
    number = compile_constraint(JsonSchema({"$schema": draft, "type": "number", "minimum": 0}, open=True))
    assert number.accepts("1.0")


def test_every_keyword_is_explained():
    schema = {"type": "object", "title": "T", "properties": {"a": {"type": "string", "maxLength": 3, "x-ui": 1}}}
    explained = {(pointer, keyword): status for pointer, keyword, status in explain_schema(schema)}
    assert explained == {
        ("", "type"): "enforced", ("", "title"): "annotation", ("", "properties"): "enforced",
        ("/properties/a", "type"): "enforced", ("/properties/a", "maxLength"): "enforced",
        ("/properties/a", "x-ui"): "annotation",
    }  # fmt: skip
    schema = {
        "anyOf": [{"$ref": "#/$defs/a", "title": "A"}, {"then": {}, "minContains": 2, "type": "null"}],
        "items": {"description": "any"},
        "format": "int32",
        "own": 1,
        "$defs": {"a": {"type": "string", "format": "path"}, "b": {"minLength": 1}},
    }
    explained = {(at, keyword): status for at, keyword, status in explain_schema(schema, annotations=["own"])}
    assert explained == {
        ("", "anyOf"): "enforced", ("", "items"): "enforced", ("", "format"): "enforced",
        ("", "own"): "annotation (of your own)", ("", "$defs"): "annotation",
        ("/anyOf/0", "$ref"): "enforced", ("/anyOf/0", "title"): "annotation",
        ("/anyOf/1", "then"): "annotation (nothing to say without if)", ("/anyOf/1", "type"): "enforced",
        ("/anyOf/1", "minContains"): "annotation (nothing to say without contains)",
        ("/items", "description"): "annotation",
        ("/$defs/a", "type"): "enforced", ("/$defs/a", "format"): "annotation (a hint: path)",
        ("/$defs/b", "minLength"): "not needed (nothing refers to it)",
    }  # fmt: skip
    unknown = explain_schema({"maxlength": 3, "type": "string"}, open_world=True)
    assert ("", "maxlength", "annotation (not in the vocabulary)") in unknown
