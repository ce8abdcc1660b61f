import pytest

from dg_sglang.grammar import JsonSchema, Regex, compile_constraint
from dg_sglang.grammar.diagnosis import Rejection, rejection

NAMED = JsonSchema({"type": "object", "properties": {"name": {"type": "string"}, "kind": {"enum": ["a", "bc"]}}})


def test_members_are_not_rejected():
    grammar = compile_constraint(NAMED)
    for text in ("{}", '{"name": "é"}', '{"kind":"bc"}'):
        assert grammar.accepts(text)
        assert rejection(grammar, text) is None


@pytest.mark.parametrize(
    ("constraint", "text", "found"),
    [
        (NAMED, "[]", Rejection(0, ("`{`",), False)),
        (NAMED, '{"name":"é\x01"}', Rejection(11, ('`"`', "`\\`", "other characters"), False)),
        (NAMED, '{"kind":"x"}', Rejection(9, ('`a"`', '`bc"`'), False)),
        (Regex("ab?"), "ac", Rejection(1, ("`b`",), True)),
        (Regex("[0-9a-f]{2}"), "0", Rejection(1, ("`0`-`9`", "`a`-`f`"), False)),
        (Regex("x é*"), "x!", Rejection(1, ("a space",), False)),
        (Regex("(äö|€)x"), "y", Rejection(0, ("`äöx`", "`€x`"), False)),
    ],
)
def test_the_place_and_what_could_follow(constraint, text, found):
    assert rejection(compile_constraint(constraint), text) == found


def test_a_dead_end_is_found_where_it_begins():
    grammar = compile_constraint(JsonSchema({"type": "string", "format": "date", "maxLength": 10, "pattern": "^2"}))
    assert rejection(grammar, '"1999-01-01"').offset == 1
    assert rejection(grammar, '"2023-02-29"').offset == 10
