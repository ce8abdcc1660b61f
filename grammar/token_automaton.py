"""Byte automaton × vocabulary: which tokens lead from which state to which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import BudgetError, EmptyLanguageError, GrammarError
from dg_sglang.grammar.byte_automaton import ByteAutomaton
from dg_sglang.grammar.constraint import Grammar
from dg_sglang.grammar.vocabulary import Vocabulary
from dg_sglang.kernels import automaton as kernels

FAR = np.int32(2**30)
"""The distance of a state from which nothing ends."""

_HASH_SEED = 0x5EED


class TokenAutomaton:
    """A deterministic automaton over token ids, so that every token string has one path.

    States 0 … n−1 are the grammar's; `finished` = n is reached by an end token from an accepting state and stays under
    the tail tokens (pad and end tokens). Edges carry token sets; tokens that no set tells apart share a class.

    source, target, edge_set: int32 [edges], sorted by source; edge_start: int64 [states + 1] bounds per source state.
    set_start: int64 [sets + 1], set_classes, of the same type as token_class: the classes of each token set.
    token_class: int16 (int32 where classes don't fit) [vocabulary], −1 for tokens in no set.
    classes: their number; none is empty.
    distance: int32 [states], fewest tokens to an accepting state (0 for finished), FAR where there is no way.
    end_set, tail_set: the numbers of the last two sets, the end tokens and the tail tokens.
    """

    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, *, end_token_ids: Sequence[int], pad_token_id: int | None = None
    ) -> None:
        """Raises EmptyLanguageError when the vocabulary can't spell any member, GrammarTooLargeError past the limit."""
        if not end_token_ids or any(not 0 <= token < len(vocabulary) for token in end_token_ids):
            raise GrammarError(f"end_token_ids must name tokens of the vocabulary, not {list(end_token_ids)!r}")
        if any(vocabulary.tokens[token] for token in end_token_ids):
            raise GrammarError("an end token must be a reserved token, not one that spells text")
        self.vocabulary = vocabulary
        self.parse = grammar.parse
        with grammar.lock:
            table = ByteAutomaton.build(grammar.table, grammar.root)
        self._walk = (table.next, table.byte_class, *_trie_arrays(vocabulary))
        self._accepting = table.accepting
        self.finished = len(table.accepting)
        self.start = 0
        self._make_edges(end_token_ids, pad_token_id)
        if self.distance[self.start] == FAR:
            raise EmptyLanguageError("the vocabulary can't spell any text that satisfies the constraint")
        del self._walk

    @property
    def states(self) -> int:
        """The number of states, `finished` included."""
        return self.finished + 1

    @property
    def table_bytes(self) -> int:
        """Bytes of all tables together: what a cached constraint costs."""
        return sum(array.nbytes for array in vars(self).values() if isinstance(array, np.ndarray))

    def is_finished(self, state: int) -> bool:
        """Whether the end token has been emitted."""
        return state == self.finished

    def is_accepting(self, state: int) -> bool:
        """Whether the text so far is a complete member."""
        return bool(self.distance[state] == 0)

    def is_complete(self, state: int) -> bool:
        """Whether the text is a member that nothing but the end token can follow."""
        sets = self.edge_set[self.edge_start[state] : self.edge_start[state + 1]]
        return self.is_accepting(state) and bool((sets >= self.end_set).all())

    def min_tokens(self, state: int) -> int:
        """Fewest tokens that complete the text from `state` (without the end token)."""
        return int(self.distance[state])

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
        edges = slice(self.edge_start[state], self.edge_start[state + 1])
        closes = (self.distance[self.target[edges]] < available) | (self.edge_set[edges] >= self.end_set)
        # One place more, which the −1 of tokens in no class reads.
        classes = np.zeros(self.classes + 1, np.bool_)
        for number in self.edge_set[edges][closes]:
            classes[self.set_classes[self.set_start[number] : self.set_start[number + 1]]] = True
        return classes[self.token_class]

    def advance(self, state: int, tokens: Sequence[int]) -> int:
        """The state after `tokens`. Raises GrammarError at the first token that is not allowed."""
        for index, token in enumerate(tokens):
            label = self.token_class[token]
            for edge in range(self.edge_start[state], self.edge_start[state + 1]):
                members = self.set_classes[
                    self.set_start[self.edge_set[edge]] : self.set_start[self.edge_set[edge] + 1]
                ]
                if label >= 0 and label in members:
                    state = int(self.target[edge])
                    break
            else:
                raise GrammarError(f"token {token} at position {index} is not allowed by the constraint")
        return state

    def _make_edges(self, end_token_ids: Sequence[int], pad_token_id: int | None) -> None:
        token_hash = np.random.default_rng(_HASH_SEED).integers(1, 2**63, len(self.vocabulary), np.uint64)
        source, target, first, count, key = kernels.token_edges(*self._walk[:-1], token_hash, self._walk[-1])
        distance = kernels.distances(source, target, self._accepting, FAR)
        keep = (distance[source] < FAR) & (distance[target] < FAR)
        source, target, first, count, key = (x[keep] for x in (source, target, first, count, key))
        _, example, edge_set = np.unique(key, return_index=True, return_inverse=True)
        token_sets = [first[e : e + 1] for e in example]
        large = np.flatnonzero(count[example] > 1)
        large = large[np.argsort(source[example[large]], kind="stable")]
        tokens, bounds = kernels.edge_tokens(example[large], source, target, count, *self._walk)
        for number, low, high in zip(large, bounds[:-1], bounds[1:], strict=True):
            token_sets[number] = tokens[low:high]
        end = np.unique(np.array(end_token_ids, np.int32))
        tail = end if pad_token_id is None else np.union1d(end, np.array([pad_token_id], np.int32))
        self.end_set, self.tail_set = len(token_sets), len(token_sets) + 1
        token_sets += [end, tail.astype(np.int32)]
        closing = np.flatnonzero(self._accepting).astype(np.int32)
        finished = np.int32(self.finished)
        source = np.concatenate([source, closing, [finished]]).astype(np.int32)
        target = np.concatenate([target, np.full(len(closing) + 1, finished)]).astype(np.int32)
        edge_set = np.concatenate([edge_set, np.full(len(closing), self.end_set), [self.tail_set]]).astype(np.int32)
        order = np.argsort(source, kind="stable")
        self.source, self.target, self.edge_set = source[order], target[order], edge_set[order]
        self.edge_start = np.searchsorted(self.source, np.arange(self.states + 1)).astype(np.int64)
        self.distance = np.append(distance, np.int32(0)).astype(np.int32)
        self._make_classes(token_sets)

    def _make_classes(self, token_sets: list[NDArray[np.int32]]) -> None:
        """Tokens that belong to the same sets get one class: their signatures, sums of random set hashes, agree."""
        set_hash = np.random.default_rng(_HASH_SEED + 1).integers(1, 2**63, len(token_sets), np.uint64)
        signature = np.zeros(len(self.vocabulary), np.uint64)
        for tokens, value in zip(token_sets, set_hash, strict=True):
            signature[tokens] += value
        used = np.flatnonzero(signature)
        _, label = np.unique(signature[used], return_inverse=True)
        self.classes = int(label.max()) + 1
        self.token_class = np.full(len(self.vocabulary), -1, np.int16 if self.classes < 2**15 else np.int32)
        self.token_class[used] = label
        members = [np.unique(self.token_class[tokens]) for tokens in token_sets]
        self.set_start = np.cumsum([0, *map(len, members)]).astype(np.int64)
        self.set_classes = np.concatenate(members)


def _trie_arrays(vocabulary: Vocabulary) -> tuple[Any, ...]:
    trie = vocabulary.trie
    return trie.byte, trie.depth, trie.skip, trie.token_start, trie.token_ids, trie.max_depth
