"""Compiled derivatives of byte expressions.

`fill` computes the derivatives of a node by every byte class at once (Brzozowski 1964; classes after Owens, Reppy &
Turon, JFP 2009). Nothing here recurses: expressions may be as deep as memory allows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.arena import (
    AUTOMATON,
    BYTES,
    COMPLEMENT,
    CONCAT,
    EMPTY,
    FULL,
    INTERSECTION,
    LEFT_RECURSION,
    LITERAL,
    NOTHING,
    PROBLEM,
    REFERENCE,
    REPEAT,
    ROWS,
    STACK,
    UNION,
    WORK,
    ZERO,
    leaf,
    literal,
)
from dg_sglang.kernels.expressions import complement, concat, intersection, repeat, union, union_of_two


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
            count = ZERO
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
            row[m.classes[0, m.moves[position, 0]]] = leaf(m, AUTOMATON, target, m.embedded[target, 1] != 0)
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
