"""Compiled: the shortest texts that complete a state, in bytes and in tokens.

The first completion of a state is its shortest one, and among those of equal length the first in byte order. After the
first byte of it, what is left is the first completion of the next state: so a path of first completions never turns.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.arena import (
    AUTOMATON,
    BYTES,
    COMPLEMENT,
    CONCAT,
    FULL,
    INTERSECTION,
    LITERAL,
    NOTHING,
    PROBLEM,
    REFERENCE,
    REPEAT,
    UNION,
)
from dg_sglang.kernels.derivatives import fill
from dg_sglang.kernels.trie import child

FAR = np.int64(2**30)
"""The distance of a state from which nothing ends."""

CLOSING = np.dtype([("length", np.int64), ("tokens", np.int64), ("byte", np.int64), ("next", np.int64)])
"""Per node: the bytes of its first completion, the fewest tokens that spell it (−1: not yet known; FAR: there is none),
its first byte (−1: not yet known) and the state after that."""


@njit(cache=True)
def length(m, closing, spelt, inner, root):
    """The bytes of the first completion of `root`, out of bytes b with spelt[b]; −1 where there is a problem.

    closing: CLOSING, for as many nodes as there is room for; references hold their lengths already. inner: int64, the
    lengths of embedded automata by state.
    """
    if closing[root].length >= 0:
        return closing[root].length
    stack = np.empty(m.scratch.shape[1], np.int64)  # its own: `fill`, below `_search`, uses the arena's
    stack[0] = root
    depth = 1
    while depth > 0:
        node = stack[depth - 1]
        if closing[node].length >= 0:
            depth -= 1
            continue
        one = m.nodes[node]
        value = np.int64(-1)
        if one.nullable:
            value = np.int64(0)
        elif one.kind == LITERAL:
            value = one.second
            if not spelt.all():  # else a long text would be read again from each of its places
                for position in range(one.first, one.first + one.second):
                    if not spelt[m.text[position].byte]:
                        value = FAR
        elif one.kind == BYTES:
            value = FAR
            for byte in range(256):
                if spelt[byte] and (m.masks[one.first, byte >> 6] >> np.uint64(byte & 63)) & np.uint64(1):
                    value = np.int64(1)
        elif one.kind == INTERSECTION or one.kind == COMPLEMENT:
            value = _search(m, closing, spelt, node)
            if value < 0:
                return value
        elif one.kind == CONCAT or one.kind == UNION or one.kind == REPEAT:
            number = one.second if one.kind == UNION else np.int64(2) if one.kind == CONCAT else np.int64(1)
            value = FAR if one.kind == UNION else np.int64(0)
            missing = False
            for index in range(number):
                part = one.first if index == 0 else one.second
                if one.kind == UNION:
                    part = m.members[one.first + index]
                known = closing[part].length
                if known < 0:
                    if depth == stack.shape[0]:
                        m.count[PROBLEM] = FULL
                        return np.int64(-1)
                    stack[depth] = part
                    depth += 1
                    missing = True
                elif one.kind == UNION:
                    value = min(value, known)
                elif value == FAR or known == FAR:
                    value = FAR if one.kind == CONCAT or one.second > 0 else np.int64(0)
                else:  # longer than any answer, but not without end
                    value = min(value + known if one.kind == CONCAT else one.second * known, FAR - 1)
            if missing:
                continue
        else:
            value = inner[one.first] if one.kind == AUTOMATON else FAR
        closing[node].length = value
        depth -= 1
    return closing[root].length


@njit(cache=True)
def _search(m, closing, spelt, root):
    """The same for an expression that isn't the sum of its parts: breadth first through its derivatives."""
    states = np.empty(1024, np.int64)
    before = np.empty(1024, np.int64)
    seen = np.zeros(m.nodes.shape[0], np.bool_)
    states[0], before[0] = root, -1
    seen[root] = True
    count, position, goal = 1, 0, -1
    while position < count and goal < 0:
        state = states[position]
        if m.nodes[state].nullable:
            goal = position
            break
        if not fill(m, state):
            return np.int64(-1)
        row = m.rows[m.nodes[state].row_of]
        for byte in range(256):
            target = row[m.classes[0, byte]]
            if target == NOTHING or not spelt[byte] or seen[target]:
                continue
            if count == states.shape[0]:
                states, before = _grown(states), _grown(before)
            seen[target] = True
            states[count], before[count] = target, position
            count += 1
        position += 1
    if goal < 0:
        for position in range(count):
            closing[states[position]].length = FAR
        return FAR
    value = np.int64(0)
    while before[goal] >= 0:
        closing[states[goal]].length = value
        value += 1
        goal = before[goal]
    return value


