"""The shortest way to end: what budgets are checked against where there are too many states to search them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import GrammarTooLargeError
from dg_sglang.grammar.byte_automaton import MAX_STATES, ByteAutomaton
from dg_sglang.grammar.vocabulary import Vocabulary
from dg_sglang.kernels import shortest
from dg_sglang.kernels.arena import Arena
from dg_sglang.kernels.layout import distances
from dg_sglang.kernels.shortest import FAR


class Closings:
    """How each state of a byte automaton ends soonest.

    A state's first completion is the shortest text that completes it, in bytes, and the first in byte order among
    those. The fewest tokens that spell it are an upper bound of the fewest tokens that complete the state; and some
    token leads to a state where the bound is one less, so whoever stays within it always gets to the end.
    Only bytes that are a token of their own count, which in a model's vocabulary all are.
    """

    def __init__(self, automaton: ByteAutomaton, vocabulary: Vocabulary) -> None:
        self._automaton = automaton
        self._trie = vocabulary.trie
        self._spelt = vocabulary.single_bytes
        self._inner = _embedded_lengths(automaton, self._spelt)
        self._closing = _blank(0)
        self._run(lambda arena, closing: shortest.settle(arena, closing, self._spelt, self._inner, automaton.loaded))
        if MAX_STATES < self._closing[automaton.start]["length"] < FAR:
            raise GrammarTooLargeError(f"even the shortest text of the constraint has more than {MAX_STATES:,} bytes")

    def fewest_tokens(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bound for each state; FAR where none of its texts can be spelt."""
        found = np.empty(len(states), np.int64)
        self._run(
            lambda arena, closing: shortest.fewest_tokens_of_all(
                arena, self._trie, closing, self._spelt, self._inner, states, found
            )
        )
        return found

    def _run(self, kernel: Callable[[Arena, NDArray[Any]], bool]) -> None:
        done = False
        while not done:
            known, nodes = len(self._closing), len(self._automaton.arena.nodes)
            if nodes > known:
                grown = _blank(nodes)
                grown[:known] = self._closing
                self._closing = grown
            found, done = self._automaton.attempt(kernel, self._closing)
            if done and not found:
                raise RuntimeError("a state whose length is known has no first byte")


def _blank(nodes: int) -> NDArray[Any]:
    closing = np.zeros(nodes, shortest.CLOSING)
    for name in ("length", "tokens", "byte"):
        closing[name] = -1
    return closing


def _embedded_lengths(automaton: ByteAutomaton, spelt: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The fewest bytes from each state of an embedded automaton to its end."""
    embedded, moves = automaton.arena.embedded, automaton.arena.moves
    source = np.repeat(np.arange(len(embedded) - 1), np.diff(embedded[:, 0]))
    usable = spelt[moves[:, 0]]
    accepting = embedded[:-1, 1].astype(np.bool_)
    found: NDArray[np.int32] = distances(source[usable], moves[usable, 1], accepting, np.int32(FAR))
    return found.astype(np.int64)
