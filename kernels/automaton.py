"""Compiled walks of a token trie through a byte automaton: which tokens lead from which state to which.

States are nodes of an `Arena` (kernels.derivatives); the walks compute what they need of it. The token edges found so
far are kept in the `Pools` of one token automaton.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dg_sglang.kernels.derivatives import (
    CONCAT,
    EMPTY,
    NOTHING,
    PROBLEM,
    REPEAT,
    UNION,
    concat,
    fill,
    repeat,
)

FULL, UNKNOWN_LOOP = np.int64(1), np.int64(2)
EDGES, SETS, TOKENS, LOCAL, HITS, PARTS, SERIAL, LOOP, TROUBLE = range(9)
"""Places in `Pools.count`."""

MANY = np.int64(1 << 20)
"""More rounds of a loop than any token has bytes."""

WIDE = 32
"""Loops over fewer different first bytes than this are walked anew each time."""

STATE = np.dtype(
    [("edge_start", np.int64), ("edges", np.int64), ("loop", np.int64), ("serial", np.int64), ("local", np.int64)]
)
"""Per node: its token edges (`edges` −1: not yet known), its number as a loop (−1: not looked at, −2: none), and the
edge of the walk number `serial` that leads to it."""

SET = np.dtype([("key", np.uint64), ("start", np.int64), ("size", np.int64)])
"""A token set: the sum of its tokens' hashes, the same for equal sets, and where its tokens are."""

LOCAL_EDGE = np.dtype([("target", np.int64), ("key", np.uint64), ("size", np.int64), ("filled", np.int64)])


class Trie(NamedTuple):
    """Byte strings in breadth-first order: the children of a node, and those of the next one, follow each other.

    byte: uint8 [nodes]; child_start: int32 [nodes + 1]; token_start: int32 [nodes + 1], bounds into token_ids: the
    tokens that end at the node (maybe several). Node 0 is the root. token_hash: uint64 [vocabulary].
    """

    byte: Any
    child_start: Any
    token_start: Any
    token_ids: Any
    token_hash: Any


