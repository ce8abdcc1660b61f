"""Members of a grammar at random: for people who want to see what it allows, and for tests."""

from __future__ import annotations

import torch
from torch import Tensor

from dg_sglang.grammar.posterior import CanvasPosterior
from dg_sglang.grammar.token_automaton import TokenAutomaton
from dg_sglang.grammar.vocabulary import Vocabulary

_PUNCTUATION = frozenset(b'{}[]":,')


def draw_text(automaton: TokenAutomaton, budget: int, generator: torch.Generator, *, canvas: int = 1) -> str:
    """One member of at most `budget` tokens, canvas by canvas: each an exact joint draw under `uninformed_logits`.

    Raises BudgetError when none is that short.
    """
    logits = uninformed_logits(automaton.vocabulary).expand(canvas, -1)
    tokens: list[int] = []
    state = automaton.start
    while not automaton.is_finished(state) and not automaton.is_complete(state):
        remaining = budget - len(tokens) - canvas
        posterior = CanvasPosterior(automaton, canvas, start=state, remaining=remaining)
        posterior.update(logits)
        drawn = posterior.draw(generator)
        state = posterior.end_state(drawn)
        tokens += drawn.tolist()
    return b"".join(automaton.vocabulary.tokens[token] or b"" for token in tokens).decode()


def uninformed_logits(vocabulary: Vocabulary) -> Tensor:
    """Logits [V]: a quarter of the probability for digits, JSON punctuation, other text and reserved tokens each.

    Evenly over tokens, nearly all of it would be on text, and a string would hardly ever end.
    """
    groups = torch.tensor([_group(token) for token in vocabulary.tokens])
    return -torch.bincount(groups)[groups].float().log()


def _group(token: bytes | None) -> int:
    if token is None:
        return 0
    if token.isdigit():
        return 1
    return 3 if _PUNCTUATION.isdisjoint(token) else 2
