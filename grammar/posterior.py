"""The exact posterior over one canvas: what it needs to know of its constraint, and each step's results.

Several canvases are worked on together by `StepPosterior`, which holds the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import torch

from dg_sglang.errors import GrammarError
from dg_sglang.grammar.expansion import Expansion, Labels
from dg_sglang.grammar.step_posterior import Joined, StepPosterior, no_valid_canvas
from dg_sglang.grammar.token_automaton import TokenAutomaton
from dg_sglang.kernels import cpu
from dg_sglang.kernels.tables import Chain, ClassTable, RowStatistics

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray
    from torch import Tensor

WIDTH = 128
"""How many states a position keeps where there are too many."""


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
        self.joined: Joined | None = None
        automaton.check_budget(start, length + remaining)
        self._expansion = automaton.expansion(start, length)
        self.grows = self._expansion is None
        self._labelled: tuple[Labels, ClassTable] | None = None
        self._chain: Chain | None = None
        self._step: StepPosterior | None = None

    @property
    def kept_mass(self) -> float:
        """How much of the step's probability of valid beginnings the posterior is about: 1 where it is all of it."""
        return 1.0 if self._expansion is None else self._expansion.kept_mass

    # ---- what a step reads --------------------------------------------------------------------------------------

    def labels(self) -> Labels:
        """The token sets and classes that a step has to weigh."""
        return self.automaton.labels() if self.grows or self._expansion is None else self._expansion.labels

    def class_table(self, labels: Labels) -> ClassTable:
        """The classes of `labels` as the kernels read them."""
        if self._labelled is None or self._labelled[0] is not labels:
            self._labelled = labels, cpu.classes(torch.from_numpy(labels.token_class), labels.classes)
        return self._labelled[1]

    def expand(self, weight: NDArray[float64], labels: Labels) -> None:
        """Choose the states that carry the probability of a step: weight [L, sets], of the sets in `labels`."""
        self._expansion = self.automaton.expand_along(
            self.start, weight, labels, remaining=self.remaining, width=self.width
        )
        self._chain = None

    def chain(self) -> Chain:
        """The states and edges as the kernels read them."""
        if self._chain is None and self._expansion is not None:
            self._chain = self._lay_out(self._expansion)
        if self._chain is None:
            raise GrammarError("a step's logits must be read before the states that they reach are known")
        return self._chain

    def _lay_out(self, expansion: Expansion) -> Chain:
        end_set, limit = expansion.labels.end_set, self.length + min(self.remaining, 0)
        target, edge_set, edge_start, distance = map(
            torch.from_numpy, (expansion.target, expansion.edge_set, expansion.edge_start, expansion.distance)
        )
        start, final = expansion.index(self.start), distance <= max(self.remaining, 0)
        if expansion.positions is None:
            edges = (target, edge_set, edge_start)
            bounds, active = cpu.active_states(*edges, start, final, self.length, limit, end_set)
        else:
            bounds, active = map(torch.from_numpy, expansion.positions)
            bounds = bounds[None]
        sets = len(expansion.labels.set_start) - 1
        return Chain(
            target, edge_set, edge_start, bounds, active, final,
            *map(torch.tensor, ([start], [limit], [end_set], [0, len(final)], [0, sets])),
        )  # fmt: skip

    # ---- this canvas alone --------------------------------------------------------------------------------------

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
        heat = logits.new_ones(self.length, dtype=torch.float32) if temperature is None else temperature
        step = StepPosterior({0: self}, logits[None], heat[None], scaled=None if scaled is None else scaled[None])
        if step.errors:
            raise step.errors[0]
        self._step = step
        return step.rows

    @property
    def step(self) -> StepPosterior:
        """The latest step, of which the results below are. Raises GrammarError before the first one."""
        if self._step is None:
            raise GrammarError("update() has to be given a step's logits first")
        return self._step

    @property
    def log_z(self) -> float:
        """See `StepPosterior.log_z`. Raises GrammarError when the fixed tokens allow no valid canvas."""
        log_z = float(self.step.log_z)
        if log_z == -torch.inf:
            raise no_valid_canvas()
        return log_z

    def draw(self, generator: torch.Generator | None = None) -> Tensor:
        """An exact joint draw from p given validity: int64 [L]."""
        return self.step.draw([generator])[0]

    def mode(self) -> Tensor:
        """The most probable valid canvas: int64 [L]."""
        return self.step.mode()[0]

    def entropy(self) -> Tensor:
        """Entropy of the tilted marginals: float32 [L], nats."""
        return self.step.entropy([0])[0]

    def log_probability(self, tokens: Tensor) -> Tensor:
        """Log of the tilted marginals of tokens [L]: float32 [L]."""
        return self.step.log_probability([0], tokens[None])[0]

    def tilted_logits(self, *, floor: float = -torch.inf, out: Tensor | None = None) -> Tensor:
        """log q up to a constant per row: [L, V], the dtype of the logits or of `out`."""
        target = self.step.empty() if out is None else out[None]
        self.step.tilted_logits([0], floor=floor, out=target)
        return target[0]

    def end_state(self, tokens: Tensor) -> int:
        """The automaton state after the canvas `tokens` [L]. Raises GrammarError when they are not valid."""
        values = [int(token) for token in tokens]
        return self.automaton.advance(self.start, values)
