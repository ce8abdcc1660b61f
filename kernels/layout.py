"""Compiled: the states that a canvas can be in, and their token edges, numbered from 0 on."""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.loops import discover
from dg_sglang.kernels.token_edges import STEPS


@njit(cache=True)
def closure(m, trie, f, t, number, order, level, progress, depth, most_edges, most_steps):
    """Number the states that at most `depth` tokens lead to, breadth first.

    number: int32 per node, −1 for those not met; order: int64, the states met; level: int32, at how many tokens.
    progress: int64 [3], how many states were met, how many of them followed, and how many edges these have: goes on
    from there. Stops where `order` is full, there are more than `most_edges` edges, or the walks visit more than
    `most_steps` bundles. False where there is a problem, or `number` has grown too small.
    """
    while progress[1] < progress[0]:
        state = order[progress[1]]
        if level[progress[1]] >= depth or progress[2] > most_edges or t.count[STEPS] > most_steps:
            return True
        if not discover(m, trie, f, t, state):
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
