"""Compiled reads of logits rows: the CPU version of the row and class operations of `reference`.

A row is read once, in blocks that stay in the first-level cache: scaled, its maximum taken, then the sums of exp. The
dominant class is summed on the way; the tokens of all others are gathered while the row is still in the second level.
`rows` is float32 [R, V], or uint16: the bits of bfloat16. Every class has its own maximum, so that nothing underflows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.float32 import EXP_FLOOR, FAST, LEAST, exp, from_ordered, load, ordered

BLOCK = 4096
_NEVER, _ZERO = np.float32(-np.inf), np.float32(0.0)
_SAFE = np.float32(60.0)  # a class whose maximum lies further below its block's is summed by itself


@njit(cache=True)
def list_classes(token_class, classes, dominant):
    """The tokens of every class but the dominant one: int64 bounds [classes + 1], int32 tokens in ascending order."""
    start = np.zeros(classes + 1, np.int64)
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
    return start, tokens


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
    token_class, start, tokens, dominant, class_top, class_sum, class_mean, dominant_top, dominant_sum,
):  # fmt: skip
    """`row_statistics`, and per class float32 class_top, float64 class_sum = Σ exp(x − class_top) and class_mean.

    These are [R, classes]; class_mean is the mean of x under the class. dominant_top and dominant_sum: [R, blocks].
    """
    width = rows.shape[1]
    moment, dominant_moment = np.empty(block_top.shape[1]), np.empty(block_top.shape[1])
    gathered, selected = np.empty(tokens.size, np.float32), np.empty(BLOCK, np.float32)
    for i in range(rows.shape[0]):
        scaled = out[i % out.shape[0]]
        for block in range(moment.shape[0]):
            low, high = block * BLOCK, min(block * BLOCK + BLOCK, width)
            label = token_class[low:high]
            block_top[i, block], own = _scale_labelled(
                rows[i, low:high], temperature[i], scaled[low:high], label, dominant
            )
            block_sum[i, block], moment[block], total, part = _sums_labelled(
                scaled[low:high], block_top[i, block], label, dominant
            )
            shift = own - block_top[i, block]
            if shift > -_SAFE:
                total, part = total / np.exp(shift), part / np.exp(shift) - total / np.exp(shift) * shift
            elif own > _NEVER:
                count = _select(scaled[low:high], label, dominant, selected)
                total, part = _sums(selected[:count], own)
            dominant_top[i, block], dominant_sum[i, block], dominant_moment[block] = own, total, part
        _, log_norm[i], entropy[i] = _combine(block_top[i], block_sum[i], moment)
        best[i] = _first_best(scaled, block_top[i])
        for k in range(tokens.size):
            gathered[k] = scaled[tokens[k]]
        for label in range(class_top.shape[1]):
            if label == dominant:
                own, log_sum, spread = _combine(dominant_top[i], dominant_sum[i], dominant_moment)
                class_top[i, label] = own
                class_sum[i, label] = np.exp(log_sum - own) if own > _NEVER else 0.0
                class_mean[i, label] = log_sum - spread if own > _NEVER else 0.0
                continue
            values = gathered[start[label] : start[label + 1]]
            own = _top(values)
            class_top[i, label] = own
            class_sum[i, label] = class_mean[i, label] = 0.0
            if values.size == 1 and own > _NEVER:
                class_sum[i, label], class_mean[i, label] = 1.0, own
            elif own > _NEVER:
                total, part = _sums(values, own)
                class_sum[i, label], class_mean[i, label] = total, own + part / total


@njit(cache=True)
def _scale(row, temperature, out):
    top = LEAST
    for j in range(row.size):
        value = load(row[j]) / temperature
        out[j] = value
        top = max(top, ordered(value))
    return from_ordered(top)


@njit(cache=True)
def _scale_labelled(row, temperature, out, labels, label):
    top = own = LEAST
    for j in range(row.size):
        value = load(row[j]) / temperature
        out[j] = value
        key = ordered(value)
        top = max(top, key)
        own = max(own, key if labels[j] == label else LEAST)
    return from_ordered(top), _NEVER if own == LEAST else from_ordered(own)


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


@njit(cache=True, fastmath=FAST)
def _sums_labelled(x, top, labels, label):
    total = moment = own_total = own_moment = _ZERO
    if top == _NEVER:
        return total, moment, own_total, own_moment
    for j in range(x.size):
        d = x[j] - top
        d = EXP_FLOOR if d < EXP_FLOOR else d
        weight = exp(d)
        total += weight
        moment += weight * d
        own = weight if labels[j] == label else _ZERO
        own_total += own
        own_moment += own * d
    return total, moment, own_total, own_moment


@njit(cache=True)
def _select(x, labels, label, out):
    count = 0
    for j in range(x.size):
        out[count] = x[j]
        count += labels[j] == label
    return count


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
