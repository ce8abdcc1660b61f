"""Compiled draws and maxima, from the block and class sums of `rows`: one block or one class is read again."""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.float32 import EXP_FLOOR, FAST, exp, load
from dg_sglang.kernels.rows import BLOCK

_NEVER, _ZERO = np.float32(-np.inf), np.float32(0.0)


@njit(cache=True)
def draw_tokens(rows, temperature, block_top, block_sum, places, uniform):
    """One token for each of the rows `places` in proportion to exp(scaled logits): int64, −1 where all are −inf.

    By inversion of uniform in [0, 1).
    """
    drawn = np.full(places.size, -1, np.int64)
    values = np.empty(BLOCK, np.float32)
    for n in range(places.size):
        i = places[n]
        block, share = _pick_block(block_top[i], block_sum[i], uniform[n])
        if block >= 0:
            part = rows[i, block * BLOCK : block * BLOCK + BLOCK]
            _scale(part, temperature[i], values)
            drawn[n] = block * BLOCK + _pick_value(values[: part.size], block_top[i, block], share)
    return drawn


@njit(cache=True)
def draw_in_classes(rows, temperature, first_row, label, uniform, tables, class_top, dominant_top, dominant_sum):
    """`draw_tokens` within the class label [K, L] of each row; −1 where that is −1 or p is 0."""
    drawn = np.full(label.shape, -1, np.int64)
    tokens, width = tables[3], rows.shape[1]
    values, members = np.empty(max(BLOCK, tokens.size), np.float32), np.empty(BLOCK, tokens.dtype)
    for k in range(label.shape[0]):
        for i in range(label.shape[1]):
            share, row = uniform[k, i], first_row[k] + i
            if label[k, i] < 0 or class_top[i, label[k, i]] == _NEVER:
                continue
            top = class_top[i, label[k, i]]
            chosen, outside = _class_of(k, label[k, i], tables)
            if chosen.size == 0:  # the dominant class: by its blocks
                block, share = _pick_block(dominant_top[k, i], dominant_sum[k, i], share)
                top = dominant_top[k, i, block]
                chosen = members[: _members(outside, block, width, members)]
            for j in range(chosen.size):
                values[j] = load(rows[row, chosen[j]]) / temperature[row]
            drawn[k, i] = chosen[_pick_value(values[: chosen.size], top, share)]
    return drawn


@njit(cache=True)
def best_in_classes(rows, temperature, first_row, label, tables, class_top, dominant_top):
    """The most probable token of the class label [K, L] of each row, the first of equals: int64 [K, L].

    −1 where the label is −1 or p is 0.
    """
    best = np.full(label.shape, -1, np.int64)
    members = np.empty(BLOCK, tables[3].dtype)
    for k in range(label.shape[0]):
        for i in range(label.shape[1]):
            row = first_row[k] + i
            if label[k, i] < 0 or class_top[i, label[k, i]] == _NEVER:
                continue
            top = class_top[i, label[k, i]]
            chosen, outside = _class_of(k, label[k, i], tables)
            if chosen.size == 0:
                chosen = members[: _members(outside, dominant_top[k, i].argmax(), rows.shape[1], members)]
            for token in chosen:
                if load(rows[row, token]) / temperature[row] == top:
                    best[k, i] = token
                    break
    return best


@njit(cache=True)
def _class_of(k, label, tables):
    """The tokens of a canvas's class, none for the dominant one; and the tokens outside the latter."""
    _, first, start, tokens, outside, outside_start, table, column, _ = tables
    own = table[k]
    place = first[own] + label - column[k]
    return tokens[start[place] : start[place + 1]], outside[outside_start[own] : outside_start[own + 1]]


@njit(cache=True)
def _members(outside, block, width, out):
    """The dominant class's tokens of a block into out; their number."""
    low = block * BLOCK
    count, following = 0, np.searchsorted(outside, low)
    for token in range(low, min(low + BLOCK, width)):
        if following < outside.size and outside[following] == token:
            following += 1
        else:
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
