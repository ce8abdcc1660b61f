"""Triton kernels over rows of logits, one program a row. They do what `rows` and `picks` do, block by block.

Every sum has a fixed order, so that results are the same in any batch and in every run; nothing is added atomically.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _log_sum(top, other):
    """The larger of two maxima, and a finite stand-in for it where both are −inf."""
    both = tl.maximum(top, other)
    return both, tl.where(both == float("-inf"), 0.0, both)


@triton.jit
def _read(logits, temperature, row, token, mask, width):
    value = tl.load(logits + row * width + token, mask=mask, other=float("-inf")).to(tl.float32)
    return tl.math.div_rn(value, tl.zeros_like(value) + temperature)


@triton.jit
def _sums(x, top):
    """Σ exp(x − top) and Σ (x − top) · exp(x − top)."""
    shift = tl.where(x == float("-inf"), 0.0, x - top)
    weight = tl.where(x == float("-inf"), 0.0, tl.exp(shift))
    return tl.sum(weight), tl.sum(weight * shift)


@triton.jit
def _merge(top, total, moment, other, added, part):
    """Running maximum, sum and moment with another block's."""
    both, level = _log_sum(top, other)
    old, new = tl.where(top == float("-inf"), 0.0, top - level), tl.where(other == float("-inf"), 0.0, other - level)
    moment = tl.exp(old) * (moment + total * old) + tl.exp(new) * (part + added * new)
    return both, tl.exp(old) * total + tl.exp(new) * added, moment


