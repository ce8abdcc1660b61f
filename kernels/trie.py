"""A vocabulary as a trie over bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit


class Trie(NamedTuple):
    """Byte strings in breadth-first order: the children of a node, and those of the next one, follow each other.

    byte: uint8 [nodes], ascending among the children of a node; child_start: int32 [nodes + 1]; token_start: int32
    [nodes + 1], bounds into token_ids: the tokens that end at the node (maybe several). Node 0 is the root.
    token_hash: uint64 [vocabulary].
    """

    byte: Any
    child_start: Any
    token_start: Any
    token_ids: Any
    token_hash: Any


@njit(cache=True)
def build_trie(data, start):
    """The trie of sorted byte strings (equal ones may repeat), in preorder.

    data: uint8, the strings one after the other; start: int64 [strings + 1].
    Returns per node uint8 byte, int32 depth (0 for the root's children), int32 parent (−1: the root), and int32
    [nodes + 1] bounds: which strings end at a node.
    """
    byte = np.empty(data.shape[0], np.uint8)
    depth = np.empty(data.shape[0], np.int32)
    parent = np.empty(data.shape[0], np.int32)
    ends = np.empty(data.shape[0] + 1, np.int32)
    path = np.empty(data.shape[0] + 1, np.int32)
    nodes = open_nodes = 0
    for number in range(start.shape[0] - 1):
        low, high = start[number], start[number + 1]
        shared = 0
        while shared < open_nodes and shared < high - low and byte[path[shared]] == data[low + shared]:
            shared += 1
        if shared == high - low:  # the string before it once more
            continue
        open_nodes = shared
        for position in range(low + shared, high):
            path[open_nodes] = nodes
            byte[nodes] = data[position]
            depth[nodes] = open_nodes
            parent[nodes] = path[open_nodes - 1] if open_nodes > 0 else -1
            ends[nodes] = number
            open_nodes += 1
            nodes += 1
    ends[nodes] = start.shape[0] - 1
    return byte[:nodes].copy(), depth[:nodes].copy(), parent[:nodes].copy(), ends[: nodes + 1].copy()


@njit(cache=True)
def child(trie, node, byte):
    """The child of a node that `byte` leads to; −1 if there is none."""
    low, high = np.int64(trie.child_start[node]), np.int64(trie.child_start[node + 1])
    while low < high:
        middle = (low + high) // 2
        if trie.byte[middle] < byte:
            low = middle + 1
        else:
            high = middle
    return low if low < trie.child_start[node + 1] and trie.byte[low] == byte else np.int64(-1)
