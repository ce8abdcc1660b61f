"""Constraints that can't be used: each has its own error, of the one tree, and says what is wrong and where."""

import contextlib
import json
from types import BuiltinFunctionType
from typing import Literal

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
    VerbatimSource,
    Vocabulary,
    compile_constraint,
    keywords,
)
from dg_sglang.grammar.keywords import ENFORCED
from dg_sglang.grammar.text import shown

INFINITY = json.loads("1e400")
S = "\ud800"
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


class Odd:
    """A value that can't even be shown."""

    def __repr__(self):
        raise RuntimeError("no repr")


LOOP: list = []
LOOP.append(LOOP)
ODD = [b"x", None, 3, 1.5, [], [[]], [1], {}, {1: 2}, {"a": 1}, {1}, (), True, float("nan"), Odd(), object, len, LOOP]
TAG_BODY = {"begin": "<", "content": {"type": "any_text"}, "end": ">"}
PLACES = {
    "a constraint": lambda odd: odd,
    "JsonSchema": JsonSchema,
    "whitespace": lambda odd: JsonSchema({}, whitespace=odd),
    "open": lambda odd: JsonSchema({}, open=odd),
    "sources": lambda odd: JsonSchema({}, sources=odd),
    "source": lambda odd: JsonSchema({"x-verbatim": {"source": "s"}}, sources={"s": odd}),
    "annotations": lambda odd: JsonSchema({}, annotations=odd),
    "JsonObject": JsonObject,
    "Regex": Regex,
    "Choice": Choice,
    "choices": lambda odd: Choice(["a", odd]),
    "Ebnf": Ebnf,
    "root": lambda odd: Ebnf('root ::= "a"', root=odd),
    "dialect": lambda odd: Ebnf('root ::= "a"', dialect=odd),
    "Verbatim": Verbatim,
    "spans": lambda odd: Verbatim(VerbatimSource("a", odd)),
    "span": lambda odd: Verbatim(VerbatimSource("a", {"k": odd}), kind="k"),
    **{name: lambda odd, name=name: Verbatim("a 1", **{name: odd}) for name in ("kind", "words", "pattern", "format")},
    "type": lambda odd: Verbatim("a 1", type=odd),
    "Template": Template,
    "hole": lambda odd: Template("a {b}", b=odd),
    "StructuralTag": StructuralTag,
    "format of a tag": lambda odd: StructuralTag({"format": odd}),
    **{
        f"{kind}'s {key}": lambda odd, kind=kind, key=key: StructuralTag(
            {"format": {"type": kind, "triggers": ["<"], "tags": [TAG_BODY], "separator": ","} | {key: odd}}
            if key in ("triggers", "tags", "separator", "at_least_one")
            else {"format": {"type": kind} | (TAG_BODY if kind == "tag" else {"min": 0, "max": 1}) | {key: odd}}
        )
        for kind, keys in {
            "const_string": ["value"],
            "grammar": ["grammar"],
            "regex": ["pattern"],
            "any_text": ["excludes", "max_chars"],
            "sequence": ["elements"],
            "optional": ["content"],
            "repeat": ["min", "max", "content"],
            "tag": ["begin", "content", "end"],
            "triggered_tags": ["triggers", "tags", "at_least_one"],
            "dispatch": ["rules", "loop"],
        }.items()
        for key in keys
    },
    "structures": lambda odd: StructuralTag({"structures": odd, "triggers": ["<"]}),
}
TAKEN = {  # what isn't odd there
    "a constraint": (dict, type, BuiltinFunctionType),
    "JsonSchema": (dict, bool, type, BuiltinFunctionType),
    "whitespace": type(None),
    "open": bool,
    "sources": dict,
    "source": (list, tuple),
    "annotations": (list, tuple),
    "JsonObject": type(None),
    "root": type(None),
    "dialect": type(None),
    "spans": dict,
    "kind": type(None),
    "words": bool,
    "pattern": type(None),
    "format": type(None),
    "type": type(None),
    "hole": (dict, type, BuiltinFunctionType),
    "any_text's excludes": list,
    "any_text's max_chars": (type(None), int),
    "triggered_tags's at_least_one": bool,
    "triggered_tags's triggers": list,
    "structures": list,
}


def error_of(make):
    """The error of compiling what `make` returns, which must be one of ours; None if there is none."""
    try:
        compile_constraint(make())
    except GrammarError as error:
        return error
    return None


