"""Compiled: a vocabulary's trie, folded.

A state tells bytes apart only by where they lead: its row is a *partition* of the bytes, and many states share one. So
tokens are not followed one by one, but in *bundles*: sets of trie nodes that every partition on their way has kept
together. What a partition makes of a bundle is found once, for all states and all grammars.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dg_sglang.kernels.arena import NOTHING, mix

PARTITIONS, BUNDLES, SPLITS, BRANCHES, INNER, TOKENS, FULL = range(7)
"""Places in `Fold.count`; FULL: whether a pool was too small."""

ROOT = np.int64(0)
"""The bundle of the trie's root."""

BUNDLE = np.dtype(
    [
        ("key", np.uint64),
        ("inner_start", np.int64),
        ("inner", np.int64),
        ("token_start", np.int64),
        ("tokens", np.int64),
        ("token_key", np.uint64),
    ]
)
"""The sum of its trie nodes' hashes; where those of its nodes are that have children; the tokens that end in it, and
the sum of their hashes."""

SPLIT = np.dtype([("bundle", np.int64), ("partition", np.int64), ("start", np.int64), ("number", np.int64)])
"""What a partition makes of a bundle: so many branches."""

_KEYS, _INNER, _TOKENS, _TOKEN_KEYS, _PLACE = range(5)
_WITH_TOKENS, _WITHOUT_TOKENS = np.uint64(0), np.uint64(1 << 40)  # no node has the upper bit


class Fold(NamedTuple):
    """All partitions and bundles met so far.

    partitions: uint16 [partitions, 256], per byte one more than the number of its group, 0: it leads nowhere.
    examples: uint8 [partitions, 256], a byte of each group. partition_keys: uint64. bundles: BUNDLE. splits: SPLIT.
    branches: int64 [branches, 2], group and bundle. inner, tokens: int32, of the bundles. *_slots: int32, hash tables.
    scratch: uint64 [5, 256]. count: how full they are.
    """

    partitions: Any
    examples: Any
    partition_keys: Any
    partition_slots: Any
    bundles: Any
    bundle_slots: Any
    splits: Any
    split_slots: Any
    branches: Any
    inner: Any
    tokens: Any
    scratch: Any
    count: Any


@njit(cache=True)
def partition_of(f, classes, row):
    """The number of the partition that a row makes of the bytes; −1 where there is no room."""
    new = f.count[PARTITIONS]
    if new == f.partitions.shape[0]:
        f.count[FULL] = 1
        return np.int64(-1)
    groups = 0
    key = np.uint64(0)
    targets = f.scratch[0]
    for byte in range(256):
        target = np.int64(row[classes[byte]])
        group = 0
        if target != NOTHING:
            while group < groups and targets[group] != np.uint64(target):
                group += 1
            if group == groups:
                targets[group] = np.uint64(target)
                f.examples[new, group] = byte
                groups += 1
            group += 1
            key = mix(key, np.uint64(byte << 8 | group))
        f.partitions[new, byte] = group
    slot = np.int64(key & np.uint64(f.partition_slots.shape[0] - 1))
    while f.partition_slots[slot] >= 0:
        if f.partition_keys[f.partition_slots[slot]] == key:
            return np.int64(f.partition_slots[slot])
        slot = (slot + 1) & (f.partition_slots.shape[0] - 1)
    f.partition_keys[new] = key
    f.partition_slots[slot] = new
    f.count[PARTITIONS] += 1
    return new


@njit(cache=True)
def split_slot(splits, slots, bundle, partition):
    """The slot of a split, free or not."""
    slot = np.int64(mix(np.uint64(bundle), np.uint64(partition)) & np.uint64(slots.shape[0] - 1))
    while slots[slot] >= 0:
        one = splits[slots[slot]]
        if one.bundle == bundle and one.partition == partition:
            break
        slot = (slot + 1) & (slots.shape[0] - 1)
    return slot


@njit(cache=True)
def find_split(splits, slots, bundle, partition):
    """The number of a split; −1 if it isn't known."""
    return np.int64(slots[split_slot(splits, slots, bundle, partition)])


