"""Compiled: the states of an endless automaton that carry a step's probability, one position after the other."""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.token_edges import LOCAL, TROUBLE, begin_walk, edge_to


@njit(cache=True)
def step(m, trie, f, t, states, mass, weight, end_set, only_end, vocabulary):
    """Where the token edges of `states` lead: int64 states and float64 log masses, the sums over all ways.

    mass: float64, of the states; weight: float64 [end_set + 2], log probabilities of the sets. Sets that are newer than
    these count as uniform. State 0 is the finished one. only_end: no token but an end token may follow.
    """
    begin_walk(t)
    capacity = 2
    for state in states:
        capacity += max(t.states[state].edges, 0)
    reached = np.full(capacity, -np.inf)
    for index in range(states.shape[0]):
        state = states[index]
        if state == 0:
            _add(t, reached, 0, mass[index] + weight[end_set + 1])
            continue
        if m.nodes[state].nullable:
            _add(t, reached, 0, mass[index] + weight[end_set])
        if only_end:
            continue
        start = t.states[state].edge_start
        for edge in range(start, start + t.states[state].edges):
            number = t.edges[edge, 1]
            value = weight[number] if number < end_set else np.log(t.sets[number].size / vocabulary)
            _add(t, reached, t.edges[edge, 0], mass[index] + value)
            if t.count[TROUBLE] != 0:
                break
    found = np.empty(t.count[LOCAL], np.int64)
    for index in range(found.shape[0]):
        found[index] = t.local[index].target
    return found, reached[: found.shape[0]]


@njit(cache=True)
def _add(t, reached, target, value):
    index = edge_to(t, np.int64(target))
    top = reached[index]
    if value > top:
        reached[index] = value + np.log1p(np.exp(top - value))
    elif value > -np.inf:
        reached[index] = top + np.log1p(np.exp(value - top))


@njit(cache=True)
def prune(target, edge_set, edge_start, bounds, states, final, limit, tail):
    """The states per position (bounds, states) without those from which no kept way leads to a final state."""
    length = bounds.shape[0] - 2
    here = np.zeros(final.shape[0], np.bool_)
    there = np.zeros(final.shape[0], np.bool_)
    alive = np.zeros(states.shape[0], np.bool_)
    for index in range(bounds[length], bounds[length + 1]):
        if final[states[index]]:
            alive[index] = there[states[index]] = True
    for position in range(length - 1, -1, -1):
        here[:] = False
        for index in range(bounds[position], bounds[position + 1]):
            state = states[index]
            for edge in range(edge_start[state], edge_start[state + 1]):
                if there[target[edge]] and (position < limit or edge_set[edge] >= tail):
                    alive[index] = here[state] = True
                    break
        here, there = there, here
    kept = np.zeros(bounds.shape[0], np.int64)
    for position in range(length + 1):
        kept[position + 1] = kept[position] + alive[bounds[position] : bounds[position + 1]].sum()
    return kept, states[alive].astype(np.int32)
