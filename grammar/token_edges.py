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
from dg_sglang.kernels import automaton as kernels
from dg_sglang.kernels import derivatives
from dg_sglang.kernels.automaton import Pools

MAX_EDGES = 32_000_000
"""The most edges, and the most tokens in their sets, that are kept."""


@dataclass(frozen=True)
class Loop:
    """How tokens move within a loop (see kernels.automaton), in terms that any grammar understands.

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
        nodes = len(automaton.arena.nodes)
        self.pools = Pools(
            states=_states(nodes),
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
        """What `kernel(arena, trie, pools, *arguments)` returns once there is room enough, and all loops are known."""
        while True:
            count = self.pools.count
            result = self.automaton.call(kernel, self.vocabulary.trie, self.pools, *arguments)
            trouble, count[kernels.TROUBLE] = count[kernels.TROUBLE], 0
            if not trouble:
                return result
            if trouble == kernels.UNKNOWN_LOOP:
                self._learn(int(count[kernels.LOOP]))
            else:
                self._grow()

    def discover(self, states: NDArray[np.int64]) -> None:
        """Find the edges of some states."""
        self.call(kernels.discover_all, states)

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
            changed["states"] = _states(nodes)
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
        node = self.automaton.arena.nodes[canonical]
        known, key = self.vocabulary.loops, int(node["signature"])
        if not node["portable"] or key not in known:
            loop = self._explore(canonical)
            if not node["portable"]:
                self._enter(canonical, loop)
                return
            known[key] = loop
        self._enter(canonical, known[key])

    def _loop_parts(self, canonical: int) -> tuple[int, int]:
        """(prefix or −1, part) of a canonical loop."""
        nodes = self.automaton.arena.nodes
        if nodes[canonical]["kind"] == derivatives.CONCAT:
            return int(nodes[canonical]["first"]), int(nodes[nodes[canonical]["second"]]["first"])
        return -1, int(nodes[canonical]["first"])

    def _explore(self, canonical: int) -> Loop | None:
        """Walk a loop; None if its rounds can't be told apart."""
        self.pools.states[canonical]["loop"] = -2  # walk it as any other state
        edges = self.of(canonical).copy()
        _prefix, part = self._loop_parts(canonical)
        rests: list[int] = []
        rounds: list[int] = []
        texts: dict[int, tuple[bool, bytes]] = {}
        for target, number in edges.tolist():
            split = self._rest(target, part)
            if split is None:
                return None
            rest, begun = split
            if rest != derivatives.EMPTY and rest not in texts:
                texts[rest] = self._text(canonical, part, int(self.tokens(number)[0]))
            rests.append(-1 if rest == derivatives.EMPTY else list(texts).index(rest))
            rounds.append(begun)
        sets = [self.tokens(number) for number in edges[:, 1].tolist()]
        return Loop(
            rests,
            rounds,
            list(texts.values()),
            np.concatenate([*sets, np.zeros(0, np.int32)]),
            np.cumsum([0, *map(len, sets)]),
            self.pools.sets["key"][edges[:, 1]],
            self.call(kernels.loop_exits, canonical),
        )

    def _rest(self, target: int, part: int) -> tuple[int, int] | None:
        """(what is left of a round or the prefix, rounds begun) of a state within a canonical loop."""
        nodes, left = self.automaton.arena.nodes, []
        while nodes[target]["kind"] == derivatives.CONCAT:
            left.append(int(nodes[target]["first"]))
            target = int(nodes[target]["second"])
        rest = int(derivatives.EMPTY)
        for head in reversed(left):
            rest = int(self.automaton.call(derivatives.concat, np.int64(head), np.int64(rest)))
        one = self.automaton.arena.nodes[target]
        if one["kind"] != derivatives.REPEAT or one["first"] != part or one["second"] != 0 or one["third"] < 0:
            return None
        if left and self.automaton.accepting(rest):
            return None
        return rest, int(kernels.MANY - one["third"])

    def _text(self, canonical: int, part: int, token: int) -> tuple[bool, bytes]:
        """What a token reads since it last completed a round, and whether that is of the prefix."""
        data = self.vocabulary.tokens[token] or b""
        state, begin, nodes = canonical, -1, self.automaton.arena.nodes
        for index in range(len(data) + 1):
            if nodes[state]["kind"] == derivatives.REPEAT and nodes[state]["first"] == part:
                begin = index
            if index < len(data):
                state = self.automaton.after(state, data[index : index + 1])
        return begin < 0, data[max(begin, 0) :]

    def _enter(self, canonical: int, loop: Loop | None) -> None:
        """Make a loop known under its canonical state."""
        if loop is None:
            self.pools.states[canonical]["loop"] = -2
            return
        prefix, part = self._loop_parts(canonical)
        rests = [self.automaton.after(prefix if whole else part, text) for whole, text in loop.texts]
        numbers = np.zeros(len(loop.keys), np.int64)
        self.call(_add_sets, loop.tokens, loop.bounds, loop.keys, numbers)
        pools = self.pools
        edges = np.array(
            [
                (rests[rest] if rest >= 0 else derivatives.EMPTY, rounds, number)
                for rest, rounds, number in zip(loop.rests, loop.rounds, numbers.tolist(), strict=True)
            ],
            np.int64,
        ).reshape(-1, 3)
        if self._loops == len(pools.loops):
            pools = pools._replace(loops=_doubled(pools.loops))
        pools.loops[self._loops] = len(pools.loop_edges), len(edges), len(pools.loop_exits), len(loop.exits)
        self.pools = pools._replace(
            loop_edges=np.concatenate([pools.loop_edges, edges]),
            loop_exits=np.concatenate([pools.loop_exits, loop.exits]),
        )
        if canonical >= len(self.pools.states):
            self._grow()
        self.pools.states[canonical]["loop"] = self._loops
        self._loops += 1


def _add_sets(arena: Any, trie: Any, pools: Pools, *arguments: Any) -> Any:
    return kernels.add_sets(pools, *arguments)


def _states(nodes: int) -> NDArray[Any]:
    states = np.zeros(nodes, kernels.STATE)
    states["edges"] = states["loop"] = -1
    return states


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    bigger = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger
