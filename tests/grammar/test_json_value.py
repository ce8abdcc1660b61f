"""White space between the tokens of a JSON text."""

import json

import pytest

from dg_sglang.grammar import JsonSchema, compile_constraint

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"type": "null"}},
    "required": ["a", "b"],
}
VALUE = {"a": [1, 2], "b": None}


@pytest.mark.parametrize("indent", [None, 0, 2, 4, 8, "\t"])
def test_what_json_writers_write_is_a_member(indent):
    assert compile_constraint(JsonSchema(SCHEMA)).accepts(json.dumps(VALUE, indent=indent))


@pytest.mark.parametrize(
    ("text", "member"),
    [
        ('{ "a" : [ 1 , 2 ] , "b" : null }', True),
        ('{"a":[1,2],"b":null}', True),
        ('{"a":\n[1,2],"b":null}', False),  # a line break where no writer puts one
        ('{"a":[1\n,2],"b":null}', False),
        ('{"a":  [1,2],"b":null}', False),  # white space as padding
        ('{"a":[1,2],"b":null}\n', False),
    ],
)
def test_white_space_is_bounded(text, member):
    assert compile_constraint(JsonSchema(SCHEMA)).accepts(text) is member


def test_compact_leaves_none():
    grammar = compile_constraint(JsonSchema(SCHEMA, whitespace="compact"))
    assert grammar.accepts('{"a":[1,2],"b":null}')
    assert not grammar.accepts('{"a": [1,2],"b":null}')
