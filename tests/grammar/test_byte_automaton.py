import numpy as np
import pytest
from expression_trees import STRINGS, TREES, build, language
from hypothesis import given, settings

from dg_sglang.errors import GrammarTooLargeError, InvalidSchemaError
from dg_sglang.grammar import byte_automaton
from dg_sglang.grammar.byte_automaton import ByteAutomaton
from dg_sglang.grammar.expression import Expressions
from dg_sglang.kernels import arena


@given(TREES)
@settings(max_examples=300, deadline=None)
def test_it_accepts_the_language(tree):
    table = Expressions()
    node, members = build(table, tree), language(tree)
    automaton = ByteAutomaton(table, node)
    for text in STRINGS:
        assert automaton.accepting(automaton.after(automaton.start, text)) == (text in members)


def nested(table, name):
    """a…b…, as many a as b: S = ab | aSb."""
    a, b = table.literal(b"a"), table.literal(b"b")
    return table.reference(
        name, lambda: table.union((table.literal(b"ab"), table.concat(a, table.reference(name, dict), b)))
    )


def test_values_may_nest_as_deep_as_they_like():
    table = Expressions()
    automaton = ByteAutomaton(table, nested(table, "S"))
    assert automaton.nests
    for depth in (1, 2, 30, 20_000):
        after = automaton.after(automaton.start, b"a" * depth + b"b" * depth)
        assert automaton.accepting(after)
        assert automaton.after(after, b"b") == 0


def test_expressions_may_be_as_deep_as_they_like():
    table = Expressions()
    node = table.literal(b"x")
    for _ in range(20_000):
        node = table.union((table.concat(table.byte_range(97, 98), node), table.literal(b"y")))
    automaton = ByteAutomaton(table, node)
    assert not automaton.nests
    assert automaton.accepting(automaton.after(automaton.start, b"ab" * 10_000 + b"x"))
    optional = table.optional(table.literal(b"z"))
    many = table.concat(*[table.concat(optional, optional) for _ in range(5_000)])
    assert automaton.accepting(automaton.start) is False
    assert ByteAutomaton(table, many).accepting(ByteAutomaton(table, many).start)


def test_a_list_is_no_nesting():
    table = Expressions()
    tail = table.reference(
        "list", lambda: table.union((table.empty, table.concat(table.literal(b"x"), tail))), nullable=True
    )
    automaton = ByteAutomaton(table, tail)
    assert not automaton.nests
    assert automaton.accepting(automaton.after(automaton.start, b"x" * 100))
    assert automaton.states <= 6


def test_a_rule_that_begins_with_itself_is_refused():
    table = Expressions()
    rule = table.reference("rule", lambda: table.union((table.literal(b"x"), table.concat(rule, table.literal(b"y")))))
    automaton = ByteAutomaton(table, rule)
    for _ in range(2):
        with pytest.raises(InvalidSchemaError, match="left recursion"):
            automaton.after(automaton.start, b"x")


def test_equal_expressions_are_one_state_however_they_were_reached():
    table = Expressions()
    node = table.concat(
        table.repeat(table.union((table.literal(b"ab"), table.literal(b"cb"))), 0, 9), table.literal(b"end")
    )
    automaton = ByteAutomaton(table, node)
    assert automaton.after(automaton.start, b"a") == automaton.after(automaton.start, b"c")
    assert automaton.after(automaton.start, b"abcb") == automaton.after(automaton.start, b"cbab")


def test_too_many_states_are_refused(monkeypatch):
    monkeypatch.setattr(byte_automaton, "MAX_STATES", 4096)
    table = Expressions()
    automaton = ByteAutomaton(table, table.repeat(table.literal(b"abcdefgh"), 0, 5_000))
    with pytest.raises(GrammarTooLargeError, match="4,096 states"):
        automaton.after(automaton.start, b"abcdefgh" * 600)


def test_states_survive_growth():
    table = Expressions()
    automaton = ByteAutomaton(table, table.repeat(table.literal(b"abcdefgh"), 0, 5_000))
    before = automaton.after(automaton.start, b"abc")
    size = len(automaton.arena.nodes)
    automaton.after(automaton.start, b"abcdefgh" * 2_000)
    assert len(automaton.arena.nodes) > size
    assert automaton.after(automaton.start, b"abc") == before
    signatures = automaton.arena.nodes["signature"][: automaton.arena.count[arena.NODES]]
    assert len(np.unique(signatures)) == len(signatures)


def test_a_reference_is_never_taken_for_a_byte():
    table = Expressions()

    def rule(name):
        """Its name in any number of angle brackets."""
        left, right = table.literal(b"<"), table.literal(b">")
        inside = lambda: table.concat(left, table.reference(name, dict), right)  # noqa: E731
        return table.reference(name, lambda: table.union((table.literal(name), inside())))

    letters = [bytes([byte]) for byte in range(32, 127)]
    names = [b"%d." % number for number in range(120)]
    tail = rule(b"s")
    heads = [rule(name) for name in names] + [table.literal(b"?" + letter) for letter in letters]
    automaton = ByteAutomaton(table, table.union(table.concat(head, tail) for head in heads))

    def accepts(text):
        return automaton.accepting(automaton.after(automaton.start, text))

    assert all(accepts(b"?" + letter + b"<s>") for letter in letters)
    assert all(accepts(b"<" + name + b">s") and not accepts(b"?" + name + b"s") for name in names)
    nodes = automaton.arena.nodes[: automaton.arena.count[arena.NODES]]
    assert len(np.unique(nodes["signature"])) == len(nodes)