@njit(cache=True)
def split(f, trie, bundle, partition):
    """The number of a split that isn't known yet; −1 where there is no room."""
    group_of = f.partitions[partition]
    nodes = f.inner[f.bundles[bundle].inner_start : f.bundles[bundle].inner_start + f.bundles[bundle].inner]
    keys, inner, tokens = f.scratch[_KEYS], f.scratch[_INNER], f.scratch[_TOKENS]
    token_keys, place = f.scratch[_TOKEN_KEYS], f.scratch[_PLACE]
    keys[:] = inner[:] = tokens[:] = token_keys[:] = np.uint64(0)
    for node in nodes:
        for child in range(trie.child_start[node], trie.child_start[node + 1]):
            group = np.int64(group_of[trie.byte[child]]) - 1
            if group >= 0:
                keys[group] += mix(_WITH_TOKENS, np.uint64(child))
                inner[group] += np.uint64(trie.child_start[child] < trie.child_start[child + 1])
                for position in range(trie.token_start[child], trie.token_start[child + 1]):
                    tokens[group] += np.uint64(1)
                    token_keys[group] += trie.token_hash[trie.token_ids[position]]
    groups, room, room_for_tokens = 0, np.uint64(0), np.uint64(0)
    for index in range(256):
        groups += keys[index] != 0
        room += inner[index]
        room_for_tokens += tokens[index]
    if (
        f.count[SPLITS] == f.splits.shape[0]
        or f.count[BRANCHES] + groups > f.branches.shape[0]
        or f.count[BUNDLES] + groups > f.bundles.shape[0]
        or f.count[INNER] + np.int64(room) > f.inner.shape[0]
        or f.count[TOKENS] + np.int64(room_for_tokens) > f.tokens.shape[0]
    ):
        f.count[FULL] = 1
        return np.int64(-1)
    number, start, first_new = f.count[SPLITS], f.count[BRANCHES], f.count[BUNDLES]
    f.splits[number].bundle, f.splits[number].partition = bundle, partition
    f.splits[number].start, f.splits[number].number = start, groups
    f.split_slots[split_slot(f.splits, f.split_slots, bundle, partition)] = number
    f.count[SPLITS] += 1
    for index in range(256):
        if keys[index] != 0:
            branch = _bundle(f, keys[index], np.int64(inner[index]), np.int64(tokens[index]), token_keys[index])
            f.branches[f.count[BRANCHES], 0], f.branches[f.count[BRANCHES], 1] = index, branch
            f.count[BRANCHES] += 1
            place[index] = branch
            inner[index], tokens[index] = f.bundles[branch].inner_start, f.bundles[branch].token_start
    if f.count[BUNDLES] == first_new:
        return number
    for node in nodes:
        for child in range(trie.child_start[node], trie.child_start[node + 1]):
            group = np.int64(group_of[trie.byte[child]]) - 1
            if group < 0 or np.int64(place[group]) < first_new:
                continue
            if trie.child_start[child] < trie.child_start[child + 1]:
                f.inner[np.int64(inner[group])] = child
                inner[group] += np.uint64(1)
            for position in range(trie.token_start[child], trie.token_start[child + 1]):
                f.tokens[np.int64(tokens[group])] = trie.token_ids[position]
                tokens[group] += np.uint64(1)
    return number


@njit(cache=True)
def _bundle(f, key, inner, tokens, token_key):
    """The bundle with this key, made now if it is new: then its nodes and tokens are to be written."""
    slot = np.int64(key & np.uint64(f.bundle_slots.shape[0] - 1))
    while f.bundle_slots[slot] >= 0:
        if f.bundles[f.bundle_slots[slot]].key == key:
            return np.int64(f.bundle_slots[slot])
        slot = (slot + 1) & (f.bundle_slots.shape[0] - 1)
    number = f.count[BUNDLES]
    f.bundle_slots[slot] = number
    f.bundles[number].key = key
    f.bundles[number].inner_start, f.bundles[number].inner = f.count[INNER], inner
    f.bundles[number].token_start, f.bundles[number].tokens = f.count[TOKENS], tokens
    f.bundles[number].token_key = token_key
    f.count[BUNDLES] += 1
    f.count[INNER] += inner
    f.count[TOKENS] += tokens
    return number


@njit(cache=True)
def bundle_of(f, nodes):
    """A bundle of trie nodes as places to go on from: without their tokens. −1 where there is no room."""
    if f.count[BUNDLES] == f.bundles.shape[0] or f.count[INNER] + nodes.shape[0] > f.inner.shape[0]:
        f.count[FULL] = 1
        return np.int64(-1)
    key = np.uint64(0)
    for node in nodes:
        key += mix(_WITHOUT_TOKENS, np.uint64(node))
    before = f.count[BUNDLES]
    number = _bundle(f, key, nodes.shape[0], np.int64(0), np.uint64(0))
    if number == before:
        start = f.bundles[number].inner_start
        for index in range(nodes.shape[0]):
            f.inner[start + index] = nodes[index]
    return number


@njit(cache=True)
def rehash_keys(slots, keys):
    """Enter all keys into an empty hash table."""
    for number in range(keys.shape[0]):
        slot = np.int64(keys[number] & np.uint64(slots.shape[0] - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (slots.shape[0] - 1)
        slots[slot] = number


@njit(cache=True)
def rehash_splits(slots, splits, count):
    """Enter splits[:count] into an empty hash table."""
    for number in range(count):
        slots[split_slot(splits, slots, splits[number].bundle, splits[number].partition)] = number
