"""The server's side of generation: SGLang's requests become this package's sequences. Knows nothing of SGLang."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from dg_sglang import checkpoint as checkpoints
from dg_sglang.canvas import CanvasState
from dg_sglang.causal import CausalSequence
from dg_sglang.chat import Chat, Prompt
from dg_sglang.config import GenerationConfig, Whitespace, checkpoint_config
from dg_sglang.errors import ConfigError, EmptyPromptError, InputError, PromptTooLongError
from dg_sglang.grammar import Regex, TokenAutomaton, Vocabulary, compile_constraint
from dg_sglang.request import GenerationRequest
from dg_sglang.sampler import denoise_step
from dg_sglang.sequence import Job
from dg_sglang.sequence import Sequence as CanvasSequence

_SGLANG_NAMES = {"max_new_tokens": "max_new_tokens (OpenAI: max_tokens)", "seed": "sampling_seed (OpenAI: seed)"}
_POSITION = re.compile("[0-9]{1,9}")
_LOG_ZERO = -9999.0  # what the OpenAI API says for a probability of zero


@dataclass(frozen=True)
class Settings:
    """What a request asks of the sampler, checked. `seed` None leaves it to the request's name."""

    config: GenerationConfig
    seed: int | None
    fixed_tokens: Mapping[int, int]


@dataclass
class Served:
    """One request under way.

    Attributes:
        sequence: its canvases, or its tokens one by one.
        canvas_index, canvas_steps: for each committed token its canvas, from 0, and the denoising steps that took.
    """

    sequence: CanvasSequence | CausalSequence
    canvas_index: list[int] = field(default_factory=list)
    canvas_steps: list[int] = field(default_factory=list)
    _canvases: int = field(default=0, init=False)

    @property
    def canvas(self) -> CanvasState:
        """The canvas that is denoised; causal requests have none."""
        return cast("CanvasSequence", self.sequence).canvas

    def take(self, logits: Tensor) -> int:
        """The next token of a causal sequence, from its logits [V]."""
        sequence = cast("CausalSequence", self.sequence)
        sequence.take(logits)
        self.canvas_index.append(0)
        self.canvas_steps.append(len(sequence.committed))
        return sequence.committed[-1]

    def commit(self) -> list[int]:
        """Commit the finished canvas.

        Returns:
            L tokens: those that were kept (`sequence.committed` has grown by them), then what was dropped.
        """
        sequence = cast("CanvasSequence", self.sequence)
        before, canvas = len(sequence.committed), self.canvas
        sequence.commit()
        kept = sequence.committed[before:]
        self.canvas_index += [self._canvases] * len(kept)
        self.canvas_steps += [canvas.steps] * len(kept)
        self._canvases += 1
        dropped: list[int] = canvas.best[0, len(kept) :].tolist()
        return kept + dropped

    def logprobs(self) -> list[float]:
        """The log-probability of each committed token under the last denoising step of its canvas."""
        return [min(0.0, math.log(p)) if p > 0 else _LOG_ZERO for p in self.sequence.confidence]


