"""What the kernels take and return. R rows, V tokens, C classes, L positions, S token sets; logs are natural."""

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
class Classes(_Tables):
    """Tokens that a constraint never tells apart share a class.

    Attributes:
        token_class: int16 or int32 [V], −1 for tokens in no class.
        count: C.
        dominant: the class with more than half of all tokens, the only one whose tokens are not listed; −1 for none.
        start: int64 [C + 1], bounds of each class in `tokens`.
        tokens: int32, in ascending order within a class.
        outside: int32, ascending: the tokens that are not in the dominant class; empty if there is none.
    """

    token_class: Tensor
    count: int
    dominant: int
    start: Tensor
    tokens: Tensor
    outside: Tensor

    def of(self, tokens: Tensor) -> Tensor:
        """int64: the classes of tokens, C for those in none."""
        return self.token_class[tokens].long() % (self.count + 1)


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
    """Of p, per row and class.

    Attributes:
        log_mass: float64 [R, C], log Σ p; −inf for a class whose logits are all −inf.
        mean_log: float64 [R, C], the mean of log p under the class's own distribution; 0 where there is none.
        best_log: float64 [R, C], max log p.
        blocks: what `draw_in_classes` and `best_in_classes` of the same backend need.
    """

    log_mass: Tensor
    mean_log: Tensor
    best_log: Tensor
    blocks: Any


@dataclass(frozen=True)
class Chain(_Tables):
    """A token automaton over the positions of one canvas.

    Attributes:
        target, edge_set: int32 [edges], sorted by source state; edge_start: int64 [states + 1].
        set_start: int64 [S + 1], set_classes: int16 or int32: the classes of each token set.
        active_start: int64 [L + 2], active: int32: per position 0 … L, the states on some path from start to a final
            state.
        final: bool [states], where a path may end.
        start: the state before the first position.
        limit: from this position on only tail edges may be taken: the answer has to be complete by then.
        tail: the first set of tail edges.
    """

    target: Tensor
    edge_set: Tensor
    edge_start: Tensor
    set_start: Tensor
    set_classes: Tensor
    active_start: Tensor
    active: Tensor
    final: Tensor
    start: int
    limit: int
    tail: int


@dataclass(frozen=True)
class Messages:
    """Backward messages: the weight of all ways from a state at a position to a final state at L.

    Attributes:
        value: [L + 1, states], linear or logs, with a scale per position.
        divisor: [L], what linear messages were divided by at each position; None for logs.
        log_z: log of the weight of all paths from start; −inf if there is none.
    """

    value: Tensor
    divisor: Tensor | None
    log_z: float
