"""Causal mode: the same weights as an ordinary left-to-right model, under the same token automaton.

The encoder reads prompt and answer causally; its hidden state under the language-model head is the next token's
distribution (the report's autoregressive mode). Each token is the most probable one that the constraint and the budget
allow, so an answer is valid and closes like a denoised one. One forward pass a token, over a KV cache.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dg_sglang import kernels
from dg_sglang.errors import ConfigError
from dg_sglang.grammar.step_posterior import not_finite
from dg_sglang.results import Draft, Usage
from dg_sglang.sequence import finished_result

if TYPE_CHECKING:
    from dg_sglang.chat import Chat
    from dg_sglang.model import DiffusionModel
    from dg_sglang.results import GenerationResult
    from dg_sglang.sequence import Job


class CausalSequence:
    """One request, one token after the other.

    Attributes:
        job: the request.
        committed: the tokens chosen so far.
        confidence: the probability of each of them (`GenerationResult.token_confidence`).
        finished: no token is left to choose.
    """

    def __init__(self, job: Job, cache: Any, *, end_token_ids: frozenset[int]) -> None:
        """Raises BudgetError when no valid answer fits max_new_tokens, ConfigError for what needs a canvas."""
        self.job = job
        self._cache = cache
        self._end_token_ids = end_token_ids
        self.committed: list[int] = []
        self.confidence: list[float] = []
        self._ended = False
        self._state = 0
        self._started = 0.0
        self.finished = False
        if job.fixed_tokens or (job.thinking is not None and job.automaton is not None):
            what = "fixed_tokens" if job.fixed_tokens else "thinking before a constraint"
            raise ConfigError(f"mode='causal' does not support {what}; use mode='diffusion'")
        if job.automaton is not None:
            self._state = job.automaton.start
            job.automaton.check_budget(self._state, job.config.max_new_tokens)

    @property
    def complete(self) -> bool:
        """Whether the answer ended by itself or satisfies the constraint, rather than being cut by max_new_tokens."""
        automaton = self.job.automaton
        return self._ended or (automaton is not None and automaton.is_accepting(self._state))

    def step(self, model: DiffusionModel) -> None:
        """Choose the next token."""
        if not self.committed:
            self._started = time.perf_counter()
            hidden = model.encode(self.job.prompt.ids, self._cache, images=self.job.prompt.images)
        else:
            hidden = model.encode(self.committed[-1:], self._cache)
        self.take(model.head(hidden[:, -1])[0])

    def take(self, logits: Tensor) -> None:
        """Choose the next token from its logits [V]. Raises CheckpointError when they aren't finite."""
        automaton, left = self.job.automaton, self.job.config.max_new_tokens - len(self.committed)
        if automaton is not None:
            allowed = torch.from_numpy(automaton.allowed(self._state, left)).to(logits.device)
            logits = logits.masked_fill(~allowed, -torch.inf)
        row = kernels.backend(logits.device).row_statistics(logits[None], logits.new_ones(1, dtype=torch.float32))
        if not bool(row.log_norm.isfinite()):
            raise not_finite()
        token = int(row.best)
        self.committed.append(token)
        self.confidence.append(min(1.0, math.exp(float(logits[token]) - float(row.log_norm))))
        self._ended = token in self._end_token_ids
        if automaton is not None:
            self._state = automaton.advance(self._state, [token])
            self._ended |= automaton.is_complete(self._state)
        self.finished = self._ended or left == 1

    def draft(self, chat: Chat) -> Draft:
        """The answer so far."""
        text = chat.read(self.committed, self.job.prompt.ids)[1]
        return Draft(len(self.committed), 0, text, list(self.committed))

    def result(self, chat: Chat) -> GenerationResult:
        """The finished request. Its denoising steps are its forward passes, one a token."""
        usage = Usage(
            prompt_tokens=len(self.job.prompt.ids),
            completion_tokens=len(self.committed),
            canvases=1,
            denoising_steps=len(self.committed),
            seconds=time.perf_counter() - self._started,
        )
        return finished_result(self.job, chat, self.committed, self.confidence, usage, complete=self.complete)
