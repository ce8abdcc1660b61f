"""Compiled draws and maxima, from the block and class sums of `rows`: one block or one class is read again."""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.float32 import EXP_FLOOR, FAST, exp, load
from dg_sglang.kernels.rows import BLOCK

_NEVER, _ZERO = np.float32(-np.inf), np.float32(0.0)


@njit(cache=True)
def draw_tokens(rows, temperature, block_top, block_sum, uniform):
    """One token a row in proportion to exp(scaled logits), by inversion of uniform [R] in [0, 1): int64 [R].

    −1 where all logits are −inf.
    """
    drawn = np.empty(rows.shape[0], np.int64)
    values = np.empty(BLOCK, np.float32)
    for i in range(rows.shape[0]):
        block, share = _pick_block(block_top[i], block_sum[i], uniform[i])
        drawn[i] = block
        if block >= 0:
            part = rows[i, block * BLOCK : block * BLOCK + BLOCK]
            _scale(part, temperature[i], values)
            drawn[i] = block * BLOCK + _pick_value(values[: part.size], block_top[i, block], share)
    return drawn


@njit(cache=True)
def draw_in_classes(
    rows, temperature, label, uniform, token_class, start, tokens, dominant, class_top, dominant_top, dominant_sum
):
    """`draw_tokens` within the class label [R] of each row."""
    drawn = np.full(rows.shape[0], -1, np.int64)
    largest = max(BLOCK, np.diff(start).max())
    values, members = np.empty(largest, np.float32), np.empty(BLOCK, tokens.dtype)
    for i in range(rows.shape[0]):
        top, share = class_top[i, label[i]], uniform[i]
        if top == _NEVER:
            continue
        if label[i] == dominant:
            block, share = _pick_block(dominant_top[i], dominant_sum[i], share)
            top = dominant_top[i, block]
            chosen = members[: _members(token_class, dominant, block, members)]
        else:
            chosen = tokens[start[label[i]] : start[label[i] + 1]]
        for k in range(chosen.size):
            values[k] = load(rows[i, chosen[k]]) / temperature[i]
        drawn[i] = chosen[_pick_value(values[: chosen.size], top, share)]
    return drawn


@njit(cache=True)
def best_in_classes(rows, temperature, label, token_class, start, tokens, dominant, class_top, dominant_top):
    """The most probable token of the class label [R] of each row, the first of equals: int64 [R], −1 where p is 0."""
    best = np.full(rows.shape[0], -1, np.int64)
    members = np.empty(BLOCK, tokens.dtype)
    for i in range(rows.shape[0]):
        top = class_top[i, label[i]]
        if top == _NEVER:
            continue
        if label[i] == dominant:
            chosen = members[: _members(token_class, dominant, dominant_top[i].argmax(), members)]
        else:
            chosen = tokens[start[label[i]] : start[label[i] + 1]]
        for token in chosen:
            if load(rows[i, token]) / temperature[i] == top:
                best[i] = token
                break
    return best


@njit(cache=True)
def _members(token_class, label, block, out):
    count = 0
    for token in range(block * BLOCK, min(block * BLOCK + BLOCK, token_class.size)):
        if token_class[token] == label:
            out[count] = token
            count += 1
    return count


@njit(cache=True)
def _pick_block(tops, sums, uniform):
    """A block, and how far into its own mass the level lies; −1 if there is no mass."""
    top = tops.max()
    chosen, share = -1, 0.0
    if top == _NEVER:
        return chosen, share
    total = 0.0
    for block in range(tops.size):
        total += sums[block] * np.exp(np.float64(tops[block]) - top)
    level, running = total * uniform, 0.0
    for block in range(tops.size):
        part = sums[block] * np.exp(np.float64(tops[block]) - top)
        if part > 0.0:
            chosen, share = block, min((level - running) / part, 1.0)
            running += part
            if running > level:
                break
    return chosen, share


@njit(cache=True)
def _scale(row, temperature, out):
    for j in range(row.size):
        out[j] = load(row[j]) / temperature


@njit(cache=True)
def _pick_value(values, top, share):
    """An index in proportion to exp(values), which it overwrites with these weights."""
    level, running, chosen = _weigh(values, top) * np.float64(share), 0.0, 0
    for k in range(values.size):
        if values[k] > 0.0:
            chosen = k
            running += values[k]
            if running > level:
                break
    return chosen


@njit(cache=True, fastmath=FAST)
def _weigh(values, top):
    total = _ZERO
    for k in range(values.size):
        d = values[k] - top
        weight = exp(EXP_FLOOR if d < EXP_FLOOR else d)
        weight = weight if d > EXP_FLOOR else _ZERO
        values[k] = weight
        total += weight
    return total
