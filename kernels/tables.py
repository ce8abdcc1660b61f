"""What the kernels take and return.

R rows of V logits; K canvases of L rows each, every one under its own constraint. The constraints' tables lie side by
side: C classes, N token sets and S states are those of all K canvases together, numbered one canvas after the other, so
that one launch serves all. Rows of no canvas are free. Logs are natural.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from torch import Tensor

if TYPE_CHECKING:
    import torch


class _Tables:
    def to(self, device: torch.device) -> Self:
        """The same tables on a device."""
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return type(self)(*(value.to(device) if isinstance(value, Tensor) else value for value in values))


@dataclass(frozen=True)
class ClassTable:
    """Of one constraint: tokens that it never tells apart share a class.

    Attributes:
        token_class: int16 or int32 [V], −1 for tokens in no class.
        count: the number of classes.
        dominant: the class with more than half of all tokens, the only one whose tokens are not listed; −1 for none.
        start: int64 [count + 1], bounds of each class in `tokens`.
        tokens: int32, in ascending order within a class.
        outside: int32, ascending: the tokens that are not in the dominant class; empty if there is none.
        places: int32, where each of `tokens` stands in `outside`; without a dominant class `tokens` itself.
    """

    token_class: Tensor
    count: int
    dominant: int
    start: Tensor
    tokens: Tensor
    outside: Tensor
    places: Tensor


@dataclass(frozen=True)
class Classes(_Tables):
    """The classes of K canvases, made by `join.classes`. Canvases under the same constraint share one of T tables.

    Attributes:
        token_class: int16 or int32 [T, V].
        dominant: int64 [T].
        first: int64 [T], where a table begins in `start`.
        start: int64, the bounds of each table's classes in `tokens`, one table after the other.
        tokens: int32.
        outside: int32, and outside_start: int64 [T + 1], bounds of each table's; places: int32, as many as `tokens`.
        table: int64 [K].
        row: int64 [K], the first of a canvas's L rows of logits.
        column: int64 [K + 1], bounds of each canvas's classes among all C.
        length: L.
    """

    token_class: Tensor
    dominant: Tensor
    first: Tensor
    start: Tensor
    tokens: Tensor
    outside: Tensor
    outside_start: Tensor
    places: Tensor
    table: Tensor
    row: Tensor
    column: Tensor
    length: int

    @property
    def count(self) -> int:
        """C."""
        return int(self.column[-1])

    def of(self, tokens: Tensor) -> Tensor:
        """int64 [K, L]: the classes of tokens [K, L], −1 for those in none."""
        label = self.token_class[self.table[:, None], tokens].long()
        return (label + self.column[:-1, None]).where(label >= 0, -1)


@dataclass(frozen=True)
class RowStatistics:
    """Of p = softmax(logits / temperature), per row.

    Attributes:
        log_norm: float64 [R], the log-sum-exp of the scaled logits; −inf where all are, NaN where any is NaN or +inf.
        entropy: float32 [R], nats.
        best: int64 [R], the first token with the largest logit.
        blocks: what `draw_tokens` of the same backend needs.
    """

    log_norm: Tensor
    entropy: Tensor
    best: Tensor
    blocks: Any


@dataclass(frozen=True)
class ClassStatistics:
    """Of p, per position and class.

    Attributes:
        log_mass: float64 [L, C], log Σ p; −inf for a class whose logits are all −inf.
        mean_log: float64 [L, C], the mean of log p under the class's own distribution; 0 where there is none.
        best_log: float64 [L, C], max log p.
        blocks: what `draw_in_classes` and `best_in_classes` of the same backend need.
    """

    log_mass: Tensor
    mean_log: Tensor
    best_log: Tensor
    blocks: Any


@dataclass(frozen=True)
class Sets(_Tables):
    """Token sets as lists of classes; the last set of a canvas holds its tail tokens.

    Attributes:
        start: int64 [N + 1], bounds of each set in `classes`.
        classes: int32.
        bounds: int64 [K + 1], of each canvas's sets among all N.
        column: int64 [K + 1], of each canvas's classes among all C.
    """

    start: Tensor
    classes: Tensor
    bounds: Tensor
    column: Tensor


@dataclass(frozen=True)
class Chain(_Tables):
    """Token automata over the positions of canvases. One by itself, or K side by side, made by `join.chains`.

    Attributes:
        target, edge_set: int32 [edges], sorted by source state; edge_start: int64 [S + 1].
        active_start: int64 [K, L + 2], active: int32: per position 0 … L, the states on some path from start to a final
            state.
        final: bool [S], where a path may end.
        start: int64 [K], the state before the first position.
        limit: int64 [K]; from this position on only tail edges may be taken: the answer has to be complete by then.
        tail: int64 [K], the first set of tail edges.
        states, sets: int64 [K + 1], bounds of each canvas's states and sets.
    """

    target: Tensor
    edge_set: Tensor
    edge_start: Tensor
    active_start: Tensor
    active: Tensor
    final: Tensor
    start: Tensor
    limit: Tensor
    tail: Tensor
    states: Tensor
    sets: Tensor


@dataclass(frozen=True)
class Messages:
    """Backward messages: the weight of all ways from a state at a position to a final state at L.

    Attributes:
        value: [L + 1, S], with a scale per position and canvas.
        divisor: [K, L], what linear messages were divided by at each position; NaN where they are logs.
        log_z: float64 [K], log of the weight of all paths from start; −inf where there is none.
    """

    value: Tensor
    divisor: Tensor
    log_z: Tensor
