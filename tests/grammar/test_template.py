"""Templates: fixed text, holes, and the holes' values."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import EmptyLanguageError, GrammarError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import Choice, Ebnf, JsonSchema, Regex, Template, Verbatim, compile_constraint


def test_fixed_text_and_typed_holes():
    template = Template(
        "Dear {name},\nyou owe {amount} since {date} {{net}}: {details}",
        name=Verbatim("Ann Lee and Bo"),
        amount=float,
        date=Verbatim("on 2024-02-29", format="date"),
        details=JsonSchema({"type": "array", "items": {"type": ["null", "string"]}}, whitespace="compact"),
    )
    grammar = compile_constraint(template)
    text = 'Dear Ann Lee,\nyou owe 3.50 since 2024-02-29 {net}: [null,"x"]'
    assert grammar.accepts(text)
    assert grammar.parse(text) == {"name": "Ann Lee", "amount": 3.5, "date": "2024-02-29", "details": [None, "x"]}
    for wrong in (
        text.replace("Ann Lee", "Ann Le"),
        text.replace("{net}", "net"),
        text + " ",
        text.replace("3.50", ""),
    ):
        assert not grammar.accepts(wrong)
    with pytest.raises(ValueError, match="does not fit the template"):
        grammar.parse("Dear Ann")


def test_a_template_inside_a_template_and_a_null():
    inner = Template("<{value}>", value={"type": ["null", "boolean"]})
    template = Template("{first}{second}", first=Ebnf('root ::= "(" root ")" | ""'), second=inner)
    assert template.parse("(())<null>") == {"first": "(())", "second": {"value": None}}
    assert compile_constraint(Template("no holes, {{really}}")).parse("no holes, {really}") == {}


def test_holes_may_be_called_anything():
    template = Template("{text} {self}", text=Choice(["a"]), self=Choice(["b"]))
    assert template.parse("a b") == {"text": "a", "self": "b"}


@given(st.text("ab,", max_size=8))
@settings(max_examples=200, deadline=None)
def test_earlier_holes_are_as_short_as_they_can_be(text):
    template = Template("{a},{b}{c}", a=Regex("[ab,]*"), b=Regex("a+|b"), c=Regex("[ab]*"))
    cuts = [
        (a, b)
        for a in range(len(text))
        for b in range(a + 2, len(text) + 1)
        if text[a] == "," and (set(text[a + 1 : b]) == {"a"} or text[a + 1 : b] == "b") and "," not in text[b:]
    ]
    assert compile_constraint(template).accepts(text) == bool(cuts)
    if cuts:
        a, b = min(cuts)
        assert template.parse(text) == {"a": text[:a], "b": text[a + 1 : b], "c": text[b:]}


def test_many_ways_to_cut_cost_no_more_than_their_positions():
    holes = {f"h{index}": Regex("a*") for index in range(12)}
    template = Template("".join(f"{{{name}}}" for name in holes) + "{end}", **holes, end=Choice(["b"]))
    assert template.parse("a" * 60 + "b")["h11"] == "a" * 60


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Template(5), "a template must be a string, not int"),
        (lambda: Template("{a}"), r"hole \{a\} has no constraint; pass a=…"),
        (lambda: Template("x", a=int), r"has no hole \{a\}"),
        (lambda: Template("{a} {a}", a=int), r"has the hole \{a\} twice"),
        (lambda: Template("{}", a=int), r"a hole is written \{name\}, not \{\}"),
        (lambda: Template("{0}", a=int), r"not \{0\}"),
        (lambda: Template("{a.b}", a=int), r"not \{a.b\}"),
        (lambda: Template("{a!r:>5}", a=int), r"not \{a!r:>5\}"),
        (lambda: Template("{a", a=int), "the template is malformed: expected '}'"),
        (lambda: Template("a}"), r"malformed: Single '}'"),
        (lambda: compile_constraint(Template("{a}", a={"type": "nope"})), r"type must be one of.*\(at /a\)"),
        (lambda: compile_constraint(Template("\ud800")), "lone surrogate"),
    ],
)
def test_malformed(make, message):
    with pytest.raises(InvalidSchemaError, match=message):
        make()


def test_other_refusals():
    with pytest.raises(GrammarError, match="not int"):
        Template("{a}", a=3)
    with pytest.raises(UnsupportedSchemaError) as caught:
        compile_constraint(Template("{a}", a={"properties": {"b": {"$ref": "http://x"}}}))
    assert caught.value.pointer == "/a/properties/b"
    with pytest.raises(EmptyLanguageError):
        compile_constraint(Template("{a}!", a=Choice([])))


def test_equal_templates_share_a_key():
    one, same, other = (Template("{a}", a=JsonSchema(schema)) for schema in ({}, {}, {"type": "null"}))
    assert one.key("json") == same.key("json") != other.key("json")
    assert one.key("json") != one.key("compact")
    assert json.loads("1") == Template("{a}", a=int).parse("1")["a"]
    assert repr(Template("{a}", a=Choice(["x"]))) == "Template('{a}', a=Choice(options=['x']))"
