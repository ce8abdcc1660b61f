"""One request under way: its context, its committed canvases and the canvas being denoised."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from dg_sglang.canvas import CanvasState
from dg_sglang.errors import BudgetError, ConfigError
from dg_sglang.grammar import CanvasPosterior
from dg_sglang.results import Draft, GenerationResult, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dg_sglang.chat import Chat, Prompt
    from dg_sglang.config import GenerationConfig
    from dg_sglang.grammar import TokenAutomaton
    from dg_sglang.thinking import Thinking


@dataclass(frozen=True)
class Job:
    """A request after every check: what `Sequence` works from."""

    prompt: Prompt
    config: GenerationConfig
    seed: int
    automaton: TokenAutomaton | None
    fixed_tokens: Mapping[int, int]
    thinking: Thinking | None = None


class Sequence:
    """Block-autoregressive generation of one request, without the forward passes.

    With a thinking channel before a constrained answer, canvases are free until the model closes the channel; what it
    had denoised after that is dropped, and the next canvas begins right there, under the constraint. (Conditioning the
    thinking as well would stretch it to the budget's end, where staying free is likelier than any valid answer.)

    Attributes:
        job: the request.
        cache: keys and values of all encoded tokens.
        canvas: the canvas being denoised.
        committed: tokens of the finished canvases, cut after the end token or at max_new_tokens.
        confidence: the probability of each of `committed` (`GenerationResult.token_confidence`).
        finished: no canvas is left to denoise.
    """

    def __init__(
        self,
        job: Job,
        cache: Any,
        *,
        canvas_length: int,
        vocab_size: int,
        end_token_ids: frozenset[int],
        device: torch.device,
    ) -> None:
        """Raises BudgetError when no valid answer fits max_new_tokens, ConfigError for fixed tokens out of range,
        GrammarError when they allow no valid answer."""
        self.job = job
        self.cache = cache
        self.committed: list[int] = []
        self.finished = False
        self._length = canvas_length
        self._vocab_size = vocab_size
        self._end_token_ids = end_token_ids
        self.confidence: list[float] = []
        self._canvases = 0
        self._steps = 0
        self._kept_mass = 1.0
        self._ended = False
        self._state = 0 if job.automaton is None else job.automaton.start
        self._thinking = job.thinking if job.automaton is not None else None
        self._reserve = 0 if job.automaton is None else job.automaton.min_tokens(job.automaton.start) + 1
        self._posterior: CanvasPosterior | None = None
        self._generator = torch.Generator(device).manual_seed(job.seed)
        self._started = time.perf_counter()
        self._check_positions()
        if self._thinking is not None and self._room_to_think() < 2:
            raise BudgetError(
                f"the shortest valid answer needs {self._reserve} tokens and its thinking at least 2 more, but "
                f"max_new_tokens is {job.config.max_new_tokens}; raise max_new_tokens"
            )
        self.canvas = self._new_canvas()
        if job.fixed_tokens and self._posterior is not None:  # do they leave a valid answer, under any logits?
            self._posterior.update(torch.zeros(self._length, vocab_size))
            _ = self._posterior.log_z

    @property
    def complete(self) -> bool:
        """Whether the answer ended by itself or satisfies the constraint, rather than being cut by max_new_tokens."""
        automaton = self.job.automaton
        return self._ended or (automaton is not None and automaton.is_accepting(self._state))

    def _check_positions(self) -> None:
        constrained = self.job.automaton is not None
        limit = self.job.config.max_new_tokens
        if constrained:  # a later canvas' fixed tokens could contradict what is committed by then
            limit = min(limit, self._length)
        for position, token in self.job.fixed_tokens.items():
            if not 0 <= position < limit or not 0 <= token < self._vocab_size:
                raise ConfigError(
                    f"fixed_tokens {{{position}: {token}}}: positions go from 0 to {limit - 1}"
                    f"{' (the first canvas) under a constraint' if constrained else ''}, "
                    f"token ids from 0 to {self._vocab_size - 1}"
                )

    def start_clock(self) -> None:
        """The seconds of the result count from here."""
        self._started = time.perf_counter()

    def _room_to_think(self) -> int:
        """How many tokens thinking may still take, its closing token included, so that an answer fits after it."""
        return self.job.config.max_new_tokens - len(self.committed) - self._reserve

    def _new_canvas(self) -> CanvasState:
        done, config, automaton = len(self.committed), self.job.config, self.job.automaton
        fixed = {
            position - done: token
            for position, token in self.job.fixed_tokens.items()
            if done <= position < done + self._length
        }
        if automaton is not None and self._canvases:
            fixed = {}  # before a constraint they hold in the first canvas only, even if that was dropped or cut
        self._posterior = None
        if automaton is not None and self._thinking is None:
            self._posterior = CanvasPosterior(
                automaton,
                self._length,
                start=self._state,
                remaining=config.max_new_tokens - done - self._length,
                tail=config.policy.tail,
                fixed=fixed,
            )
        return CanvasState(
            config,
            self._generator,
            length=self._length,
            vocab_size=self._vocab_size,
            posterior=self._posterior,
            fixed=fixed,
        )

    def commit(self) -> list[int]:
        """Commit the finished canvas and start the next one, if any is needed.

        Returns:
            What the encoder must read before the next canvas is denoised: the whole canvas, or its part up to the end
            of the thinking.
        """
        best: list[int] = self.canvas.best[0].tolist()
        tokens = best
        self._canvases += 1
        self._steps += self.canvas.steps
        if self._posterior is not None:
            self._kept_mass = min(self._kept_mass, self._posterior.kept_mass)
        if self._thinking is not None:
            kept = tokens = self._thinking.take(tokens, self._room_to_think(), self._end_token_ids)
            if self._thinking.over:
                self._thinking = None
        else:
            kept = self._cut(tokens)
            self._ended = bool(kept) and kept[-1] in self._end_token_ids
            if self.job.automaton is not None:
                self._state = self.job.automaton.advance(self._state, kept)
                self._ended |= self.job.automaton.is_complete(self._state)
        self.committed += kept
        confidence = self.canvas.confidence[0].tolist()
        self.confidence += [p if token == own else 0.0 for token, own, p in zip(kept, best, confidence, strict=False)]
        self.finished = self._ended or len(self.committed) == self.job.config.max_new_tokens
        if not self.finished:
            self.canvas = self._new_canvas()
        return tokens

    def _cut(self, tokens: list[int]) -> list[int]:
        """The part of a canvas that belongs to the answer: up to its end token and within max_new_tokens."""
        tokens = tokens[: self.job.config.max_new_tokens - len(self.committed)]
        end = next((index for index, token in enumerate(tokens) if token in self._end_token_ids), len(tokens))
        return tokens[: end + 1]

    def draft(self, chat: Chat) -> Draft:
        """The answer as it stands after the latest denoising step."""
        tokens = self.committed + self._cut(self.canvas.best[0].tolist())
        text = chat.read(tokens, self.job.prompt.ids)[1]
        return Draft(self.canvas.steps, self._canvases, text, tokens)

    def result(self, chat: Chat) -> GenerationResult:
        """The finished request."""
        usage = Usage(
            prompt_tokens=len(self.job.prompt.ids),
            completion_tokens=len(self.committed),
            canvases=self._canvases,
            denoising_steps=self._steps,
            seconds=time.perf_counter() - self._started,
            kept_mass=self._kept_mass,
        )
        return finished_result(self.job, chat, self.committed, self.confidence, usage, complete=self.complete)


def finished_result(
    job: Job, chat: Chat, tokens: list[int], confidence: list[float], usage: Usage, *, complete: bool
) -> GenerationResult:
    """The result of a request that ended with `tokens`. `complete`: by itself, not cut by max_new_tokens."""
    thinking, text = chat.read(tokens, job.prompt.ids)
    return GenerationResult(
        text=text,
        thinking=thinking,
        parsed=job.automaton.parse(text) if complete and job.automaton is not None else None,
        token_ids=list(tokens),
        finish_reason="stop" if complete else "length",
        token_confidence=list(confidence),
        usage=usage,
        seed=job.seed,
    )