@pytest.mark.parametrize("place", PLACES)
def test_wrong_types(place):
    for odd in ODD:
        error = error_of(lambda odd=odd: PLACES[place](odd))
        assert error is not None or isinstance(odd, TAKEN.get(place, ())), shown(odd)
        assert error is None or len(str(error)) < 400


@pytest.mark.parametrize("keyword", [name for name, one in ENFORCED.items() if one.shape != "value"])
@pytest.mark.parametrize("open_world", [False, True])
def test_wrong_types_in_schemas(keyword, open_world):
    """Refused with the place and keyword, or of the right shape."""
    for odd in (*ODD, "x", -1, HUGE, INFINITY):
        error = error_of(lambda odd=odd: JsonSchema({"properties": {"a": {keyword: odd}}}, open=open_world))
        if not keywords.fits(keyword, odd) and odd is not LOOP:
            assert isinstance(error, InvalidSchemaError)
            assert str(error).startswith(f"{keyword} must be ")
            assert error.pointer == "/properties/a"
        assert error is None or len(str(error)) < 400


@pytest.mark.parametrize(
    "constraint",
    [
        *({"enum": [S]}, {"const": {S: 1}}, {"properties": {S: {}}}, {"required": [S]}, {"pattern": S}),
        *({"type": "string", "not": {"const": S}}, {"type": "string", "pattern": f"[{S}]"}, {"format": S}),
        *({"$ref": S}, {S: 1}, {"dependentRequired": {S: ["a"]}}, '{"const": "\\ud800"}', Literal[S]),
        *(Choice(["a", S]), Regex(S), Regex(r"\ud800"), Ebnf(f'root ::= "{S}"'), Ebnf(f"start: /{S}/")),
        *(Template(S), StructuralTag({"format": {"type": "const_string", "value": S}}), Verbatim(S)),
    ],
    ids=repr,
)
def test_lone_surrogates(constraint):
    with pytest.raises(GrammarError):
        compile_constraint(JsonSchema(constraint) if isinstance(constraint, str) else constraint)


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        ({"enum": ["\0"]}, '"\\u0000"'),
        ({"properties": {"\0": {"const": 1}}, "required": ["\0"]}, '{"\\u0000":1}'),
        (Regex("\0"), "\0"),
        (Choice(["\0"]), "\0"),
        (Ebnf('root ::= "\0"'), "\0"),
        (Verbatim("a\0b"), "a\0b"),
    ],
    ids=repr,
)
def test_nul_is_a_character(constraint, text):
    assert compile_constraint(constraint).accepts(text)


BYTES = Vocabulary([None, *(bytes([byte]) for byte in range(256))])


@pytest.mark.parametrize("count", [10**10, 2**31, 2**63, 2**64, 10**100], ids=shown)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "maxLength": 0},
        {"type": "string", "pattern": "^[a-z]*$", "maxLength": 0},
        {"type": "string", "format": "date", "maxLength": 0},
        {"type": "array", "items": {"type": "integer"}, "maxItems": 0},
        {"type": "object", "additionalProperties": True, "maxProperties": 0},
        {"type": "string", "minLength": 0},
        {"type": "array", "minItems": 0},
        {"type": "array", "contains": {"const": 1}, "minContains": 0},
        {"type": "object", "properties": {"a": {}}, "minProperties": 0},
        {"type": "string", "not": {"minLength": 0}},
        {"type": "string", "not": {"maxLength": 0}},
    ],
    ids=repr,
)
def test_counts_beyond_any_answer(schema, count):
    """An upper bound is as good as none; a lower one is refused."""
    enlarged = json.loads(json.dumps(schema).replace('": 0', f'": {count}'))
    if ("max" in repr(schema)) != ("not" in schema):
        automaton = TokenAutomaton(compile_constraint(enlarged), BYTES, end_token_ids=[0])
        automaton.check_budget(automaton.start, 12)
        return
    with pytest.raises((GrammarTooLargeError, UnsupportedSchemaError, EmptyLanguageError)):
        TokenAutomaton(compile_constraint(enlarged), BYTES, end_token_ids=[0])


