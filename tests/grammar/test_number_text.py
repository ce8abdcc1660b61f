import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.grammar.expression import Expressions
from dg_sglang.grammar.number_rule import ANY_NUMBER, NumberRule, exact
from dg_sglang.grammar.number_text import NumberTexts

DECIMALS = st.decimals(-120, 120, places=2).map(lambda d: d.normalize())
STEPS = st.sampled_from([None, Fraction(1), Fraction(5), Fraction(1, 4), Fraction(3, 10), Fraction(7, 100)])
TEXTS = st.one_of(
    DECIMALS.map(lambda d: f"{d:f}"),
    st.integers(-130, 130).map(str),
    st.tuples(st.integers(-130, 130), st.integers(0, 3)).map(lambda p: f"{p[0]}.{'0' * (p[1] + 1)}"),
)
RULES = st.builds(
    lambda low, high, step, a, b, no, out: (
        NumberRule(low, a and low is not None, high, b and high is not None, step, frozenset(no), frozenset(out))
    ),
    st.none() | DECIMALS.map(Fraction), st.none() | DECIMALS.map(Fraction), STEPS, st.booleans(), st.booleans(),
    st.lists(st.sampled_from([Fraction(2), Fraction(3, 2)]), max_size=1), st.lists(DECIMALS.map(Fraction), max_size=2),
)  # fmt: skip


def accepts(table, node, text):
    return table.after(node, text.encode()).nullable


@given(RULES, st.lists(TEXTS, min_size=8, max_size=8))
@settings(max_examples=300, deadline=None)
def test_plain_decimals_are_decided_exactly(rule, texts):
    table = Expressions()
    node = NumberTexts(table, open_world=True, integers=True).number(rule)
    if rule == ANY_NUMBER:
        return
    for text in texts:
        assert accepts(table, node, text) == rule.contains(Fraction(Decimal(text))), (rule, text)


@given(RULES, RULES, st.lists(DECIMALS, min_size=8, max_size=8))
@settings(max_examples=200, deadline=None)
def test_rules_form_a_boolean_algebra(left, right, values):
    met, others = left.meet(right), left.complement()
    for value in map(Fraction, values):
        assert (met is not None and met.contains(value)) == (left.contains(value) and right.contains(value))
        assert any(one.contains(value) for one in others) != left.contains(value)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_any_json_number(value):
    table = Expressions()
    assert accepts(table, NumberTexts(table, open_world=True, integers=True).number(ANY_NUMBER), json.dumps(value))


@pytest.mark.parametrize("text", ["01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "1_0", "--1", "NaN", "1.5.2"])
def test_what_is_no_json_number(text):
    table = Expressions()
    for rule in (ANY_NUMBER, NumberRule(low=Fraction(-5)), NumberRule(step=Fraction(1, 2))):
        assert not accepts(table, NumberTexts(table, open_world=True, integers=True).number(rule), text)


def test_integers_are_written_without_a_point_in_the_closed_world():
    for decimals in (False, True):
        table = Expressions()
        texts = NumberTexts(table, open_world=decimals, integers=decimals)
        for rule in (NumberRule(step=Fraction(1)), NumberRule(low=Fraction(0), step=Fraction(1))):
            assert accepts(table, texts.number(rule), "12")
            assert accepts(table, texts.number(rule), "12.0") == decimals
            assert not accepts(table, texts.number(rule), "12.5")


@pytest.mark.parametrize("value", [0.1, 1e-7, 123456789012345678901, 2.5e20, 1e300, -0.0])
def test_constants_are_spelled_as_json_dumps_spells_them(value):
    for decimals in (False, True):
        table = Expressions()
        node = NumberTexts(table, open_world=decimals, integers=decimals).number(NumberRule.point(exact(value)))
        assert accepts(table, node, json.dumps(value)) or (value == 0 and not decimals)
        assert not accepts(table, node, "7")


def test_a_large_multiple_is_refused_by_name():
    table = Expressions()
    with pytest.raises(UnsupportedSchemaError, match="multipleOf"):
        NumberTexts(table, open_world=True, integers=True).number(NumberRule(step=Fraction(10**9 + 7)))


@pytest.mark.parametrize("open_world", [True, False])
def test_exponents_stay_within_what_programs_hold_unless_the_world_is_open(open_world):
    table = Expressions()
    for rule in (ANY_NUMBER, NumberRule(low=Fraction(0))):
        node = NumberTexts(table, open_world=open_world, integers=open_world).number(rule)
        for text, kept in (("1e5", True), ("2.5E-07", True), ("1e99", True), ("1e999", open_world)):
            assert accepts(table, node, text) == kept, text
