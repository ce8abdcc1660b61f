"""Compiled loops that turn a byte automaton and a token trie into a token automaton."""

from __future__ import annotations

import numpy as np
from numba import njit


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
    state, goal, out, next_state, byte_class, trie_byte, trie_depth, trie_skip, token_start, token_ids, max_depth
):
    """Write the tokens that lead from `state` to `goal` into `out`; returns how many."""
    at = np.empty(max_depth + 1, np.int32)
    at[0] = state
    found = 0
    node = 0
    while node < trie_byte.shape[0]:
        depth = trie_depth[node]
        reached = next_state[at[depth], byte_class[trie_byte[node]]]
        if reached < 0:
            node = trie_skip[node]
            continue
        at[depth + 1] = reached
        if reached == goal:
            for position in range(token_start[node], token_start[node + 1]):
                out[found] = token_ids[position]
                found += 1
        node += 1
    return found


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
