"""Compiled walks of a folded token trie through a byte automaton: which tokens lead from a state to which.

States are nodes of an `Arena`; the walks compute what they need of it. What they find is kept in the `Pools` of one
token automaton.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dg_sglang.kernels.derivatives import fill
from dg_sglang.kernels.fold import find_split, partition_of, split

FULL, UNKNOWN_LOOP = np.int64(1), np.int64(2)
"""Troubles: a pool is full; `count[LOOP]` has to be explored first."""

EDGES, SETS, TOKENS, LOCAL, HITS, PARTS, SERIAL, STEPS, LOOP, TROUBLE = range(10)
"""Places in `Pools.count`; STEPS: how many bundles were visited."""

STATE = np.dtype(
    [
        ("edge_start", np.int64),
        ("edges", np.int64),
        ("loop", np.int64),
        ("serial", np.int64),
        ("local", np.int64),
        ("partition", np.int64),
    ]
)
"""Per node: its token edges (`edges` −1: not yet known), its number as a loop (−1: not looked at, −2: none), the edge
of the walk number `serial` that leads to it, and what it makes of the bytes (−1: not yet known)."""

SET = np.dtype([("key", np.uint64), ("start", np.int64), ("size", np.int64)])
"""A token set: the sum of its tokens' hashes, the same for equal sets, and where its tokens are."""

LOCAL_EDGE = np.dtype(
    [("target", np.int64), ("key", np.uint64), ("size", np.int64), ("set", np.int64), ("filled", np.int64)]
)


class Pools(NamedTuple):
    """The token edges found so far.

    states: STATE per node. edges: int64 [edges, 2], target and set. sets: SET; set_slots: their hash table; set_tokens:
    int32. local, hits, parts, queue: of the walk underway: its edges, (edge, bundle), (edge, set), and (bundle, state).
    loops, loop_edges, loop_exits: see kernels.loops. count: how full they are.
    """

    states: Any
    edges: Any
    sets: Any
    set_slots: Any
    set_tokens: Any
    local: Any
    hits: Any
    parts: Any
    queue: Any
    loops: Any
    loop_edges: Any
    loop_exits: Any
    count: Any


@njit(cache=True)
def begin_walk(t):
    """Forget the walk before."""
    t.count[SERIAL] += 1
    t.count[LOCAL] = t.count[HITS] = t.count[PARTS] = 0


@njit(cache=True)
def edge_to(t, target):
    """The number of the walk's edge to `target`, made now if it is new."""
    return _edge_to(t.states, t.local, t.count, target)


@njit(cache=True)
def _edge_to(states, local, count, target):
    if states[target].serial == count[SERIAL]:
        return states[target].local
    number = count[LOCAL]
    if number == local.shape[0]:
        count[TROUBLE] = FULL
        return np.int64(0)
    count[LOCAL] += 1
    states[target].serial = count[SERIAL]
    states[target].local = number
    local[number].target = target
    local[number].key = 0
    local[number].size = 0
    return number


@njit(cache=True)
def take(f, t, bundle, target):
    """Note that the tokens of a bundle lead to `target`."""
    _take(f.bundles, t.states, t.local, t.hits, t.count, bundle, target)


@njit(cache=True)
def _take(bundles, states, local, hits, count, bundle, target):
    edge = _edge_to(states, local, count, target)
    hits[count[HITS], 0] = edge
    hits[count[HITS], 1] = bundle
    count[HITS] += 1
    local[edge].key += bundles[bundle].token_key
    local[edge].size += bundles[bundle].tokens


@njit(cache=True)
def take_set(t, number, target):
    """Note that the tokens of a set lead to `target`. The caller makes sure that there is room in `parts`."""
    edge = edge_to(t, target)
    t.parts[t.count[PARTS], 0] = edge
    t.parts[t.count[PARTS], 1] = number
    t.count[PARTS] += 1
    t.local[edge].key += t.sets[number].key
    t.local[edge].size += t.sets[number].size


@njit(cache=True)
def split_by(m, trie, f, t, bundle, state):
    """The number of what a state makes of a bundle; −1 where there is a problem."""
    if m.nodes[state].row_of < 0 and not fill(m, state):
        return np.int64(-1)
    if m.nodes.shape[0] > t.states.shape[0]:
        t.count[TROUBLE] = FULL
        return np.int64(-1)
    partition = t.states[state].partition
    if partition < 0:
        partition = partition_of(f, m.classes[0], m.rows[m.nodes[state].row_of])
        if partition < 0:
            return partition
        t.states[state].partition = partition
    known = find_split(f.splits, f.split_slots, bundle, partition)
    return known if known >= 0 else split(f, trie, bundle, partition)


