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
from dg_sglang.grammar.expansion import Expansion, Labels
from dg_sglang.grammar.token_automaton import TokenAutomaton
from dg_sglang.kernels import cpu
from dg_sglang.kernels.tables import Chain, Classes, Messages, RowStatistics

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

WIDTH = 128
"""How many states a position keeps where there are too many."""

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
        width: where a canvas can reach too many states, how many each position keeps in a step. The posterior is then
            exact over the answers that lead through the kept states, and `kept_mass` says how much that is.

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
        width: int = WIDTH,
    ) -> None:
        self.automaton = automaton
        self.length = length
        self.start = start
        self.tail = tail
        self.fixed = dict(fixed or {})
        self.remaining = remaining
        self.width = width
        automaton.check_budget(start, length + remaining)
        self._expansion = automaton.expansion(start, length)
        self._labelled: tuple[Labels, Classes] | None = None
        self._tables = None if self._expansion is None else self._lay_out(self._expansion)
        self._cache: dict[str, Any] = {}

    @property
    def kept_mass(self) -> float:
        """How much of the step's probability of valid beginnings the posterior is about: 1 where it is all of it."""
        return 1.0 if self._expansion is None else self._expansion.kept_mass

    def _lay_out(self, expansion: Expansion) -> tuple[Classes, Chain]:
        """What the kernels read of an expansion."""
        labels, limit = expansion.labels, self.length + min(self.remaining, 0)
        target, edge_set, edge_start, distance, set_start, set_classes = map(
            torch.from_numpy,
            (
                expansion.target, expansion.edge_set, expansion.edge_start, expansion.distance,
                labels.set_start, labels.set_classes,
            ),
        )  # fmt: skip
        start, final = expansion.index(self.start), distance <= max(self.remaining, 0)
        if expansion.positions is None:
            edges = (target, edge_set, edge_start)
            bounds, active = cpu.active_states(*edges, start, final, self.length, limit, labels.end_set)
        else:
            bounds, active = map(torch.from_numpy, expansion.positions)
        chain = Chain(
            target, edge_set, edge_start, set_start, set_classes, bounds, active, final, start, limit, labels.end_set
        )
        return self._classes_of(labels), chain

    def _classes_of(self, labels: Labels) -> Classes:
        if self._labelled is None or self._labelled[0] is not labels:
            self._labelled = labels, cpu.classes(torch.from_numpy(labels.token_class), labels.classes)
        return self._labelled[1]

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
        heat = logits.new_ones(self.length, dtype=torch.float32) if temperature is None else temperature
        self._logits, self._temperature = (x.detach().to(self._kernels.DEVICE) for x in (logits, heat))
        if self._tables is None:
            self._expand(scaled)
        else:
            classes, chain = self._tables
            self._classes, self._chain = classes.to(self._kernels.DEVICE), chain.to(self._kernels.DEVICE)
            self._read(scaled)
        self._cache = {}
        rows: RowStatistics = self._rows
        return rows

    def _expand(self, scaled: Tensor | None) -> None:
        """Choose the states that carry this step's probability, until they bring no token set that wasn't weighed."""
        labels = None
        while labels is not (latest := self.automaton.labels()):
            labels = latest
            self._classes = self._classes_of(labels).to(self._kernels.DEVICE)
            self._chain = _no_chain(labels).to(self._kernels.DEVICE)
            self._read(scaled)
            weight = self._weights(self._set_mass).cpu().numpy()
            self._expansion = self.automaton.expand_along(
                self.start, weight, labels, remaining=self.remaining, width=self.width
            )
            self._chain = self._lay_out(self._expansion)[1].to(self._kernels.DEVICE)

    def _read(self, scaled: Tensor | None) -> None:
        """The statistics of the logits by class and by set."""
        self._rows, self._sums = self._kernels.class_statistics(
            self._logits, self._temperature, self._classes, scaled=scaled
        )
        self._fix()
        self._set_mass, self._set_best, self._set_class = self._kernels.set_statistics(
            self._sums.log_mass, self._sums.best_log, self._chain
        )

    def _fix(self) -> None:
        """Make the fixed tokens certain."""
        for position, token in self.fixed.items():
            label = int(self._classes.token_class[token])
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
        column = weights[:, -1]  # the set of the tail tokens
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
        log_q: Tensor = (own - self._rows.log_norm + tilt).to(self._device, torch.float32)
        return log_q

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


def _no_chain(labels: Labels) -> Chain:
    """A chain without states, for its sets."""
    sets = torch.from_numpy(labels.set_start), torch.from_numpy(labels.set_classes)
    none, bounds = torch.zeros(0, dtype=torch.int32), torch.zeros(1, dtype=torch.int64)
    return Chain(none, none, bounds, *sets, bounds, none, none.bool(), 0, 0, labels.end_set)


def _device(generator: torch.Generator | None) -> torch.device:
    return torch.device("cpu") if generator is None else generator.device
