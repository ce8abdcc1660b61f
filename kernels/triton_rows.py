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
    token_class, dominant, dominant_top, dominant_sum, class_top, class_sum, class_mean,
    width, blocks, classes, WRITE: tl.constexpr, CLASSES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """`rows.row_statistics`, and with CLASSES what `rows.row_and_class_statistics` finds of the dominant class."""
    row = tl.program_id(0).to(tl.int64)
    temperature = tl.load(temperatures + row)
    top, total, moment = float("-inf"), 0.0, 0.0
    own_top, own_total, own_moment = float("-inf"), 0.0, 0.0
    chosen = 0
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
        if CLASSES:
            label = tl.load(token_class + token, mask=mask, other=-1)
            x = tl.where(label == dominant, x, float("-inf"))
            highest = tl.max(x, axis=0)
            added, part = _sums(x, highest)
            tl.store(dominant_top + row * blocks + block, highest)
            tl.store(dominant_sum + row * blocks + block, added)
            own_top, own_total, own_moment = _merge(own_top, own_total, own_moment, highest, added, part)
    tl.store(log_norm + row, tl.log(total).to(tl.float64) + top)
    tl.store(entropy + row, tl.where(total > 0.0, tl.maximum(tl.log(total) - moment / total, 0.0), 0.0))
    tl.store(best + row, chosen)
    if CLASSES:
        place, there_is = row * classes + dominant, dominant >= 0
        tl.store(class_top + place, own_top, mask=there_is)
        tl.store(class_sum + place, own_total, mask=there_is)
        tl.store(class_mean + place, tl.where(own_total > 0.0, own_top + own_moment / own_total, 0.0), mask=there_is)


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
    logits, temperatures, tokens, labels, class_top, class_sum, class_mean,
    width, listed, classes, BLOCK: tl.constexpr,
):  # fmt: skip
    """The classes whose tokens are listed, by segmented sums over the list; labels: the class of each listed token."""
    row = tl.program_id(0).to(tl.int64)
    temperature = tl.load(temperatures + row)
    lane = tl.arange(0, BLOCK)
    carry, carried_top, carried_sum, carried_moment = -1, float("-inf"), 0.0, 0.0
    for first in range(0, listed, BLOCK):
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
        target = row * classes + label
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
    logits, temperatures, block_top, block_sum, uniform, drawn, width, blocks, BLOCK: tl.constexpr, BLOCKS: tl.constexpr
):
    """`picks.draw_tokens`."""
    row = tl.program_id(0).to(tl.int64)
    block, share = _pick_block(block_top, block_sum, row, blocks, tl.load(uniform + row), BLOCKS)
    token = block * BLOCK + tl.arange(0, BLOCK)
    x = _read(logits, tl.load(temperatures + row), row, token, (token >= 0) & (token < width), width)
    chosen = block * BLOCK + _pick(tl.where(x == float("-inf"), 0.0, tl.exp(x - tl.max(x))), share)
    tl.store(drawn + row, tl.where(block < 0, -1, chosen))


@triton.jit
def pick_in_classes(
    logits, temperatures, label, uniform, token_class, start, tokens, dominant,
    class_top, class_sum, dominant_top, dominant_sum, picked, width, blocks, classes,
    DRAW: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """`picks.draw_in_classes`, or without DRAW `picks.best_in_classes`."""
    row = tl.program_id(0).to(tl.int64)
    temperature = tl.load(temperatures + row)
    wanted = tl.load(label + row)
    top = tl.load(class_top + row * classes + wanted)
    lane = tl.arange(0, BLOCK)
    chosen = -1
    if wanted == dominant:
        if DRAW:
            block, share = _pick_block(dominant_top, dominant_sum, row, blocks, tl.load(uniform + row), BLOCKS)
        else:
            number = tl.arange(0, BLOCKS)
            tops = tl.load(dominant_top + row * blocks + number, mask=number < blocks, other=float("-inf"))
            block, share = tl.argmax(tops, axis=0), 0.0
        token = block * BLOCK + lane
        mask = (token >= 0) & (token < width)
        mask = mask & (tl.load(token_class + token, mask=mask, other=-1) == dominant)
        x = _read(logits, temperature, row, token, mask, width)
        if DRAW:
            chosen = block * BLOCK + _pick(tl.where(x == float("-inf"), 0.0, tl.exp(x - tl.max(x))), share)
        else:
            chosen = tl.min(tl.where(x == top, token, width))
    else:
        low, high = tl.load(start + wanted), tl.load(start + wanted + 1)
        level = tl.load(class_sum + row * classes + wanted).to(tl.float64) * tl.load(uniform + row)
        running = level * 0.0
        found = low * 0 > 1
        for first in range(low, high, BLOCK):
            place = first + lane
            token = tl.load(tokens + place, mask=place < high, other=0)
            x = _read(logits, temperature, row, token, place < high, width)
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
    tl.store(picked + row, tl.where(top == float("-inf"), -1, chosen))


@triton.jit
def tilt_rows(
    logits, temperatures, log_norm, tilt, token_class, floor, out, width, classes,
    TILT: tl.constexpr, PROBABILITIES: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Scaled logits + tilt, not below floor, or with PROBABILITIES exp(scaled logits − log_norm + tilt)."""
    row = tl.program_id(0).to(tl.int64)
    token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = token < width
    x = _read(logits, tl.load(temperatures + row), row, token, mask, width)
    if TILT:
        label = tl.load(token_class + token, mask=mask, other=-1).to(tl.int32)
        label = tl.where(label < 0, classes, label)
        x += tl.load(tilt + row * (classes + 1) + label, mask=mask, other=0.0)
    x = tl.exp(x - tl.load(log_norm + row).to(tl.float32)) if PROBABILITIES else tl.maximum(x, floor)
    tl.store(out + row * width + token, x.to(out.dtype.element_ty), mask=mask)


@triton.jit
def soft_embedding(
    logits, temperatures, log_norm, tilt, token_class, embedding, out,
    rows, width, hidden, classes, share, TILT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, TOKENS: tl.constexpr,
):  # fmt: skip
    """Σ q · embedding over `share` tokens a program, into float32 out [shares, rows, hidden]."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    low = tl.program_id(2) * share
    heat = tl.load(temperatures + row, mask=row < rows, other=1.0)[:, None]
    norm = tl.load(log_norm + row, mask=row < rows, other=0.0).to(tl.float32)[:, None]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for first in range(low, min(low + share, width), TOKENS):
        token = first + tl.arange(0, TOKENS)
        mask = (row < rows)[:, None] & (token < width)[None, :]
        x = tl.load(logits + row[:, None] * width + token[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        x = tl.math.div_rn(x, tl.zeros_like(x) + heat) - norm
        if TILT:
            label = tl.load(token_class + token, mask=token < width, other=-1).to(tl.int32)
            label = tl.where(label < 0, classes, label)
            x += tl.load(tilt + row[:, None] * (classes + 1) + label[None, :], mask=mask, other=0.0)
        vectors = tl.load(
            embedding + token.to(tl.int64)[:, None] * hidden + column[None, :],
            mask=(token < width)[:, None] & (column < hidden)[None, :], other=0.0,
        )  # fmt: skip
        total = tl.dot(tl.exp(x).to(vectors.dtype), vectors, total, input_precision="ieee")
    place = tl.program_id(2).to(tl.int64) * rows * hidden + row[:, None] * hidden + column[None, :]
    tl.store(out + place, total, mask=(row < rows)[:, None] & (column < hidden)[None, :])
