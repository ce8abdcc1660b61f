"""Compiled reads of logits rows: the CPU version of the row and class operations of `reference`.

A row is read once, in blocks that stay in the first-level cache: scaled, its maximum taken, then the sums of exp. What
a block holds of the dominant class is the rest: its sums less those of the tokens outside, or a scan where that would
cancel. Those tokens, gathered in the same read, are then summed by class: relative to the row's maximum, or to the
class's own where that is so far below it that something would underflow. `rows` is float32 [R, V], or uint16: the bits
of bfloat16. Token lists are unsigned: numba then need not ask whether an index counts from the end, and gathers become
vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.float32 import EXP_FLOOR, FAST, LEAST, exp, from_ordered, load, ordered

BLOCK = 4096
_NEVER, _ZERO = np.float32(-np.inf), np.float32(0.0)
_NEAR = np.float32(60.0)  # a class within so much of the row's maximum can be summed relative to that
_MOST = np.float32(0.5)  # a rest that is less of a block than this is summed by itself: a difference would cancel


@njit(cache=True)
def list_classes(token_class, classes, dominant):
    """The tokens of every class but the dominant one: int64 bounds [classes + 1], int32 tokens in ascending order.

    Where there is a dominant class also, ascending, all tokens that are not in it, int32, and where each of the listed
    tokens stands among those, int32.
    """
    start = np.zeros(classes + 1, np.int64)
    outside = np.empty(token_class.size if dominant >= 0 else 0, np.int32)
    found = 0
    for label in token_class:
        if label >= 0 and label != dominant:
            start[label + 1] += 1
    for label in range(classes):
        start[label + 1] += start[label]
    tokens, places = np.empty((2, start[classes]), np.int32)
    filled = start[:-1].copy()
    for token, label in enumerate(token_class):
        if label >= 0 and label != dominant:
            tokens[filled[label]], places[filled[label]] = token, found
            filled[label] += 1
        if dominant >= 0 and label != dominant:
            outside[found] = token
            found += 1
    return start, tokens, outside[:found].copy(), places if dominant >= 0 else tokens


@njit(cache=True)
def row_statistics(
    rows, temperature, out, log_norm, entropy, best, block_top, block_sum, canvas, position, tables, sums
):
    """Fill log_norm (float64), entropy (float32), best (int64), each [R], and float32 [R, blocks] block_top, block_sum.

    out: float32 [R or 1, V], gets the scaled logits (the last row's where it has one row).
    block_sum is Σ exp(x − block_top) over a block.
    canvas, position: int64 [R], where a row belongs, canvas −1 for free rows. tables: of `Classes`. sums: class_top and
    class_base (float32), class_sum = Σ exp(x − class_base) and class_mean, the mean of x under the class (float64),
    each [L, C]; and float32 [K, L, blocks] dominant_top and dominant_sum of the dominant class, where a top that isn't
    the row's may be the whole block's.
    """
    width, blocks = rows.shape[1], block_top.shape[1]
    dominants, first, start, _, outside, outside_start, table, column, places = tables
    class_top, class_base, class_sum, class_mean, dominant_top, dominant_sum = sums
    moment, rest_moment, exact = np.empty(blocks), np.empty(blocks), np.empty(blocks, np.bool_)
    gathered, weights = np.empty(places.size, np.float32), np.empty(places.size, np.float32)
    weighted = np.empty(places.size, np.float32)  # parts of one array would have strides, and loops no vectors
    others, scratch = np.empty(outside.size, np.float32), np.empty(BLOCK, np.float32)
    beyond, bounds = outside[:0], np.zeros(blocks + 1, np.int64)
    before = dominant = -1
    for i in range(rows.shape[0]):
        scaled, k, at = out[i % out.shape[0]], canvas[i], position[i]
        if k >= 0 and k != before:
            before, own = k, table[k]
            beyond, dominant = outside[outside_start[own] : outside_start[own + 1]], dominants[own]
            bounds = np.searchsorted(beyond, np.arange(blocks + 1) * BLOCK)
        for block in range(blocks):
            low, high = block * BLOCK, min(block * BLOCK + BLOCK, width)
            top = block_top[i, block] = _scale(rows[i, low:high], temperature[i], scaled[low:high])
            block_sum[i, block], moment[block] = _sums(scaled[low:high], top)
            if k >= 0 and dominant >= 0:
                there = beyond[bounds[block] : bounds[block + 1]]
                exact[block] = top == _NEVER or there.size == high - low
                apart = others[bounds[block] : bounds[block + 1]]
                _gather(scaled, there, apart)
                if exact[block]:  # nothing of the class, or nothing at all
                    dominant_top[k, at, block], dominant_sum[k, at, block], rest_moment[block] = _NEVER, _ZERO, 0.0
                    continue
                taken, taken_part = _sums(apart, top)
                rest, rest_moment[block] = block_sum[i, block] - taken, moment[block] - taken_part
                dominant_top[k, at, block], dominant_sum[k, at, block] = top, rest
                if not rest >= _MOST * block_sum[i, block]:
                    exact[block] = True
                    dominant_top[k, at, block] = _leave_out(scaled[low:high], there, low, scratch)
                    dominant_sum[k, at, block], rest_moment[block] = _sums(
                        scratch[: high - low], dominant_top[k, at, block]
                    )
        row_top, log_norm[i], entropy[i] = _combine(block_top[i], block_sum[i], moment)
        best[i] = _first_best(scaled, block_top[i])
        if k < 0:
            continue
        if dominant >= 0:
            tops, place = dominant_top[k, at], column[k] + dominant
            block = tops.argmax()
            while not exact[block]:
                low, high = block * BLOCK, min(block * BLOCK + BLOCK, width)
                exact[block] = True
                top = _leave_out(scaled[low:high], beyond[bounds[block] : bounds[block + 1]], low, scratch)
                if top != tops[block]:
                    tops[block] = top
                    dominant_sum[k, at, block], rest_moment[block] = _sums(scratch[: high - low], top)
                block = tops.argmax()
            top, log_sum, spread = _combine(tops, dominant_sum[k, at], rest_moment)
            class_top[at, place] = class_base[at, place] = top
            class_sum[at, place] = np.exp(log_sum - top) if top > _NEVER else 0.0
            class_mean[at, place] = log_sum - spread if top > _NEVER else 0.0
        count, begin = column[k + 1] - column[k], first[table[k]]
        low, high = start[begin], start[begin + count]
        values, weight, part = gathered[: high - low], weights[: high - low], weighted[: high - low]
        _gather(others if dominant >= 0 else scaled, places[low:high], values)
        _weigh(values, row_top, weight, part)
        for label in range(count):
            if label != dominant:
                place, begins, ends = column[k] + label, start[begin + label] - low, start[begin + label + 1] - low
                top, total, mean = _segment(values, weight, part, begins, ends)
                class_top[at, place] = class_base[at, place] = top
                if top > row_top - _NEAR:
                    class_base[at, place], class_sum[at, place] = row_top, total
                    class_mean[at, place] = row_top + mean / total
                else:
                    class_sum[at, place], class_mean[at, place] = _statistics(values[begins:ends], top)


@njit(cache=True, fastmath=FAST)
def _segment(values, weights, weighted, begin, end):
    """The maximum of values and the sums of the others from begin to end."""
    top, total, mean = LEAST, _ZERO, _ZERO
    for j in range(begin, end):
        top = max(top, ordered(values[j]))
        total += weights[j]
        mean += weighted[j]
    return _NEVER if top == LEAST else from_ordered(top), np.float64(total), np.float64(mean)


@njit(cache=True)
def _leave_out(x, places, offset, out):
    """Copy a block without the tokens `places`; its maximum."""
    out[: x.size] = x
    for place in places:
        out[place - offset] = _NEVER
    return _top(out[: x.size])


@njit(cache=True)
def _gather(values, places, out):
    for k in range(places.size):
        out[k] = values[places[k]]


@njit(cache=True)
def _statistics(values, top):
    """Σ exp(x − top), and the mean of x under that."""
    if not top > _NEVER:
        return 0.0, 0.0
    total, part = _sums(values, top)
    return np.float64(total), top + np.float64(part) / total


@njit(cache=True, fastmath=FAST)
def _weigh(x, top, weights, weighted):
    """exp(d) and d · exp(d), with d = x − top."""
    for j in range(x.size):
        d = x[j] - top
        d = EXP_FLOOR if d < EXP_FLOOR else d
        weight = exp(d)
        weights[j] = weight
        weighted[j] = weight * d


@njit(cache=True)
def _scale(row, temperature, out):
    top = LEAST
    for j in range(row.size):
        value = load(row[j]) / temperature
        out[j] = value
        top = max(top, ordered(value))
    return from_ordered(top)


@njit(cache=True, fastmath=FAST)
def _sums(x, top):
    """Σ exp(d) and Σ d · exp(d), with d = x − top."""
    total = moment = _ZERO
    if top == _NEVER:
        return total, moment
    for j in range(x.size):
        d = x[j] - top
        d = EXP_FLOOR if d < EXP_FLOOR else d
        weight = exp(d)
        total += weight
        moment += weight * d
    return total, moment


@njit(cache=True)
def _top(x):
    top = LEAST
    for j in range(x.size):
        top = max(top, ordered(x[j]))
    return _NEVER if top == LEAST else from_ordered(top)


@njit(cache=True)
def _combine(tops, sums, moments):
    """Maximum, log-sum-exp and entropy of the whole from the blocks'. NaN anywhere makes the log-sum-exp NaN."""
    top = tops.max()
    if top == _NEVER:
        return top, -np.inf, 0.0
    total = moment = 0.0
    for block in range(tops.size):
        if tops[block] > _NEVER or np.isnan(tops[block]):
            shift = np.float64(tops[block]) - top
            factor = np.exp(shift)
            total += factor * sums[block]
            if factor > 0.0:
                moment += factor * (moments[block] + sums[block] * shift)
    return top, top + np.log(total), max(np.log(total) - moment / total, 0.0)


@njit(cache=True)
def _first_best(scaled, tops):
    block = tops.argmax()
    low = block * BLOCK
    for token in range(low, min(low + BLOCK, scaled.size)):
        if scaled[token] == tops[block]:
            return token
    return -1
