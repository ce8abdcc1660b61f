"""Compiled passes over position × state: backward messages, posteriors, joint draw, joint mode.

K canvases lie side by side (see `tables`), each with its own states and sets; none sees another's. `weight` is float64
[L, N]: the log weight of an edge with a set at a position. From position `limit` on only tail edges (set number ≥
`tail`) may be taken: the answer has to be complete by then. Backward messages are linear with a scale per position
(Rabiner 1989, section V.A), or logs where that would underflow.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def active_states(target, edge_set, edge_start, start, final, length, limit, tail):
    """The states on some path of `length` edges from `start` to a state with final[state], per position.

    Returns int64 [length + 2] bounds and int32 states, of a position those with fewer edges first, so that the loops
    over edges are predictable. All bounds are 0 when there is no such path.
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
    order = np.argsort(np.diff(edge_start), kind="mergesort")
    for i in range(length + 1):
        for state in order:
            if reached[i, state]:
                active[found] = state
                found += 1
        bounds[i + 1] = found
    return bounds, active


@njit(cache=True)
def _linear(weight, peak, first, out):
    """exp(weight − peak) into out, 0 for sets before `first`, which may not be taken."""
    for number in range(out.size):
        out[number] = np.exp(weight[number] - peak) if number >= first else 0.0


@njit(cache=True)
def backward(
    weight, target, edge_set, edge_start, active_start, active, final, start, limit, tail, states, sets, linear_range
):
    """float64 messages [L + 1, S] scaled to a maximum of 1 per position and canvas, [K, L] what that divided them by,
    and log Z [K]. A canvas whose scaled messages may have lost something gets logs, and NaN for divisors.
    """
    length, canvases = weight.shape[0], start.size
    divisor, log_z = np.empty((canvases, length)), np.empty(canvases)
    message = np.zeros((length + 1, final.size))
    weights = np.empty(weight.shape[1])
    for k in range(canvases):
        low, high, first, end = sets[k], sets[k + 1], states[k], states[k + 1]
        bounds = active_start[k]
        # scale: log of what position i was divided by; ceiling: the largest value that a scaled 1.0 stood for.
        scale = ceiling = 0.0
        for state in active[bounds[length] : bounds[length + 1]]:
            message[length, state] = 1.0 if final[state] else 0.0
        for i in range(length - 1, -1, -1):
            peak = weight[i, low:high].max()
            ceiling = max(ceiling, scale + peak)
            _linear(weight[i, low:high], peak, 0 if i < limit[k] else tail[k] - low, weights[low:high])
            here, after = message[i], message[i + 1]
            largest = 0.0
            for state in active[bounds[i] : bounds[i + 1]]:
                total = 0.0
                for edge in range(edge_start[state], edge_start[state + 1]):
                    total += weights[edge_set[edge]] * after[target[edge]]
                here[state] = total
                largest = max(largest, total)
            divisor[k, i] = largest
            if largest == 0.0:
                scale = -np.inf
                break
            factor = 1.0 / largest
            for state in range(first, end):
                here[state] *= factor
            scale += peak + np.log(largest)
        reached = message[0, start[k]]
        log_z[k] = scale + np.log(reached) if reached > 0.0 else -np.inf
        # Forward probabilities sum to at most 1, so what the scaled messages lost is below edges · exp(ceiling − 708).
        if not log_z[k] > ceiling - linear_range:
            divisor[k] = np.nan
            message[:, first:end] = -np.inf
            _backward_log(weight, message, target, edge_set, edge_start, bounds, active, final, limit[k], tail[k])
            log_z[k] = message[0, start[k]]
    return message, divisor, log_z


@njit(cache=True)
def _backward_log(weight, message, target, edge_set, edge_start, bounds, active, final, limit, tail):
    """One canvas's messages as logs: slower, and safe for any weights."""
    length = weight.shape[0]
    for state in active[bounds[length] : bounds[length + 1]]:
        if final[state]:
            message[length, state] = 0.0
    for i in range(length - 1, -1, -1):
        for state in active[bounds[i] : bounds[i + 1]]:
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


@njit(cache=True)
def _edge_weights(out, i, state, weight, message, logs, target, edge_set, edge_start, limit, tail):
    """Unnormalised weights of the edges of `state` into out[: number of edges]; returns their sum."""
    first = edge_start[state]
    top = -np.inf
    for edge in range(first, edge_start[state + 1]):
        value = -np.inf
        if i < limit or edge_set[edge] >= tail:
            value = weight[i, edge_set[edge]]
            if logs:
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
def set_posteriors(
    chosen,
    weight,
    message,
    divisor,
    log_z,
    target,
    edge_set,
    edge_start,
    active_start,
    active,
    start,
    limit,
    tail,
    sets,
):
    """float64 [L, N]: the probability that a position takes an edge with this set, given a valid canvas.

    All 0 for a canvas that has none, or that isn't `chosen`.
    """
    length = weight.shape[0]
    posterior = np.zeros(weight.shape)
    here, there = np.zeros(message.shape[1]), np.zeros(message.shape[1])
    weights, share = np.empty(weight.shape[1]), np.empty(np.diff(edge_start).max())
    for k in chosen:
        if log_z[k] == -np.inf:
            continue
        low, high, logs = sets[k], sets[k + 1], np.isnan(divisor[k, 0])
        here[start[k]] = 1.0
        for i in range(length):
            states = active[active_start[k, i] : active_start[k, i + 1]]
            if logs:
                _step_log(
                    states, i, weight, message, share, posterior, here, there,
                    target, edge_set, edge_start, limit[k], tail[k],
                )  # fmt: skip
            else:
                row = weight[i, low:high]
                _linear(row, row.max(), 0 if i < limit[k] else tail[k] - low, weights[low:high])
                _step_linear(
                    states, weights, message[i], message[i + 1], divisor[k, i], posterior[i], here, there,
                    target, edge_set, edge_start,
                )  # fmt: skip
            here, there = there, here
        for state in active[active_start[k, length] : active_start[k, length + 1]]:
            here[state] = 0.0
    return posterior


