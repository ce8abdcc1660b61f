"""outlines' types as constraints, checked against outlines' own regular expressions."""

import re
import subprocess
import sys
from typing import Literal

import pytest
from outlines import types
from outlines.types import at_least, cfg, either, json_schema, optional
from outlines.types.dsl import CFG, Choice, JsonSchema, python_types_to_terms, to_regex

from dg_sglang import grammar as ours
from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import as_constraint, compile_constraint

TERMS = [
    types.integer,
    types.number,
    types.boolean,
    types.date,
    types.time,
    types.uuid4,
    types.ipv4,
    types.email,
    types.isbn,
    types.sentence,
    either("yes", "no", types.integer),
    "n. " + types.digit.exactly(3) + optional("!"),
    at_least(2, "ab") + types.char.at_most(2) + types.digit.between(1, 2),
    types.char.zero_or_more() + "-" + types.digit.one_or_more(),
    Choice(["a", "b.c", 5]),
    python_types_to_terms(Literal["x", 1.5, True]),
    python_types_to_terms(list[int]),
    python_types_to_terms(tuple[bool, str]),
    python_types_to_terms(dict[str, int]),
    python_types_to_terms(int | None),
]
TEXTS = [
    *("", "1", "-12", "1.5", "1x5", "3e-7", "True", "true", "None", "2024-02-29", "2024-02-30", "23:59:59", "x@y.org"),
    *("yes", "no", "n. 123", "n. 123!", "n. 12", "n? 123", "ababz1", "abab12", "ab1", "word-12", "-1", "-", "a", "b.c"),
    *("bxc", "5", "x", "[1, 2]", "[1,2]", "[]", '(True, "a")', '{"a":1}', "{}", '{"a":1, "b":2}', "127.0.0.1"),
    *("256.0.0.1", "Hello there.", "hello.", "978-3-16-148410-0", "7d9f6f1c-91a0-4e4c-8f5b-2f1f0a0b9d3e"),
]


@pytest.mark.parametrize("term", TERMS, ids=lambda term: to_regex(term)[:30])
def test_terms_mean_what_they_mean_in_outlines(term):
    expected = [text for text in TEXTS if re.fullmatch(to_regex(term), text, re.ASCII)]
    compiled = compile_constraint(term)
    assert [text for text in TEXTS if compiled.accepts(text)] == expected


def test_schemas_grammars_and_enums():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    compiled = compile_constraint(json_schema(schema))
    assert compiled.accepts('{"a": 1}') and compiled.parse('{"a": 1}') == {"a": 1}
    assert not compile_constraint(JsonSchema(schema, whitespace_pattern="")).accepts('{"a": 1}')
    assert compile_constraint(either(json_schema(schema), "none")).accepts('{"a": 1}')
    assert compile_constraint(cfg('start: "a" start?')).accepts("aaa")
    assert compile_constraint(CFG('root ::= "a" root | "b"')).accepts("aab")
    assert compile_constraint(ours.Template("{day}.", day=types.date)).parse("2024-02-29.") == {"day": "2024-02-29"}


def test_the_arithmetic_grammar_of_outlines():
    from outlines.grammars import arithmetic

    compiled = compile_constraint(CFG(arithmetic))
    assert compiled.accepts("(1+2)*-3.5/4")
    assert not compiled.accepts("(1+2")


def test_the_json_grammar_of_outlines():
    from outlines.grammars import json

    compiled = compile_constraint(CFG(json))
    assert compiled.accepts('{"a": [1, null, "x"]}')
    assert not compiled.accepts('{"a": ]}')


def test_refused():
    with pytest.raises(UnsupportedSchemaError, match=r"white-space pattern '\[ \]\*' is not supported"):
        compile_constraint(JsonSchema({}, whitespace_pattern="[ ]*"))
    with pytest.raises(UnsupportedSchemaError, match="a backreference"):
        compile_constraint(types.Regex(r"(a)\1"))
    with pytest.raises(InvalidSchemaError, match="Term is not known"):
        compile_constraint(types.dsl.Term())


def test_terms_that_look_the_same_share_a_key():
    def key(term):
        return as_constraint(term).key("json")

    assert key("a" + types.digit.exactly(3)) == key("a" + types.digit.exactly(3))
    assert key("a" + types.digit.exactly(3)) != key("a" + types.digit.exactly(4))
    assert key(Choice([1, "x"])) == key(Choice([1, "x"])) != key(Choice([True, "x"]))
    assert hash(key(either("a", json_schema({}))))


def test_outlines_is_not_imported():
    code = "import sys, dg_sglang.grammar as g; g.compile_constraint(int); assert 'outlines' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
