"""Compiled passes over position × state: backward messages, posteriors, joint draw, joint mode.

Edges are sorted by source state. `weight` is float64 [L, sets]: the log weight of an edge with a set at a position.
From position `limit` on only tail edges (set number ≥ `tail`) may be taken: the answer has to be complete by then.
`active` lists, per position 0 … L, the states on some path from start to a final state, as (active_start, active).
Backward messages are linear with a scale per position (Rabiner 1989, section V.A), or logs where that would underflow.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def active_states(target, edge_set, edge_start, start, final, length, limit, tail):
    """The states on some path of `length` edges from `start` to a state with final[state], per position.

    Returns int64 [length + 2] bounds and int32 states. All bounds are 0 when there is no such path.
    """
    states = final.shape[0]
    live = np.zeros((length + 1, states), np.bool_)
    live[length] = final
    for i in range(length - 1, -1, -1):
        for state in range(states):
            for edge in range(edge_start[state], edge_start[state + 1]):
                if live[i + 1, target[edge]] and (i < limit or edge_set[edge] >= tail):
                    live[i, state] = True
                    break
    reached = np.zeros((length + 1, states), np.bool_)
    reached[0, start] = live[0, start]
    for i in range(length):
        for state in range(states):
            if reached[i, state]:
                for edge in range(edge_start[state], edge_start[state + 1]):
                    if live[i + 1, target[edge]] and (i < limit or edge_set[edge] >= tail):
                        reached[i + 1, target[edge]] = True
    bounds = np.zeros(length + 2, np.int64)
    active = np.empty(reached.sum(), np.int32)
    found = 0
    for i in range(length + 1):
        for state in range(states):
            if reached[i, state]:
                active[found] = state
                found += 1
        bounds[i + 1] = found
    return bounds, active


@njit(cache=True)
def _linear(weight, peak, first, out):
    """exp(weight − peak) into out, 0 for sets before `first`, which may not be taken."""
    for number in range(out.shape[0]):
        out[number] = np.exp(weight[number] - peak) if number >= first else 0.0


@njit(cache=True)
def backward(weight, target, edge_set, edge_start, active_start, active, final, limit, tail):
    """float64 messages [L + 1, states] scaled to a maximum of 1 per position, [L] what that divided them by, and
    two logs: the scale of position 0, and the largest value that a scaled 1.0 stood for (terms e^708 below were lost).
    """
    length = weight.shape[0]
    divisor = np.empty(length)
    message = np.zeros((length + 1, final.shape[0]))
    scale = 0.0
    ceiling = 0.0
    linear = np.empty(weight.shape[1])
    for state in active[active_start[length] : active_start[length + 1]]:
        message[length, state] = 1.0 if final[state] else 0.0
    for i in range(length - 1, -1, -1):
        peak = weight[i].max()
        ceiling = max(ceiling, scale + peak)
        _linear(weight[i], peak, 0 if i < limit else tail, linear)
        here, after = message[i], message[i + 1]
        largest = 0.0
        for state in active[active_start[i] : active_start[i + 1]]:
            total = 0.0
            for edge in range(edge_start[state], edge_start[state + 1]):
                total += linear[edge_set[edge]] * after[target[edge]]
            here[state] = total
            largest = max(largest, total)
        divisor[i] = largest
        if largest == 0.0:
            return message, divisor, -np.inf, ceiling
        factor = 1.0 / largest
        for state in range(here.shape[0]):
            here[state] *= factor
        scale += peak + np.log(largest)
    return message, divisor, scale, ceiling


@njit(cache=True)
def backward_log(weight, target, edge_set, edge_start, active_start, active, final, limit, tail):
    """The same messages as logs: slower, and safe for any weights."""
    length = weight.shape[0]
    message = np.full((length + 1, final.shape[0]), -np.inf)
    for state in active[active_start[length] : active_start[length + 1]]:
        if final[state]:
            message[length, state] = 0.0
    for i in range(length - 1, -1, -1):
        for position in range(active_start[i], active_start[i + 1]):
            state = active[position]
            top = -np.inf
            total = 0.0
            for edge in range(edge_start[state], edge_start[state + 1]):
                if i < limit or edge_set[edge] >= tail:
                    value = weight[i, edge_set[edge]] + message[i + 1, target[edge]]
                    if value > top:
                        total = total * np.exp(top - value) + 1.0
                        top = value
                    elif value > -np.inf:
                        total += np.exp(value - top)
            message[i, state] = top + np.log(total) if total > 0.0 else -np.inf
    return message


@njit(cache=True)
def _edge_weights(out, i, state, weight, message, log_space, target, edge_set, edge_start, limit, tail):
    """Unnormalised weights of the edges of `state` into out[: number of edges]; returns their sum."""
    first = edge_start[state]
    top = -np.inf
    for edge in range(first, edge_start[state + 1]):
        value = -np.inf
        if i < limit or edge_set[edge] >= tail:
            value = weight[i, edge_set[edge]]
            if log_space:
                value += message[i + 1, target[edge]]
            elif message[i + 1, target[edge]] > 0.0:
                value += np.log(message[i + 1, target[edge]])
            else:
                value = -np.inf
        out[edge - first] = value
        top = max(top, value)
    total = 0.0
    for k in range(edge_start[state + 1] - first):
        out[k] = np.exp(out[k] - top) if top > -np.inf else 0.0
        total += out[k]
    return total


@njit(cache=True)
def set_posteriors(weight, message, divisor, target, edge_set, edge_start, active_start, active, start, limit, tail):
    """float64 [L, sets]: the probability that a position takes an edge with this set, given a valid canvas."""
    length, sets = weight.shape
    posterior = np.zeros((length, sets))
    here, there = np.zeros((2, message.shape[1]))
    linear = np.empty(sets)
    here[start] = 1.0
    for i in range(length):
        _linear(weight[i], weight[i].max(), 0 if i < limit else tail, linear)
        own, before, after = posterior[i], message[i], message[i + 1]
        for state in active[active_start[i] : active_start[i + 1]]:
            if here[state] > 0.0:
                factor = here[state] / (before[state] * divisor[i])
                for edge in range(edge_start[state], edge_start[state + 1]):
                    number, following = edge_set[edge], target[edge]
                    part = factor * linear[number] * after[following]
                    own[number] += part
                    there[following] += part
            here[state] = 0.0
        here, there = there, here
    return posterior


@njit(cache=True)
def set_posteriors_log(weight, message, target, edge_set, edge_start, active_start, active, start, limit, tail):
    """The same from messages in logs."""
    length, sets = weight.shape
    posterior = np.zeros((length, sets))
    here, there = np.zeros((2, message.shape[1]))
    share = np.empty(np.diff(edge_start).max())
    here[start] = 1.0
    for i in range(length):
        for position in range(active_start[i], active_start[i + 1]):
            state = active[position]
            if here[state] > 0.0:
                first = edge_start[state]
                total = _edge_weights(share, i, state, weight, message, True, target, edge_set, edge_start, limit, tail)
                for edge in range(first, edge_start[state + 1]):
                    if share[edge - first] > 0.0:
                        part = here[state] * share[edge - first] / total
                        posterior[i, edge_set[edge]] += part
                        there[target[edge]] += part
            here[state] = 0.0
        here, there = there, here
    return posterior


@njit(cache=True)
def draw_path(
    uniform, weight, message, log_space, target, edge_set, edge_start, start, limit, tail,
    log_mass, set_start, set_classes,
):  # fmt: skip
    """The token classes of one exact joint draw: int64 [L]. uniform: float64 [L, 2], for edge and class."""
    length = weight.shape[0]
    label = np.empty(length, np.int64)
    share = np.empty(np.diff(edge_start).max())
    state = start
    for i in range(length):
        first = edge_start[state]
        total = _edge_weights(share, i, state, weight, message, log_space, target, edge_set, edge_start, limit, tail)
        edge = first + _pick(share, edge_start[state + 1] - first, total * uniform[i, 0])
        number = edge_set[edge]
        low, high = set_start[number], set_start[number + 1]
        label[i] = set_classes[low + _pick_log(log_mass[i], set_classes, low, high, uniform[i, 1])]
        state = target[edge]
    return label


@njit(cache=True)
def _pick(weights, count, level):
    chosen = -1
    running = 0.0
    for k in range(count):
        if weights[k] > 0.0:
            chosen = k
            running += weights[k]
            if running >= level:
                break
    return chosen


@njit(cache=True)
def _pick_log(values, members, low, high, uniform):
    """An index into members[low:high], drawn in proportion to exp(values)."""
    top = -np.inf
    for position in range(low, high):
        top = max(top, values[members[position]])
    total = 0.0
    for position in range(low, high):
        total += np.exp(values[members[position]] - top)
    level = total * uniform
    running = 0.0
    chosen = 0
    for position in range(low, high):
        part = np.exp(values[members[position]] - top)
        if part > 0.0:
            chosen = position - low
            running += part
            if running >= level:
                break
    return chosen


@njit(cache=True)
def best_path(score, target, edge_set, edge_start, active_start, active, final, start, limit, tail):
    """The edge sets of the best path: int32 [L]. score: float64 [L, sets], max log p per set (Viterbi 1967)."""
    length = score.shape[0]
    value = np.full((length + 1, final.shape[0]), -np.inf)
    allowed = np.empty(score.shape[1])
    for state in active[active_start[length] : active_start[length + 1]]:
        if final[state]:
            value[length, state] = 0.0
    for i in range(length - 1, -1, -1):
        allowed[:] = score[i]
        if i >= limit:
            allowed[:tail] = -np.inf
        here, after = value[i], value[i + 1]
        for state in active[active_start[i] : active_start[i + 1]]:
            top = -np.inf
            for edge in range(edge_start[state], edge_start[state + 1]):
                total = allowed[edge_set[edge]] + after[target[edge]]
                top = total if total > top else top
            here[state] = top
    path = np.empty(length, np.int32)
    state = start
    for i in range(length):
        top = -np.inf
        chosen = edge_start[state]
        for edge in range(edge_start[state], edge_start[state + 1]):
            if i < limit or edge_set[edge] >= tail:
                total = score[i, edge_set[edge]] + value[i + 1, target[edge]]
                if total > top:
                    top = total
                    chosen = edge
        path[i] = edge_set[chosen]
        state = target[chosen]
    return path