@njit(cache=True)
def _grown(array):
    bigger = np.empty(2 * array.shape[0], array.dtype)
    bigger[: array.shape[0]] = array
    return bigger


@njit(cache=True)
def _step(m, closing, spelt, inner, state):
    """Find the first byte of the first completion of a state that has one. False where there is a problem."""
    if not fill(m, state):
        return False
    row = m.rows[m.nodes[state].row_of]
    for byte in range(256):
        target = np.int64(row[m.classes[0, byte]])
        if target == NOTHING or not spelt[byte]:
            continue
        value = length(m, closing, spelt, inner, target)
        if value < 0:
            return False
        if value == closing[state].length - 1:
            closing[state].byte = byte
            closing[state].next = target
            return True
    return False


@njit(cache=True)
def fewest_tokens(m, trie, closing, spelt, inner, start):
    """The fewest tokens that spell the first completion of `start`; FAR if it has none, −1 where there is a problem."""
    if closing[start].tokens >= 0:
        return closing[start].tokens
    value = length(m, closing, spelt, inner, start)
    if value < 0:
        return value
    if value == FAR:
        closing[start].tokens = FAR
        return FAR
    path = np.empty(value + 1, np.int64)
    count = 0
    state = start
    while closing[state].tokens < 0:
        path[count] = state
        count += 1
        if m.nodes[state].nullable:
            closing[state].tokens = 0
            break
        if closing[state].byte < 0 and not _step(m, closing, spelt, inner, state):
            return np.int64(-1)
        state = closing[state].next
    for position in range(count - 1, -1, -1):
        state = path[position]
        if closing[state].tokens >= 0:
            continue
        best, node, after = FAR, np.int64(0), state
        while not m.nodes[after].nullable:
            if closing[after].byte < 0 and not _step(m, closing, spelt, inner, after):
                return np.int64(-1)
            node = child(trie, node, closing[after].byte)
            if node < 0:
                break
            after = closing[after].next
            if trie.token_start[node] < trie.token_start[node + 1]:
                best = min(best, closing[after].tokens + 1)
        closing[state].tokens = best
    return closing[start].tokens


@njit(cache=True)
def fewest_tokens_of_all(m, trie, closing, spelt, inner, states, out):
    """`fewest_tokens` of several states. False where there is a problem."""
    for index in range(states.shape[0]):
        value = fewest_tokens(m, trie, closing, spelt, inner, states[index])
        if value < 0:
            return False
        out[index] = value
    return True


@njit(cache=True)
def settle(m, closing, spelt, inner, loaded):
    """Find the lengths of the nodes `loaded`: the least that agree with one another where references make circles
    (Knuth 1977, "A generalization of Dijkstra's algorithm"). False where there is a problem."""
    for node in loaded:
        closing[node].length = FAR if m.nodes[node].kind == REFERENCE else -1
    changed = True
    while changed:
        for node in loaded:
            if length(m, closing, spelt, inner, node) < 0:
                return False
        changed = False
        for node in loaded:
            if m.nodes[node].kind == REFERENCE and closing[node].length != closing[m.nodes[node].second].length:
                closing[node].length = closing[m.nodes[node].second].length
                changed = True
        if changed:
            for node in loaded:
                if m.nodes[node].kind != REFERENCE:
                    closing[node].length = -1
    return True
