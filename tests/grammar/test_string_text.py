import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import InvalidSchemaError
from dg_sglang.grammar import JsonSchema, VerbatimSource, compile_constraint
from dg_sglang.grammar.expression import Expressions
from dg_sglang.grammar.rules import Atom, StringRule
from dg_sglang.grammar.string_text import StringTexts

ATOMS = st.builds(
    Atom,
    st.just("pattern"), st.sampled_from(["a", "^b", "é$", r"^\w+$", r'["\\]']), st.booleans(), st.just(""),
)  # fmt: skip
TEXTS = st.text('ab1é"\\\n', max_size=4)
RULES = st.builds(
    StringRule,
    st.integers(0, 2), st.none() | st.integers(2, 4), st.none(), st.frozensets(TEXTS, max_size=2),
    st.frozensets(ATOMS, max_size=2),
)  # fmt: skip


@given(RULES, st.lists(TEXTS, min_size=5, max_size=8))
@settings(max_examples=200, deadline=None)
def test_the_automaton_and_the_rule_agree(rule, others):
    table = Expressions()
    texts = StringTexts(table, {})
    body = texts.body(rule)
    for text in others:
        spelled = json.dumps(text, ensure_ascii=False)[1:-1].encode()
        assert table.after(body, spelled).nullable == texts.contains(rule, text), (rule, text)


@given(RULES, RULES, st.lists(TEXTS, min_size=5, max_size=8))
@settings(max_examples=150, deadline=None)
def test_rules_form_a_boolean_algebra(left, right, others):
    texts = StringTexts(Expressions(), {})
    met, complement = left.meet(right), left.complement()
    for text in others:
        both = texts.contains(left, text) and texts.contains(right, text)
        assert (met is not None and texts.contains(met, text)) == both
        assert any(texts.contains(one, text) for one in complement) != texts.contains(left, text)


@given(st.text(max_size=3))
def test_no_spelling_escapes_a_complement(text):
    grammar = compile_constraint(JsonSchema({"type": "string", "not": {"const": text}}, open=True))
    escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else json.dumps(c)[1:-1] for c in text)
    for spelling in (json.dumps(text), json.dumps(text, ensure_ascii=False), f'"{escaped}"'):
        assert not grammar.accepts(spelling)


def test_verbatim_intersects_with_pattern_format_and_length():
    source = {"document": VerbatimSource("due 2024-02-29 total 12.50")}
    piece = {"type": "string", "x-verbatim": {"source": "document"}}
    for more, member, other in (
        ({"format": "date"}, "2024-02-29", "12.50"),
        ({"pattern": r"^\d+\.\d\d$"}, "12.50", "29"),
        ({"maxLength": 3}, "due", "total"),
        ({"not": {"const": "due"}}, "total", "due"),
    ):
        grammar = compile_constraint(JsonSchema(piece | more, sources=source))
        assert grammar.accepts(f'"{member}"'), more
        assert not grammar.accepts(f'"{other}"'), more


def test_a_malformed_pattern_is_located():
    with pytest.raises(InvalidSchemaError, match="malformed") as caught:
        compile_constraint(JsonSchema({"properties": {"a": {"type": "string", "pattern": "[b"}}}))
    assert caught.value.pointer == "/properties/a"
