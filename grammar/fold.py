"""The folded trie of a vocabulary, which all its token automata share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import GrammarTooLargeError
from dg_sglang.kernels import fold as kernels
from dg_sglang.kernels.fold import Fold

if TYPE_CHECKING:
    from dg_sglang.grammar.token_edges import Loop

MAX_NODES = 64_000_000
"""The most trie nodes, and the most tokens, that bundles hold; a fold with a quarter of that gives way to a new one."""


_KEPT_LOOPS = 64


class SharedFold:
    """What partitions make of bundles of tokens, found so far (see kernels.fold).

    Attributes:
        pools: replaced when they grow.
        lock: to be held while kernels work with the pools.
        loops: how tokens move within the loops that grammars have in common, by signature; filled through `keep`.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.loops: dict[int, Loop] = {}
        self.pools = Fold(
            partitions=np.zeros((64, 256), np.uint16),
            examples=np.zeros((64, 256), np.uint8),
            partition_keys=np.zeros(64, np.uint64),
            partition_slots=np.full(256, -1, np.int32),
            bundles=np.zeros(1 << 12, kernels.BUNDLE),
            bundle_slots=np.full(1 << 14, -1, np.int32),
            splits=np.zeros(1 << 12, kernels.SPLIT),
            split_slots=np.full(1 << 14, -1, np.int32),
            branches=np.zeros((1 << 13, 2), np.int64),
            inner=np.zeros(1 << 16, np.int32),
            tokens=np.zeros(1 << 16, np.int32),
            scratch=np.zeros((5, 256), np.uint64),
            count=np.zeros(kernels.FULL + 1, np.int64),
        )
        kernels.bundle_of(self.pools, np.zeros(1, np.int64))  # the root

    @property
    def is_full(self) -> bool:
        """Whether new automata should begin with a new one."""
        return max(len(self.pools.inner), len(self.pools.tokens)) > MAX_NODES // 4

    def keep(self, key: int, loop: Loop) -> None:
        """Remember a loop, instead of the oldest one where there are many."""
        self.loops[key] = loop
        if len(self.loops) > _KEPT_LOOPS:
            del self.loops[next(iter(self.loops))]

    def make_room(self) -> None:
        """Double every pool that is half full; all where none is. Raises GrammarTooLargeError past MAX_NODES."""
        pools, count = self.pools, self.pools.count
        count[kernels.FULL] = 0
        if max(len(pools.inner), len(pools.tokens)) > MAX_NODES:
            raise GrammarTooLargeError("the constraint tells too many kinds of tokens apart; split it")
        changed: dict[str, NDArray[Any]] = {}
        for place, names in (
            (kernels.PARTITIONS, ("partitions", "examples", "partition_keys")),
            (kernels.BUNDLES, ("bundles",)),
            (kernels.SPLITS, ("splits",)),
            (kernels.BRANCHES, ("branches",)),
            (kernels.INNER, ("inner",)),
            (kernels.TOKENS, ("tokens",)),
        ):
            if 2 * count[place] > len(getattr(pools, names[0])):
                changed |= {name: _doubled(getattr(pools, name)) for name in names}
        if not changed:  # one bundle has very many nodes
            changed = {name: _doubled(getattr(pools, name)) for name in ("inner", "tokens")}
        if "partitions" in changed:
            changed["partition_slots"] = np.full(4 * len(changed["partitions"]), -1, np.int32)
            kernels.rehash_keys(changed["partition_slots"], pools.partition_keys[: count[kernels.PARTITIONS]])
        if "bundles" in changed:
            changed["bundle_slots"] = np.full(4 * len(changed["bundles"]), -1, np.int32)
            keys = np.ascontiguousarray(pools.bundles["key"][: count[kernels.BUNDLES]])
            kernels.rehash_keys(changed["bundle_slots"], keys)
        if "splits" in changed:
            changed["split_slots"] = np.full(4 * len(changed["splits"]), -1, np.int32)
            kernels.rehash_splits(changed["split_slots"], pools.splits, count[kernels.SPLITS])
        self.pools = pools._replace(**changed)


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    bigger = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger
