"""Compiled: expressions made of other expressions, in one normal form each."""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.arena import (
    ALL,
    ANYTHING,
    BYTES,
    COMPLEMENT,
    CONCAT,
    EMPTY,
    FULL,
    INTERSECTION,
    LITERAL,
    MEMBERS,
    MERGED,
    NO,
    NODES,
    NOTHING,
    PROBLEM,
    REPEAT,
    UNION,
    VOID,
    WORK,
    YES,
    ZERO,
    byte_set,
    intern,
    leaf,
    literal,
    mix,
)


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
    return intern(m, signature, CONCAT, head, tail, ZERO, nullable, m.nodes[head].portable and m.nodes[tail].portable)


@njit(cache=True)
def _several(m, kind, count):
    """The union or intersection of merged[:count], which this sorts; NOTHING for none of them."""
    chosen = m.scratch[MERGED]
    unique = ZERO
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
    portable = YES
    for position in range(unique):
        one = chosen[position]
        total += mix(np.uint64(kind), m.nodes[one].signature)
        nullable = nullable or m.nodes[one].nullable if kind == UNION else nullable and m.nodes[one].nullable
        portable = portable and m.nodes[one].portable
    before = m.count[NODES]
    node = intern(m, mix(np.uint64(kind), total), kind, m.count[MEMBERS], unique, ZERO, nullable, portable)
    if m.count[NODES] > before:
        for position in range(unique):
            m.members[m.count[MEMBERS] + position] = chosen[position]
        m.count[MEMBERS] += unique
    return node


@njit(cache=True)
def union(m, count):
    """Any of work[:count]; byte sets among them become one."""
    a = b = c = d = np.uint64(0)
    kept = ZERO
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
    return union(m, ZERO + 2)


@njit(cache=True)
def intersection(m, count):
    """All of work[:count] at once."""
    kept = ZERO
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
    return intern(m, signature, COMPLEMENT, part, ZERO, ZERO, not m.nodes[part].nullable, m.nodes[part].portable)


@njit(cache=True)
def repeat(m, part, low, high):
    """`part` at least `low` and at most `high` times (−1: without bound)."""
    if part == NOTHING:
        return EMPTY if low == 0 else NOTHING
    if part == EMPTY or high == 0:
        return EMPTY
    if low == 1 and high == 1:
        return part
    signature = mix(mix(mix(np.uint64(REPEAT), m.nodes[part].signature), np.uint64(low)), np.uint64(high + 1))
    return intern(m, signature, REPEAT, part, low, high, low == 0 or m.nodes[part].nullable, m.nodes[part].portable)


@njit(cache=True)
def begin(m):
    """Make the four nodes that every arena begins with."""
    full = np.uint64(0xFFFFFFFFFFFFFFFF)
    intern(m, mix(np.uint64(VOID), np.uint64(0)), VOID, ZERO, ZERO, ZERO, NO, YES)
    intern(m, mix(np.uint64(VOID), np.uint64(1)), VOID, ZERO, ZERO, ZERO, YES, YES)
    byte_set(m, full, full, full, full)
    repeat(m, ALL, ZERO, ZERO - 1)


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
            node = leaf(m, kind, x, nullables[index])
        if m.count[PROBLEM] != 0:
            return
        numbers[index] = node
