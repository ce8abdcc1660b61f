"""Other people's programs on the same question: a JSON Schema validator, llguidance, xgrammar.

The engines judge texts as we do, character by character, where they claim support; a validator judges the value.
(`re` is asked in test_regex.py.)
"""

import json
import re
from functools import cache

import jsonschema_rs
import pytest
from engines import LLGuidance, RefusedError, XGrammar
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from vocabularies import nano

from dg_sglang.grammar import EmptyLanguageError, JsonSchema, Regex, compile_constraint

pytestmark = pytest.mark.slow
ENGINES = {"llguidance": LLGuidance, "xgrammar": XGrammar}


@cache
def engine(name):
    pytest.importorskip(name)
    return ENGINES[name](nano())


@pytest.fixture(scope="module", params=ENGINES)
def other(request):
    return engine(request.param)


# ---- regular expressions -------------------------------------------------------------------------------------------

ATOMS = st.sampled_from(["a", "b", "é", "0", r"\d", "[ab]", "[^a]", "[a-c0-9]", ".", r"\.", " "])  # \w: é to llguidance
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)
TEXTS = st.lists(st.text("abcé0 .", max_size=6), min_size=10, max_size=10)


@given(pattern=PATTERNS, texts=TEXTS)
@settings(max_examples=40, deadline=None)
def test_regular_expressions_match_what_engines_match(other, pattern, texts):
    grammar = compile_constraint(Regex(pattern))
    try:
        matcher = other.regex(pattern)
    except RefusedError:
        assume(False)
    for text in texts:
        assert grammar.accepts(text) == other.accepts(matcher, text), (pattern, text)


# ---- JSON Schema ---------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", 'k"y', "é"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-30, 300),
    st.decimals(-30, 30, places=1).map(float),
    st.text("aé1 ", max_size=4),
    st.sampled_from(["2024-02-29", "2024-13-01", "12:00:00Z"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda child: st.lists(child, max_size=3) | st.dictionaries(NAMES, child, max_size=3),
    max_leaves=5,
)
RANGES = st.tuples(st.integers(-9, 20), st.integers(0, 30)).map(lambda pair: (pair[0], sum(pair)))
SMALL = st.tuples(st.integers(0, 2), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair)))
LEAVES = st.one_of(
    st.sampled_from([{"type": one} for one in ("number", "integer", "boolean", "null", "string")]),
    st.just({"type": "string", "format": "date"}),
    st.just({"type": ["string", "null"]}),
    RANGES.map(lambda r: {"type": "integer", "minimum": r[0], "maximum": r[1]}),
    RANGES.map(lambda r: {"type": "number", "exclusiveMinimum": r[0]}),
    SMALL.map(lambda r: {"type": "string", "minLength": r[0], "maxLength": r[1]}),
    st.sampled_from(["^a+$", "^[a-c]{1,2}é?$", "^(1|é )*$"]).map(lambda p: {"type": "string", "pattern": p}),
    st.lists(SCALARS, min_size=1, max_size=3).map(lambda values: {"enum": values}),
)


def objects(child):
    return st.tuples(st.dictionaries(NAMES, child, max_size=3), st.sets(NAMES, max_size=2)).map(
        lambda pair: {
            "type": "object",
            "properties": pair[0],
            "required": [name for name in pair[0] if name in pair[1]],
            "additionalProperties": False,
        }
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda child: st.one_of(
        objects(child),
        st.tuples(child, SMALL).map(
            lambda pair: {"type": "array", "items": pair[0], "minItems": pair[1][0], "maxItems": pair[1][1]}
        ),
        st.lists(child, min_size=1, max_size=2).map(lambda options: {"anyOf": options}),
    ),
    max_leaves=4,
)


@st.composite
def members(draw, schema):
    """A value that is often valid."""
    if "anyOf" in schema:
        return draw(members(draw(st.sampled_from(schema["anyOf"]))))
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if schema["type"] == "object":
        names = [name for name in schema["properties"] if name in schema["required"] or draw(st.booleans())]
        return {name: draw(members(schema["properties"][name])) for name in names}
    if schema["type"] == "array":
        return draw(st.lists(members(schema["items"]), min_size=schema["minItems"], max_size=schema["maxItems"]))
    if "minimum" in schema:
        return draw(st.integers(schema["minimum"], schema["maximum"]))
    if "minLength" in schema:
        return draw(st.text("aé1", min_size=schema["minLength"], max_size=schema["maxLength"]))
    if "pattern" in schema:
        return draw(st.sampled_from(["a", "aa", "bcé", "1", "é 1", ""]))
    return draw(SCALARS)


@st.composite
def questions(draw):
    """A schema, and values near it and far from it as texts, some of them slightly damaged."""
    schema = draw(SCHEMAS)
    values = [draw(members(schema)) for _ in range(5)] + [draw(VALUES) for _ in range(2)]
    texts = [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values]
    for text in list(texts):
        at, what = draw(st.integers(0, len(text) - 1)), draw(st.sampled_from(["", *'01",:]}a-. ']))
        texts.append(text[:at] + what + text[at + draw(st.integers(0, 1)) :])
    return schema, texts


def value_of(text):
    """The value of a JSON text without repeated names; None where it is no such text."""
    try:
        return json.loads(text, object_pairs_hook=distinct)
    except ValueError:
        return None


def distinct(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a repeated name")
    return dict(pairs)


@given(questions())
@settings(max_examples=80, deadline=None)
def test_schemas_allow_what_a_validator_allows(question):
    """In the open world with keys in order: exactly. Rewritten from the value, so that spelling doesn't count."""
    schema, texts = question
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    try:
        grammar = compile_constraint(JsonSchema(schema, open=True))
    except EmptyLanguageError:
        grammar = None
    for text in texts:
        value = value_of(text)
        if value is None and text != "null":
            assert grammar is None or not grammar.accepts(text), (schema, text)
        elif json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text:
            assert (grammar is not None and grammar.accepts(text)) == (
                validator.is_valid(value) and in_order(schema, value)
            ), (schema, text)


def in_order(schema, value):
    """Whether the members of all objects come as some branch of the schema declares them."""
    if "anyOf" in schema:
        fits = [one for one in schema["anyOf"] if jsonschema_rs.is_valid(one, value, validate_formats=True)]
        return any(in_order(one, value) for one in fits)
    if isinstance(value, dict) and "properties" in schema:
        properties = schema["properties"]
        return list(value) == [name for name in properties if name in value] and all(
            in_order(properties[name], one) for name, one in value.items()
        )
    if isinstance(value, list) and "items" in schema:
        return all(in_order(schema["items"], one) for one in value)
    return True


@given(question=questions())
@settings(max_examples=50, deadline=None)
def test_schemas_allow_what_engines_allow(other, question):
    """As texts: the closed world without white space, where all three have the same language."""
    schema, texts = question
    try:
        grammar = compile_constraint(JsonSchema(schema, "compact"))
        matcher = other.schema(schema, open_world=False)
    except (EmptyLanguageError, RefusedError):
        assume(False)
    for text in texts:
        if not re.search(r"[\[{,:]\s|\s[\]},:]|^\s|\s$|^$", text):  # white space is each engine's own matter
            assert grammar.accepts(text) == other.accepts(matcher, text), (schema, text)
