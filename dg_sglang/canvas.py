"""The state of one canvas while it is denoised: all that the sampler remembers of a request between two steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from dg_sglang.config import GenerationConfig
    from dg_sglang.grammar import CanvasPosterior


class CanvasState:
    """One canvas of one request between two denoising steps.

    Attributes:
        config: the request's settings.
        generator: the request's own random numbers, on the logits' device.
        vocab_size: canvas noise is uniform over this many ids.
        posterior: the constraint's joint distribution, or None.
        tokens: int64 [1, L], what the decoder reads in the next step.
        best: int64 [1, L], what would be committed now: the argmax, or the joint mode under a constraint.
        confidence: float32 [1, L], the probability of `best`; set by the last step.
        steps: denoising steps taken.
        unchanged: for how many steps in a row `best` has stayed the same.
        done: no further step is needed; `best` is final.
    """

    def __init__(
        self,
        config: GenerationConfig,
        generator: torch.Generator,
        *,
        length: int,
        vocab_size: int,
        posterior: CanvasPosterior | None = None,
        fixed: Mapping[int, int] | None = None,
    ) -> None:
        """Start from uniform noise (upstream `EntropyBoundSampler.initialize_canvas`).

        Args:
            config: the request's settings.
            generator: draws the noise now, and everything else later.
            length: L.
            vocab_size: V.
            posterior: the constraint, or None.
            fixed: position in this canvas → token that it holds at every step.
        """
        self.config = config
        self.generator = generator
        self.vocab_size = vocab_size
        self.posterior = posterior
        self._fixed = None
        if fixed:
            positions = torch.tensor(list(fixed.keys()), device=generator.device)
            self._fixed = positions, torch.tensor(list(fixed.values()), device=generator.device)
        self.tokens = self.hold(self.noise(length))
        self.best = self.tokens
        self.confidence = torch.zeros(1, length, device=generator.device)
        self.steps = 0
        self.unchanged = 0
        self.done = False

    @property
    def length(self) -> int:
        """L, the number of positions."""
        return self.tokens.shape[1]

    def noise(self, length: int) -> Tensor:
        """Uniform tokens over the full vocabulary, int64 [1, length]."""
        return torch.randint(0, self.vocab_size, (1, length), generator=self.generator, device=self.generator.device)

    def hold(self, canvas: Tensor) -> Tensor:
        """`canvas` (int64 [1, L]) with the fixed tokens in their places."""
        if self._fixed is None:
            return canvas
        positions, tokens = self._fixed
        return canvas.index_copy(1, positions, tokens[None])

    def advance(self, best: Tensor) -> None:
        """Count one step that ended with `best` (int64 [1, L])."""
        self.unchanged = self.unchanged + 1 if self.steps and torch.equal(best, self.best) else 0
        self.best = best
        self.steps += 1
        self.done = self.steps == self.config.max_denoising_steps

    def finish(self, confidence: Tensor) -> None:
        """Make `best` final. `confidence` is float32 [1, L]; fixed tokens are certain."""
        self.confidence = confidence if self._fixed is None else confidence.index_fill(1, self._fixed[0], 1.0)
        self.done = True

    def settle(self, entropy: Tensor) -> Tensor:
        """`entropy` (float32 [1, L], nats) with fixed positions counted as certain."""
        return entropy if self._fixed is None else entropy.index_fill(1, self._fixed[0], 0.0)

    def pin(self, conditioning: Tensor, off: float) -> None:
        """Make self-conditioning logits [L, V] say the fixed tokens, in place: 0 for the token, `off` for others."""
        if self._fixed is not None:
            positions, tokens = self._fixed
            conditioning[positions] = off
            conditioning[positions, tokens] = 0.0
