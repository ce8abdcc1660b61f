import json

import pytest

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.grammar import JsonSchema, compile_constraint


def compiled(schema, **more):
    return compile_constraint(JsonSchema({"type": "object"} | schema, **more))


@pytest.mark.parametrize(
    ("schema", "members", "others"),
    [
        ({"properties": {"a": {}, "b": {}}, "minProperties": 1}, ['{"a":1}', '{"a":1,"b":2}'], ["{}"]),
        ({"properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": False, "maxProperties": 2,
          "minProperties": 2},
         ['{"a":1,"c":1}'], ['{"a":1}', '{"a":1,"b":1,"c":1}']),
        ({"additionalProperties": {"type": "integer"}, "maxProperties": 1}, ["{}", '{"x":1}'],
         ['{"x":"1"}', '{"x":1,"y":1}']),
        ({"patternProperties": {"^x": {"type": "integer"}, "y$": {"minimum": 5}}, "additionalProperties": False},
         ['{"x":1,"y":7,"xy":6}', '{"y":"s"}'], ['{"xy":1}', '{"y":1}', '{"z":1}', '{"x":1.5}']),
        ({"propertyNames": {"enum": ["a", "b"]}}, ['{"b":1,"a":1}'], ['{"c":1}']),
        ({"properties": {"a": {}}, "dependentRequired": {"a": ["b"]}}, ["{}", '{"a":1,"b":1}', '{"b":1}'], ['{"a":1}']),
        ({"properties": {'k"\\': {"const": 1}}}, ['{"k\\"\\\\":1}'], ['{"k\\"\\\\":2}']),
        ({"const": {"b": 1, "a": {"c": []}}}, ['{"b":1,"a":{"c":[]}}', '{"b":1.0,"a":{"c":[]}}'],
         ['{"b":1}', '{"b":1,"a":{"c":[]},"d":1}']),
    ],
)  # fmt: skip
def test_members_and_others(schema, members, others):
    grammar = compiled(schema, open=True)
    assert [text for text in members if not grammar.accepts(text)] == []
    assert [text for text in others if grammar.accepts(text)] == []


def test_an_undeclared_name_is_never_a_declared_one():
    """Else a second spelling of the name could smuggle in what its schema forbids."""
    grammar = compiled({"properties": {"a": {"type": "integer"}}}, open=True)
    assert grammar.accepts('{"b":"x"}')
    for spelling in ('{"b":1,"a":"x"}', r'{"\u0061":"x"}', '{"a":1,"a":"x"}'):
        assert not grammar.accepts(spelling), spelling


def test_a_demand_that_was_met_is_not_undone_by_the_same_name():
    grammar = compiled({"not": {"additionalProperties": {"type": "string"}}}, open=True)
    assert grammar.accepts('{"a":"x","b":1}')
    assert not grammar.accepts('{"a":1,"a":"x"}')


def test_many_properties_compile():
    names = [f"p{i}" for i in range(300)]
    grammar = compiled({"properties": {name: {"type": "integer"} for name in names}})
    assert grammar.accepts(json.dumps(dict.fromkeys(names[::2], 1)))
    assert not grammar.accepts('{"p1":1,"p0":1}')


def test_too_many_demands_are_refused():
    patterns = [f"^{letter}" for letter in "abcde"]
    demands = [{"not": {"patternProperties": {pattern: {"type": "null"}}}} for pattern in patterns]
    with pytest.raises(UnsupportedSchemaError, match="demands") as caught:
        compiled({"allOf": demands}, open=True)
    assert caught.value.keyword == "allOf"
