"""The part of a token automaton that a canvas sees, as the tables that the kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dg_sglang.grammar.token_edges import TokenEdges
from dg_sglang.kernels.token_classes import classify

FINISHED = 0
"""The state after the end token. (Among bytes, state 0 is where no member goes on.)"""

_HASH_SEED = 0x5EED


@dataclass(frozen=True)
class Labels:
    """Token sets by classes: tokens that no set tells apart share one.

    Attributes:
        token_class: int16 (int32 where classes don't fit) [vocabulary], −1 for tokens in no set.
        classes: their number; none is empty.
        set_start: int64 [sets + 1], set_classes, of the same type as token_class: the classes of each set.
        end_set, tail_set: the numbers of the last two sets, the end tokens and the tail tokens (end and pad tokens).
    """

    token_class: NDArray[Any]
    classes: int
    set_start: NDArray[np.int64]
    set_classes: NDArray[Any]
    end_set: int
    tail_set: int

    @property
    def table_bytes(self) -> int:
        """The memory of the tables."""
        return self.token_class.nbytes + self.set_start.nbytes + self.set_classes.nbytes


def label(edges: TokenEdges, sets: NDArray[np.int64], end: Sequence[int], tail: Sequence[int]) -> Labels:
    """Classes for some sets of `edges`, and for the end and tail tokens after them."""
    extra, bounds = np.array([*end, *tail], np.int32), np.array([0, len(end), len(end) + len(tail)], np.int64)
    hashes = np.random.default_rng(_HASH_SEED).integers(1, 2**63, len(sets) + 2, np.uint64)
    token_class, classes, members, start = classify(edges.pools, sets, extra, bounds, hashes, len(edges.vocabulary))
    kind = np.int16 if classes < 2**15 else np.int32
    return Labels(token_class.astype(kind), classes, start, members.astype(kind), len(sets), len(sets) + 1)


@dataclass(frozen=True)
class Expansion:
    """Some states of a token automaton, numbered 0 … n−1, and the edges among them; state n is the finished one.

    Attributes:
        states: int64 [n + 1], the automaton's numbers of the states.
        labels: the token sets.
        source, target, edge_set: int32 [edges], sorted by source; edge_start: int64 [n + 2] bounds per source state.
        distance: int32 [n + 1], tokens to an accepting state (0 for finished), FAR where there is no way.
        positions: which states may be at each position 0 … L of a canvas, as bounds and states; None: all.
        kept_mass: the share of the probability of all valid beginnings that lies in these states.
    """

    states: NDArray[np.int64]
    labels: Labels
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    edge_set: NDArray[np.int32]
    edge_start: NDArray[np.int64]
    distance: NDArray[np.int32]
    positions: tuple[NDArray[np.int64], NDArray[np.int32]] | None = None
    kept_mass: float = 1.0

    def index(self, state: int) -> int:
        """The number here of one of the automaton's states; −1 if it isn't here."""
        found = np.flatnonzero(self.states == state)
        return int(found[0]) if len(found) else -1

    @property
    def table_bytes(self) -> int:
        """The memory of the tables."""
        own = (self.states, self.source, self.target, self.edge_set, self.edge_start, self.distance)
        return self.labels.table_bytes + sum(table.nbytes for table in own)


def with_ends(
    within: NDArray[np.int64], accepting: NDArray[np.bool_], labels: Labels
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """source, target, edge_set, edge_start of the edges `within` (int64 [edges, 3]) and those to the finished state."""
    finished, closing = len(accepting), np.flatnonzero(accepting)
    ends = np.empty((len(closing) + 1, 3), np.int64)
    ends[:-1, 0], ends[:-1, 1], ends[:-1, 2] = closing, finished, labels.end_set
    ends[-1] = finished, finished, labels.tail_set
    edges = np.concatenate([within, ends])
    edges = edges[np.argsort(edges[:, 0], kind="stable")].astype(np.int32)
    start = np.searchsorted(edges[:, 0], np.arange(finished + 2)).astype(np.int64)
    source, target, edge_set = np.ascontiguousarray(edges.T)
    return source, target, edge_set, start
