"""Random expressions over the letters a and b, and what they mean by definition."""

import itertools

from hypothesis import strategies as st

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
