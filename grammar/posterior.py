"""The exact posterior over a whole canvas, per denoising step.

Given the step's logits the positions are independent, p(y) = Π p_i(y_i); a constraint is a joint condition on y.
Backward messages over position × automaton state give log P(valid), the tilted marginals, an exact joint draw and the
joint mode (the same posterior as arXiv 2607.07026, over sparse edges and token classes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from dg_sglang.errors import GrammarError
from dg_sglang.grammar.token_automaton import TokenAutomaton
from dg_sglang.kernels import chain, statistics

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

LOWEST_TILT = -1e4
"""Stands for log 0 in tilted logits: the model must never see −inf."""

_LINEAR_RANGE = 640.0  # log of what scaled float64 messages can hold without loss, with a margin for sums


class CanvasPosterior:
    """The posterior over one canvas of `length` tokens.

    Args:
        automaton: the compiled constraint.
        length: canvas length L.
        start: automaton state before the first position.
        remaining: tokens left in max_new_tokens after this canvas; negative when max_new_tokens ends inside it.
        tail: whether the positions after the end token count in the posterior ("scored") or not ("unscored").
        fixed: tokens that certain positions must hold.

    Raises BudgetError when no valid answer fits, GrammarError when the fixed tokens allow none.
    """

    def __init__(
        self,
        automaton: TokenAutomaton,
        length: int,
        *,
        start: int,
        remaining: int,
        tail: Literal["unscored", "scored"] = "unscored",
        fixed: Mapping[int, int] | None = None,
    ) -> None:
        self.automaton = automaton
        self.length = length
        self.start = start
        self.tail = tail
        self.fixed = dict(fixed or {})
        self._limit = length + min(remaining, 0)
        self._final = automaton.distance <= max(remaining, 0)
        edges = (automaton.target, automaton.edge_set, automaton.edge_start)
        automaton.check_budget(start, length + remaining)
        self._active = chain.active_states(*edges, start, self._final, length, self._limit, automaton.end_set)
        self._edges = edges
        self._widest = int(np.diff(automaton.edge_start).max())
        self._cache: dict[str, Any] = {}

    def update(self, logits: Tensor) -> None:
        """Take the temperature-scaled logits [L, V] of a denoising step. Everything else is computed when asked for."""
        automaton = self.automaton
        if logits.shape != (self.length, len(automaton.vocabulary)):
            expected = (self.length, len(automaton.vocabulary))
            raise GrammarError(f"logits must have the shape {expected}, not {tuple(logits.shape)}")
        rows = logits.detach().to("cpu", torch.float32).numpy()
        if self.fixed:
            rows = rows.copy()
            for position, token in self.fixed.items():
                kept = rows[position, token]
                rows[position] = -np.inf
                rows[position, token] = kept
        rows = np.ascontiguousarray(rows)
        classes = len(automaton.class_start) - 1
        log_mass, mean_log, best_log, best = statistics.class_statistics(rows, automaton.token_class, classes)
        set_mass, set_best, set_class = statistics.set_statistics(
            log_mass, best_log, automaton.set_start, automaton.set_classes
        )
        self._logits, self._device = logits, logits.device
        self._rows = rows
        self._log_mass, self._mean_log, self._best = log_mass, mean_log, best
        self._set_mass, self._set_best, self._set_class = set_mass, set_best, set_class
        self._cache = {}

    def _weights(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Edge weights from per-set values; an unscored tail costs nothing."""
        if self.tail == "scored":
            return values
        weights = values.copy()
        column = weights[:, self.automaton.tail_set]
        column[column > -np.inf] = 0.0
        return weights

    def _once(self, name: str, make: Callable[[], T]) -> T:
        if name not in self._cache:
            self._cache[name] = make()
        return cast("T", self._cache[name])

    def _messages(self) -> tuple[NDArray[np.float64], NDArray[np.float64], bool, float]:
        """weights, backward messages, whether these are logs, log Z."""
        return self._once("messages", self._make_messages)

    def _make_messages(self) -> tuple[NDArray[np.float64], NDArray[np.float64], bool, float]:
        weight = self._weights(self._set_mass)
        arguments = (weight, *self._edges, *self._active, self._final, self._limit, self.automaton.end_set)
        message, scale, ceiling = chain.backward(*arguments)
        reached = message[0, self.start]
        log_z = float(scale + np.log(reached)) if reached > 0 else -np.inf
        # Forward probabilities sum to at most 1, so what the scaled messages lost is below edges · exp(ceiling − 708).
        if log_z > ceiling - _LINEAR_RANGE:
            return weight, message, False, log_z
        message = chain.backward_log(*arguments)
        log_z = float(message[0, self.start])
        if log_z == -np.inf:
            raise GrammarError("the fixed canvas positions leave no valid canvas")
        return weight, message, True, log_z

    @property
    def log_z(self) -> float:
        """log of the probability, under the step's product distribution, that the canvas is valid (nats)."""
        return self._messages()[3]

    def draw(self, generator: torch.Generator | None = None) -> Tensor:
        """An exact joint draw from p given validity: int64 [L]."""
        automaton = self.automaton
        weight, message, log_space, _ = self._messages()
        uniform = torch.rand(self.length, 3, dtype=torch.float64, generator=generator, device=_device(generator))
        tokens = chain.draw(
            uniform.cpu().numpy(), weight, message, log_space, *self._edges, self.start, self._limit, automaton.end_set,
            self._widest, self._rows, self._log_mass, automaton.set_start, automaton.set_classes, automaton.token_class,
            automaton.class_start, automaton.class_tokens,
        )  # fmt: skip
        return torch.from_numpy(tokens).to(self._device)

    def mode(self) -> Tensor:
        """The most probable valid canvas: int64 [L]."""
        return self._once("mode", self._make_mode).clone()

    def _make_mode(self) -> Tensor:
        score = self._weights(self._set_best)
        path = chain.best_path(
            score, *self._edges, *self._active, self._final, self.start, self._limit, self.automaton.end_set
        )
        positions = np.arange(self.length)
        tokens = self._best[positions, self._set_class[positions, path]]
        return torch.from_numpy(tokens.astype(np.int64)).to(self._device)

    def _tilt(self) -> NDArray[np.float64]:
        """float64 [L, classes]: log q − log p."""
        return self._once("tilt", self._make_tilt)

    def _make_tilt(self) -> NDArray[np.float64]:
        automaton = self.automaton
        weight, message, log_space, _ = self._messages()
        posterior = chain.set_posteriors(
            weight,
            message,
            log_space,
            *self._edges,
            *self._active,
            self.start,
            self._limit,
            automaton.end_set,
            self._widest,
        )
        tilt: NDArray[np.float64] = statistics.class_tilt(
            posterior, self._set_mass, automaton.set_start, automaton.set_classes, self._log_mass.shape[1]
        )
        return tilt

    def entropy(self) -> Tensor:
        """Entropy of the tilted marginals: float32 [L], nats."""
        tilt = self._tilt()
        log_q = self._log_mass + tilt
        q = np.exp(log_q)
        with np.errstate(invalid="ignore"):
            terms = np.where(q > 0, q * (self._mean_log + tilt), 0.0)
        return torch.from_numpy(np.maximum(-terms.sum(1), 0.0)).to(self._device, torch.float32)

    def tilted_logits(self) -> Tensor:
        """log q up to a constant per row: [L, V], the dtype of the logits; LOWEST_TILT below p where q is 0."""
        tilt = np.full((self.length, self._log_mass.shape[1] + 1), LOWEST_TILT)
        np.maximum(self._tilt(), LOWEST_TILT, out=tilt[:, :-1])
        labels = torch.from_numpy(self.automaton.token_class.astype(np.int64) % tilt.shape[1])
        added = torch.from_numpy(tilt.astype(np.float32))[:, labels]
        return self._logits + added.to(self._logits)

    def end_state(self, tokens: Tensor) -> int:
        """The automaton state after the canvas `tokens` [L]. Raises GrammarError when they are not valid."""
        values = [int(token) for token in tokens]
        return self.automaton.advance(self.start, values)


def _device(generator: torch.Generator | None) -> torch.device:
    return torch.device("cpu") if generator is None else generator.device
