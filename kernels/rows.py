"""Compiled reads of logits rows: the CPU version of the row and class operations of `reference`.

A row is read once, in blocks that stay in the first-level cache: scaled, its maximum taken, then the sums of exp. What
a block holds of the dominant class is the rest: its sums less those of the tokens outside, or a scan where that would
cancel. The tokens of all other classes are gathered while the row is in the second level. `rows` is float32 [R, V], or
uint16: the bits of bfloat16. Every class has its own maximum, so that nothing underflows. Token lists are unsigned:
numba then need not ask whether an index counts from the end, and gathers become vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.float32 import EXP_FLOOR, FAST, LEAST, exp, from_ordered, load, ordered

BLOCK = 4096
_NEVER, _ZERO = np.float32(-np.inf), np.float32(0.0)
_MOST = np.float32(0.5)  # a rest that is less of a block than this is summed by itself: a difference would cancel


@njit(cache=True)
def list_classes(token_class, classes, dominant):
    """The tokens of every class but the dominant one: int64 bounds [classes + 1], int32 tokens in ascending order.

    And in ascending order all tokens that are not in the dominant class, int32, if there is one.
    """
    start = np.zeros(classes + 1, np.int64)
    outside = np.empty(token_class.size if dominant >= 0 else 0, np.int32)
    found = 0
    for label in token_class:
        if label >= 0 and label != dominant:
            start[label + 1] += 1
    for label in range(classes):
        start[label + 1] += start[label]
    tokens = np.empty(start[classes], np.int32)
    filled = start[:-1].copy()
    for token, label in enumerate(token_class):
        if label >= 0 and label != dominant:
            tokens[filled[label]] = token
            filled[label] += 1
        if dominant >= 0 and label != dominant:
            outside[found] = token
            found += 1
    return start, tokens, outside[:found].copy()


@njit(cache=True)
def row_statistics(rows, temperature, out, log_norm, entropy, best, block_top, block_sum):
    """Fill log_norm (float64), entropy (float32), best (int64), each [R], and float32 [R, blocks] block_top, block_sum.

    out: float32 [R or 1, V], gets the scaled logits (the last row's where it has one row).
    block_sum is Σ exp(x − block_top) over a block.
    """
    width = rows.shape[1]
    moment = np.empty(block_top.shape[1])
    for i in range(rows.shape[0]):
        scaled = out[i % out.shape[0]]
        for block in range(moment.shape[0]):
            low, high = block * BLOCK, min(block * BLOCK + BLOCK, width)
            block_top[i, block] = _scale(rows[i, low:high], temperature[i], scaled[low:high])
            block_sum[i, block], moment[block] = _sums(scaled[low:high], block_top[i, block])
        _, log_norm[i], entropy[i] = _combine(block_top[i], block_sum[i], moment)
        best[i] = _first_best(scaled, block_top[i])


@njit(cache=True)
def row_and_class_statistics(
    rows, temperature, out, log_norm, entropy, best, block_top, block_sum,
    token_class, start, tokens, dominant, outside, class_top, class_sum, class_mean, dominant_top, dominant_sum,
):  # fmt: skip
    """`row_statistics`, and per class float32 class_top, float64 class_sum = Σ exp(x − class_top) and class_mean.

    These are [R, classes]; class_mean is the mean of x under the class. dominant_top and dominant_sum, [R, blocks],
    are of the dominant class; a top that isn't the row's may be the whole block's.
    """
    width, blocks = rows.shape[1], block_top.shape[1]
    moment, dominant_moment, exact = np.empty(blocks), np.empty(blocks), np.empty(blocks, np.bool_)
    gathered = np.empty(max(tokens.size, BLOCK), np.float32)
    bounds = np.searchsorted(outside, np.arange(blocks + 1) * BLOCK)
    for i in range(rows.shape[0]):
        scaled = out[i % out.shape[0]]
        for block in range(blocks):
            low, high = block * BLOCK, min(block * BLOCK + BLOCK, width)
            top = block_top[i, block] = _scale(rows[i, low:high], temperature[i], scaled[low:high])
            total, part = block_sum[i, block], moment[block] = _sums(scaled[low:high], top)
            if dominant < 0:
                continue
            others = gathered[: bounds[block + 1] - bounds[block]]
            _gather(scaled, outside[bounds[block] : bounds[block + 1]], others)
            exact[block] = _top(others) < top or top == _NEVER
            taken, taken_part = _sums(others, top)
            dominant_top[i, block], dominant_sum[i, block], dominant_moment[block] = (
                top,
                total - taken,
                part - taken_part,
            )
            if not total - taken >= _MOST * total:
                label = token_class[low:high]
                own = dominant_top[i, block] = _top_of(scaled[low:high], label, dominant)
                dominant_sum[i, block], dominant_moment[block] = _sums_of(scaled[low:high], own, label, dominant)
                exact[block] = True
        _, log_norm[i], entropy[i] = _combine(block_top[i], block_sum[i], moment)
        best[i] = _first_best(scaled, block_top[i])
        if dominant >= 0:
            block = dominant_top[i].argmax()
            while not exact[block]:
                low, high = block * BLOCK, min(block * BLOCK + BLOCK, width)
                label = token_class[low:high]
                own = dominant_top[i, block] = _top_of(scaled[low:high], label, dominant)
                dominant_sum[i, block], dominant_moment[block] = _sums_of(scaled[low:high], own, label, dominant)
                exact[block] = True
                block = dominant_top[i].argmax()
            own, log_sum, spread = _combine(dominant_top[i], dominant_sum[i], dominant_moment)
            class_top[i, dominant] = own
            class_sum[i, dominant] = np.exp(log_sum - own) if own > _NEVER else 0.0
            class_mean[i, dominant] = log_sum - spread if own > _NEVER else 0.0
        _gather(scaled, tokens, gathered)
        for label in range(class_top.shape[1]):
            if label != dominant:
                values = gathered[start[label] : start[label + 1]]
                class_top[i, label], class_sum[i, label], class_mean[i, label] = _statistics(values)


@njit(cache=True)
def _gather(values, places, out):
    for k in range(places.size):
        out[k] = values[places[k]]


@njit(cache=True)
def _statistics(values):
    """Maximum, Σ exp(x − maximum), and the mean of x under that."""
    if values.size == 1 and values[0] > _NEVER:
        return values[0], 1.0, np.float64(values[0])
    top = _top(values)
    if not top > _NEVER:
        return top, 0.0, 0.0
    total, part = _sums(values, top)
    return top, np.float64(total), top + np.float64(part) / total


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
def _top_of(x, labels, label):
    top = LEAST
    for j in range(x.size):
        key = ordered(x[j])
        top = max(top, key if labels[j] == label else LEAST)
    return _NEVER if top == LEAST else from_ordered(top)


@njit(cache=True, fastmath=FAST)
def _sums_of(x, top, labels, label):
    """`_sums` over one class."""
    total = moment = _ZERO
    if top == _NEVER:
        return total, moment
    for j in range(x.size):
        d = x[j] - top
        d = EXP_FLOOR if d < EXP_FLOOR or labels[j] != label else d
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
