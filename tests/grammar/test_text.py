import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dg_sglang.grammar.expression import Expressions
from dg_sglang.grammar.text import complement_ranges, json_body, json_character, normalise_ranges, utf8

CODE_POINTS = st.integers(0, 0x10FFFF).filter(lambda c: not 0xD800 <= c <= 0xDFFF)
EDGES = [0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]


@given(st.lists(st.tuples(CODE_POINTS, CODE_POINTS).map(sorted).map(tuple), max_size=3), CODE_POINTS)
def test_utf8_holds_exactly_the_ranges(ranges, code_point):
    table = Expressions()
    node = utf8(table, ranges)
    for probe in (code_point, *EDGES):
        inside = any(first <= probe <= last for first, last in ranges)
        assert table.after(node, chr(probe).encode()).nullable == inside


def test_utf8_refuses_overlong_forms_and_surrogates():
    table = Expressions()
    node = utf8(table, [(0, 0x10FFFF)])
    for data in (b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\x80"):
        assert not table.after(node, data).nullable


@given(st.lists(st.tuples(CODE_POINTS, CODE_POINTS).map(sorted).map(tuple), max_size=4), CODE_POINTS)
def test_complement_holds_all_other_code_points(ranges, code_point):
    inside = any(first <= code_point <= last for first, last in ranges)
    outside = any(first <= code_point <= last for first, last in complement_ranges(ranges))
    assert inside != outside
    assert complement_ranges(complement_ranges(ranges)) == normalise_ranges(ranges)


@given(CODE_POINTS)
def test_a_character_may_be_spelled_as_json_allows(code_point):
    table = Expressions()
    node = json_character(table)
    for spelling in (json.dumps(chr(code_point)), json.dumps(chr(code_point), ensure_ascii=False)):
        assert table.after(node, spelling[1:-1].encode()).nullable
    plain_is_legal = code_point >= 0x20 and chr(code_point) not in '"\\'
    assert table.after(node, chr(code_point).encode()).nullable == plain_is_legal


@pytest.mark.parametrize("text", [r"\ud800", r"\udc00", r"\ud800\u0041", r"\u12", r"\x41", "\n", '"', "\\"])
def test_what_is_no_json_character_is_refused(text):
    table = Expressions()
    assert not table.after(json_character(table), text.encode()).nullable


def test_an_escaped_pair_is_one_character():
    table = Expressions()
    two = table.repeat(json_character(table), 2, 2)
    assert table.after(two, rb"\ud83d\ude00x").nullable
    assert not table.after(two, rb"\ud83d\ude00").nullable


@given(st.text())
def test_json_body_round_trips(text):
    assert json.loads(b'"' + json_body(text) + b'"') == text
