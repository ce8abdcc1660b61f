"""The requests that are denoised together, and what one forward pass for all of them needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dg_sglang.sampler import denoise_step

if TYPE_CHECKING:
    from collections import abc

    from dg_sglang.canvas import CanvasState
    from dg_sglang.model import Context, DiffusionModel
    from dg_sglang.sequence import Sequence


class Batch:
    """Steps any set of sequences. Rows may come, go and move on to their next canvas between two steps."""

    def __init__(self, model: DiffusionModel) -> None:
        self._model = model
        self._canvases: list[CanvasState] = []
        self._context: Context | None = None
        self._conditioning: Tensor | None = None
        self._conditioned: Tensor | None = None

    def start(self, sequence: Sequence) -> None:
        """Encode a sequence's prompt."""
        sequence.start_clock()
        prompt = sequence.job.prompt
        self._model.encode(prompt.ids, sequence.cache, images=prompt.images)

    def step(self, sequences: abc.Sequence[Sequence]) -> None:
        """One denoising step of every sequence's canvas."""
        canvases = [sequence.canvas for sequence in sequences]
        unchanged = len(canvases) == len(self._canvases) and all(map(_same, canvases, self._canvases))
        if self._context is None or not unchanged:
            self._context = self._model.stack([sequence.cache for sequence in sequences])
            self._carry(canvases)
        tokens = torch.cat([canvas.tokens for canvas in canvases])
        logits = self._model.decode(tokens, self._context, self._conditioning, self._conditioned)
        read = self._conditioning
        self._conditioning = denoise_step(logits, canvases, dtype=self._model.dtype, out=read).conditioning
        self._conditioned = None

    def commit(self, sequence: Sequence) -> None:
        """Commit a sequence's finished canvas, and encode it if another one follows."""
        tokens = sequence.commit()
        if tokens and not sequence.finished:
            self._model.encode(tokens, sequence.cache)

    def _carry(self, canvases: list[CanvasState]) -> None:
        """Rearrange the self-conditioning for a new set of canvases; fresh ones have none."""
        before = {id(canvas): row for row, canvas in enumerate(self._canvases)}
        rows = [before.get(id(canvas)) for canvas in canvases]
        self._canvases = canvases
        old, self._conditioning, self._conditioned = self._conditioning, None, None
        if old is None or all(row is None for row in rows):
            return
        self._conditioning = old.new_zeros(len(rows), *old.shape[1:])
        for row, source in enumerate(rows):
            if source is not None:
                self._conditioning[row] = old[source]
        if any(row is None for row in rows):
            self._conditioned = torch.tensor([row is not None for row in rows], device=old.device)


def _same(one: CanvasState, other: CanvasState) -> bool:
    return one is other
