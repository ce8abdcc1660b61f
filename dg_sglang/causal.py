"""Causal mode: the same weights as an ordinary left-to-right model, under the same token automaton.

The encoder reads prompt and answer causally; its hidden state under the language-model head is the next token's
distribution (the report's autoregressive mode). Each token is the most probable one that the constraint and the budget
allow, so an answer is valid and closes like a denoised one. One forward pass a token, over a KV cache.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

from dg_sglang.errors import ConfigError
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
        finished: no token is left to choose.
    """

    def __init__(self, job: Job, cache: Any, *, end_token_ids: frozenset[int]) -> None:
        """Raises BudgetError when no valid answer fits max_new_tokens, ConfigError for what needs a canvas."""
        self._job = job
        self._cache = cache
        self._end_token_ids = end_token_ids
        self._committed: list[int] = []
        self._confidence: list[float] = []
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

    def step(self, model: DiffusionModel) -> None:
        """Choose the next token."""
        if not self._committed:
            self._started = time.perf_counter()
            hidden = model.encode(self._job.prompt.ids, self._cache, images=self._job.prompt.images)
        else:
            hidden = model.encode(self._committed[-1:], self._cache)
        logits = model.head(hidden[:, -1])[0]
        automaton, left = self._job.automaton, self._job.config.max_new_tokens - len(self._committed)
        if automaton is not None:
            allowed = torch.from_numpy(automaton.allowed(self._state, left)).to(logits.device)
            logits = logits.masked_fill(~allowed, -torch.inf)
        token = int(logits.argmax())
        self._committed.append(token)
        self._confidence.append(float(logits.softmax(-1)[token]))
        self._ended = token in self._end_token_ids
        if automaton is not None:
            self._state = automaton.advance(self._state, [token])
            self._ended |= automaton.is_complete(self._state)
        self.finished = self._ended or left == 1

    def draft(self, chat: Chat) -> Draft:
        """The answer so far."""
        text = chat.read(self._committed, self._job.prompt.ids)[1]
        return Draft(len(self._committed), 0, text, list(self._committed))

    def result(self, chat: Chat) -> GenerationResult:
        """The finished request. Its denoising steps are its forward passes, one a token."""
        automaton = self._job.automaton
        usage = Usage(
            prompt_tokens=len(self._job.prompt.ids),
            completion_tokens=len(self._committed),
            canvases=1,
            denoising_steps=len(self._committed),
            seconds=time.perf_counter() - self._started,
        )
        complete = self._ended or (automaton is not None and automaton.is_accepting(self._state))
        return finished_result(self._job, chat, self._committed, self._confidence, usage, complete=complete)