class Pools(NamedTuple):
    """The token edges found so far.

    states: STATE per node. edges: int64 [edges, 2], target and set. sets: SET; set_slots: their hash table;
    set_tokens: int32. local, hits, parts, queue: of the walk underway: its edges, (edge, token), (edge, set), and
    (trie node, state). loops, loop_edges, loop_exits: what `Loop` holds, for all loops. count: how full they are.
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
def build_trie(data, start):
    """The trie of sorted byte strings (equal ones may repeat), in preorder.

    data: uint8, the strings one after the other; start: int64 [strings + 1].
    Returns per node uint8 byte, int32 depth (0 for the root's children), int32 parent (−1: the root), and int32
    [nodes + 1] bounds: which strings end at a node.
    """
    byte = np.empty(data.shape[0], np.uint8)
    depth = np.empty(data.shape[0], np.int32)
    parent = np.empty(data.shape[0], np.int32)
    ends = np.empty(data.shape[0] + 1, np.int32)
    path = np.empty(data.shape[0] + 1, np.int32)
    nodes = open_nodes = 0
    for number in range(start.shape[0] - 1):
        low, high = start[number], start[number + 1]
        shared = 0
        while shared < open_nodes and shared < high - low and byte[path[shared]] == data[low + shared]:
            shared += 1
        if shared == high - low:  # the string before it once more
            continue
        open_nodes = shared
        for position in range(low + shared, high):
            path[open_nodes] = nodes
            byte[nodes] = data[position]
            depth[nodes] = open_nodes
            parent[nodes] = path[open_nodes - 1] if open_nodes > 0 else -1
            ends[nodes] = number
            open_nodes += 1
            nodes += 1
    ends[nodes] = start.shape[0] - 1
    return byte[:nodes].copy(), depth[:nodes].copy(), parent[:nodes].copy(), ends[: nodes + 1].copy()


@njit(cache=True)
def _edge_to(t, target):
    """The number of the walk's edge to `target`, made now if it is new."""
    state = t.states[target]
    if state.serial != t.count[SERIAL]:
        number = t.count[LOCAL]
        if number == t.local.shape[0]:
            t.count[TROUBLE] = FULL
            return np.int64(0)
        t.count[LOCAL] += 1
        t.states[target].serial = t.count[SERIAL]
        t.states[target].local = number
        t.local[number].target = target
        t.local[number].key = 0
        t.local[number].size = 0
        return number
    return state.local


@njit(cache=True)
def _take(trie, t, node, target):
    """Note the tokens that end at a trie node."""
    first, last = trie.token_start[node], trie.token_start[node + 1]
    if first == last:
        return
    edge = _edge_to(t, target)
    for position in range(first, last):
        token = trie.token_ids[position]
        t.hits[t.count[HITS], 0] = edge
        t.hits[t.count[HITS], 1] = token
        t.count[HITS] += 1
        t.local[edge].key += trie.token_hash[token]
        t.local[edge].size += 1


@njit(cache=True)
def _walk(m, trie, t, waiting):
    """Walk on from the pairs queue[:waiting]. False where there is a problem."""
    classes = m.classes[0]
    position = 0
    while position < waiting:
        node, state = t.queue[position, 0], t.queue[position, 1]
        position += 1
        if m.nodes[state].row_of < 0 and not fill(m, state):
            return False
        if m.nodes.shape[0] > t.states.shape[0]:
            t.count[TROUBLE] = FULL
            return False
        row = m.rows[m.nodes[state].row_of]
        for child in range(trie.child_start[node], trie.child_start[node + 1]):
            target = np.int64(row[classes[trie.byte[child]]])
            if target == NOTHING:
                continue
            if trie.token_start[child] < trie.token_start[child + 1]:
                _take(trie, t, child, target)
            if trie.child_start[child] < trie.child_start[child + 1]:
                t.queue[waiting, 0] = child
                t.queue[waiting, 1] = target
                waiting += 1
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
def add_set(t, key, size):
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
def _commit(t, state):
    """Make the walk's edges those of `state`."""
    number, sets, tokens = t.count[LOCAL], t.count[SETS], t.count[TOKENS]
    if t.count[EDGES] + number > t.edges.shape[0]:
        t.count[TROUBLE] = FULL
        return
    start = t.count[EDGES]
    for index in range(number):
        edge = t.local[index]
        found = np.int64(t.set_slots[find_set(t, edge.key)])
        t.local[index].filled = -1
        if found < 0:
            found = add_set(t, edge.key, edge.size)
            if found < 0:
                break
            t.local[index].filled = t.sets[found].start
        t.edges[start + index, 0] = edge.target
        t.edges[start + index, 1] = found
    if t.count[TROUBLE] != 0:
        for index in range(t.count[SETS] - 1, sets - 1, -1):  # the last one first, so that no probe misses another
            t.set_slots[find_set(t, t.sets[index].key)] = -1
        t.count[SETS] = sets
        t.count[TOKENS] = tokens
        return
    if t.count[SETS] > sets:
        for index in range(t.count[HITS]):
            place = t.local[t.hits[index, 0]].filled
            if place >= 0:
                t.set_tokens[place] = t.hits[index, 1]
                t.local[t.hits[index, 0]].filled += 1
        for index in range(t.count[PARTS]):
            place = t.local[t.parts[index, 0]].filled
            if place >= 0:
                part = t.sets[t.parts[index, 1]]
                for position in range(part.size):
                    t.set_tokens[place + position] = t.set_tokens[part.start + position]
                t.local[t.parts[index, 0]].filled += part.size
    t.count[EDGES] += number
    t.states[state].edge_start = start
    t.states[state].edges = number


@njit(cache=True)
def discover(m, trie, t, state):
    """Find the token edges of a state. False where there is a problem."""
    t.count[TROUBLE] = 0
    if m.nodes.shape[0] > t.states.shape[0]:
        t.count[TROUBLE] = FULL
        return False
    if t.states[state].edges >= 0:
        return True
    t.count[SERIAL] += 1
    t.count[LOCAL] = t.count[HITS] = t.count[PARTS] = 0
    t.queue[0, 0] = 0
    t.queue[0, 1] = state
    waiting = 1
    prefix, loop, tail = _split(m, state)
    if loop >= 0:
        number = _loop_number(m, t, prefix, m.nodes[loop].first)
        if m.count[PROBLEM] != 0 or t.count[TROUBLE] != 0:
            return False
        if number >= 0 and not _overlap(m, m.nodes[loop].first, tail):
            waiting = _enter_loop(m, trie, t, number, loop, tail)
    if m.count[PROBLEM] != 0 or t.count[TROUBLE] != 0 or not _walk(m, trie, t, waiting):
        return False
    _commit(t, state)
    return t.count[TROUBLE] == 0


@njit(cache=True)
def discover_all(m, trie, t, states):
    """Find the token edges of several states. False where there is a problem."""
    done = True
    for state in states:
        done = done and discover(m, trie, t, state)
    return done


@njit(cache=True)
def closure(m, trie, t, number, order, level, progress, depth, most_edges):
    """Number the states that at most `depth` tokens lead to, breadth first.

    number: int32 per node, −1 for those not met; order: int64, the states met; level: int32, at how many tokens.
    progress: int64 [3], how many states were met, how many of them followed, and how many edges these have: goes on
    from there. Stops where `order` is full or there are more than `most_edges` edges. False where there is a problem,
    or `number` has grown too small.
    """
    while progress[1] < progress[0]:
        state = order[progress[1]]
        if level[progress[1]] >= depth or progress[2] > most_edges:
            return True
        if not discover(m, trie, t, state):
            return False
        if m.nodes.shape[0] > number.shape[0]:
            return False
        start = t.states[state].edge_start
        for edge in range(start, start + t.states[state].edges):
            target = t.edges[edge, 0]
            if number[target] < 0:
                if progress[0] == order.shape[0]:
                    return True
                number[target] = progress[0]
                order[progress[0]] = target
                level[progress[0]] = level[progress[1]] + 1
                progress[0] += 1
        progress[2] += t.states[state].edges
        progress[1] += 1
    return True


@njit(cache=True)
def edges_within(t, number, order):
    """int64 [edges, 3]: source, target, set of all token edges among the states `order`, by their numbers."""
    count = 0
    for state in order:
        count += max(t.states[state].edges, 0)
    found = np.empty((count, 3), np.int64)
    count = 0
    for source in range(order.shape[0]):
        start = t.states[order[source]].edge_start
        for edge in range(start, start + t.states[order[source]].edges):
            target = number[t.edges[edge, 0]]
            if target >= 0:
                found[count, 0] = source
                found[count, 1] = target
                found[count, 2] = t.edges[edge, 1]
                count += 1
    return found[:count]


@njit(cache=True)
def renumber(values, size):
    """Values in 0 … size − 1 by their first occurrence: writes the numbers to `values`, returns what they stand for."""
    number = np.full(size, -1, np.int64)
    which = np.empty(size, np.int64)
    count = 0
    for position in range(values.shape[0]):
        value = values[position]
        if number[value] < 0:
            number[value] = count
            which[count] = value
            count += 1
        values[position] = number[value]
    return which[:count].copy()


@njit(cache=True)
def classify(t, sets, extra, extra_start, hashes, vocabulary):
    """Give tokens that belong to the same sets one class.

    sets: int64, the sets in `t`; after them come those of `extra`, tokens with bounds extra_start. hashes: uint64, a
    random number for each set. Returns int32 [vocabulary] classes (−1: in no set), their number, and int32 classes of
    each set with int64 bounds.
    """
    signature = np.zeros(vocabulary, np.uint64)
    count = sets.shape[0] + extra_start.shape[0] - 1
    for index in range(count):
        tokens = _set_tokens(t, sets, extra, extra_start, index)
        for token in tokens:
            signature[token] += hashes[index]
    label = np.full(vocabulary, -1, np.int32)
    size = 1 << 10
    slots = np.full(size, -1, np.int64)
    examples = np.empty(size, np.int64)
    classes = 0
    before, same = np.uint64(0), np.int32(-1)
    for token in range(vocabulary):
        value = signature[token]
        if value == before:  # neighbours are often in one class
            label[token] = same
            continue
        before, same = value, np.int32(-1)
        if value == 0:
            continue
        slot = np.int64(value & np.uint64(size - 1))
        while slots[slot] >= 0 and signature[examples[slots[slot]]] != value:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            if 2 * classes == size:
                size *= 2
                slots = np.full(size, -1, np.int64)
                bigger = np.empty(size, np.int64)
                bigger[:classes] = examples[:classes]
                examples = bigger
                for old in range(classes):
                    slot = np.int64(signature[examples[old]] & np.uint64(size - 1))
                    while slots[slot] >= 0:
                        slot = (slot + 1) & (size - 1)
                    slots[slot] = old
                slot = np.int64(value & np.uint64(size - 1))
                while slots[slot] >= 0:
                    slot = (slot + 1) & (size - 1)
            slots[slot] = classes
            examples[classes] = token
            classes += 1
        label[token] = same = np.int32(slots[slot])
    bounds = np.zeros(count + 1, np.int64)
    members = np.empty(max(4 * count, 1024), np.int32)
    seen = np.full(classes, -1, np.int64)
    filled = 0
    for index in range(count):
        for token in _set_tokens(t, sets, extra, extra_start, index):
            if seen[label[token]] != index:
                seen[label[token]] = index
                if filled == members.shape[0]:
                    more = np.empty(2 * filled, np.int32)
                    more[:filled] = members
                    members = more
                members[filled] = label[token]
                filled += 1
        bounds[index + 1] = filled
    return label, classes, members[:filled].copy(), bounds


@njit(cache=True)
def _set_tokens(t, sets, extra, extra_start, index):
    if index < sets.shape[0]:
        one = t.sets[sets[index]]
        return t.set_tokens[one.start : one.start + one.size]
    index -= sets.shape[0]
    return extra[extra_start[index] : extra_start[index + 1]]


# ---- loops -----------------------------------------------------------------------------------------------------------
#
# A state is often [prefix ·] loop · tail, with a loop like the characters of a JSON string, whose walk visits most of
# the trie. How tokens move within the loop doesn't depend on the tail nor, but for an offset, on its counters. So it is
# found once, for the loop from 0 to MANY rounds, as edges (rest, rounds, set): after these tokens so many rounds are
# begun, and `rest` is left of the last one (or of the prefix); and as exits (trie node, rounds): where the byte of the
# node can't go on in the loop, but a tail may begin.


@njit(cache=True)
def _split(m, state):
    """(prefix or −1, loop or −1, tail) of a state."""
    node = m.nodes[state]
    head, tail = (node.first, node.second) if node.kind == CONCAT else (state, EMPTY)
    if m.nodes[head].kind == REPEAT:
        return np.int64(-1), head, tail
    if m.nodes[head].kind == UNION and tail != EMPTY:
        after = m.nodes[tail]
        loop, tail = (after.first, after.second) if after.kind == CONCAT else (tail, EMPTY)
        if m.nodes[loop].kind == REPEAT and not m.nodes[head].nullable:
            return head, loop, tail
    return np.int64(-1), np.int64(-1), tail


@njit(cache=True)
def _loop_number(m, t, prefix, part):
    """The number of a loop over `part`; −2 if it isn't worth it or not regular enough."""
    canonical = repeat(m, part, np.int64(0), MANY)
    if prefix >= 0:
        canonical = concat(m, prefix, canonical)
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
def _enter_loop(m, trie, t, which, loop, tail):
    """Take the loop's edges, and put where the tail begins into the queue. Returns how many are waiting."""
    part, low, high = m.nodes[loop].first, m.nodes[loop].second, m.nodes[loop].third
    most = MANY if high < 0 else high
    edge_start, edges = t.loops[which, 0], t.loops[which, 1]
    for index in range(edge_start, edge_start + edges):
        rest, rounds, number = t.loop_edges[index, 0], t.loop_edges[index, 1], t.loop_edges[index, 2]
        if rounds > most:
            continue
        left = repeat(m, part, max(low - rounds, 0), high if high < 0 else high - rounds)
        target = concat(m, rest, concat(m, left, tail))
        if m.count[PROBLEM] != 0 or t.count[PARTS] == t.parts.shape[0] or m.nodes.shape[0] > t.states.shape[0]:
            t.count[TROUBLE] = FULL
            return 0
        edge = _edge_to(t, target)
        part_set = t.sets[number]
        t.parts[t.count[PARTS], 0] = edge
        t.parts[t.count[PARTS], 1] = number
        t.count[PARTS] += 1
        t.local[edge].key += part_set.key
        t.local[edge].size += part_set.size
    waiting = 0
    exit_start, exits = t.loops[which, 2], t.loops[which, 3]
    row = m.rows[m.nodes[tail].row_of]
    for index in range(exit_start, exit_start + exits):
        node, rounds = t.loop_exits[index, 0], t.loop_exits[index, 1]
        target = np.int64(row[m.classes[0, trie.byte[node]]])
        if target != NOTHING and low <= rounds <= most:
            _take(trie, t, node, target)
            t.queue[waiting, 0] = node
            t.queue[waiting, 1] = target
            waiting += 1
    return waiting


@njit(cache=True)
def add_sets(t, tokens, bounds, keys, numbers):
    """Make sets of tokens[bounds[i] : bounds[i + 1]], unless they are there. False where there is a problem."""
    for index in range(keys.shape[0]):
        numbers[index] = t.set_slots[find_set(t, keys[index])]
        if numbers[index] < 0:
            numbers[index] = add_set(t, keys[index], bounds[index + 1] - bounds[index])
            if numbers[index] < 0:
                return False
            start = t.sets[numbers[index]].start
            for position in range(bounds[index], bounds[index + 1]):
                t.set_tokens[start + position - bounds[index]] = tokens[position]
    return True


@njit(cache=True)
def loop_exits(m, trie, t, canonical):
    """int64 [exits, 2] of a loop, as (trie node, rounds), whose rows are known from discovering it."""
    _, loop, _ = _split(m, canonical)
    part = m.nodes[loop].first
    found = np.empty((trie.byte.shape[0], 2), np.int64)
    exits = 0
    t.queue[0, 0] = 0
    t.queue[0, 1] = canonical
    waiting = 1
    position = 0
    while position < waiting:
        node, state = t.queue[position, 0], t.queue[position, 1]
        position += 1
        row = m.rows[m.nodes[state].row_of]
        complete = m.nodes[state].kind == REPEAT and m.nodes[state].first == part
        for child in range(trie.child_start[node], trie.child_start[node + 1]):
            target = np.int64(row[m.classes[0, trie.byte[child]]])
            if target == NOTHING:
                if complete:
                    found[exits, 0] = child
                    found[exits, 1] = MANY - m.nodes[state].third
                    exits += 1
            elif trie.child_start[child] < trie.child_start[child + 1]:
                t.queue[waiting, 0] = child
                t.queue[waiting, 1] = target
                waiting += 1
    return found[:exits].copy()


@njit(cache=True)
def distances(source, target, goal, far):
    """Fewest edges from each state to a state with goal[state] true; `far` where there is no way. int32 [states]."""
    states = goal.shape[0]
    edges = source.shape[0]
    start = np.zeros(states + 1, np.int64)
    for edge in range(edges):
        start[target[edge] + 1] += 1
    for state in range(states):
        start[state + 1] += start[state]
    incoming = np.empty(edges, np.int64)
    filled = start[:states].copy()
    for edge in range(edges):
        incoming[filled[target[edge]]] = source[edge]
        filled[target[edge]] += 1
    distance = np.full(states, far, np.int32)
    queue = np.empty(states, np.int64)
    head = tail = 0
    for state in range(states):
        if goal[state]:
            distance[state] = 0
            queue[tail] = state
            tail += 1
    while head < tail:
        state = queue[head]
        head += 1
        for position in range(start[state], start[state + 1]):
            before = incoming[position]
            if distance[before] == far:
                distance[before] = distance[state] + 1
                queue[tail] = before
                tail += 1
    return distance