@njit(cache=True)
def _step_linear(states, weights, before, after, divisor, posterior, here, there, target, edge_set, edge_start):
    """Move forward probabilities from `here` to `there` by one position, and add up what each set passes on."""
    for state in states:
        if here[state] > 0.0:
            factor = here[state] / (before[state] * divisor)
            for edge in range(edge_start[state], edge_start[state + 1]):
                number, following = edge_set[edge], target[edge]
                part = factor * weights[number] * after[following]
                posterior[number] += part
                there[following] += part
        here[state] = 0.0


@njit(cache=True)
def _step_log(states, i, weight, message, share, posterior, here, there, target, edge_set, edge_start, limit, tail):
    """The same from messages in logs."""
    for state in states:
        if here[state] > 0.0:
            first = edge_start[state]
            total = _edge_weights(share, i, state, weight, message, True, target, edge_set, edge_start, limit, tail)
            for edge in range(first, edge_start[state + 1]):
                if share[edge - first] > 0.0:
                    part = here[state] * share[edge - first] / total
                    posterior[i, edge_set[edge]] += part
                    there[target[edge]] += part
        here[state] = 0.0


@njit(cache=True)
def draw_path(
    uniform, weight, message, divisor, log_z, log_mass, target, edge_set, edge_start, start, limit, tail,
    set_start, set_classes,
):  # fmt: skip
    """The classes of one exact joint draw per canvas: int64 [K, L], −1 for a canvas that has none.

    uniform: float64 [K, L, 2], for edge and class.
    """
    canvases, length = uniform.shape[:2]
    label = np.full((canvases, length), -1, np.int64)
    share = np.empty(np.diff(edge_start).max())
    for k in range(canvases):
        if log_z[k] == -np.inf:
            continue
        state, logs = start[k], np.isnan(divisor[k, 0])
        for i in range(length):
            first = edge_start[state]
            total = _edge_weights(
                share, i, state, weight, message, logs, target, edge_set, edge_start, limit[k], tail[k]
            )
            edge = first + _pick(share, edge_start[state + 1] - first, total * uniform[k, i, 0])
            number = edge_set[edge]
            members = set_classes[set_start[number] : set_start[number + 1]]
            label[k, i] = members[_pick_log(log_mass[i], members, uniform[k, i, 1])]
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
def _pick_log(values, members, uniform):
    """An index into members, drawn in proportion to exp(values)."""
    top = -np.inf
    for label in members:
        top = max(top, values[label])
    total = 0.0
    for label in members:
        total += np.exp(values[label] - top)
    level = total * uniform
    running = 0.0
    chosen = 0
    for position in range(members.size):
        part = np.exp(values[members[position]] - top)
        if part > 0.0:
            chosen = position
            running += part
            if running >= level:
                break
    return chosen


@njit(cache=True)
def best_path(
    score, set_class, target, edge_set, edge_start, active_start, active, final, start, limit, tail, states, sets
):
    """The classes of the best path per canvas: int64 [K, L], −1 for a canvas that has none (Viterbi 1967).

    score: float64 [L, N], max log p per set; set_class: int32 [L, N], the class that holds it.
    """
    length = score.shape[0]
    value = np.full((length + 1, final.size), -np.inf)
    label = np.full((start.size, length), -1, np.int64)
    allowed = np.empty(score.shape[1])
    for k in range(start.size):
        bounds, low, high = active_start[k], sets[k], sets[k + 1]
        for state in active[bounds[length] : bounds[length + 1]]:
            if final[state]:
                value[length, state] = 0.0
        for i in range(length - 1, -1, -1):
            allowed[low:high] = score[i, low:high]
            if i >= limit[k]:
                allowed[low : tail[k]] = -np.inf
            here, after = value[i], value[i + 1]
            for state in active[bounds[i] : bounds[i + 1]]:
                top = -np.inf
                for edge in range(edge_start[state], edge_start[state + 1]):
                    total = allowed[edge_set[edge]] + after[target[edge]]
                    top = total if total > top else top
                here[state] = top
        state = start[k]
        if value[0, state] == -np.inf:
            continue
        for i in range(length):
            top = -np.inf
            chosen = edge_start[state]
            for edge in range(edge_start[state], edge_start[state + 1]):
                if i < limit[k] or edge_set[edge] >= tail[k]:
                    total = score[i, edge_set[edge]] + value[i + 1, target[edge]]
                    if total > top:
                        top = total
                        chosen = edge
            label[k, i] = set_class[i, edge_set[chosen]]
            state = target[chosen]
    return label
