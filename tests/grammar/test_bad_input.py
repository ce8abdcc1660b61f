"""Constraints that can't be used: each has its own error, of the one tree, and says what is wrong and where."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import (
    BudgetError,
    EmptyLanguageError,
    GrammarError,
    GrammarTooLargeError,
    InvalidSchemaError,
    UnsupportedSchemaError,
)
from dg_sglang.grammar import (
    Choice,
    Ebnf,
    JsonObject,
    JsonSchema,
    Regex,
    StructuralTag,
    Template,
    TokenAutomaton,
    Verbatim,
    Vocabulary,
    compile_constraint,
)
from dg_sglang.grammar.text import shown

INFINITY = json.loads("1e400")
HUGE = 10**5000  # more digits than Python writes, so test ids must come from shown
COUNTS = (
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
)
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


@pytest.mark.parametrize("keyword", COUNTS)
@pytest.mark.parametrize("value", [INFINITY, -INFINITY, float("nan"), -1, 1.5, HUGE, True, "2", None, [2]], ids=shown)
@pytest.mark.parametrize("open_world", [False, True])
def test_counts(keyword, value, open_world):
    with pytest.raises(InvalidSchemaError, match=rf"{keyword} must be a non-negative integer .*\(at /items\)"):
        compile_constraint(JsonSchema({"items": {keyword: value, "contains": {}}}, open=open_world))


@pytest.mark.parametrize("keyword", COUNTS)
@pytest.mark.parametrize("value", [1.0, 0.0, 1])
def test_counts_may_be_written_as_floats(keyword, value):
    grammar = compile_constraint(JsonSchema({keyword: value, "contains": {"const": 1}}, open=True))
    assert grammar.accepts("null")


@pytest.mark.parametrize("keyword", BOUNDS)
@pytest.mark.parametrize("value", [INFINITY, float("nan"), HUGE, "2", None, [2]], ids=shown)
@pytest.mark.parametrize("open_world", [False, True])
def test_bounds(keyword, value, open_world):
    with pytest.raises(InvalidSchemaError, match=rf"{keyword} must be a (positive )?number .*\(at /items\)"):
        compile_constraint(JsonSchema({"items": {keyword: value}}, open=open_world))


@pytest.mark.parametrize("value", [INFINITY, float("nan"), HUGE, b"x", {1}, object()], ids=shown)
def test_enums_hold_json_values(value):
    for schema in ({"const": value}, {"enum": [1, value]}, {"const": [value]}, {"const": {"a": value}}):
        with pytest.raises(InvalidSchemaError, match="enum and const must hold JSON values"):
            compile_constraint(JsonSchema(schema))


CIRCLE = {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}
TAG = {"format": {"type": "tag", "begin": "<", "content": {"type": "json_schema", "json_schema": False}, "end": ">"}}


@pytest.mark.parametrize(
    ("constraint", "error", "message"),
    [
        ({"type": "strin"}, InvalidSchemaError, "type must be one of null, boolean, .* not 'strin'"),
        ({"properties": {"a": {"items": 5}}}, InvalidSchemaError, r"items must be .* not 5 \(at /properties/a\)"),
        ({"properties": [1]}, InvalidSchemaError, "properties must be an object of schemas"),
        (JsonSchema("{"), InvalidSchemaError, "not valid JSON"),
        (JsonSchema('{"maxItems": ' + "1" * 5000 + "}"), InvalidSchemaError, "not valid JSON: .*5000 digits"),
        (JsonSchema(5), InvalidSchemaError, "a schema must be an object or a boolean, not int"),
        ({"$ref": "https://example.org/s.json"}, UnsupportedSchemaError, "only references inside the document"),
        ({"$ref": "#/$defs/none"}, InvalidSchemaError, "'#/\\$defs/none' points nowhere"),
        ({"$ref": "#/$defs/a", "$defs": CIRCLE}, InvalidSchemaError, "refers to itself without progress"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, EmptyLanguageError, "no text satisfies"),
        ({"allOf": [{"type": "string"}, {"type": "null"}]}, EmptyLanguageError, "no text satisfies"),
        (JsonSchema(False), EmptyLanguageError, "no text satisfies"),
        (Choice([]), EmptyLanguageError, "no text satisfies"),
        (Regex("(?=a)b"), EmptyLanguageError, "no text satisfies"),
        (Regex("[]"), EmptyLanguageError, "no text satisfies"),
        (Ebnf('root ::= "a" root'), EmptyLanguageError, "'root' derives no text"),
        (StructuralTag(TAG), EmptyLanguageError, "no text satisfies"),
        (Template("{a}", a=Regex("[]")), EmptyLanguageError, "no text satisfies"),
        (Verbatim("no number", type="number"), EmptyLanguageError, "no text satisfies"),
        (Regex(r"(a)\1"), UnsupportedSchemaError, "a backreference"),
        ({"type": "string", "pattern": r"(a)\1"}, UnsupportedSchemaError, "a backreference"),
        (Regex("a("), InvalidSchemaError, "malformed"),
        (Regex(None), InvalidSchemaError, "a regular expression must be a string, not NoneType"),
        (Ebnf("root = x"), InvalidSchemaError, "line 1, column 1"),
        (JsonObject(whitespace="tabs"), GrammarError, "whitespace must be one of"),
        (JsonObject(whitespace=["json"]), GrammarError, "whitespace must be one of"),
        (JsonSchema({}, whitespace=0), GrammarError, "whitespace must be one of"),
        (JsonSchema({}, open=3), InvalidSchemaError, "open must be True or False, not 3"),
        (Verbatim("a b", words="no"), InvalidSchemaError, "words must be True or False, not 'no'"),
        (Verbatim("a b", kind=3), InvalidSchemaError, "kind must be a name or None, not 3"),
        (Verbatim("a b", format=["date"]), InvalidSchemaError, "format must be a name or None"),
        (Regex("(" * 3000 + ")" * 3000), GrammarTooLargeError, "nested too deeply"),
        (Ebnf("root ::= " + "(" * 3000 + '"a"' + ")" * 3000), GrammarTooLargeError, "nested too deeply"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_constraints(constraint, error, message):
    with pytest.raises(error, match=message) as caught:
        compile_constraint(constraint)
    assert isinstance(caught.value, GrammarError)
    assert len(str(caught.value)) < 400


ABC = Vocabulary([None, None, b"a", b"b", b"c"])


@pytest.mark.parametrize("constraint", [Choice(["d"]), Regex("a+d"), {"type": "integer"}, Ebnf('root ::= "ad" | "e"')])
def test_a_vocabulary_that_can_not_spell_the_language(constraint):
    with pytest.raises(EmptyLanguageError, match="the vocabulary can't spell any text"):
        TokenAutomaton(compile_constraint(constraint), ABC, end_token_ids=[1])


@pytest.mark.parametrize("constraint", [Choice(["abc"]), Regex("[ab]{3}"), Template("ab{c}", c=Choice(["c"]))])
def test_a_budget_below_the_shortest_answer(constraint):
    automaton = TokenAutomaton(compile_constraint(constraint), ABC, end_token_ids=[1])
    automaton.check_budget(automaton.start, 3)
    with pytest.raises(BudgetError, match="needs 3 more tokens, but max_new_tokens leaves 2"):
        automaton.check_budget(automaton.start, 2)


@pytest.mark.parametrize("ends", [[], [9], [2]])
def test_end_tokens(ends):
    with pytest.raises(GrammarError, match="end"):
        TokenAutomaton(compile_constraint(Regex("a")), ABC, end_token_ids=ends)


SIGNS = (
    r"""root start ::= : "a" " [ ] ( ) | * + ? { } {2, / /i \ a-z ^ ~ .. -> # // . \x4 \u é 1 , %import common. INT %"""
)
NOISE = st.lists(st.sampled_from([*SIGNS.split(), " ", "\n", "\0", "%ignore "]), max_size=14).map("".join)


@given(NOISE)
@settings(max_examples=500, deadline=None)
def test_noise_as_a_grammar_or_a_pattern(text):
    for constraint in (Ebnf(text), Ebnf(f"root ::= {text}"), Ebnf(f"start: {text}"), Regex(text)):
        with contextlib.suppress(GrammarError):
            compile_constraint(constraint).accepts("a")


KINDS = ("const_string", "sequence", "tag", "triggered_tags", "tags_with_separator", "repeat", "dispatch", "any_text")
KEYS = (
    *("type", "format", "content", "elements", "begin", "end", "value", "tags", "triggers", "structures", "schema"),
    *("json_schema", "pattern", "rules", "excludes", "min", "max", "at_least_one", "max_chars"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "a", "<", *KINDS]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, *KINDS]))
@settings(max_examples=500, deadline=None)
def test_noise_as_a_structural_tag(value, kind):
    format_ = value | {"type": kind} if kind and isinstance(value, dict) else value
    for tag in (
        value,
        {"format": format_},
        {"structures": [value], "triggers": ["<"]},
        json.dumps({"format": format_}),
    ):
        with contextlib.suppress(GrammarError):
            compile_constraint(StructuralTag(tag)).accepts("a")
