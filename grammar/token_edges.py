"""Byte automaton × vocabulary, one state after the other: which tokens lead from which state to which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import GrammarTooLargeError
from dg_sglang.grammar.byte_automaton import ByteAutomaton
from dg_sglang.grammar.vocabulary import Vocabulary
from dg_sglang.kernels import arena, loops
from dg_sglang.kernels import token_edges as kernels
from dg_sglang.kernels.fold import FULL as FOLD_FULL
from dg_sglang.kernels.token_edges import Pools

MAX_EDGES = 32_000_000
"""The most edges, and the most tokens in their sets, that are kept."""


@dataclass(frozen=True)
class Loop:
    """How tokens move within a loop (see kernels.loops), in terms that any grammar understands.

    Per edge: rests, a position in `texts` (−1: nothing is left); rounds; keys of the sets, whose tokens are
    tokens[bounds[i] : bounds[i + 1]].
    texts: (whether the prefix or a round, the bytes read of it) that leave a rest. exits: int64 [exits, 2].
    """

    rests: list[int]
    rounds: list[int]
    texts: list[tuple[bool, bytes]]
    tokens: NDArray[np.int32]
    bounds: NDArray[np.int64]
    keys: NDArray[np.uint64]
    exits: NDArray[np.int64]


class TokenEdges:
    """The token edges of the states that were looked at. States are those of `automaton`."""

    def __init__(self, automaton: ByteAutomaton, vocabulary: Vocabulary) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary
        self.fold = vocabulary.fold
        nodes = len(automaton.arena.nodes)
        self.pools = Pools(
            states=_unknown(nodes),
            edges=np.zeros((4 * nodes, 2), np.int64),
            sets=np.zeros(512, kernels.SET),
            set_slots=np.full(4096, -1, np.int32),
            set_tokens=np.empty(3 * len(vocabulary) + 4096, np.int32),
            local=np.zeros(512, kernels.LOCAL_EDGE),
            hits=np.empty((len(vocabulary), 2), np.int64),
            parts=np.zeros((512, 2), np.int64),
            queue=np.empty((len(vocabulary.trie.byte) + 1, 2), np.int64),
            loops=np.zeros((16, 4), np.int64),
            loop_edges=np.zeros((0, 3), np.int64),
            loop_exits=np.zeros((0, 2), np.int64),
            count=np.zeros(kernels.TROUBLE + 1, np.int64),
        )
        self._loops = 0

    def call(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """What `kernel(arena, trie, fold, pools, *arguments)` returns once there is room and all loops are known."""
        count = self.pools.count
        with self.fold.lock:
            while True:
                result, done = self.automaton.attempt(
                    kernel, self.vocabulary.trie, self.fold.pools, self.pools, *arguments
                )
                trouble, count[kernels.TROUBLE] = count[kernels.TROUBLE], 0
                if self.fold.pools.count[FOLD_FULL]:
                    self.fold.make_room()
                elif trouble == kernels.UNKNOWN_LOOP:
                    self._learn(int(count[kernels.LOOP]))
                elif trouble:
                    self._grow()
                elif done:
                    return result

    def discover(self, states: NDArray[np.int64]) -> None:
        """Find the edges of some states."""
        self.call(loops.discover_all, states)

    def of(self, state: int) -> NDArray[np.int64]:
        """int64 [edges, 2]: target and set of each edge of a state."""
        self.discover(np.array([state]))
        one = self.pools.states[state]
        found: NDArray[np.int64] = self.pools.edges[one["edge_start"] : one["edge_start"] + one["edges"]]
        return found

    def tokens(self, number: int) -> NDArray[np.int32]:
        """The tokens of a set."""
        one = self.pools.sets[number]
        found: NDArray[np.int32] = self.pools.set_tokens[one["start"] : one["start"] + one["size"]]
        return found

    @property
    def steps(self) -> int:
        """How many bundles were visited so far."""
        return int(self.pools.count[kernels.STEPS])

    def _grow(self) -> None:
        pools, count = self.pools, self.pools.count
        changed: dict[str, NDArray[Any]] = {}
        coming = count[kernels.LOCAL]  # what the state underway may add
        if max(len(pools.edges) // 2, len(pools.set_tokens) // 2) > MAX_EDGES:
            raise GrammarTooLargeError(
                f"the constraint needs more than {MAX_EDGES:,} token edges; lower maxLength or maxItems, or split it"
            )
        nodes = len(self.automaton.arena.nodes)
        if nodes > len(pools.states):
            changed["states"] = _unknown(nodes)
            changed["states"][: len(pools.states)] = pools.states
        if 2 * (count[kernels.EDGES] + coming) > len(pools.edges):
            changed["edges"] = _doubled(pools.edges)
        if 2 * (count[kernels.SETS] + coming) > len(pools.sets):
            changed["sets"] = _doubled(pools.sets)
            changed["set_slots"] = np.full(2 * len(pools.set_slots), -1, np.int32)
            kernels.rehash_sets(changed["set_slots"], pools.sets[: count[kernels.SETS]])
        if 2 * count[kernels.LOCAL] > len(pools.local):
            changed["local"] = _doubled(pools.local)
        if 2 * count[kernels.PARTS] > len(pools.parts):
            changed["parts"] = _doubled(pools.parts)
        if not changed or 2 * count[kernels.TOKENS] > len(pools.set_tokens):
            changed["set_tokens"] = _doubled(pools.set_tokens)
        self.pools = pools._replace(**changed)

    # ---- loops --------------------------------------------------------------------------------------------------

    def _learn(self, canonical: int) -> None:
        """Find out how tokens move within a loop, or take it from the vocabulary."""
        nodes = self.automaton.arena.nodes
        key, shared = int(nodes[canonical]["signature"]), bool(nodes[canonical]["portable"])
        if shared and (known := self.fold.loops.get(key)) is not None:
            self._recall(canonical, known)
            return
        found, edges, exits = self.call(loops.explore, np.int64(canonical))
        if not found:
            self._states(canonical)["loop"] = -2
            return
        self._enter(canonical, edges, exits)
        if shared:
            self.fold.keep(key, self._portable(canonical, edges, exits))

    def _portable(self, canonical: int, edges: NDArray[np.int64], exits: NDArray[np.int64]) -> Loop:
        """A loop in terms that any grammar understands."""
        sets = [self.tokens(number) for number in edges[:, 2].tolist()]
        first = {int(edge[0]): int(tokens[0]) for edge, tokens in zip(edges, sets, strict=True)}
        first.pop(int(arena.EMPTY), None)
        place = {rest: index for index, rest in enumerate(first)} | {int(arena.EMPTY): -1}
        _, part = self._loop_parts(canonical)
        return Loop(
            [place[rest] for rest in edges[:, 0].tolist()],
            edges[:, 1].tolist(),
            [self._text(canonical, part, token) for token in first.values()],
            np.concatenate([*sets, np.zeros(0, np.int32)]),
            np.cumsum([0, *map(len, sets)]),
            self.pools.sets["key"][edges[:, 2]],
            exits,
        )

    def _loop_parts(self, canonical: int) -> tuple[int, int]:
        """(prefix or EMPTY, part) of a canonical loop."""
        prefix, loop, _ = self.automaton.call(loops.split, np.int64(canonical), np.int64(-1))
        return int(prefix), int(self.automaton.arena.nodes[loop]["first"])

    def _text(self, canonical: int, part: int, token: int) -> tuple[bool, bytes]:
        """What a token reads since it last completed a round, and whether that is of the prefix."""
        data = self.vocabulary.tokens[token] or b""
        state, begin, nodes = canonical, -1, self.automaton.arena.nodes
        for index in range(len(data) + 1):
            if nodes[state]["kind"] == arena.REPEAT and nodes[state]["first"] == part:
                begin = index
            if index < len(data):
                state = self.automaton.after(state, data[index : index + 1])
        return begin < 0, data[max(begin, 0) :]

    def _recall(self, canonical: int, loop: Loop) -> None:
        """Make a loop known that another grammar has met."""
        prefix, part = self._loop_parts(canonical)
        rests = [self.automaton.after(prefix if whole else part, text) for whole, text in loop.texts]
        edges = np.empty((len(loop.keys), 3), np.int64)
        edges[:, 0] = np.array([*rests, arena.EMPTY], np.int64)[loop.rests]
        edges[:, 1] = loop.rounds
        numbers = np.zeros(len(loop.keys), np.int64)
        self.call(_add_sets, loop.tokens, loop.bounds, loop.keys, numbers)
        edges[:, 2] = numbers
        self._enter(canonical, edges, loop.exits)

    def _enter(self, canonical: int, edges: NDArray[np.int64], exits: NDArray[np.int64]) -> None:
        """Make a loop known under its canonical state."""
        pools = self.pools
        if self._loops == len(pools.loops):
            pools = pools._replace(loops=_doubled(pools.loops))
        pools.loops[self._loops] = len(pools.loop_edges), len(edges), len(pools.loop_exits), len(exits)
        self.pools = pools._replace(
            loop_edges=np.concatenate([pools.loop_edges, edges]),
            loop_exits=np.concatenate([pools.loop_exits, exits]),
        )
        self._states(canonical)["loop"] = self._loops
        self._loops += 1

    def _states(self, state: int) -> Any:
        """What is known of a state."""
        if state >= len(self.pools.states):
            self._grow()
        return self.pools.states[state]


def _add_sets(arena: Any, trie: Any, fold: Any, pools: Pools, *arguments: Any) -> Any:
    return kernels.add_sets(pools, *arguments)


def _unknown(nodes: int) -> NDArray[Any]:
    states = np.zeros(nodes, kernels.STATE)
    states["edges"] = states["loop"] = states["partition"] = -1
    return states


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    bigger = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger
