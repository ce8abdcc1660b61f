"""Which states of an endless automaton a denoising step is about: those that carry its probability."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import GrammarError
from dg_sglang.grammar.expansion import FINISHED, Expansion, Labels, with_ends
from dg_sglang.grammar.token_edges import TokenEdges
from dg_sglang.kernels import beam, layout


class Beam:
    """Follows the states of a canvas position by position and keeps, of each position's, the most probable.

    A state's probability is that of all kept ways to it. Only states from which the answer can still close in time are
    looked at: each of those has a successor that is as good, so there always is a way to the end.
    """

    def __init__(
        self,
        edges: TokenEdges,
        min_tokens: Callable[[NDArray[np.int64]], NDArray[np.int64]],
        weight: NDArray[np.float64],
        labels: Labels,
        *,
        remaining: int,
        width: int,
    ) -> None:
        self.edges = edges
        self.min_tokens = min_tokens
        self.weight = weight
        self.labels = labels
        self.remaining = remaining
        self.width = width

    def run(self, start: int) -> Expansion:
        """The kept states. Raises GrammarError when none of them agrees with the fixed tokens."""
        length = len(self.weight)
        kept = [np.array([start])]
        mass, log_kept = np.zeros(1), 0.0
        for position in range(length):
            states, mass = self.step(position, kept[-1], mass)
            best = np.argsort(-mass, kind="stable")[: self.width]
            if not len(best):
                raise GrammarError(
                    "the fixed canvas positions leave no valid canvas among the probable ones; "
                    "fix fewer, or earlier ones"
                )
            log_kept += _log_sum(mass[best]) - _log_sum(mass)
            kept.append(states[best])
            mass = mass[best] - mass[best[0]]
        return self.tables(kept, float(np.exp(log_kept)))

    def step(
        self, position: int, states: NDArray[np.int64], mass: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The states at the next position and their log probabilities."""
        self.edges.discover(states[states != FINISHED])
        left = len(self.weight) + self.remaining - position - 1
        found, reached = self.edges.call(
            beam.step, states, mass, self.weight[position], self.labels.end_set, left < 0, len(self.edges.vocabulary)
        )
        fits = (self.min_tokens(found) <= max(left, 0)) & (reached > -np.inf)
        return found[fits], reached[fits]

    def tables(self, kept: list[NDArray[np.int64]], kept_mass: float) -> Expansion:
        """The kept states as an expansion, without those that lead nowhere."""
        states, index = np.unique(np.concatenate(kept), return_index=True)
        states = states[np.argsort(index, kind="stable")]
        order = states[states != FINISHED]
        nodes = self.edges.automaton.arena.nodes
        number = np.full(len(nodes), -1, np.int32)
        number[order] = np.arange(len(order))
        accepting = nodes["nullable"][order]
        distance = self.min_tokens(order).astype(np.int32)
        known = layout.edges_within(self.edges.pools, number, order)
        known = known[known[:, 2] < self.labels.end_set]
        tables = with_ends(known, accepting, self.labels)
        number[FINISHED] = len(order)
        bounds = np.cumsum([0, *map(len, kept)])
        final = np.append(distance <= max(self.remaining, 0), True)
        limit = len(self.weight) + min(self.remaining, 0)
        positions = beam.prune(*tables[1:], bounds, number[np.concatenate(kept)], final, limit, self.labels.end_set)
        return Expansion(
            np.append(order, FINISHED), self.labels, *tables, np.append(distance, np.int32(0)), positions, kept_mass
        )


def _log_sum(values: NDArray[np.float64]) -> float:
    return float(np.logaddexp.reduce(values))
