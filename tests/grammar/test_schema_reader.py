"""Combinators are algebra on sets of values: an independent validator must agree on every value."""

import itertools
import json
import math

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import EmptyLanguageError, UnsupportedSchemaError
from dg_sglang.grammar import JsonSchema, compile_constraint

NAMES = st.sampled_from(["a", "b", "cc"])
SCALARS = st.sampled_from([None, True, False, 0, 1, 2, 2.5, -3, 7, "", "a", "ab", "ba", "xyz"])


def orders(value):
    """In how many orders the keys of `value` can stand."""
    if isinstance(value, dict):
        return math.factorial(len(value)) * math.prod(map(orders, value.values()))
    return math.prod(map(orders, value)) if isinstance(value, list) else 1


VALUES = st.recursive(
    SCALARS,
    lambda child: st.lists(child, max_size=3) | st.dictionaries(NAMES, child, max_size=3),
    max_leaves=6,
).filter(lambda value: orders(value) <= 100)
LEAVES = st.sampled_from(
    [
        True, False, {}, {"type": "string"}, {"type": ["integer", "null"]}, {"minimum": 1}, {"exclusiveMaximum": 2},
        {"multipleOf": 2}, {"maxLength": 1}, {"minLength": 2, "pattern": "b"}, {"pattern": "^a"},
        {"enum": [1, "a", None]},
        {"const": {"a": 1}}, {"const": [1, "a"]}, {"required": ["a"]}, {"minProperties": 1}, {"maxProperties": 1},
        {"minItems": 1}, {"maxItems": 1}, {"uniqueItems": True, "items": {"enum": [0, 1, "a"]}},
        {"dependentRequired": {"a": ["b"]}}, {"propertyNames": {"maxLength": 1}}, {"type": "object"}, {"type": "array"},
    ]
)  # fmt: skip


def branches(child):
    some = st.lists(child, min_size=1, max_size=3)
    properties = st.dictionaries(NAMES, child, min_size=1, max_size=2)
    return st.one_of(
        some.map(lambda s: {"allOf": s}),
        some.map(lambda s: {"anyOf": s}),
        some.map(lambda s: {"oneOf": s}),
        child.map(lambda s: {"not": s}),
        st.tuples(child, child, child).map(lambda s: {"if": s[0], "then": s[1], "else": s[2]}),
        st.tuples(properties, child).map(lambda s: {"properties": s[0], "additionalProperties": s[1]}),
        st.tuples(properties, st.lists(NAMES, unique=True)).map(lambda s: {"properties": s[0], "required": s[1]}),
        child.map(lambda s: {"patternProperties": {"^c": s}}),
        st.tuples(child, child).map(lambda s: {"prefixItems": [s[0]], "items": s[1]}),
        st.tuples(child, st.integers(0, 2)).map(lambda s: {"contains": s[0], "minContains": s[1]}),
        child.map(lambda s: {"contains": s, "maxContains": 1}),
        st.tuples(NAMES, child).map(lambda s: {"dependentSchemas": {s[0]: s[1]}}),
        st.tuples(properties, some, st.booleans()).map(
            lambda s: {"properties": s[0], "anyOf": s[1], "unevaluatedProperties": s[2]}
        ),
        st.tuples(child, child).map(lambda s: {"allOf": [{"prefixItems": [s[0]]}], "unevaluatedItems": s[1]}),
        st.tuples(child, child).map(
            lambda s: s[0] | s[1] if isinstance(s[0], dict) and isinstance(s[1], dict) else s[0]
        ),
    )


SCHEMAS = st.recursive(LEAVES, branches, max_leaves=5)


def spellings(value):
    """`value` with its keys in every order."""
    if isinstance(value, list):
        yield from map(list, itertools.product(*map(spellings, value)))
    elif isinstance(value, dict):
        for names in itertools.permutations(value):
            for members in itertools.product(*(spellings(value[name]) for name in names)):
                yield dict(zip(names, members, strict=True))
    else:
        yield value


