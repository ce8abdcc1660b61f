import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import GrammarTooLargeError
from dg_sglang.grammar.byte_automaton import ByteAutomaton
from dg_sglang.grammar.expression import Expressions

ALPHABET = b"ab"
STRINGS = [bytes(s) for n in range(5) for s in itertools.product(ALPHABET, repeat=n)]


def leaves():
    return st.sampled_from(
        [("literal", b"a"), ("literal", b"ab"), ("literal", b""), ("bytes", 1 << ord("a") | 1 << ord("b"))]
    )


def branches(child):
    low_high = st.sampled_from([(0, None), (1, None), (0, 2), (2, 2), (1, 3), (3, 1)])
    return st.one_of(
        st.tuples(st.just("concat"), child, child),
        st.tuples(st.just("union"), child, child),
        st.tuples(st.just("intersection"), child, child),
        st.tuples(st.just("repeat"), child, low_high),
        st.tuples(st.just("complement"), child),
    )


TREES = st.recursive(leaves(), branches, max_leaves=6)


def build(table, tree):
    op = tree[0]
    if op == "literal":
        return table.literal(tree[1])
    if op == "bytes":
        return table.byte_set(tree[1])
    if op == "repeat":
        return table.repeat(build(table, tree[1]), *tree[2])
    if op == "complement":
        return table.complement(build(table, tree[1]))
    parts = [build(table, one) for one in tree[1:]]
    return table.concat(*parts) if op == "concat" else getattr(table, op)(parts)


def language(tree, longest=4):
    """All members up to `longest` bytes, by the definition of each operator."""
    op = tree[0]
    if op == "literal":
        return {tree[1]}
    if op == "bytes":
        return {bytes([b]) for b in ALPHABET if tree[1] >> b & 1}
    left = language(tree[1])
    if op == "repeat":
        low, high = tree[2]
        if high is not None and high < low:
            return set()
        powers, members = {b""}, set()
        for n in range((high if high is not None else longest + low) + 1):
            members |= powers if n >= low else set()
            powers = {x + y for x in powers for y in left if len(x + y) <= longest}
        return members
    if op == "complement":
        return set(STRINGS) - left
    right = language(tree[2])
    if op == "concat":
        return {x + y for x in left for y in right if len(x + y) <= longest}
    return left | right if op == "union" else left & right


@given(TREES)
@settings(max_examples=300, deadline=None)
def test_derivatives_decide_membership(tree):
    table = Expressions()
    node, members = build(table, tree), language(tree)
    for text in STRINGS:
        assert table.after(node, text).nullable == (text in members), (tree, text)


@given(TREES)
@settings(max_examples=100, deadline=None)
def test_the_byte_automaton_accepts_the_same_language(tree):
    table = Expressions()
    node, members = build(table, tree), language(tree)
    automaton = ByteAutomaton.build(table, node)
    for text in STRINGS:
        state = 0
        for byte in text:
            state = int(automaton.next[state, automaton.byte_class[byte]]) if state >= 0 else -1
        assert (state >= 0 and bool(automaton.accepting[state])) == (text in members)


def test_equal_expressions_are_one_object():
    table = Expressions()
    one = table.union([table.literal(b"x"), table.literal(b"yz")])
    assert one is table.union([table.literal(b"yz"), table.literal(b"x"), table.nothing])
    assert table.concat(one, table.empty) is one
    assert table.concat(one, table.nothing) is table.nothing


def test_classes_partition_all_bytes():
    table = Expressions()
    node = table.union([table.literal(b"ab"), table.concat(table.byte_range(97, 122), table.literal(b"q"))])
    classes = table.classes(node)
    assert sum(classes) == (1 << 256) - 1
    assert all(a & b == 0 for a, b in itertools.combinations(classes, 2))


def nested(table):
    """a…b…, as many a as b: S = ab | aSb."""
    name = object()
    a, b = table.literal(b"a"), table.literal(b"b")
    return table.reference(
        name, lambda: table.union((table.literal(b"ab"), table.concat(a, table.reference(name, dict), b)))
    )


def test_a_reference_may_stand_in_itself():
    table = Expressions()
    node = nested(table)
    for count in (1, 2, 3000):
        assert table.after(node, b"a" * count + b"b" * count).nullable
        assert not table.after(node, b"a" * count + b"b" * (count + 1)).nullable
    both = table.intersection((node, table.complement(table.literal(b"ab"))))
    assert table.after(both, b"aabb").nullable
    assert not table.after(both, b"ab").nullable


def test_what_nests_without_bound_has_no_table():
    table = Expressions()
    with pytest.raises(GrammarTooLargeError, match="nest without bound"):
        ByteAutomaton.build(table, nested(table))
    tail = table.reference(
        "list", lambda: table.union((table.empty, table.concat(table.literal(b"x"), tail))), nullable=True
    )
    assert len(ByteAutomaton.build(table, tail).accepting) <= 3


@given(TREES)
@settings(max_examples=100, deadline=None)
def test_what_is_called_empty_is_empty(tree):
    table = Expressions()
    if table.is_empty(build(table, tree)):
        assert not language(tree)
