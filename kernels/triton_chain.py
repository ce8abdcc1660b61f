"""Triton kernels over position × state: `chain` and `statistics` on a GPU.

Everything is pulled: a state, a set or a class adds up what reaches it, in a fixed order, so that nothing is added
atomically. Messages are logs in float32, with the maximum of each position taken out. One program walks a canvas; the
canvases' tables lie side by side (see `tables`), so that one launch serves all.
"""

from __future__ import annotations

import triton
import triton.language as tl

from dg_sglang.kernels.triton_rows import _pick


@triton.jit
def _log_add(top, total, value):
    """One more term in a sum of exponentials kept as a maximum and a sum."""
    both = tl.maximum(top, value)
    level = tl.where(both == float("-inf"), 0.0, both)
    return both, total * tl.exp(top - level) + tl.exp(value - level)


@triton.jit
def _log(top, total):
    return tl.where(total > 0.0, top + tl.log(tl.where(total > 0.0, total, 1.0)), float("-inf"))


@triton.jit
def _allowed(number, position, limit, tail):
    return (number >= tail) | (number * 0 + position < limit)


@triton.jit
def walk(
    weight, neighbour, edge_set, bounds, active_start, active, limits, tails, chosen, message, shift, pointer,
    length, states, sets,
    FORWARD: tl.constexpr, MAXIMUM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Messages from the last position to the first, or with FORWARD from the first to the last.

    neighbour, edge_set, bounds: a state's edges, to their targets (backward) or from their sources (forward).
    message: float32 [length + 1, states], filled with −inf but for where the walk begins. shift: float32 [K, length],
    the maxima taken out. MAXIMUM takes the largest term instead of the sum, and its edge into pointer, int32 like
    message. Canvases that aren't chosen (int32) are left alone.
    """
    canvas = tl.program_id(0)
    limit, tail = tl.load(limits + canvas), tl.load(tails + canvas)
    active_start += canvas * (length + 2)
    for step in range(length * tl.load(chosen + canvas)):
        i = step if FORWARD else length - 1 - step
        here = i + 1 if FORWARD else i
        there = i if FORWARD else i + 1
        low, high = tl.load(active_start + here), tl.load(active_start + here + 1)
        top = float("-inf")
        for first in range(low, high, BLOCK):
            lane = first + tl.arange(0, BLOCK)
            state = tl.load(active + lane, mask=lane < high, other=0)
            edge = tl.load(bounds + state, mask=lane < high, other=0)
            end = tl.load(bounds + state + 1, mask=lane < high, other=0)
            value = tl.full((BLOCK,), float("-inf"), tl.float32)
            total = tl.zeros((BLOCK,), tl.float32)
            best = tl.full((BLOCK,), -1, tl.int32)
            for k in range(tl.max(end - edge)):
                there_is = edge + k < end
                number = tl.load(edge_set + edge + k, mask=there_is, other=0)
                other = tl.load(neighbour + edge + k, mask=there_is, other=0)
                there_is = there_is & _allowed(number, i, limit, tail)
                term = tl.load(weight + i * sets + number, mask=there_is, other=float("-inf"))
                term += tl.load(message + there * states + other, mask=there_is, other=float("-inf"))
                if MAXIMUM:
                    best = tl.where(term > value, (edge + k).to(tl.int32), best)
                    value = tl.maximum(term, value)
                else:
                    value, total = _log_add(value, total, term)
            if MAXIMUM:
                tl.store(pointer + here * states + state, best, mask=lane < high)
            else:
                value = _log(value, total)
            tl.store(message + here * states + state, value, mask=lane < high)
            top = tl.maximum(top, tl.max(value))
        top = tl.where(top == float("-inf"), 0.0, top)
        tl.store(shift + canvas * length + i, top)
        for first in range(low, high, BLOCK):
            lane = first + tl.arange(0, BLOCK)
            state = tl.load(active + lane, mask=lane < high, other=0)
            place = message + here * states + state
            tl.store(place, tl.load(place, mask=lane < high, other=0.0) - top, mask=lane < high)
        tl.debug_barrier()


@triton.jit
def set_weights(
    weight, source, target, bounds, owner, limits, tails, forward, backward, out, states, sets, BLOCK: tl.constexpr
):
    """Log of the weight of all paths through an edge with a set at a position, up to a constant per position.

    source, target, bounds: the edges of each set; owner: its canvas.
    """
    i = tl.program_id(0)
    number = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    canvas = tl.load(owner + number, mask=number < sets, other=0)
    limit, tail = tl.load(limits + canvas), tl.load(tails + canvas)
    edge = tl.load(bounds + number, mask=number < sets, other=0)
    end = tl.load(bounds + number + 1, mask=number < sets, other=0)
    end = tl.where(_allowed(number, i, limit, tail), end, edge)
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in range(tl.max(end - edge)):
        there_is = edge + k < end
        first = tl.load(source + edge + k, mask=there_is, other=0)
        second = tl.load(target + edge + k, mask=there_is, other=0)
        term = tl.load(forward + i * states + first, mask=there_is, other=float("-inf"))
        term += tl.load(backward + (i + 1) * states + second, mask=there_is, other=float("-inf"))
        top, total = _log_add(top, total, term)
    value = _log(top, total) + tl.load(weight + i * sets + number, mask=number < sets, other=float("-inf"))
    tl.store(out + i * sets + number, value, mask=number < sets)


@triton.jit
def normalise(values, bounds, chosen, out, sets, BLOCK: tl.constexpr):
    """Softmax over each canvas's columns of values [L, sets] into float64 out; 0 where canvases aren't chosen."""
    i, k = tl.program_id(0), tl.program_id(1)
    low, high = tl.load(bounds + k), tl.load(bounds + k + 1)
    top = float("-inf")
    for first in range(low, high, BLOCK):
        column = first + tl.arange(0, BLOCK)
        top = tl.maximum(top, tl.max(tl.load(values + i * sets + column, mask=column < high, other=float("-inf"))))
    level = tl.where(top == float("-inf"), 0.0, top)
    total = 0.0
    for first in range(low, high, BLOCK):
        column = first + tl.arange(0, BLOCK)
        total += tl.sum(tl.exp(tl.load(values + i * sets + column, mask=column < high, other=float("-inf")) - level))
    share = tl.where((total > 0.0) & (tl.load(chosen + k) > 0), 1.0 / tl.where(total > 0.0, total, 1.0), 0.0)
    for first in range(low, high, BLOCK):
        column = first + tl.arange(0, BLOCK)
        value = tl.load(values + i * sets + column, mask=column < high, other=float("-inf"))
        part = tl.where(value == float("-inf"), 0.0, tl.exp(value - level) * share)
        tl.store(out + i * sets + column, part.to(tl.float64), mask=column < high)


@triton.jit
def entropies(log_mass, mean_log, tilt, bounds, out, classes, BLOCK: tl.constexpr):
    """Of the tilted marginals, −Σ q · (mean log p + tilt) over each canvas's classes: float32 out [K, L]."""
    i, k = tl.program_id(0), tl.program_id(1)
    low, high = tl.load(bounds + k), tl.load(bounds + k + 1)
    total = 0.0
    for first in range(low, high, BLOCK):
        column = first + tl.arange(0, BLOCK)
        place, mask = i * classes + column, column < high
        added = tl.load(tilt + place, mask=mask, other=float("-inf"))
        log_q = tl.load(log_mass + place, mask=mask, other=float("-inf")) + added
        mean = tl.load(mean_log + place, mask=mask, other=0.0) + tl.where(log_q == float("-inf"), 0.0, added)
        total -= tl.sum(tl.where(log_q == float("-inf"), 0.0, tl.exp(log_q) * mean))
    tl.store(out + k * tl.num_programs(0) + i, tl.maximum(total, 0.0))


@triton.jit
def group_sums(
    values, maxima, bounds, members, sums, best, place, width, groups, MAXIMUM: tl.constexpr, BLOCK: tl.constexpr
):
    """Per row and group of columns: the log of the sum of exp(values), and with MAXIMUM the largest of maxima, where.

    members, bounds: the columns of each group. values, maxima: [rows, width]; sums, best, place: [rows, groups].
    """
    row = tl.program_id(0)
    group = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    low = tl.load(bounds + group, mask=group < groups, other=0)
    end = tl.load(bounds + group + 1, mask=group < groups, other=0)
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    chosen = tl.load(members + low, mask=low < end, other=0).to(tl.int32)
    for k in range(tl.max(end - low)):
        there_is = low + k < end
        column = tl.load(members + low + k, mask=there_is, other=0).to(tl.int32)
        top, total = _log_add(top, total, tl.load(values + row * width + column, mask=there_is, other=float("-inf")))
        if MAXIMUM:
            value = tl.load(maxima + row * width + column, mask=there_is, other=float("-inf"))
            chosen = tl.where(value > largest, column, chosen)
            largest = tl.maximum(largest, value)
    tl.store(sums + row * groups + group, _log(top, total), mask=group < groups)
    if MAXIMUM:
        tl.store(best + row * groups + group, largest, mask=group < groups)
        tl.store(place + row * groups + group, chosen, mask=group < groups)


@triton.jit
def draw_path(
    uniform, weight, message, log_mass, target, edge_set, edge_start, set_start, set_classes, starts, limits, tails,
    label, length, states, sets, classes, EDGES: tl.constexpr, MEMBERS: tl.constexpr,
):  # fmt: skip
    """One joint draw from backward messages: the class at every position. One program per canvas."""
    k = tl.program_id(0)
    state, limit, tail = tl.load(starts + k).to(tl.int32), tl.load(limits + k), tl.load(tails + k)
    uniform += 2 * k * length
    label += k * length
    for i in range(length):
        low, high = tl.load(edge_start + state), tl.load(edge_start + state + 1)
        edge = low + tl.arange(0, EDGES)
        number = tl.load(edge_set + edge, mask=edge < high, other=0)
        following = tl.load(target + edge, mask=edge < high, other=0)
        allowed = (edge < high) & _allowed(number, i, limit, tail)
        value = tl.load(weight + i * sets + number, mask=allowed, other=float("-inf"))
        value += tl.load(message + (i + 1) * states + following, mask=allowed, other=float("-inf"))
        lane = _pick(_relative(value), tl.load(uniform + 2 * i))
        here = tl.arange(0, EDGES) == lane
        chosen = tl.sum(tl.where(here, number, 0))
        state = tl.sum(tl.where(here, following, 0))
        low, high = tl.load(set_start + chosen), tl.load(set_start + chosen + 1)
        member = low + tl.arange(0, MEMBERS)
        column = tl.load(set_classes + member, mask=member < high, other=0).to(tl.int32)
        value = tl.load(log_mass + i * classes + column, mask=member < high, other=float("-inf"))
        lane = _pick(_relative(value), tl.load(uniform + 2 * i + 1))
        tl.store(label + i, tl.sum(tl.where(tl.arange(0, MEMBERS) == lane, column, 0)))


@triton.jit
def _relative(value):
    top = tl.max(value)
    return tl.where(value == float("-inf"), 0.0, tl.exp(value - tl.where(top == float("-inf"), 0.0, top)))


@triton.jit
def best_path(pointer, target, edge_set, set_class, starts, label, length, states, sets):
    """Follow the pointers of a MAXIMUM walk: the class at every position. One program per canvas."""
    k = tl.program_id(0)
    state = tl.load(starts + k).to(tl.int32)
    for i in range(length):
        edge = tl.maximum(tl.load(pointer + i * states + state), 0)  # −1 where there is no path
        tl.store(label + k * length + i, tl.load(set_class + i * sets + tl.load(edge_set + edge)).to(tl.int64))
        state = tl.load(target + edge)