@njit(cache=True)
def walk(m, trie, f, t, waiting):
    """Walk on from the pairs queue[:waiting]. False where there is a problem."""
    # Arrays by themselves: to hand all the tuples on costs more than the step itself.
    nodes, rows, classes, states, queue = m.nodes, m.rows, m.classes, t.states, t.queue
    splits, slots, branches, bundles, examples = f.splits, f.split_slots, f.branches, f.bundles, f.examples
    position = 0
    while position < waiting:
        bundle, state = queue[position, 0], queue[position, 1]
        position += 1
        number = np.int64(-1)
        if states[state].partition >= 0:
            number = find_split(splits, slots, bundle, states[state].partition)
        if number < 0:
            number = split_by(m, trie, f, t, bundle, state)
            if number < 0:
                return False
        row, partition = nodes[state].row_of, states[state].partition
        start = splits[number].start
        for index in range(start, start + splits[number].number):
            branch = branches[index, 1]
            target = np.int64(rows[row, classes[0, examples[partition, branches[index, 0]]]])
            if bundles[branch].tokens > 0:
                _take(bundles, states, t.local, t.hits, t.count, branch, target)
            if bundles[branch].inner > 0:
                queue[waiting, 0] = branch
                queue[waiting, 1] = target
                waiting += 1
    t.count[STEPS] += waiting
    return t.count[TROUBLE] == 0


@njit(cache=True)
def find_set(t, key):
    """The slot of a set by its key, free or not."""
    slot = np.int64(key & np.uint64(t.set_slots.shape[0] - 1))
    while t.set_slots[slot] >= 0 and t.sets[t.set_slots[slot]].key != key:
        slot = (slot + 1) & (t.set_slots.shape[0] - 1)
    return slot


@njit(cache=True)
def rehash_sets(slots, sets):
    """Enter all sets into an empty hash table."""
    for number in range(sets.shape[0]):
        slot = np.int64(sets[number].key & np.uint64(slots.shape[0] - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.shape[0] - 1)
        slots[slot] = number


@njit(cache=True)
def _add_set(t, key, size):
    """A new set with room for `size` tokens; −1 where there is a problem. Its tokens are to be written."""
    number = t.count[SETS]
    if number == t.sets.shape[0] or t.count[TOKENS] + size > t.set_tokens.shape[0]:
        t.count[TROUBLE] = FULL
        return np.int64(-1)
    t.set_slots[find_set(t, key)] = number
    t.sets[number].key = key
    t.sets[number].start = t.count[TOKENS]
    t.sets[number].size = size
    t.count[SETS] += 1
    t.count[TOKENS] += size
    return number


@njit(cache=True)
def add_sets(t, tokens, bounds, keys, numbers):
    """Make sets of tokens[bounds[i] : bounds[i + 1]], unless they are there. False where there is a problem."""
    for index in range(keys.shape[0]):
        numbers[index] = t.set_slots[find_set(t, keys[index])]
        if numbers[index] < 0:
            numbers[index] = _add_set(t, keys[index], bounds[index + 1] - bounds[index])
            if numbers[index] < 0:
                return False
            start = t.sets[numbers[index]].start
            for position in range(bounds[index], bounds[index + 1]):
                t.set_tokens[start + position - bounds[index]] = tokens[position]
    return True


@njit(cache=True)
def settle_sets(f, t):
    """Make the token sets of the walk's edges. False where there is no room: then none is made."""
    sets, tokens = t.count[SETS], t.count[TOKENS]
    for index in range(t.count[LOCAL]):
        edge = t.local[index]
        found = np.int64(t.set_slots[find_set(t, edge.key)])
        t.local[index].filled = -1
        if found < 0:
            found = _add_set(t, edge.key, edge.size)
            if found < 0:
                break
            t.local[index].filled = t.sets[found].start
        t.local[index].set = found
    if t.count[TROUBLE] != 0:
        for index in range(t.count[SETS] - 1, sets - 1, -1):  # the last one first, so that no probe misses another
            t.set_slots[find_set(t, t.sets[index].key)] = -1
        t.count[SETS] = sets
        t.count[TOKENS] = tokens
        return False
    if t.count[SETS] > sets:
        for index in range(t.count[HITS]):
            place = t.local[t.hits[index, 0]].filled
            if place >= 0:
                bundle = f.bundles[t.hits[index, 1]]
                for position in range(bundle.tokens):
                    t.set_tokens[place + position] = f.tokens[bundle.token_start + position]
                t.local[t.hits[index, 0]].filled += bundle.tokens
        for index in range(t.count[PARTS]):
            place = t.local[t.parts[index, 0]].filled
            if place >= 0:
                part = t.sets[t.parts[index, 1]]
                for position in range(part.size):
                    t.set_tokens[place + position] = t.set_tokens[part.start + position]
                t.local[t.parts[index, 0]].filled += part.size
    return True


@njit(cache=True)
def commit(f, t, state):
    """Make the walk's edges those of `state`."""
    start, number = t.count[EDGES], t.count[LOCAL]
    if start + number > t.edges.shape[0]:
        t.count[TROUBLE] = FULL
        return
    if not settle_sets(f, t):
        return
    for index in range(number):
        t.edges[start + index, 0] = t.local[index].target
        t.edges[start + index, 1] = t.local[index].set
    t.count[EDGES] += number
    t.states[state].edge_start = start
    t.states[state].edges = number
