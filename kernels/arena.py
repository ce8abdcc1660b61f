"""Byte expressions as numbers: the nodes of one grammar, on arrays.

An expression is a number: a node of the `Arena`, made once however often it comes up (hash-consing), so that equal
expressions are equal numbers and the states of an automaton. Every pool of the arena is bounded by its arrays; a kernel
that meets a full one says so in `count[PROBLEM]` and leaves the arena in order, and the caller makes room and calls
again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

# As np.int64, so that numba compiles a function once and not for each constant.
NOTHING, EMPTY, ALL, ANYTHING = map(np.int64, range(4))
"""The nodes that every arena begins with: no string, the empty string, any byte, any string."""

VOID, LITERAL, BYTES, CONCAT, UNION, INTERSECTION, COMPLEMENT, REPEAT, REFERENCE, AUTOMATON = map(np.int64, range(10))
"""Kinds. `first`, `second`, `third` hold: LITERAL offset and length of its text; BYTES its mask; CONCAT head and tail;
UNION and INTERSECTION offset and number of members; COMPLEMENT the part; REPEAT part, low, high (−1: unbounded);
REFERENCE its number and target; AUTOMATON a state."""

NODES, MEMBERS, MASKS, ROWS, PROBLEM = range(5)
"""Places in `Arena.count`."""

FULL, LEFT_RECURSION = 1, 2
"""Problems."""

ZERO, NO, YES = np.int64(0), np.bool_(False), np.bool_(True)

NODE = np.dtype(
    [
        ("kind", np.int64),
        ("first", np.int64),
        ("second", np.int64),
        ("third", np.int64),
        ("row_of", np.int64),
        ("signature", np.uint64),
        ("nullable", np.bool_),
        ("portable", np.bool_),
    ]
)
"""`row_of` is the row of `rows` that holds the derivatives, −1 if not yet computed, −2 while underway. `signature`
hashes the structure; for `portable` nodes (no reference or automaton inside) it is the same in every arena."""

LETTER = np.dtype([("byte", np.int64), ("rest", np.uint64)])
"""A byte of a literal, and a hash of the literal from there to its end."""

_LEAF = np.uint64(1 << 63)  # no byte, so that a leaf never has a literal's signature

STACK, WORK, MERGED = range(3)
"""Rows of `Arena.scratch`."""


class Arena(NamedTuple):
    """The nodes of one grammar and all pools that they point into.

    nodes: NODE [nodes]. slots: int32, the hash table of nodes. members: int64, of unions and intersections.
    masks: uint64 [masks, 4], sets of bytes. text: LETTER, the literals one after the other.
    embedded: int64 [states + 1, 2], per state of an embedded automaton where its moves begin and whether it accepts;
    moves: int64 [moves, 2], byte and target. classes: int64 [2, 256], the class of each byte, a byte of each class.
    rows: int32 [rows, classes], derivatives. count: int64, how full the pools are. scratch: int64 [3, any].
    """

    nodes: Any
    slots: Any
    members: Any
    masks: Any
    text: Any
    embedded: Any
    moves: Any
    classes: Any
    rows: Any
    count: Any
    scratch: Any


@njit(cache=True)
def mix(state, value):
    """One step of a 64-bit hash (the finaliser of splitmix64)."""
    state = (state ^ value) + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@njit(cache=True)
def intern(m, signature, kind, first, second, third, nullable, portable):
    """The node with this signature, made now if it is new. NOTHING where there is no room for it."""
    slot = np.int64(signature & np.uint64(m.slots.shape[0] - 1))
    while True:
        node = np.int64(m.slots[slot])
        if node < 0:
            break
        if m.nodes[node].signature == signature and m.nodes[node].kind == kind and m.nodes[node].second == second:
            return node
        slot = (slot + 1) & (m.slots.shape[0] - 1)
    node = m.count[NODES]
    if node == m.nodes.shape[0]:
        m.count[PROBLEM] = FULL
        return NOTHING
    m.count[NODES] += 1
    m.nodes[node].kind = kind
    m.nodes[node].first = first
    m.nodes[node].second = second
    m.nodes[node].third = third
    m.nodes[node].nullable = nullable
    m.nodes[node].portable = portable
    m.nodes[node].signature = signature
    m.nodes[node].row_of = -1
    m.slots[slot] = node
    return node


@njit(cache=True)
def rehash(slots, nodes, count):
    """Enter nodes[:count] into an empty hash table."""
    for node in range(count):
        slot = np.int64(nodes[node].signature & np.uint64(slots.shape[0] - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.shape[0] - 1)
        slots[slot] = node


@njit(cache=True)
def hash_text(text, ends):
    """Fill in `rest` of the LETTERs `text`; ends: where each literal ends."""
    start = 0
    for end in ends:
        value = np.uint64(LITERAL)
        for position in range(end - 1, start - 1, -1):
            value = mix(value, np.uint64(text[position].byte))
            text[position].rest = value
        start = end


@njit(cache=True)
def literal(m, offset, length):
    """The bytes text[offset : offset + length], which must be the end of a loaded literal."""
    if length == 0:
        return EMPTY
    return intern(m, m.text[offset].rest, LITERAL, offset, length, ZERO, NO, YES)


@njit(cache=True)
def byte_set(m, a, b, c, d):
    """One byte out of a mask of four words."""
    if a == 0 and b == 0 and c == 0 and d == 0:
        return NOTHING
    if m.count[MASKS] == m.masks.shape[0]:
        m.count[PROBLEM] = FULL
        return NOTHING
    index = m.count[MASKS]
    m.masks[index, 0], m.masks[index, 1], m.masks[index, 2], m.masks[index, 3] = a, b, c, d
    signature = mix(mix(mix(mix(np.uint64(BYTES), a), b), c), d)
    before = m.count[NODES]
    node = intern(m, signature, BYTES, index, ZERO, ZERO, NO, YES)
    if m.count[NODES] > before:
        m.count[MASKS] += 1
    return node


@njit(cache=True)
def leaf(m, kind, first, nullable):
    """A reference, or a state of an embedded automaton."""
    signature = mix(mix(np.uint64(kind), np.uint64(first)), _LEAF)
    return intern(m, signature, kind, first, ZERO, ZERO, nullable, NO)
