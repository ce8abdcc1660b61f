"""A constraint over token ids: states that are found when somebody needs them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import BudgetError, EmptyLanguageError, GrammarError
from dg_sglang.grammar.beam import Beam
from dg_sglang.grammar.byte_automaton import MAX_STATES, ByteAutomaton
from dg_sglang.grammar.closing import Closings
from dg_sglang.grammar.constraint import Grammar
from dg_sglang.grammar.expansion import FINISHED, Expansion, Labels, label, with_ends
from dg_sglang.grammar.token_edges import TokenEdges
from dg_sglang.grammar.vocabulary import Vocabulary
from dg_sglang.kernels import layout, token_edges
from dg_sglang.kernels.arena import NOTHING
from dg_sglang.kernels.shortest import FAR

MAX_WHOLE = 32_768
"""An automaton with more states than this is never laid out as a whole; nor is one with four times as many edges."""

MAX_STEPS = 4_000_000
"""Nor one whose states take more visits of bundles (see kernels.fold) than this to find: about a second."""

MAX_COUNTED = 4_000
"""Nor is one whose counters together count further than this."""

MAX_COMPLETE = 1_024
"""Of such an automaton, a canvas that can reach more states than this sees only those that carry probability."""

_KEPT_EXPANSIONS = 4


class TokenAutomaton:
    """A deterministic automaton over token ids, so that every token string has one path.

    States are those of the byte automaton: expressions for what may follow, numbered as they are found. `finished` is
    reached by an end token from an accepting state and stays under the tail tokens (pad and end tokens).

    An automaton with few states is laid out as a whole at once. Others (values that nest without bound, large counters)
    grow with what canvases reach; for them `min_tokens` is the length of the shortest text, spelt in the fewest tokens.
    Safe to share between threads.

    Attributes:
        vocabulary: of the tokens.
        parse: what becomes of an answer's text (see `Grammar`).
        start: the state before the first token.
        finished: the state after the end token.
        whole: all states as one expansion, or None.
    """

    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, *, end_token_ids: Sequence[int], pad_token_id: int | None = None
    ) -> None:
        """Raises EmptyLanguageError when the vocabulary can't spell any member, GrammarTooLargeError past a limit."""
        if not end_token_ids or any(not 0 <= token < len(vocabulary) for token in end_token_ids):
            raise GrammarError(f"end_token_ids must name tokens of the vocabulary, not {list(end_token_ids)!r}")
        if any(vocabulary.tokens[token] for token in end_token_ids):
            raise GrammarError("an end token must be a reserved token, not one that spells text")
        self.vocabulary = vocabulary
        self.parse = grammar.parse
        self._lock = threading.RLock()
        self._end = sorted(set(end_token_ids))
        self._tail = sorted({*end_token_ids, *([] if pad_token_id is None else [pad_token_id])})
        self.finished = FINISHED
        self._canvases: OrderedDict[tuple[int, int], Expansion | None] = OrderedDict()
        self._labels: tuple[int, Labels] | None = None
        with grammar.lock:
            self._bytes = ByteAutomaton(grammar.table, grammar.root)
        self.start = self._bytes.start
        self._edges = TokenEdges(self._bytes, vocabulary)
        endless = self._bytes.nests or self._bytes.counted > MAX_COUNTED
        self.whole = None if endless else self._lay_out()
        self._distance: dict[int, int] = {}
        if self.whole is not None:
            self._distance = dict(zip(self.whole.states.tolist(), self.whole.distance.tolist(), strict=True))
        self._closings = Closings(self._bytes, vocabulary) if self.whole is None else None
        if self.min_tokens(self.start) == FAR:
            raise EmptyLanguageError(
                "the vocabulary can't spell any text that satisfies the constraint, if there is one at all"
            )

    # ---- one state ----------------------------------------------------------------------------------------------

    def is_finished(self, state: int) -> bool:
        """Whether the end token has been emitted."""
        return state == FINISHED

    def is_accepting(self, state: int) -> bool:
        """Whether the text so far is a complete member."""
        return state == FINISHED or self._bytes.accepting(state)

    def is_complete(self, state: int) -> bool:
        """Whether the text is a member that nothing but the end token can follow."""
        return self.is_accepting(state) and not len(self._live_edges(state))

    def min_tokens(self, state: int) -> int:
        """Fewest tokens that complete the text from `state` (without the end token)."""
        return int(self._min_tokens(np.array([state]))[0])

    def check_budget(self, state: int, available: int) -> None:
        """Raises BudgetError when no member can be completed from `state` with `available` tokens."""
        needed = self.min_tokens(state)
        if needed > available:
            raise BudgetError(
                f"the shortest valid answer needs {needed} more tokens, but max_new_tokens leaves {available}; "
                "raise max_new_tokens"
            )

    def allowed(self, state: int, available: int) -> NDArray[np.bool_]:
        """bool [vocabulary]: the tokens that may follow so that the answer still closes within `available` tokens.

        An end token doesn't count: where a member is complete, it may follow.
        """
        allowed = np.zeros(len(self.vocabulary), np.bool_)
        edges = self._live_edges(state)
        with self._lock:
            for number in edges[self._min_tokens(edges[:, 0]) < available, 1]:
                allowed[self._edges.tokens(number)] = True
        if self.is_accepting(state):
            allowed[self._tail if state == FINISHED else self._end] = True
        return allowed

    def advance(self, state: int, tokens: Sequence[int]) -> int:
        """The state after `tokens`. Raises GrammarError at the first token that is not allowed."""
        for index, token in enumerate(tokens):
            after = self._after(state, token)
            if after is None:
                raise GrammarError(f"token {token} at position {index} is not allowed by the constraint")
            state = after
        return state

    def _after(self, state: int, token: int) -> int | None:
        data = self.vocabulary.tokens[token]
        if not data:
            ends = token in (self._tail if state == FINISHED else self._end) and self.is_accepting(state)
            return FINISHED if ends else None
        if state == FINISHED:
            return None
        with self._lock:
            after = self._bytes.after(state, data)
        return after if after != NOTHING and self.min_tokens(after) < FAR else None

    def _min_tokens(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._closings is None:
            return np.array([self._distance.get(state, int(FAR)) for state in states.tolist()], np.int64)
        with self._lock:
            return np.where(states == FINISHED, 0, self._closings.fewest_tokens(states))

    def _live_edges(self, state: int) -> NDArray[np.int64]:
        """int64 [edges, 2], target and set: edges that don't lead into a dead end."""
        if state == FINISHED:
            return np.zeros((0, 2), np.int64)
        with self._lock:
            edges = self._edges.of(state).copy()
        return edges[self._min_tokens(edges[:, 0]) < FAR]

    # ---- many states --------------------------------------------------------------------------------------------

    @property
    def states(self) -> int:
        """How many states there are, `finished` included; of an automaton that grows, how many were found so far."""
        return len(self.whole.states) if self.whole is not None else self._bytes.states + 1

    @property
    def edges(self) -> int:
        """How many edges, likewise."""
        return len(self.whole.source) if self.whole is not None else int(self._edges.pools.count[token_edges.EDGES])

    @property
    def table_bytes(self) -> int:
        """The memory of the tables that the kernels read, likewise."""
        return self.whole.table_bytes if self.whole is not None else self.labels().table_bytes + 12 * self.edges

    @property
    def is_worn(self) -> bool:
        """Whether so many states have been found that new requests should start with a fresh automaton."""
        return self._bytes.states > MAX_STATES // 2

    def expansion(self, start: int, length: int) -> Expansion | None:
        """All states that a canvas of `length` tokens can reach from `start`; None if they are too many."""
        if self.whole is not None:
            return self.whole
        key = start, length
        with self._lock:
            if key not in self._canvases:
                self._canvases[key] = self._lay_out(start, length, MAX_COMPLETE)
                while sum(one is not None for one in self._canvases.values()) > _KEPT_EXPANSIONS:
                    self._canvases.popitem(last=False)
            return self._canvases[key]

    def labels(self) -> Labels:
        """Classes for all token sets found so far, numbered as they were found."""
        with self._lock:
            known = int(self._edges.pools.count[token_edges.SETS])
            if self._labels is None or self._labels[0] != known:
                self._labels = known, label(self._edges, np.arange(known), self._end, self._tail)
            return self._labels[1]

    def expand_along(
        self, start: int, weight: NDArray[np.float64], labels: Labels, *, remaining: int, width: int
    ) -> Expansion:
        """The states that carry the probability of a step, where a canvas can reach too many.

        Args:
            start: the state before the first position.
            weight: float64 [L, sets], the log probability of each of the sets in `labels`.
            labels: of `labels()`. Sets that are found meanwhile count as uniform.
            remaining: tokens left after the canvas, as for `CanvasPosterior`.
            width: how many states a position keeps at most.
        """
        with self._lock:
            return Beam(self._edges, self._min_tokens, weight, labels, remaining=remaining, width=width).run(start)

    def _lay_out(self, start: int | None = None, depth: int | None = None, limit: int = MAX_WHOLE) -> Expansion | None:
        """All states within `depth` tokens of `start`; None if there are more than `limit`."""
        order, level, progress = np.zeros(limit, np.int64), np.zeros(limit, np.int32), np.array([1, 0, 0])
        order[0] = first = self.start if start is None else start
        if first == FINISHED:
            progress[0] = 0
        number = np.full(len(self._bytes.arena.nodes), -1, np.int32)
        number[first] = 0
        most_steps, done = self._edges.steps + MAX_STEPS, False
        while not done:
            if len(number) < len(self._bytes.arena.nodes):
                number = np.append(number, np.full(len(self._bytes.arena.nodes) - len(number), -1, np.int32))
            done = self._edges.call(
                layout.closure,
                number,
                order,
                level,
                progress,
                len(order) if depth is None else depth,
                4 * MAX_WHOLE,
                most_steps,
            )
        found, followed, _ = progress.tolist()
        order, level = order[:found], level[:found]
        if followed < found and (depth is None or level[followed] < depth):
            return None
        edges = layout.edges_within(self._edges.pools, number, order)
        accepting = self._bytes.arena.nodes["nullable"][order]
        if depth is None:
            distance = layout.distances(
                edges[:, 0].astype(np.int32), edges[:, 1].astype(np.int32), accepting, np.int32(FAR)
            )
        else:
            distance = self._min_tokens(order).astype(np.int32)
        edges = edges[(distance[edges[:, 0]] < FAR) & (distance[edges[:, 1]] < FAR)]
        sets = layout.renumber(edges[:, 2], int(self._edges.pools.count[token_edges.SETS]))
        labels = label(self._edges, sets, self._end, self._tail)
        return Expansion(
            np.append(order, FINISHED),
            labels,
            *with_ends(edges, accepting, labels),
            np.append(distance, np.int32(0)),
        )
