"""Compiled derivatives of byte expressions, on arrays.

An expression is a number: a node of the `Arena`, made once however often it comes up (hash-consing), so that equal
expressions are equal numbers and the states of an automaton. `fill` computes the derivatives of a node by every byte
class at once (Brzozowski 1964; classes after Owens, Reppy & Turon, JFP 2009). Nothing here recurses: expressions may
be as deep as memory allows. Every pool of the arena is bounded by its arrays; a kernel that meets a full one says so in
`count[PROBLEM]` and leaves the arena in order, and the caller makes room and calls again.
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
FULL, LEFT_RECURSION = 1, 2
_ZERO, _NO, _YES = np.int64(0), np.bool_(False), np.bool_(True)


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

STACK, WORK, MERGED = range(3)


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
def _intern(m, signature, kind, first, second, third, nullable, portable):
    """The node with this signature, made now if it is new."""
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
    return _intern(m, m.text[offset].rest, LITERAL, offset, length, _ZERO, _NO, _YES)


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
    node = _intern(m, signature, BYTES, index, _ZERO, _ZERO, _NO, _YES)
    if m.count[NODES] > before:
        m.count[MASKS] += 1
    return node


@njit(cache=True)
def concat(m, head, tail):
    """`head`, then `tail`; nested to the right only."""
    if head == NOTHING or tail == NOTHING:
        return NOTHING
    if tail == EMPTY:
        return head
    depth = 0
    while m.nodes[head].kind == CONCAT:
        if depth == m.scratch.shape[1]:
            m.count[PROBLEM] = FULL
            return NOTHING
        m.scratch[WORK, depth] = m.nodes[head].first
        depth += 1
        head = m.nodes[head].second
    node = tail if head == EMPTY else _pair(m, head, tail)
    while depth > 0:
        depth -= 1
        node = _pair(m, m.scratch[WORK, depth], node)
    return node


@njit(cache=True)
def _pair(m, head, tail):
    signature = mix(mix(np.uint64(CONCAT), m.nodes[head].signature), m.nodes[tail].signature)
    nullable = m.nodes[head].nullable and m.nodes[tail].nullable
    return _intern(m, signature, CONCAT, head, tail, _ZERO, nullable, m.nodes[head].portable and m.nodes[tail].portable)


@njit(cache=True)
def _several(m, kind, count):
    """The union or intersection of merged[:count], which this sorts; NOTHING for none of them."""
    chosen = m.scratch[MERGED]
    unique = _ZERO
    for position in range(count):  # an insertion sort: members come nearly sorted
        one = chosen[position]
        place = unique
        while place > 0 and chosen[place - 1] > one:
            place -= 1
        if place > 0 and chosen[place - 1] == one:
            continue
        for moved in range(unique, place, -1):
            chosen[moved] = chosen[moved - 1]
        chosen[place] = one
        unique += 1
    if unique == 0:
        return NOTHING
    if unique == 1:
        return chosen[0]
    if m.count[MEMBERS] + unique > m.members.shape[0]:
        m.count[PROBLEM] = FULL
        return NOTHING
    total = np.uint64(0)
    nullable = kind == INTERSECTION
    portable = _YES
    for position in range(unique):
        one = chosen[position]
        total += mix(np.uint64(kind), m.nodes[one].signature)
        nullable = nullable or m.nodes[one].nullable if kind == UNION else nullable and m.nodes[one].nullable
        portable = portable and m.nodes[one].portable
    before = m.count[NODES]
    node = _intern(m, mix(np.uint64(kind), total), kind, m.count[MEMBERS], unique, _ZERO, nullable, portable)
    if m.count[NODES] > before:
        for position in range(unique):
            m.members[m.count[MEMBERS] + position] = chosen[position]
        m.count[MEMBERS] += unique
    return node


@njit(cache=True)
def union(m, count):
    """Any of work[:count]; byte sets among them become one."""
    a = b = c = d = np.uint64(0)
    kept = _ZERO
    for position in range(count):
        node = m.scratch[WORK, position]
        several = m.nodes[node].kind == UNION
        size = m.nodes[node].second if several else 1
        if kept + size + 1 > m.scratch.shape[1]:
            m.count[PROBLEM] = FULL
            return NOTHING
        for index in range(size):
            one = m.members[m.nodes[node].first + index] if several else node
            if one == ANYTHING:
                return ANYTHING
            if m.nodes[one].kind == BYTES:
                mask = m.masks[m.nodes[one].first]
                a, b, c, d = a | mask[0], b | mask[1], c | mask[2], d | mask[3]
            elif one != NOTHING:
                m.scratch[MERGED, kept] = one
                kept += 1
    one = byte_set(m, a, b, c, d)
    if one != NOTHING:
        m.scratch[MERGED, kept] = one
        kept += 1
    return _several(m, UNION, kept)


@njit(cache=True)
def union_of_two(m, left, right):
    """Either of two."""
    if left == right or right == NOTHING:
        return left
    if left == NOTHING:
        return right
    m.scratch[WORK, 0] = left
    m.scratch[WORK, 1] = right
    return union(m, _ZERO + 2)


@njit(cache=True)
def intersection(m, count):
    """All of work[:count] at once."""
    kept = _ZERO
    all_nullable = True
    with_empty = False
    for position in range(count):
        node = m.scratch[WORK, position]
        if node == NOTHING:
            return NOTHING
        several = m.nodes[node].kind == INTERSECTION
        size = m.nodes[node].second if several else 1
        if kept + size > m.scratch.shape[1]:
            m.count[PROBLEM] = FULL
            return NOTHING
        for index in range(size):
            one = m.members[m.nodes[node].first + index] if several else node
            all_nullable = all_nullable and m.nodes[one].nullable
            with_empty = with_empty or one == EMPTY
            if one != ANYTHING:
                m.scratch[MERGED, kept] = one
                kept += 1
    if with_empty:
        return EMPTY if all_nullable else NOTHING
    return _several(m, INTERSECTION, kept) if kept > 0 else ANYTHING


@njit(cache=True)
def complement(m, part):
    """Every byte string but the members of `part`."""
    if part == NOTHING:
        return ANYTHING
    if part == ANYTHING:
        return NOTHING
    if m.nodes[part].kind == COMPLEMENT:
        return m.nodes[part].first
    signature = mix(np.uint64(COMPLEMENT), m.nodes[part].signature)
    return _intern(m, signature, COMPLEMENT, part, _ZERO, _ZERO, not m.nodes[part].nullable, m.nodes[part].portable)


@njit(cache=True)
def repeat(m, part, low, high):
    """`part` at least `low` and at most `high` times (−1: without bound)."""
    if part == NOTHING:
        return EMPTY if low == 0 else NOTHING
    if part == EMPTY or high == 0:
        return EMPTY
    if low == 1 and high == 1:
        return part
    bounds = np.uint64(low) << np.uint64(32) ^ np.uint64(high + 1)
    signature = mix(mix(np.uint64(REPEAT), m.nodes[part].signature), bounds)
    return _intern(m, signature, REPEAT, part, low, high, low == 0 or m.nodes[part].nullable, m.nodes[part].portable)


@njit(cache=True)
def _leaf(m, kind, first, nullable):
    signature = mix(np.uint64(kind), np.uint64(first))
    return _intern(m, signature, kind, first, _ZERO, _ZERO, nullable, _NO)


@njit(cache=True)
def begin(m):
    """Make the four nodes that every arena begins with."""
    full = np.uint64(0xFFFFFFFFFFFFFFFF)
    _intern(m, mix(np.uint64(VOID), np.uint64(0)), VOID, _ZERO, _ZERO, _ZERO, _NO, _YES)
    _intern(m, mix(np.uint64(VOID), np.uint64(1)), VOID, _ZERO, _ZERO, _ZERO, _YES, _YES)
    byte_set(m, full, full, full, full)
    repeat(m, ALL, _ZERO, _ZERO - 1)


@njit(cache=True)
def load(m, kinds, fields, nullables, parts, masks, numbers):
    """Make nodes from a list in which parts come before what holds them.

    kinds: int64 [nodes]; fields: int64 [nodes, 3] as in NODE, but parts are positions in this list, a mask is an index
    into `masks` (uint64 [:, 4]), members are parts[offset : offset + count]. Writes node numbers to `numbers`.
    """
    for index in range(kinds.shape[0]):
        kind, x, y, z = kinds[index], fields[index, 0], fields[index, 1], fields[index, 2]
        node = NOTHING
        if kind == VOID:
            node = x
        elif kind == LITERAL:
            node = literal(m, x, y)
        elif kind == BYTES:
            node = byte_set(m, masks[x, 0], masks[x, 1], masks[x, 2], masks[x, 3])
        elif kind == CONCAT:
            node = concat(m, numbers[x], numbers[y])
        elif kind in (UNION, INTERSECTION):
            if y > m.scratch.shape[1]:
                m.count[PROBLEM] = FULL
                return
            for position in range(y):
                m.scratch[WORK, position] = numbers[parts[x + position]]
            node = union(m, y) if kind == UNION else intersection(m, y)
        elif kind == COMPLEMENT:
            node = complement(m, numbers[x])
        elif kind == REPEAT:
            node = repeat(m, numbers[x], y, z)
        else:
            node = _leaf(m, kind, x, nullables[index])
        if m.count[PROBLEM] != 0:
            return
        numbers[index] = node


@njit(cache=True)
def fill(m, root):
    """Compute the row of `root`, and of the nodes that it takes. False where there is a problem (`count[PROBLEM]`)."""
    if m.nodes[root].row_of >= 0:
        return True
    depth = 1
    m.scratch[STACK, 0] = root
    while depth > 0:
        node = m.scratch[STACK, depth - 1]
        if m.nodes[node].row_of >= 0:
            depth -= 1
            continue
        m.nodes[node].row_of = -2
        before = depth
        kind = m.nodes[node].kind
        several = kind in (UNION, INTERSECTION)
        number = 0
        if several:
            number = m.nodes[node].second
        elif kind == CONCAT:
            number = 2 if m.nodes[m.nodes[node].first].nullable else 1
        elif kind in (COMPLEMENT, REPEAT, REFERENCE):
            number = 1
        for index in range(number):
            if several:
                part = m.members[m.nodes[node].first + index]
            elif kind == REFERENCE:
                part = m.nodes[node].second
            else:
                part = m.nodes[node].first if index == 0 else m.nodes[node].second
            if m.nodes[part].row_of >= 0:
                continue
            if m.nodes[part].row_of == -2:
                m.count[PROBLEM] = LEFT_RECURSION
            elif depth == m.scratch.shape[1]:
                m.count[PROBLEM] = FULL
            else:
                m.scratch[STACK, depth] = part
                depth += 1
        if depth == before and m.count[PROBLEM] == 0:
            _derive(m, node)
            depth -= 1
        if m.count[PROBLEM] != 0:
            for position in range(depth + 1 if depth < m.scratch.shape[1] else depth):
                if m.nodes[m.scratch[STACK, position]].row_of == -2:
                    m.nodes[m.scratch[STACK, position]].row_of = -1
            return False
    return True


@njit(cache=True)
def _derive(m, node):
    """The row of a node whose parts have theirs."""
    if m.count[ROWS] == m.rows.shape[0]:
        m.count[PROBLEM] = FULL
        return
    row = m.rows[m.count[ROWS]]
    row[:] = NOTHING
    kind, first, second, third = m.nodes[node].kind, m.nodes[node].first, m.nodes[node].second, m.nodes[node].third
    if kind == LITERAL:
        row[m.classes[0, m.text[first].byte]] = literal(m, first + 1, second - 1)
    elif kind == BYTES:
        for column in range(row.shape[0]):
            byte = np.uint64(m.classes[1, column])
            if (m.masks[first, byte >> np.uint64(6)] >> (byte & np.uint64(63))) & np.uint64(1):
                row[column] = EMPTY
    elif kind == CONCAT:
        _continue(m, row, m.rows[m.nodes[first].row_of], second)
        if m.nodes[first].nullable:
            outer = m.rows[m.nodes[second].row_of]
            for column in range(row.shape[0]):
                if outer[column] != NOTHING:
                    row[column] = union_of_two(m, np.int64(row[column]), np.int64(outer[column]))
    elif kind in (UNION, INTERSECTION):
        for column in range(row.shape[0]):
            count = _ZERO
            if second > m.scratch.shape[1]:
                m.count[PROBLEM] = FULL
                return
            for position in range(first, first + second):
                target = np.int64(m.rows[m.nodes[m.members[position]].row_of, column])
                if target != NOTHING or kind == INTERSECTION:
                    m.scratch[WORK, count] = target
                    count += 1
            if count == 1 and kind == UNION:
                row[column] = m.scratch[WORK, 0]
            elif count > 0:
                row[column] = union(m, count) if kind == UNION else intersection(m, count)
    elif kind == COMPLEMENT:
        inner = m.rows[m.nodes[first].row_of]
        for column in range(row.shape[0]):
            row[column] = complement(m, np.int64(inner[column]))
    elif kind == REPEAT:
        rest = repeat(m, first, max(second - 1, 0), third if third < 0 else third - 1)
        _continue(m, row, m.rows[m.nodes[first].row_of], rest)
    elif kind == REFERENCE:
        row[:] = m.rows[m.nodes[second].row_of]
    elif kind == AUTOMATON:
        for position in range(m.embedded[first, 0], m.embedded[first + 1, 0]):
            target = m.moves[position, 1]
            row[m.classes[0, m.moves[position, 0]]] = _leaf(m, AUTOMATON, target, m.embedded[target, 1] != 0)
    if m.count[PROBLEM] == 0:
        m.nodes[node].row_of = m.count[ROWS]
        m.count[ROWS] += 1


@njit(cache=True)
def _continue(m, row, inner, tail):
    """Write to `row` the derivatives `inner`, followed by `tail`. Neighbours are often the same."""
    before, result = NOTHING, NOTHING
    for column in range(row.shape[0]):
        target = np.int64(inner[column])
        if target != NOTHING:
            if target != before:
                before, result = target, concat(m, target, tail)
            row[column] = result


@njit(cache=True)
def run(m, node, data):
    """The derivative of `node` by the bytes `data`; −1 where there is a problem."""
    for byte in data:
        if node == NOTHING:
            return node
        if not fill(m, node):
            return -1
        node = np.int64(m.rows[m.nodes[node].row_of, m.classes[0, byte]])
    return node
