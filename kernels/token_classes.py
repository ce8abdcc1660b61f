"""Compiled: the coarsest classes of tokens that a number of token sets are made of."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def classify(t, sets, extra, extra_start, hashes, vocabulary):
    """Give tokens that belong to the same sets one class.

    sets: int64, the sets in `t`; after them come those of `extra`, tokens with bounds extra_start. hashes: uint64, a
    random number for each set. Returns int32 [vocabulary] classes (−1: in no set), their number, and int32 classes of
    each set with int64 bounds.
    """
    count = sets.shape[0] + extra_start.shape[0] - 1
    signature, missing, missing_start = _signatures(t, sets, extra, extra_start, hashes, vocabulary)
    label, classes = _label(signature)
    bounds = np.zeros(count + 1, np.int64)
    members = np.empty(max(4 * count, 1024), np.int32)
    seen = np.full(classes, -1, np.int64)
    filled = 0
    for index in range(count):
        if members.shape[0] - filled < classes:
            more = np.empty(2 * members.shape[0] + classes, np.int32)
            more[:filled] = members[:filled]
            members = more
        if missing_start[index + 1] > missing_start[index]:  # a big set: all classes but those of what it misses
            for token in missing[missing_start[index] : missing_start[index + 1]]:
                if label[token] >= 0:
                    seen[label[token]] = index
            for one in range(classes):
                if seen[one] != index:
                    members[filled] = one
                    filled += 1
        else:
            for token in _set_tokens(t, sets, extra, extra_start, index):
                if seen[label[token]] != index:
                    seen[label[token]] = index
                    members[filled] = label[token]
                    filled += 1
        bounds[index + 1] = filled
    return label, classes, members[:filled].copy(), bounds


@njit(cache=True)
def _signatures(t, sets, extra, extra_start, hashes, vocabulary):
    """uint64 [vocabulary], the sum of the hashes of the sets that a token is in, and what big sets miss, as tokens and
    bounds: most sets are small, a few are nearly everything."""
    count = sets.shape[0] + extra_start.shape[0] - 1
    common, size = np.uint64(0), 0
    start = np.zeros(count + 1, np.int64)
    for index in range(count):
        have = _set_tokens(t, sets, extra, extra_start, index).shape[0]
        if 2 * have > vocabulary and have < vocabulary:
            common += hashes[index]
            size += vocabulary - have
        start[index + 1] = size
    missing = np.empty(size, np.int32)
    signature = np.full(vocabulary, common)
    inside = np.zeros(vocabulary, np.bool_)
    for index in range(count):
        tokens = _set_tokens(t, sets, extra, extra_start, index)
        if start[index + 1] == start[index]:
            for token in tokens:
                signature[token] += hashes[index]
            continue
        inside[:] = False
        for token in tokens:
            inside[token] = True
        place = start[index]
        for token in range(vocabulary):
            if not inside[token]:
                missing[place] = token
                place += 1
                signature[token] -= hashes[index]
    return signature, missing, start


@njit(cache=True)
def _label(signature):
    """int32 [vocabulary], equal for equal signatures (−1: zero), and how many there are."""
    vocabulary = signature.shape[0]
    label = np.full(vocabulary, -1, np.int32)
    size = 1 << 10
    slots = np.full(size, -1, np.int64)
    examples = np.empty(size, np.int64)
    classes = 0
    before, same = np.uint64(0), np.int32(-1)
    for token in range(vocabulary):
        value = signature[token]
        if value == before:  # neighbours are often in one class
            label[token] = same
            continue
        before, same = value, np.int32(-1)
        if value == 0:
            continue
        slot = _slot_of(slots, examples, signature, value)
        if slots[slot] < 0:
            if 2 * classes == size:
                size *= 2
                bigger = np.empty(size, np.int64)
                bigger[:classes] = examples[:classes]
                examples, slots = bigger, np.full(size, -1, np.int64)
                for old in range(classes):
                    slots[_slot_of(slots, examples, signature, signature[examples[old]])] = old
                slot = _slot_of(slots, examples, signature, value)
            slots[slot] = classes
            examples[classes] = token
            classes += 1
        label[token] = same = np.int32(slots[slot])
    return label, classes


@njit(cache=True)
def _slot_of(slots, examples, signature, value):
    slot = np.int64(value & np.uint64(slots.shape[0] - 1))
    while slots[slot] >= 0 and signature[examples[slots[slot]]] != value:
        slot = (slot + 1) & (slots.shape[0] - 1)
    return slot


@njit(cache=True)
def _set_tokens(t, sets, extra, extra_start, index):
    if index < sets.shape[0]:
        one = t.sets[sets[index]]
        return t.set_tokens[one.start : one.start + one.size]
    index -= sets.shape[0]
    return extra[extra_start[index] : extra_start[index + 1]]
