"""Canvases drawn under random logits: what a model could make of a grammar if it tried everything."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from dg_sglang.grammar import CanvasPosterior, TokenAutomaton
from dg_sglang.grammar.samples import uninformed_logits

SPREADS = (0.0, 1.0, 4.0, 20.0, 80.0)  # standard deviation of the noise, nats
PULLS = (0.0, 3.0, 8.0, 30.0)  # how much a hint's tokens are favoured, nats
ROOM = (0, 1, 4, 30, 100)  # tokens beyond the shortest answer
PER_ROUND = 40  # draws from one posterior
PER_LONG_ROUND = 8  # where each needs posteriors of its own for the canvases that follow


class Drawn(NamedTuple):
    """One drawn answer, and whether it closed within its budget."""

    text: str
    closed: bool
    how: str


def random_answers(automaton: TokenAutomaton, hints: Sequence[Sequence[int]], count: int, seed: int) -> Iterator[Drawn]:
    """`count` answers: joint draws and joint modes, in one canvas or several.

    The logits are noise, plain or over those of `uninformed_logits`, and some are pulled towards a hint (tokens of a
    text that is nearly valid, or of one that is nearly invalid).
    """
    rng = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    base = uninformed_logits(automaton.vocabulary)
    shortest = automaton.min_tokens(automaton.start)
    done = 0
    while done < count:
        spread, pull, hint = rng.choice(SPREADS), rng.choice(PULLS), rng.choice([(), *hints])
        room = max(rng.choice(ROOM), len(hint) - shortest)
        budget = max(shortest + room, 1)
        length = budget if rng.random() < 0.7 else rng.randint(1, budget)
        tail = rng.choice(("unscored", "scored"))
        how = f"spread {spread}, pull {pull}, canvas {length} of {budget}, tail {tail}"
        logits = torch.randn(budget + length, len(base), generator=generator) * spread
        logits += base * rng.choice((0.0, 1.0))
        for position, token in enumerate(hint):
            logits[min(position + rng.randrange(2), budget), token] += pull + spread
        batch = min(PER_ROUND if length == budget else PER_LONG_ROUND, count - done)
        first = CanvasPosterior(automaton, length, start=automaton.start, remaining=budget - length, tail=tail)
        first.update(logits[:length])
        canvases = [first.draw(generator) for _ in range(batch - 1)] + [first.mode()]
        for canvas in canvases[-batch:]:
            yield _finish(automaton, first, canvas, logits, budget, generator, how)
        done += batch


def _finish(
    automaton: TokenAutomaton,
    posterior: CanvasPosterior,
    canvas: Tensor,
    logits: Tensor,
    budget: int,
    generator: torch.Generator,
    how: str,
) -> Drawn:
    """The answer that begins with this canvas: the next canvases start where the last one ended."""
    length = len(canvas)
    tokens = canvas.tolist()
    state = posterior.end_state(canvas)
    while not automaton.is_finished(state) and not automaton.is_complete(state) and len(tokens) < budget:
        after = CanvasPosterior(automaton, length, start=state, remaining=budget - len(tokens) - length)
        after.update(logits[len(tokens) : len(tokens) + length])
        canvas = after.draw(generator)
        state = after.end_state(canvas)
        tokens += canvas.tolist()
    data = b"".join(automaton.vocabulary.tokens[token] or b"" for token in tokens)
    written = sum(automaton.vocabulary.tokens[token] is not None for token in tokens)
    closed = (automaton.is_finished(state) or automaton.is_accepting(state)) and written <= budget
    return Drawn(data.decode("utf-8", "backslashreplace"), closed, how)
