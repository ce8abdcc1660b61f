"""Compiled: walks of states that count, found once for all counts.

A state is often [prefix ·] loop · tail with a loop like the characters of a JSON string, whose walk visits most of the
trie. How tokens move within the loop doesn't depend on the tail nor, but for an offset, on its counters. So it is found
once, for the *canonical* loop from 0 to MANY rounds without the tail, as

- edges (rest, rounds, set): after these tokens so many rounds are begun, and `rest` is left of the last one (or of the
  prefix);
- exits (bundle, rounds): tokens that may go on with a byte that begins no further round, so that it is the tail's turn.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.arena import BYTES, CONCAT, EMPTY, LITERAL, NOTHING, PROBLEM, REPEAT, UNION, WORK
from dg_sglang.kernels.derivatives import fill
from dg_sglang.kernels.expressions import concat, repeat
from dg_sglang.kernels.fold import FULL as FOLD_FULL
from dg_sglang.kernels.fold import ROOT, bundle_of
from dg_sglang.kernels.token_edges import (
    FULL,
    LOCAL,
    LOOP,
    PARTS,
    STEPS,
    TROUBLE,
    UNKNOWN_LOOP,
    begin_walk,
    commit,
    settle_sets,
    split_by,
    take,
    take_set,
    walk,
)

MANY = np.int64(1 << 40)
"""More rounds of a loop than any text has bytes."""

WIDE = 32
"""Loops over fewer different first bytes than this are walked anew each time."""

_MOST_HEADS = 8


@njit(cache=True)
def split(m, node, part):
    """A state as [prefix ·] loop · tail, the loop being its first one, or (part ≥ 0) its first over `part`.

    Returns the nodes prefix (EMPTY: none), loop (−1: the state has none) and tail.
    """
    depth, at = 0, node
    while True:
        last = m.nodes[at].kind != CONCAT
        head = at if last else m.nodes[at].first
        if m.nodes[head].kind == REPEAT and (part < 0 or m.nodes[head].first == part):
            break
        if last or depth == _MOST_HEADS:
            return EMPTY, np.int64(-1), EMPTY
        if part < 0:  # only what many states have in common is worth it as a prefix
            kind = m.nodes[head].kind
            if m.nodes[head].nullable or not (kind in (BYTES, LITERAL) or (kind == UNION and depth == 0)):
                return EMPTY, np.int64(-1), EMPTY
        depth += 1
        at = m.nodes[at].second
    prefix, other = EMPTY, node
    for index in range(depth):
        m.scratch[WORK, m.scratch.shape[1] - 1 - index] = m.nodes[other].first  # `concat` uses the other end
        other = m.nodes[other].second
    for index in range(depth - 1, -1, -1):
        prefix = concat(m, m.scratch[WORK, m.scratch.shape[1] - 1 - index], prefix)
    return prefix, head, EMPTY if last else m.nodes[at].second


@njit(cache=True)
def _place(m, state, part):
    """(rest, rounds) of a state within a canonical loop over `part`; rounds −1: it isn't."""
    rest, loop, tail = split(m, state, part)
    if loop < 0 or tail != EMPTY or m.nodes[loop].second != 0 or m.nodes[loop].third <= MANY // 2:
        return EMPTY, np.int64(-1)
    if rest != EMPTY and m.nodes[rest].nullable:
        return EMPTY, np.int64(-1)
    return rest, MANY - m.nodes[loop].third


@njit(cache=True)
def _loop_number(m, t, prefix, part):
    """The number of a canonical loop; −2 if it isn't worth it or not regular enough."""
    canonical = concat(m, prefix, repeat(m, part, np.int64(0), MANY))
    if m.count[PROBLEM] != 0 or not fill(m, part) or m.nodes.shape[0] > t.states.shape[0]:
        return np.int64(-2)
    number = t.states[canonical].loop
    if number == -1:
        row = m.rows[m.nodes[part].row_of]
        wide = 0
        for byte in range(256):
            wide += row[m.classes[0, byte]] != NOTHING
        if wide >= WIDE and not m.nodes[part].nullable:
            t.count[LOOP] = canonical
            t.count[TROUBLE] = UNKNOWN_LOOP
        else:
            t.states[canonical].loop = -2
        return np.int64(-2)
    return number


@njit(cache=True)
def _overlap(m, part, tail):
    """Whether some byte may both begin another round and the tail."""
    if not fill(m, tail):
        return True
    row, after = m.rows[m.nodes[part].row_of], m.rows[m.nodes[tail].row_of]
    both = 0
    for column in range(row.shape[0]):
        both += row[column] != NOTHING and after[column] != NOTHING
    return both > 0


@njit(cache=True)
def _enter(m, t, which, loop, tail):
    """Take a loop's edges, and put where it is left into the queue. Returns how many are waiting."""
    part, low, high = m.nodes[loop].first, m.nodes[loop].second, m.nodes[loop].third
    most = MANY if high < 0 else high
    start, edges = t.loops[which, 0], t.loops[which, 1]
    before, closed = np.int64(-1), EMPTY
    for index in range(start, start + edges):
        rest, rounds, number = t.loop_edges[index, 0], t.loop_edges[index, 1], t.loop_edges[index, 2]
        if rounds > most:
            continue
        if rounds != before:
            left = repeat(m, part, max(low - rounds, 0), high if high < 0 else high - rounds)
            before, closed = rounds, concat(m, left, tail)
        target = concat(m, rest, closed)
        if m.count[PROBLEM] != 0 or t.count[PARTS] == t.parts.shape[0] or m.nodes.shape[0] > t.states.shape[0]:
            t.count[TROUBLE] = FULL
            return 0
        take_set(t, number, target)
    waiting = 0
    start, exits = t.loops[which, 2], t.loops[which, 3]
    for index in range(start, start + exits):
        if low <= t.loop_exits[index, 1] <= most:
            t.queue[waiting, 0] = t.loop_exits[index, 0]
            t.queue[waiting, 1] = tail
            waiting += 1
    return waiting