@pytest.mark.parametrize("pattern", ["a{9999999999}", "a{9999999999999999999}", "(a{99999}){99999}", "a{500000}"])
def test_repetitions_beyond_any_answer(pattern):
    for constraint in (Regex(pattern), Ebnf(f"start: /{pattern}/"), {"type": "string", "pattern": f"^{pattern}$"}):
        with pytest.raises(GrammarTooLargeError):
            TokenAutomaton(compile_constraint(constraint), BYTES, end_token_ids=[0])
    longest = pattern.replace("{", "{0,")
    automaton = TokenAutomaton(compile_constraint(Regex(longest)), BYTES, end_token_ids=[0])
    automaton.check_budget(automaton.start, 0)


DEEP = 100_000


def nest(wrap, inner):
    for _ in range(DEEP):
        inner = wrap(inner)
    return inner


@pytest.mark.parametrize(
    "schema",
    [
        lambda: nest(lambda inner: {"items": inner}, {}),
        lambda: nest(lambda inner: {"properties": {"a": inner}}, {}),
        lambda: nest(lambda inner: {"allOf": [inner]}, {}),
        lambda: nest(lambda inner: {"anyOf": [inner]}, {}),
        lambda: nest(lambda inner: {"not": inner}, {}),
        lambda: {"const": nest(lambda inner: [inner], 1)},
        lambda: {"enum": [nest(lambda inner: {"a": inner}, 1)]},
        lambda: {"default": nest(lambda inner: [inner], 1)},
        lambda: '{"items":' * DEEP + "{}" + "}" * DEEP,
        lambda: "[" * DEEP,
        lambda: {"const": LOOP},
        lambda: {"default": LOOP},
        lambda: {"$ref": "#/$defs/0", "$defs": {f"{i}": {"items": {"$ref": f"#/$defs/{i + 1}"}} for i in range(9999)}},
    ],
)
def test_depth(schema):
    with pytest.raises(GrammarTooLargeError, match=r"nested too deeply|holds more than 50,000 values, or itself"):
        compile_constraint(JsonSchema(schema()))


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (lambda: JsonSchema({"title": "x" * 10_000_000}), "the schema holds more than 1,000,000 characters"),
        (lambda: JsonSchema({"enum": [f"value {i}" for i in range(500_000)]}), "more than 50,000 values"),
        (lambda: JsonSchema(json.dumps({"enum": list(range(500_000))})), "more than 50,000 values"),
        (lambda: JsonSchema({"properties": {f"p{i}": {} for i in range(2000)}}), "2,000 properties, more than 1,000"),
        (lambda: JsonSchema({"required": [f"p{i}" for i in range(2000)]}), "2,000 properties, more than 1,000"),
        (lambda: JsonSchema({"oneOf": [{"const": i} for i in range(9000)]}), "merging this takes too long"),
        (lambda: JsonSchema({"allOf": [{"properties": {f"p{i}": {}}} for i in range(9000)]}), "merging this takes"),
        (lambda: JsonSchema({"type": "string", "pattern": "a" * 100_001}), "more than 100,000 characters"),
        (lambda: Regex("|".join(map(str, range(100_000)))), "more than 100,000 characters"),
        (lambda: Regex("((((a{1,200}){1,200}){1,200}){1,200})"), "needs more than 131,072 parts of one state"),
        (lambda: Ebnf('root ::= "' + "a" * 100_000 + '"'), "more than 100,000 characters"),
        (lambda: Choice([f"v{i}" for i in range(500_000)]), "Choice holds more than 50,000 values"),
        (lambda: Template("x" * 1_000_000), "even the shortest text of the constraint has more than 400,000 bytes"),
        (
            lambda: Verbatim(" ".join(map(str, range(500_000)))),
            "the verbatim source holds more than 1,000,000 characters",
        ),
    ],
)
def test_size(constraint, message):
    with pytest.raises((GrammarTooLargeError, UnsupportedSchemaError), match=message):
        TokenAutomaton(compile_constraint(constraint()), BYTES, end_token_ids=[0])


@pytest.mark.parametrize(
    ("schema", "member"),
    [
        ({"enum": list(range(5000))}, "4999"),
        ({"enum": [f"value {i}" for i in range(5000)]}, '"value 4999"'),
        ({"anyOf": [{"const": i} for i in range(5000)]}, "4999"),
        ({"oneOf": [{"const": f"{i}", "title": "T"} for i in range(300)]}, '"299"'),
        ({"type": "string", "pattern": "|".join(map(str, range(1000)))}, '"-999-"'),
        ({"properties": {f"p{i}": {"type": "integer"} for i in range(200)}}, '{"p0":1,"p199":2}'),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_people_write_is_not_too_large(schema, member):
    assert compile_constraint(schema).accepts(member)


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
