"""The exact posterior over a whole canvas, per denoising step.

Given the step's logits the positions are independent, p(y) = Π p_i(y_i); a constraint is a joint condition on y.
Backward messages over position × automaton state give log P(valid), the tilted marginals, an exact joint draw and the
joint mode (the same posterior as arXiv 2607.07026, over sparse edges and token classes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import torch

from dg_sglang import kernels
from dg_sglang.errors import GrammarError
from dg_sglang.grammar.token_automaton import TokenAutomaton
from dg_sglang.kernels import cpu
from dg_sglang.kernels.tables import Chain, Messages, RowStatistics

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

LOWEST_TILT = -1e4
"""Stands for log 0 in tilted logits: the model must never see −inf."""


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
        limit = length + min(remaining, 0)
        automaton.check_budget(start, length + remaining)
        target, edge_set, edge_start, distance, set_start, set_classes, token_class = map(
            torch.from_numpy,
            (
                automaton.target, automaton.edge_set, automaton.edge_start, automaton.distance,
                automaton.set_start, automaton.set_classes, automaton.token_class,
            ),
        )  # fmt: skip
        final = distance <= max(remaining, 0)
        active = cpu.active_states(target, edge_set, edge_start, start, final, length, limit, automaton.end_set)
        chain = Chain(
            target, edge_set, edge_start, set_start, set_classes, *active, final, start, limit, automaton.end_set
        )
        self._tables = cpu.classes(token_class, automaton.classes), chain
        self._cache: dict[str, Any] = {}

    def update(
        self, logits: Tensor, temperature: Tensor | None = None, *, scaled: Tensor | None = None
    ) -> RowStatistics:
        """Take the logits [L, V] of a denoising step; what the constraint makes of them is computed when asked for.

        Args:
            logits: of any float dtype.
            temperature: float32 [L], divides the logits; None if that has been done.
            scaled: [L, V], gets the divided logits.

        Returns:
            The statistics of the rows themselves, without the constraint: the same read gives both.
        """
        expected = (self.length, len(self.automaton.vocabulary))
        if logits.shape != expected:
            raise GrammarError(f"logits must have the shape {expected}, not {tuple(logits.shape)}")
        self._device, self._kernels = logits.device, kernels.backend(logits.device)
        self._classes, self._chain = (table.to(self._kernels.DEVICE) for table in self._tables)
        heat = logits.new_ones(self.length, dtype=torch.float32) if temperature is None else temperature
        self._logits, self._temperature = (x.detach().to(self._kernels.DEVICE) for x in (logits, heat))
        self._rows, self._sums = self._kernels.class_statistics(
            self._logits, self._temperature, self._classes, scaled=scaled
        )
        self._fix()
        self._set_mass, self._set_best, self._set_class = self._kernels.set_statistics(
            self._sums.log_mass, self._sums.best_log, self._chain
        )
        self._cache = {}
        return self._rows

    def _fix(self) -> None:
        """Make the fixed tokens certain."""
        for position, token in self.fixed.items():
            label = int(self.automaton.token_class[token])
            for statistic, certain in ((self._sums.log_mass, 0.0), (self._sums.best_log, 0.0)):
                statistic[position] = -torch.inf
                if label >= 0:
                    statistic[position, label] = certain
            self._sums.mean_log[position] = 0.0

    def _weights(self, values: Tensor) -> Tensor:
        """Edge weights from per-set values; an unscored tail costs nothing."""
        if self.tail == "scored":
            return values
        weights = values.clone()
        column = weights[:, self.automaton.tail_set]
        column[column > -torch.inf] = 0.0
        return weights

    def _once(self, name: str, make: Callable[[], T]) -> T:
        if name not in self._cache:
            self._cache[name] = make()
        return cast("T", self._cache[name])

    def _messages(self) -> tuple[Tensor, Messages]:
        """Weights and backward messages."""
        return self._once("messages", self._make_messages)

    def _make_messages(self) -> tuple[Tensor, Messages]:
        weight = self._weights(self._set_mass)
        messages = self._kernels.backward(weight, self._chain)
        if messages.log_z == -torch.inf:
            raise GrammarError("the fixed canvas positions leave no valid canvas")
        return weight, messages

    @property
    def log_z(self) -> float:
        """log of the probability, under the step's product distribution, that the canvas is valid (nats)."""
        return self._messages()[1].log_z

    def draw(self, generator: torch.Generator | None = None) -> Tensor:
        """An exact joint draw from p given validity: int64 [L]."""
        weight, messages = self._messages()
        uniform = torch.rand(self.length, 3, dtype=torch.float64, generator=generator, device=_device(generator))
        uniform = uniform.to(weight.device)
        label = self._kernels.draw_path(uniform[:, :2], weight, messages, self._sums.log_mass, self._chain)
        return self._hold(self._kernels.draw_in_classes(self._sums, label, uniform[:, 2]))

    def mode(self) -> Tensor:
        """The most probable valid canvas: int64 [L]."""
        return self._once("mode", self._make_mode).clone()

    def _make_mode(self) -> Tensor:
        path = self._kernels.best_path(self._weights(self._set_best), self._chain).long()
        label = self._set_class.gather(1, path[:, None])[:, 0].long()
        return self._hold(self._kernels.best_in_classes(self._sums, label))

    def _hold(self, tokens: Tensor) -> Tensor:
        for position, token in self.fixed.items():
            tokens[position] = token
        return tokens.to(self._device)

    def _tilt(self) -> Tensor:
        """float64 [L, classes]: log q − log p."""
        return self._once("tilt", self._make_tilt)

    def _make_tilt(self) -> Tensor:
        weight, messages = self._messages()
        posterior = self._kernels.set_posteriors(weight, messages, self._chain)
        tilt: Tensor = self._kernels.class_tilt(posterior, self._set_mass, self._chain, self._classes.count)
        return tilt

    def _tilt_table(self) -> Tensor:
        """float32 [L, classes + 1], finite; the last column is for tokens in no class."""
        tilt = self._tilt().float().clamp(min=LOWEST_TILT)
        return torch.cat([tilt, tilt.new_full((self.length, 1), LOWEST_TILT)], dim=1)

    def entropy(self) -> Tensor:
        """Entropy of the tilted marginals: float32 [L], nats."""
        log_q = self._sums.log_mass + self._tilt()
        terms = torch.where(log_q > -torch.inf, log_q.exp() * (self._sums.mean_log + self._tilt()), 0.0)
        return (-terms.sum(1)).clamp(min=0.0).to(self._device, torch.float32)

    def log_probability(self, tokens: Tensor) -> Tensor:
        """Log of the tilted marginals of tokens [L]: float32 [L], LOWEST_TILT below log p where q is 0."""
        tokens = tokens.to(self._logits.device)
        own = self._logits.gather(1, tokens[:, None])[:, 0].float() / self._temperature
        tilt = self._tilt_table().gather(1, self._classes.of(tokens)[:, None])[:, 0]
        return (own - self._rows.log_norm + tilt).to(self._device, torch.float32)

    def tilted_logits(self, *, floor: float = -torch.inf, out: Tensor | None = None) -> Tensor:
        """log q up to a constant per row: [L, V], the dtype of the logits; LOWEST_TILT below p where q is 0.

        Nothing is below `floor`. `out` takes the result, if it is given.
        """
        if out is None:
            out = torch.empty_like(self._logits, device=self._device)
        target = out if out.device == self._logits.device else torch.empty_like(self._logits)
        arguments = (self._logits, self._temperature, self._tilt_table(), self._classes)
        self._kernels.tilted_logits(*arguments, floor=floor, out=target)
        return out if target is out else out.copy_(target)

    def end_state(self, tokens: Tensor) -> int:
        """The automaton state after the canvas `tokens` [L]. Raises GrammarError when they are not valid."""
        values = [int(token) for token in tokens]
        return self.automaton.advance(self.start, values)


def _device(generator: torch.Generator | None) -> torch.device:
    return torch.device("cpu") if generator is None else generator.device