@njit(cache=True)
def explore(m, trie, f, t, canonical):
    """Walk a canonical loop.

    Returns whether that worked (if not: is there a problem, or isn't the loop regular enough?), and the loop's edges
    int64 [edges, 3] and exits int64 [exits, 2], both by rounds.
    """
    none, left, count = np.empty((0, 3), np.int64), np.empty((1024, 2), np.int64), 0
    nothing = left[:0].copy()
    _, loop, _ = split(m, canonical, np.int64(-1))
    if m.count[PROBLEM] != 0 or loop < 0:
        return False, none, nothing
    part = m.nodes[loop].first
    if not fill(m, part):
        return False, none, nothing
    begins = m.rows[m.nodes[part].row_of].copy()
    complete = np.zeros(m.nodes.shape[0], np.int64)  # per state: 0 unknown, 1 within a round, else 2 + rounds
    begin_walk(t)
    t.queue[0, 0], t.queue[0, 1] = ROOT, canonical
    waiting, position = 1, 0
    while position < waiting:
        bundle, state = t.queue[position, 0], t.queue[position, 1]
        position += 1
        if complete[state] == 0:
            rest, rounds = _place(m, state, part)
            if m.count[PROBLEM] != 0 or rounds < 0:
                return False, none, nothing
            complete[state] = 2 + rounds if rest == EMPTY else 1
        if complete[state] > 1 and m.nodes[state].nullable:
            for node in f.inner[
                f.bundles[bundle].inner_start : f.bundles[bundle].inner_start + f.bundles[bundle].inner
            ]:
                ends = False
                for child in range(trie.child_start[node], trie.child_start[node + 1]):
                    ends = ends or begins[m.classes[0, trie.byte[child]]] == NOTHING
                if ends:
                    if count == left.shape[0]:
                        more = np.empty((2 * count, 2), np.int64)
                        more[:count] = left
                        left = more
                    left[count, 0], left[count, 1] = node, complete[state] - 2
                    count += 1
        number = split_by(m, trie, f, t, bundle, state)
        if number < 0:
            return False, none, nothing
        row = m.rows[m.nodes[state].row_of]
        start = f.splits[number].start
        for index in range(start, start + f.splits[number].number):
            branch = f.branches[index, 1]
            byte = f.examples[t.states[state].partition, f.branches[index, 0]]
            target = np.int64(row[m.classes[0, byte]])
            if f.bundles[branch].tokens > 0:
                take(f, t, branch, target)
            if f.bundles[branch].inner > 0:
                t.queue[waiting, 0], t.queue[waiting, 1] = branch, target
                waiting += 1
    t.count[STEPS] += waiting
    if t.count[TROUBLE] != 0 or not settle_sets(f, t):
        return False, none, nothing
    edges = np.empty((t.count[LOCAL], 3), np.int64)
    for index in range(edges.shape[0]):
        rest, rounds = _place(m, t.local[index].target, part)
        if m.count[PROBLEM] != 0 or rounds < 0:
            return False, none, nothing
        edges[index, 0], edges[index, 1], edges[index, 2] = rest, rounds, t.local[index].set
    exits = _exits(f, left[:count])
    return f.count[FOLD_FULL] == 0, edges[np.argsort(edges[:, 1], kind="mergesort")], exits


@njit(cache=True)
def _exits(f, left):
    """int64 [exits, 2], a bundle for each number of rounds, of trie nodes and rounds."""
    left = left[np.argsort(left[:, 1], kind="mergesort")]
    exits, count, start = np.empty(left.shape, np.int64), 0, 0
    for end in range(1, left.shape[0] + 1):
        if end == left.shape[0] or left[end, 1] != left[start, 1]:
            exits[count, 0], exits[count, 1] = bundle_of(f, left[start:end, 0].copy()), left[start, 1]
            count += 1
            start = end
    return exits[:count].copy()


@njit(cache=True)
def discover(m, trie, f, t, state):
    """Find the token edges of a state. False where there is a problem."""
    t.count[TROUBLE] = 0
    if m.nodes.shape[0] > t.states.shape[0]:
        t.count[TROUBLE] = FULL
        return False
    if t.states[state].edges >= 0:
        return True
    begin_walk(t)
    t.queue[0, 0] = ROOT
    t.queue[0, 1] = state
    waiting = 1
    prefix, loop, tail = split(m, state, np.int64(-1))
    if loop >= 0 and m.count[PROBLEM] == 0:
        number = _loop_number(m, t, prefix, m.nodes[loop].first)
        if m.count[PROBLEM] == 0 and number >= 0 and not _overlap(m, m.nodes[loop].first, tail):
            waiting = _enter(m, t, number, loop, tail)
    if m.count[PROBLEM] != 0 or t.count[TROUBLE] != 0 or not walk(m, trie, f, t, waiting):
        return False
    commit(f, t, state)
    return t.count[TROUBLE] == 0


@njit(cache=True)
def discover_all(m, trie, f, t, states):
    """Find the token edges of several states. False where there is a problem."""
    done = True
    for state in states:
        done = done and discover(m, trie, f, t, state)
    return done
