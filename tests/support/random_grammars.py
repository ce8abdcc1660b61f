"""Random context-free grammars over a few letters, and a recogniser that needs no automaton: the specification.

A node is ("text", t), ("set", letters), ("name", n), ("seq", nodes), ("or", nodes) or ("loop", node, low, high).
"""

import itertools

from hypothesis import strategies as st

LETTERS = "ab"
NAMES = ("root", "x", "y")
TEXTS = ["".join(letters) for length in range(6) for letters in itertools.product(LETTERS, repeat=length)]

_LEAVES = st.one_of(
    st.sampled_from(["a", "b", "ab", ""]).map(lambda t: ("text", t)),
    st.sampled_from(["ab", "b"]).map(lambda s: ("set", s)),
    st.sampled_from(NAMES).map(lambda n: ("name", n)),
)
_NODES = st.recursive(
    _LEAVES,
    lambda child: st.one_of(
        st.lists(child, min_size=2, max_size=3).map(lambda parts: ("seq", parts)),
        st.lists(child, min_size=2, max_size=3).map(lambda options: ("or", options)),
        st.tuples(child, st.sampled_from([(0, None), (1, None), (0, 1), (2, 2), (1, 2), (2, None)])).map(
            lambda pair: ("loop", pair[0], *pair[1])
        ),
    ),
    max_leaves=5,
)
GRAMMARS = st.fixed_dictionaries(dict.fromkeys(NAMES, _NODES))


def gbnf(grammar):
    """The grammar as llama.cpp and xgrammar write it."""
    return "\n".join(f"{name} ::= {_written(node, '[{}]')}" for name, node in grammar.items())


def lark(grammar):
    """The grammar as Lark writes it."""
    body = "\n".join(f"{name}: {_written(node, '/[{}]/')}" for name, node in grammar.items())
    return f"start: root\n{body}"


def _written(node, char_set):
    kind, *rest = node
    if kind == "text":
        return f'"{rest[0]}"'
    if kind == "set":
        return char_set.format(rest[0])
    if kind == "name":
        return rest[0]
    if kind in ("seq", "or"):
        return f"({(' ' if kind == 'seq' else ' | ').join(_written(one, char_set) for one in rest[0])})"
    body, low, high = rest
    mark = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    bounds = str(low) if low == high else f"{low},{'' if high is None else high}"
    if mark is None and char_set.startswith("/"):
        mark = f"~{low}..{high}" if high is not None else None
    return f"({_written(body, char_set)}){mark or '{' + bounds + '}'}"


def recognises(grammar, text):
    """Whether `root` derives `text`: the least fixed point of which rule derives which stretch."""
    spans = {name: set() for name in grammar}
    while True:
        found = {name: {(i, j) for i in range(len(text) + 1) for j in _ends(node, i, text, spans)}
                 for name, node in grammar.items()}  # fmt: skip
        if found == spans:
            return (0, len(text)) in spans["root"]
        spans = found


def _ends(node, start, text, spans):
    kind, *rest = node
    if kind == "text":
        return {start + len(rest[0])} if text.startswith(rest[0], start) else set()
    if kind == "set":
        return {start + 1} if start < len(text) and text[start] in rest[0] else set()
    if kind == "name":
        return {j for i, j in spans[rest[0]] if i == start}
    if kind == "or":
        return set().union(*(_ends(one, start, text, spans) for one in rest[0]))
    if kind == "seq":
        ends = {start}
        for one in rest[0]:
            ends = set().union(*(_ends(one, end, text, spans) for end in ends))
        return ends
    body, low, high = rest
    ends, turns = {start}, set() if low else {start}
    for turn in range(1, (high if high is not None else low + len(text) + 1) + 1):
        ends = set().union(*(_ends(body, end, text, spans) for end in ends))
        turns |= ends if turn >= low else set()
    return turns