@triton.jit
def row_statistics(
    logits, temperatures, scaled, log_norm, entropy, best, block_top, block_sum,
    canvas, position, table, dominants, column, token_class, dominant_top, dominant_sum,
    class_top, class_sum, class_mean, width, blocks, classes,
    WRITE: tl.constexpr, CLASSES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """What `rows.row_statistics` finds of a row, and with CLASSES of its canvas's dominant class, if there is one."""
    row = tl.program_id(0).to(tl.int64)
    temperature = tl.load(temperatures + row)
    top, total, moment = float("-inf"), 0.0, 0.0
    own_top, own_total, own_moment = float("-inf"), 0.0, 0.0
    chosen = 0
    if CLASSES:
        k = tl.load(canvas + row)
        own = tl.load(table + k, mask=k >= 0, other=0)
        dominant = tl.load(dominants + own, mask=k >= 0, other=-1).to(tl.int32)
    for block in range(blocks):
        token = block * BLOCK + tl.arange(0, BLOCK)
        mask = token < width
        x = _read(logits, temperature, row, token, mask, width)
        if WRITE:
            tl.store(scaled + row * width + token, x.to(scaled.dtype.element_ty), mask=mask)
        highest, place = tl.max(x, axis=0, return_indices=True)
        added, part = _sums(x, highest)
        chosen = tl.where(highest > top, block * BLOCK + place, chosen)
        tl.store(block_top + row * blocks + block, highest)
        tl.store(block_sum + row * blocks + block, added)
        top, total, moment = _merge(top, total, moment, highest, added, part)
        if CLASSES:  # noqa: SIM102, the outer condition is the compiler's
            if dominant >= 0:
                label = tl.load(token_class + own * width + token, mask=mask, other=-1)
                x = tl.where(label == dominant, x, float("-inf"))
                highest = tl.max(x, axis=0)
                added, part = _sums(x, highest)
                tl.store(dominant_top + row * blocks + block, highest)
                tl.store(dominant_sum + row * blocks + block, added)
                own_top, own_total, own_moment = _merge(own_top, own_total, own_moment, highest, added, part)
    tl.store(log_norm + row, tl.log(total).to(tl.float64) + top)
    tl.store(entropy + row, tl.where(total > 0.0, tl.maximum(tl.log(total) - moment / total, 0.0), 0.0))
    tl.store(best + row, chosen)
    if CLASSES:  # noqa: SIM102
        if dominant >= 0:
            place = tl.load(position + row) * classes + tl.load(column + k) + dominant
            tl.store(class_top + place, own_top)
            tl.store(class_sum + place, own_total)
            tl.store(class_mean + place, tl.where(own_total > 0.0, own_top + own_moment / own_total, 0.0))


@triton.jit
def _join(label, top, total, moment, other_label, other_top, other_total, other_moment):
    """Of two neighbouring pieces of a sorted list: their sum where they are of one class, else the later."""
    both, merged, part = _merge(top, total, moment, other_top, other_total, other_moment)
    same = label == other_label
    return (
        other_label,
        tl.where(same, both, other_top),
        tl.where(same, merged, other_total),
        tl.where(same, part, other_moment),
    )


@triton.jit
def class_statistics(
    logits, temperatures, first_row, table, column, list_start, tokens, labels, class_top, class_sum, class_mean,
    width, classes, BLOCK: tl.constexpr,
):  # fmt: skip
    """The classes whose tokens are listed, by segmented sums over the list of a canvas's table.

    labels: the class of each listed token; list_start: bounds of each table's list.
    """
    k, i = tl.program_id(0), tl.program_id(1).to(tl.int64)
    row = tl.load(first_row + k) + i
    temperature = tl.load(temperatures + row)
    low, listed = tl.load(list_start + tl.load(table + k)), tl.load(list_start + tl.load(table + k) + 1)
    base = i * classes + tl.load(column + k)
    lane = tl.arange(0, BLOCK)
    carry, carried_top, carried_sum, carried_moment = -1, float("-inf"), 0.0, 0.0
    for first in range(low, listed, BLOCK):
        place = first + lane
        mask = place < listed
        token = tl.load(tokens + place, mask=mask, other=0)
        label = tl.load(labels + place, mask=mask, other=-2).to(tl.int32)
        following = tl.load(labels + place + 1, mask=place + 1 < listed, other=-2).to(tl.int32)
        x = _read(logits, temperature, row, token, mask, width)
        one = tl.where(x == float("-inf"), 0.0, 1.0)
        label, top, total, moment = tl.associative_scan((label, x, one, tl.zeros_like(x)), 0, _join)
        both, merged, part = _merge(carried_top, carried_sum, carried_moment, top, total, moment)
        same = label == carry
        top, total, moment = tl.where(same, both, top), tl.where(same, merged, total), tl.where(same, part, moment)
        end = mask & (label != following)
        target = base + label
        tl.store(class_top + target, top, mask=end)
        tl.store(class_sum + target, total, mask=end)
        tl.store(class_mean + target, tl.where(total > 0.0, top + moment / total, 0.0), mask=end)
        last = lane == BLOCK - 1
        carry = tl.sum(tl.where(last, label, 0))
        carried_top = tl.max(tl.where(last, top, float("-inf")))
        carried_sum, carried_moment = tl.sum(tl.where(last, total, 0.0)), tl.sum(tl.where(last, moment, 0.0))


@triton.jit
def _pick(weight, share):
    """The first lane where the running sum of weights exceeds share of their total; the last with weight, if none."""
    weight = weight.to(tl.float64)
    running = tl.cumsum(weight, 0)
    lane = tl.arange(0, weight.shape[0])
    over = (running > share * tl.sum(weight)) & (weight > 0.0)
    last = tl.max(tl.where(weight > 0.0, lane, -1))
    first = tl.min(tl.where(over, lane, weight.shape[0]))
    return tl.where(first == weight.shape[0], last, first)


@triton.jit
def _pick_block(tops, sums, row, blocks, uniform, BLOCKS: tl.constexpr):
    """A block in proportion to its mass, −1 if there is none, and how far into its own mass the level lies."""
    lane = tl.arange(0, BLOCKS)
    top = tl.load(tops + row * blocks + lane, mask=lane < blocks, other=float("-inf"))
    total = tl.load(sums + row * blocks + lane, mask=lane < blocks, other=0.0).to(tl.float64)
    highest = tl.max(top)
    weight = tl.where(top == float("-inf"), 0.0, total * tl.exp((top - highest).to(tl.float64)))
    block = _pick(weight, uniform)
    own = tl.sum(tl.where(lane == block, weight, 0.0))
    before = tl.sum(tl.where(lane < block, weight, 0.0))
    return block, tl.where(own > 0.0, (uniform * tl.sum(weight) - before) / own, 0.0)


@triton.jit
def draw_tokens(
    logits, temperatures, block_top, block_sum, places, uniform, drawn, width, blocks,
    BLOCK: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """`picks.draw_tokens`."""
    n = tl.program_id(0)
    row = tl.load(places + n)
    block, share = _pick_block(block_top, block_sum, row, blocks, tl.load(uniform + n), BLOCKS)
    token = block * BLOCK + tl.arange(0, BLOCK)
    x = _read(logits, tl.load(temperatures + row), row, token, (token >= 0) & (token < width), width)
    chosen = block * BLOCK + _pick(tl.where(x == float("-inf"), 0.0, tl.exp(x - tl.max(x))), share)
    tl.store(drawn + n, tl.where(block < 0, -1, chosen))


@triton.jit
def pick_in_classes(
    logits, temperatures, first_row, label, uniform, token_class, dominants, first, start, tokens, table, column,
    class_top, class_sum, dominant_top, dominant_sum, picked, width, blocks, classes,
    DRAW: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """`picks.draw_in_classes`, or without DRAW `picks.best_in_classes`. One program per canvas and position."""
    k, i = tl.program_id(0), tl.program_id(1).to(tl.int64)
    row, place = tl.load(first_row + k) + i, k * tl.num_programs(1) + i
    temperature = tl.load(temperatures + row)
    own = tl.load(table + k)
    wanted = tl.load(label + place)
    there_is = wanted >= 0
    cell = i * classes + wanted
    top = tl.load(class_top + cell, mask=there_is, other=float("-inf"))
    wanted = tl.where(there_is, wanted - tl.load(column + k), 0)
    dominant = tl.load(dominants + own)
    lane = tl.arange(0, BLOCK)
    chosen = -1
    if wanted == dominant:
        if DRAW:
            block, share = _pick_block(dominant_top, dominant_sum, row, blocks, tl.load(uniform + place), BLOCKS)
        else:
            number = tl.arange(0, BLOCKS)
            tops = tl.load(dominant_top + row * blocks + number, mask=number < blocks, other=float("-inf"))
            block, share = tl.argmax(tops, axis=0), 0.0
        token = block * BLOCK + lane
        mask = (token >= 0) & (token < width)
        mask = mask & (tl.load(token_class + own * width + token, mask=mask, other=-1) == dominant)
        x = _read(logits, temperature, row, token, mask, width)
        if DRAW:
            chosen = block * BLOCK + _pick(tl.where(x == float("-inf"), 0.0, tl.exp(x - tl.max(x))), share)
        else:
            chosen = tl.min(tl.where(x == top, token, width))
    else:
        bound = start + tl.load(first + own) + wanted
        low, high = tl.load(bound), tl.load(bound + 1)
        total = tl.load(class_sum + cell, mask=there_is, other=0.0).to(tl.float64)
        level = total * tl.load(uniform + place)
        running = level * 0.0
        found = low * 0 > 1
        for begin in range(low, high, BLOCK):
            spot = begin + lane
            token = tl.load(tokens + spot, mask=spot < high, other=0)
            x = _read(logits, temperature, row, token, spot < high, width)
            if DRAW:
                weight = tl.where(x == float("-inf"), 0.0, tl.exp(x - top)).to(tl.float64)
                over = (running + tl.cumsum(weight, 0) > level) & (weight > 0.0)
                running += tl.sum(weight)
                last = tl.max(tl.where(weight > 0.0, token, -1))  # ascending: the last with weight, should none be over
            else:
                over = x == top
                last = -1
            least = tl.min(tl.where(over, token, width))
            chosen = tl.where(found, chosen, tl.where(least < width, least, tl.maximum(last, chosen)))
            found = found | (least < width)
    tl.store(picked + place, tl.where(top == float("-inf"), -1, chosen))


@triton.jit
def tilt_rows(
    logits, temperatures, first_row, tilt, token_class, table, column, canvases, lowest, floor, out,
    width, length, classes, BLOCK: tl.constexpr,
):  # fmt: skip
    """Scaled logits + tilt, not below floor: the rows of the canvases `canvases`, one program per row and block."""
    k = tl.load(canvases + tl.program_id(0) // length)
    i = (tl.program_id(0) % length).to(tl.int64)
    row = tl.load(first_row + k) + i
    token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = token < width
    x = _read(logits, tl.load(temperatures + row), row, token, mask, width)
    label = tl.load(token_class + tl.load(table + k) * width + token, mask=mask, other=-1).to(tl.int32)
    added = tl.load(tilt + i * classes + tl.load(column + k) + label, mask=label >= 0, other=float("-inf"))
    x = tl.maximum(x + tl.maximum(added, lowest), floor)
    tl.store(out + row * width + token, x.to(out.dtype.element_ty), mask=mask)


@triton.jit
def soft_embedding(
    logits, log_norm, embedding, out, rows, width, hidden, stride, share,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TOKENS: tl.constexpr,
):  # fmt: skip
    """Σ p · embedding over `share` tokens a program, into float32 out [shares, rows, hidden]. stride: of the rows."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    low = tl.program_id(2) * share
    norm = tl.load(log_norm + row, mask=row < rows, other=0.0).to(tl.float32)[:, None]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(low, min(low + share, width), TOKENS):
        token = first + tl.arange(0, TOKENS)
        mask = (row < rows)[:, None] & (token < width)[None, :]
        x = tl.load(logits + row[:, None] * stride + token[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        vectors = tl.load(
            embedding + token.to(tl.int64)[:, None] * hidden + column[None, :],
            mask=(token < width)[:, None] & (column < hidden)[None, :], other=0.0,
        )  # fmt: skip
        total = tl.dot(tl.exp(x - norm).to(vectors.dtype), vectors, total, input_precision="ieee")
    place = tl.program_id(2).to(tl.int64) * rows * hidden + row[:, None] * hidden + column[None, :]
    tl.store(out + place, total, mask=(row < rows)[:, None] & (column < hidden)[None, :])