class Service:
    """One checkpoint as the server runs it.

    Attributes:
        config: its default settings.
        canvas_length: tokens in a canvas, L.
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Any,
        *,
        vocab_size: int,
        canvas_length: int,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        """Read a checkpoint's settings.

        Args:
            folder: the checkpoint.
            tokenizer: its transformers tokenizer.
            vocab_size: V, the width of the logits.
            canvas_length: L.
            defaults: the server's own changes to the checkpoint's settings; "seed" makes every request use that seed.

        Raises:
            CheckpointError: it lacks something.
            ConfigError: `defaults` holds something that is no setting.
        """
        checkpoint = checkpoints.inspect(folder)
        changes = dict(defaults or {})
        self._seed: int | None = changes.pop("seed", None)
        self.config = checkpoint_config(folder, checkpoint.generation).replace(changes)
        self.canvas_length = canvas_length
        self._vocab_size = vocab_size
        self._tokenizer = tokenizer
        self._chat = Chat(tokenizer, None, image_token_id=None, name=str(folder))
        self._end_token_ids = checkpoints.end_tokens(checkpoint, tokenizer)
        self._pad_token_id = checkpoints.pad_token(checkpoint, tokenizer)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer's vocabulary as constraints see it."""
        return Vocabulary.from_tokenizer(self._tokenizer, self._vocab_size)

    def compile(self, constraint: Any, whitespace: Whitespace) -> TokenAutomaton:
        """The token automaton of a constraint. Safe to call from several threads.

        Raises:
            GrammarError: it is malformed, unsupported, empty or too large.
        """
        return TokenAutomaton(
            compile_constraint(constraint, whitespace=whitespace),
            self.vocabulary,
            end_token_ids=sorted(self._end_token_ids),
            pad_token_id=self._pad_token_id,
        )

    def warm_up(self, device: torch.device) -> None:
        """Run one constrained step: what is compiled on first use must not stall the first request, and all others."""
        settings = Settings(self.config.replace({"mode": "diffusion"}), 0, {})
        automaton = self.compile(Regex("[a-z]{1,9}"), "json")
        length = self.canvas_length
        served = self.start(
            settings,
            name="",
            prompt=[0],
            max_new_tokens=length,
            max_context=length + 1,
            automaton=automaton,
            device=device,
        )
        denoise_step(torch.zeros(1, length, self._vocab_size, device=device), [served.canvas])

    def check_prompt(self, prompt: Sequence[int]) -> None:
        """Raises InputError when there is none, or when one of the token ids is none of the vocabulary's."""
        if not prompt:
            raise EmptyPromptError("the prompt is empty: there is nothing to answer")
        for token in (min(prompt), max(prompt)):
            if not 0 <= token < self._vocab_size:
                raise InputError(f"input_ids: token ids go from 0 to {self._vocab_size - 1}, got {token}")

    def settings(self, custom_params: Mapping[str, Any] | None, seed: int | None) -> Settings:
        """Check SGLang's `custom_params` and seed.

        `custom_params` may hold the settings of GenerationConfig and `fixed_tokens` (JSON's keys are texts: they are
        read as positions). Names that begin with two underscores are SGLang's own.

        Raises:
            ConfigError: an unknown name, or a value out of range.
        """
        if custom_params is not None and not isinstance(custom_params, Mapping):
            raise ConfigError(f"custom_params must be an object of settings, got {custom_params!r}")
        params = {name: value for name, value in (custom_params or {}).items() if not name.startswith("__")}
        fixed = params.pop("fixed_tokens", None)
        taken = {entry.name for entry in fields(GenerationRequest)} | _SGLANG_NAMES.keys()
        for name in params.keys() & taken:
            other = f": pass SGLang's {_SGLANG_NAMES[name]}" if name in _SGLANG_NAMES else ""
            raise ConfigError(f"custom_params can't hold {name!r}{other}")
        request = GenerationRequest.of({"input_ids": [0], "seed": seed, "fixed_tokens": _positions(fixed)} | params)
        return Settings(request.resolved_config(self.config), seed, request.fixed_tokens or {})

    def start(
        self,
        settings: Settings,
        *,
        name: str,
        prompt: Sequence[int],
        max_new_tokens: int,
        max_context: int,
        automaton: TokenAutomaton | None,
        thinking: bool = False,
        ignore_end: bool = False,
        device: torch.device | None = None,
    ) -> Served:
        """A request before its first denoising step.

        Args:
            settings: the request's settings.
            name: the request's id; without a seed the random numbers follow from it, so that all ranks draw the same.
            prompt: its token ids.
            max_new_tokens: length limit of the answer, also the budget in which a constrained answer closes.
            max_context: tokens that prompt and whole canvases may take together.
            automaton: the compiled constraint.
            thinking: whether the model thinks before it answers.
            ignore_end: go on after end tokens.
            device: of the logits.

        Raises:
            BudgetError: no valid answer fits. ConfigError, GrammarError: its settings contradict one another.
            PromptTooLongError: there is no room for an answer.
            CheckpointError: the checkpoint has no thinking channel.
        """
        if ignore_end and automaton is not None:
            raise ConfigError("ignore_eos contradicts a constraint, whose answer has an end: leave out one of the two")
        # SGLang's parser, told that the model thinks, takes everything before the closing token for thinking.
        channel = self._chat.thinking(prompt, marked=True) if thinking and automaton is not None else None
        causal = settings.config.mode == "causal"
        # SGLang goes on only where a whole canvas fits; after a thought, canvases begin anywhere.
        room = max_context - len(prompt)
        anywhere = causal or channel is not None
        room = room - self.canvas_length + 1 if anywhere else room // self.canvas_length * self.canvas_length
        if room < 1:
            raise PromptTooLongError(
                f"the prompt has {len(prompt)} tokens; the model's context of {max_context} leaves no room for a "
                f"canvas of {self.canvas_length} tokens: shorten the prompt"
            )
        seeds = (settings.seed, self._seed, seed_of(name))
        job = Job(
            Prompt(list(prompt)),
            settings.config.replace({"max_new_tokens": min(max_new_tokens, room)}),
            next(seed for seed in seeds if seed is not None),
            automaton,
            settings.fixed_tokens,
            thinking=channel,
        )
        end_token_ids = frozenset[int]() if ignore_end else self._end_token_ids
        if causal:
            return Served(CausalSequence(job, None, end_token_ids=end_token_ids))
        sequence = CanvasSequence(
            job,
            None,
            canvas_length=self.canvas_length,
            vocab_size=self._vocab_size,
            end_token_ids=end_token_ids,
            device=device or torch.device("cpu"),
        )
        return Served(sequence)


def named(error: Exception) -> str:
    """What the client is told; `dg_sglang.connection.refusal` makes the error of it again."""
    return f"{type(error).__name__}: {error}"


def served_of(req: Any) -> Served | None:
    """Our side of one of SGLang's requests, None before it starts."""
    return getattr(req, "dg_served", None)


def seed_of(name: str) -> int:
    """A seed from a request's id: the same in every process (upstream `Gemma4Renoise._request_seed`)."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") >> 1


def _positions(fixed: Any) -> Any:
    """`fixed_tokens` with positions as integers, as far as they are some."""
    if not isinstance(fixed, Mapping):
        return fixed
    return {int(key) if _POSITION.fullmatch(str(key)) else key: token for key, token in fixed.items()}