def accepts(grammar, value):
    """Whether some order of keys is accepted: the order is no part of a JSON value."""
    return any(grammar.accepts(json.dumps(one)) for one in spellings(value))


def compiled(schema, **more):
    try:
        return compile_constraint(JsonSchema(schema, **more))
    except EmptyLanguageError:
        return None


@given(SCHEMAS, st.lists(VALUES, min_size=4, max_size=8))
@settings(max_examples=250, deadline=None)
def test_open_schemas_decide_as_the_validator_does(schema, values):
    try:
        grammar = compiled(schema, open=True)
    except UnsupportedSchemaError:
        return
    validator = jsonschema.Draft202012Validator(schema)
    for value in values:
        assert (grammar is not None and accepts(grammar, value)) == validator.is_valid(value), (schema, value)


@given(SCHEMAS, st.lists(VALUES, min_size=4, max_size=8))
@settings(max_examples=100, deadline=None)
def test_closed_schemas_accept_nothing_invalid(schema, values):
    try:
        grammar = compiled(schema)
    except UnsupportedSchemaError:
        return
    validator = jsonschema.Draft202012Validator(schema)
    for value in values:
        if grammar is not None and accepts(grammar, value):
            assert validator.is_valid(value), (schema, value)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}], "type": "integer"}, ["4", "9", "-3"], ["6", "0", "5"]),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": True, "b": True}},
            ['{"a":1}', '{"b":1}'],
            ["{}", '{"a":1,"b":1}'],
        ),
        ({"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"maxLength": 1}}}]},
         ['{"a":"x"}', "{}"], ['{"a":"xy"}', '{"a":1}']),
        ({"not": {"type": "object", "required": ["a"]}}, ["{}", '{"b":1}', "1"], ['{"a":1}', '{"b":1,"a":1}']),
        ({"type": "object", "not": {"additionalProperties": {"type": "string"}}},
         ['{"a":1}', '{"a":"x","b":1}'], ["{}", '{"a":"x"}']),
        ({"type": "object", "allOf": [{"not": {"patternProperties": {p: {"type": "null"}}}} for p in ("^a", "z$")]},
         ['{"az":1}', '{"a":1,"z":1}', '{"z":1,"b":2,"a":1}'], ["{}", '{"a":1}', '{"az":null}', '{"z":1,"a":null}']),
        ({"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["x"]},
          "else": {"required": ["y"]}}, ['{"k":1,"x":1}', '{"k":2,"y":1}', "1"], ['{"k":1,"y":1}', "{}"]),
        ({"properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer", "minimum": 0}},
          "$ref": "#/$defs/o"} | {"$defs": {"n": {"type": "integer", "minimum": 0}, "o": {"required": ["n"]}}},
         ['{"n":1}'], ["{}", '{"n":-1}']),
    ],
)  # fmt: skip
def test_examples(schema, valid, invalid):
    grammar = compiled(schema, open=True)
    assert all(map(grammar.accepts, valid)), [text for text in valid if not grammar.accepts(text)]
    assert not any(map(grammar.accepts, invalid)), [text for text in invalid if grammar.accepts(text)]


def test_siblings_of_a_reference_count_as_the_declared_draft_says():
    schema = {"$ref": "#/definitions/s", "maxLength": 1, "definitions": {"s": {"type": "string"}}}
    old = {"$schema": "http://json-schema.org/draft-07/schema#"} | schema
    assert [compiled(one, open=True).accepts('"ab"') for one in (schema, old)] == [False, True]
    assert not compiled(old).accepts('"ab"')  # closed: the author meant what they wrote


def test_too_many_cases_are_refused_by_name():
    names = [f"p{i}" for i in range(12)]
    parts = [{"anyOf": [{"properties": {n: {"type": "null"}}}, {"required": [n + "x"]}]} for n in names]
    with pytest.raises(UnsupportedSchemaError, match="multiplies out") as caught:
        compiled({"type": "object", "allOf": parts}, open=True)
    assert (caught.value.keyword, caught.value.pointer) == ("allOf", "")
