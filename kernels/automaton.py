"""Compiled loops that turn a byte automaton and a token trie into a token automaton."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def build_trie(data, start):
    """The trie of sorted byte strings (equal ones may repeat), in preorder.

    data: uint8, the strings one after the other; start: int64 [strings + 1].
    Returns per node uint8 byte, int32 depth (0 for the root's children), int32 skip (the next node after the subtree),
    and int32 [nodes + 1] bounds: which strings end at a node.
    """
    byte = np.empty(data.shape[0], np.uint8)
    depth = np.empty(data.shape[0], np.int32)
    skip = np.empty(data.shape[0], np.int32)
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
        while open_nodes > shared:
            open_nodes -= 1
            skip[path[open_nodes]] = nodes
        for position in range(low + shared, high):
            path[open_nodes] = nodes
            byte[nodes] = data[position]
            depth[nodes] = open_nodes
            ends[nodes] = number
            open_nodes += 1
            nodes += 1
    for position in range(open_nodes):
        skip[path[position]] = nodes
    ends[nodes] = start.shape[0] - 1
    return byte[:nodes].copy(), depth[:nodes].copy(), skip[:nodes].copy(), ends[: nodes + 1].copy()


@njit(cache=True)
def token_edges(
    next_state, byte_class, trie_byte, trie_depth, trie_skip, token_start, token_ids, token_hash, max_depth
):
    """All token moves of all states, grouped by (source, target).

    Returns int32 arrays source, target, first (one token of the edge), count, and uint64 key (the sum of the tokens'
    hashes, the same for equal token sets), each [edges].
    """
    states = next_state.shape[0]
    nodes = trie_byte.shape[0]
    capacity = 4 * states + 64
    source = np.empty(capacity, np.int32)
    target = np.empty(capacity, np.int32)
    first = np.empty(capacity, np.int32)
    count = np.empty(capacity, np.int32)
    key = np.empty(capacity, np.uint64)
    slot = np.full(states, -1, np.int64)
    at = np.empty(max_depth + 1, np.int32)
    edges = 0
    for state in range(states):
        start = edges
        at[0] = state
        node = 0
        while node < nodes:
            depth = trie_depth[node]
            reached = next_state[at[depth], byte_class[trie_byte[node]]]
            if reached < 0:
                node = trie_skip[node]
                continue
            at[depth + 1] = reached
            for position in range(token_start[node], token_start[node + 1]):
                token = token_ids[position]
                edge = slot[reached]
                if edge < start:
                    if edges == capacity:
                        capacity *= 2
                        source = _grown(source, capacity)
                        target = _grown(target, capacity)
                        first = _grown(first, capacity)
                        count = _grown(count, capacity)
                        key = _grown(key, capacity)
                    edge = edges
                    edges += 1
                    slot[reached] = edge
                    source[edge] = state
                    target[edge] = reached
                    first[edge] = token
                    count[edge] = 0
                    key[edge] = 0
                count[edge] += 1
                key[edge] += token_hash[token]
            node += 1
    return source[:edges], target[:edges], first[:edges], count[:edges], key[:edges]


@njit(cache=True)
def _grown(array, capacity):
    bigger = np.empty(capacity, array.dtype)
    bigger[: array.shape[0]] = array
    return bigger


@njit(cache=True)
def edge_tokens(
    wanted, source, target, count,
    next_state, byte_class, trie_byte, trie_depth, trie_skip, token_start, token_ids, max_depth,
):  # fmt: skip
    """The tokens of some edges: int32 tokens, the edges' one after the other, and int64 bounds [wanted + 1].

    wanted: edge numbers sorted by source; source, target, count: of all edges, as `token_edges` returned them.
    """
    bounds = np.zeros(wanted.shape[0] + 1, np.int64)
    for number in range(wanted.shape[0]):
        bounds[number + 1] = bounds[number] + count[wanted[number]]
    tokens = np.empty(bounds[-1], np.int32)
    filled = bounds[:-1].copy()
    slot = np.full(next_state.shape[0], -1, np.int64)
    at = np.empty(max_depth + 1, np.int32)
    first = 0
    while first < wanted.shape[0]:
        last = first
        while last < wanted.shape[0] and source[wanted[last]] == source[wanted[first]]:
            slot[target[wanted[last]]] = last
            last += 1
        at[0] = source[wanted[first]]
        node = 0
        while node < trie_byte.shape[0]:
            depth = trie_depth[node]
            reached = next_state[at[depth], byte_class[trie_byte[node]]]
            if reached < 0:
                node = trie_skip[node]
                continue
            at[depth + 1] = reached
            number = slot[reached]
            if number >= 0:
                for position in range(token_start[node], token_start[node + 1]):
                    tokens[filled[number]] = token_ids[position]
                    filled[number] += 1
            node += 1
        for number in range(first, last):
            slot[target[wanted[number]]] = -1
        first = last
    return tokens, bounds


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
