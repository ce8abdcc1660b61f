import itertools
import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import EmptyLanguageError, UnsupportedSchemaError
from dg_sglang.grammar import JsonSchema, compile_constraint

ITEMS = [0, 1, "a", None]
ARRAYS = [list(some) for size in range(5) for some in itertools.product(ITEMS, repeat=size)]
CLAUSES = st.sampled_from([True, {"type": "integer"}, {"enum": [0, "a"]}, {"not": {"const": 1}}, False])
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("array")},
    optional={
        "prefixItems": st.lists(CLAUSES, min_size=1, max_size=2),
        "items": CLAUSES,
        "minItems": st.integers(0, 3),
        "maxItems": st.integers(0, 3),
        "contains": CLAUSES,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
    },
)


def check(schema):
    validator = jsonschema.Draft202012Validator(schema)
    expected = {json.dumps(array) for array in ARRAYS if validator.is_valid(array)}
    try:
        grammar = compile_constraint(JsonSchema(schema, open=True))
    except EmptyLanguageError:
        assert not expected, schema
        return
    for array in ARRAYS:
        text = json.dumps(array)
        assert grammar.accepts(text) == (text in expected), (schema, text)


@given(SCHEMAS)
@settings(max_examples=60, deadline=None)
def test_every_short_array_is_decided_exactly(schema):
    check(schema)


@given(SCHEMAS)
@settings(max_examples=25, deadline=None)
def test_complements_and_unique_items(schema):
    check({"type": "array", "items": {"enum": ITEMS}, "not": schema})
    check({"type": "array", "items": {"enum": ITEMS}, "uniqueItems": True, "allOf": [schema]})
    check({"type": "array", "items": {"enum": ITEMS}, "not": {"uniqueItems": True}, "allOf": [schema]})


def test_unique_numbers_are_compared_by_value():
    grammar = compile_constraint(
        JsonSchema({"items": {"type": "integer", "minimum": 1, "maximum": 3}, "uniqueItems": True}, open=True)
    )
    assert grammar.accepts("[1,2.0,3]")
    assert not grammar.accepts("[1,1.0]")


def test_large_counts_compile_fast():
    grammar = compile_constraint(JsonSchema({"type": "array", "items": {"type": "null"}, "maxItems": 100_000}))
    assert grammar.accepts("[" + ",".join(["null"] * 500) + "]")


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "array", "items": {"type": "number"}, "uniqueItems": True}, "uniqueItems"),
        ({"type": "array", "items": True, "contains": {"type": "null"}, "minItems": 5000}, "contains"),
    ],
)
def test_what_cannot_be_counted_is_refused(schema, keyword):
    with pytest.raises(UnsupportedSchemaError) as caught:
        compile_constraint(JsonSchema(schema))
    assert caught.value.keyword == keyword
