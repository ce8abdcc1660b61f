"""What the logits of one denoising step make of several canvases, each under its own constraint.

Given the logits the positions are independent, p(y) = Π p_i(y_i); a constraint is a joint condition on y. Backward
messages over position × automaton state give log P(valid), the tilted marginals, an exact joint draw and the joint mode
(the same posterior as arXiv 2607.07026, over sparse edges and token classes). Every operation is one call of the
kernels for all canvases; none sees another.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from dg_sglang import kernels
from dg_sglang.errors import CheckpointError, DgError, GrammarError
from dg_sglang.kernels import join
from dg_sglang.kernels.tables import Chain, Classes, Messages, RowStatistics, Sets

if TYPE_CHECKING:
    from torch import Tensor

    from dg_sglang.grammar.expansion import Labels
    from dg_sglang.grammar.posterior import CanvasPosterior

LOWEST_TILT = -1e4
"""Stands for log 0 in tilted logits: the model must never see −inf."""


@dataclass(frozen=True)
class Joined:
    """The tables of several canvases side by side on a device, and what they were made of."""

    rows: tuple[int, ...]
    labels: Sequence[Labels]
    classes: Classes
    sets: Sets

    def serves(self, rows: tuple[int, ...], labels: Sequence[Labels], device: torch.device) -> bool:
        """Whether they are those of canvases at these rows with these labels."""
        same = rows == self.rows and all(map(operator.is_, labels, self.labels))
        return same and self.classes.row.device.type == device.type


class StepPosterior:
    """The posteriors of K canvases in one denoising step.

    Args:
        canvases: the constrained canvases by their rows of the batch; canvases without a constraint need no entry.
        logits: [B, L, V] of any float dtype, of the whole batch.
        temperature: float32 [B, L], divides the logits.
        scaled: [B, L, V], gets the divided logits.

    Attributes:
        rows: the statistics of all B · L rows themselves, without constraints: the same read gives both.
        errors: what is wrong with a row of the batch: logits that aren't finite, or no valid canvas.
        places: the K rows of the batch that the results below are about, those of `canvases` that have no error.
    """

    def __init__(
        self,
        canvases: Mapping[int, CanvasPosterior],
        logits: Tensor,
        temperature: Tensor,
        *,
        scaled: Tensor | None = None,
    ) -> None:
        self._device, self._kernels = logits.device, kernels.backend(logits.device)
        self._batch, self._length, _ = logits.shape
        self._logits, self._temperature = (
            x.detach().to(self._kernels.DEVICE).flatten(0, 1) for x in (logits, temperature)
        )
        self._scaled = None if scaled is None else scaled.flatten(0, 1)
        self.rows: RowStatistics
        self.errors: dict[int, DgError] = {}
        self._given = canvases
        while not self._read():
            pass
        self.places = list(self._canvases)
        self._tilted: set[int] = set()
        self._tilts: tuple[Tensor, Tensor]

    def _read(self) -> bool:
        """Read the rows. False: canvases were dropped or brought new token sets, so that it has to be done again."""
        self._canvases = {row: canvas for row, canvas in self._given.items() if row not in self.errors}
        labels = [canvas.labels() for canvas in self._canvases.values()]
        self._join(labels)
        self.rows, self._sums = self._kernels.class_statistics(
            self._logits, self._temperature, self._classes, scaled=self._scaled
        )
        finite = self.rows.log_norm.isfinite().view(self._batch, self._length).all(1).tolist()
        broken = [row for row in range(self._batch) if not finite[row] and row not in self.errors]
        self.errors |= {row: not_finite() for row in broken}
        if any(row in self._canvases for row in broken):
            return False
        if not self._canvases:
            return True
        self._fix()
        self._set_mass, self._set_best, self._set_class = self._kernels.set_statistics(self._sums, self._sets)
        return self._expand(labels)

    def _join(self, labels: Sequence[Labels]) -> None:
        """Lay the tables side by side, or take those of the step before: the first canvas keeps them."""
        canvases, rows, device = list(self._canvases.values()), tuple(self._canvases), self._kernels.DEVICE
        kept = canvases[0].joined if canvases else None
        if kept is None or not kept.serves(rows, labels, device):
            tables = [canvas.class_table(own) for canvas, own in zip(canvases, labels, strict=True)]
            classes = join.classes(tables, [row * self._length for row in rows], self._length)
            arrays = [(torch.from_numpy(own.set_start), torch.from_numpy(own.set_classes)) for own in labels]
            sets = join.sets(arrays, classes.column)
            kept = Joined(rows, labels, classes.to(device), sets.to(device))
            if canvases:
                canvases[0].joined = kept
        self._classes, self._sets = kept.classes, kept.sets

    def _fix(self) -> None:
        """Make the fixed tokens certain."""
        for k, canvas in enumerate(self._canvases.values()):
            own = slice(int(self._classes.column[k]), int(self._classes.column[k + 1]))
            for position, token in canvas.fixed.items():
                label = int(self._classes.token_class[self._classes.table[k], token])
                for statistic in (self._sums.log_mass, self._sums.best_log):
                    statistic[position, own] = -torch.inf
                    if label >= 0:
                        statistic[position, own.start + label] = 0.0
                self._sums.mean_log[position, own] = 0.0

    def _expand(self, labels: Sequence[Labels]) -> bool:
        """Choose the states that carry this step's probability; False if that brought sets that weren't weighed."""
        known = True
        for k, (row, canvas) in enumerate(self._canvases.items()):
            if not canvas.grows:
                continue
            own = self._sets.bounds[k : k + 2].tolist()
            try:
                canvas.expand(self._weight[:, own[0] : own[1]].cpu().numpy(), labels[k])
            except GrammarError as error:
                self.errors[row] = error
            known = known and row not in self.errors and canvas.labels() is labels[k]
        return known

    @property
    def _weight(self) -> Tensor:
        return self._weights(self._set_mass)

    def _weights(self, values: Tensor) -> Tensor:
        """Edge weights from per-set values; an unscored tail costs nothing."""
        unscored = [k for k, canvas in enumerate(self._canvases.values()) if canvas.tail == "unscored"]
        weights = values.clone()
        tails = self._sets.bounds[1:][unscored] - 1  # a canvas's last set is that of the tail tokens
        weights[:, tails] = torch.where(values[:, tails] > -torch.inf, 0.0, values[:, tails])
        return weights

    @cached_property
    def _chain(self) -> Chain:
        return join.chains([canvas.chain() for canvas in self._canvases.values()]).to(self._kernels.DEVICE)

    @cached_property
    def _messages(self) -> tuple[Tensor, Messages]:
        """Weights and backward messages."""
        weight = self._weight
        return weight, self._kernels.backward(weight, self._chain)

    @property
    def log_z(self) -> Tensor:
        """log of the probability, under the step's product distribution, that a canvas is valid: float64 [K], nats."""
        log_z: Tensor = self._messages[1].log_z
        return log_z

    def draw(self, generators: Sequence[torch.Generator | None]) -> Tensor:
        """Exact joint draws from p given validity, one a canvas: int64 [K, L], −1 for a canvas that can't be valid."""
        weight, messages = self._messages
        uniform = torch.stack([self._uniform(generator).to(weight.device) for generator in generators])
        ways = uniform[:, :, :2].contiguous()
        label = self._kernels.draw_path(ways, weight, messages, self._sums.log_mass, self._chain, self._sets)
        return self._hold(self._kernels.draw_in_classes(self._sums, label, uniform[:, :, 2].contiguous()))

    def _uniform(self, generator: torch.Generator | None) -> Tensor:
        device = torch.device("cpu") if generator is None else generator.device
        return torch.rand(self._length, 3, dtype=torch.float64, generator=generator, device=device)

    def mode(self) -> Tensor:
        """The most probable valid canvases: int64 [K, L], −1 for a canvas that can't be valid."""
        label = self._kernels.best_path(self._weights(self._set_best), self._set_class, self._chain)
        return self._hold(self._kernels.best_in_classes(self._sums, label))

    def _hold(self, tokens: Tensor) -> Tensor:
        for k, canvas in enumerate(self._canvases.values()):
            for position, token in canvas.fixed.items():
                tokens[k, position] = token
        return tokens.to(self._device)

    def _tilt(self, chosen: Sequence[int]) -> tuple[Tensor, Tensor]:
        """log q − log p, float64 [L, C], and the entropy of q, float32 [K, L]; of some of the K canvases at least."""
        if not self._tilted.issuperset(chosen):
            self._tilted.update(chosen)
            weight, messages = self._messages
            posterior = self._kernels.set_posteriors(weight, messages, self._chain, sorted(self._tilted))
            self._tilts = self._kernels.tilted_statistics(posterior, self._set_mass, self._sums, self._sets)
        return self._tilts

    def entropy(self, chosen: Sequence[int]) -> Tensor:
        """Entropies of the tilted marginals of some of the K canvases: float32 [n, L], nats."""
        return self._tilt(chosen)[1][list(chosen)].to(self._device)

    def log_probability(self, chosen: Sequence[int], tokens: Tensor) -> Tensor:
        """Log of the tilted marginals of tokens [n, L] of some of the K canvases: float32 [n, L].

        LOWEST_TILT below log p where q is 0.
        """
        tilt, numbers = self._tilt(chosen)[0], list(chosen)
        tokens = tokens.to(self._logits.device)
        position = torch.arange(self._length, device=tokens.device)
        rows = self._classes.row[numbers][:, None] + position
        own = self._logits[rows, tokens].float() / self._temperature[rows]
        everywhere = torch.zeros(len(self.places), self._length, dtype=torch.int64, device=tokens.device)
        everywhere[numbers] = tokens
        label = self._classes.of(everywhere)[numbers]
        added = torch.where(label < 0, LOWEST_TILT, tilt[position, label.clamp(min=0)]).float().clamp(min=LOWEST_TILT)
        log_q: Tensor = own - self.rows.log_norm[rows] + added
        return log_q.to(self._device, torch.float32)

    def empty(self) -> Tensor:
        """[B, L, V] of the logits' dtype, uninitialised."""
        return torch.empty_like(self._logits, device=self._device).view(self._batch, self._length, -1)

    def tilted_logits(self, chosen: Sequence[int], *, floor: float = -torch.inf, out: Tensor) -> None:
        """log q up to a constant per row of some of the K canvases, into their rows of out [B, L, V].

        LOWEST_TILT below p where q is 0; nothing is below `floor`.
        """
        self._kernels.tilted_logits(
            self._logits, self._temperature, self._tilt(chosen)[0], self._classes, chosen,
            lowest=LOWEST_TILT, floor=floor, out=out.flatten(0, 1),
        )  # fmt: skip


def no_valid_canvas() -> GrammarError:
    """What is wrong where log Z is −inf."""
    return GrammarError("the fixed canvas positions leave no valid canvas")


def not_finite() -> CheckpointError:
    """What is wrong where logits are NaN or infinite."""
    return CheckpointError(
        "the model's logits are not finite: the weights are damaged, or this dtype overflows (load with float32)"
    )
