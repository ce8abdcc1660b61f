"""The engine: DiffusionGemma in this process, with a constraint over the whole canvas where one is asked for."""

import dataclasses
import secrets
import threading
from collections import abc, deque
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import torch

from dg_sglang import checkpoint as checkpoints
from dg_sglang.automata import AutomatonCache
from dg_sglang.batch import Batch
from dg_sglang.causal import CausalSequence
from dg_sglang.chat import Chat
from dg_sglang.config import GenerationConfig, Whitespace, checkpoint_config
from dg_sglang.errors import CheckpointError, ConfigError, InputError, PromptTooLongError
from dg_sglang.grammar import TokenAutomaton, Vocabulary
from dg_sglang.model import DiffusionModel
from dg_sglang.request import GenerationRequest
from dg_sglang.results import Draft, GenerationResult
from dg_sglang.sequence import Job, Sequence


class Engine:
    """One loaded checkpoint.

    Threads may share an engine: all mutable state belongs to a request, and a lock lets one thread at a time tokenize,
    run a denoising step or encode, so that concurrent requests interleave step by step.

    Attributes:
        path: the checkpoint's folder.
        tokenizer: its transformers tokenizer (shared: don't call it from other threads while the engine works).
        config: its default settings.
        canvas_length: tokens in a canvas, L.
        max_context: the most tokens that prompt and answer may have together.
        sees: whether the checkpoint was trained to read pictures.
        soft_tokens: the most that it makes of a picture; 0 where it has no image processor.
        device, dtype: of the weights.
    """

    def __init__(self, checkpoint: checkpoints.Checkpoint, device: torch.device, dtype: torch.dtype) -> None:
        """Load the parts of an inspected checkpoint; use `Engine.load`."""
        self.path = checkpoint.path
        self.config = checkpoint_config(checkpoint.path, checkpoint.generation)
        self.tokenizer = checkpoints.load_tokenizer(checkpoint)
        images = checkpoints.load_image_processor(checkpoint)
        module = checkpoints.load_module(checkpoint, device, dtype)
        self.sees = checkpoints.sees(checkpoint)
        self.soft_tokens: int = images.max_soft_tokens if images else 0
        self._chat = Chat(
            self.tokenizer,
            images if self.sees else None,
            image_token_id=module.config.image_token_id,
            name=str(checkpoint.path),
        )
        self._model = DiffusionModel(module)
        if len(self.tokenizer) > self._model.vocab_size:
            raise CheckpointError(
                f"{self.path}: the tokenizer has {len(self.tokenizer)} tokens, the model only {self._model.vocab_size}"
            )
        self.canvas_length = self._model.canvas_length
        self.max_context = self._model.max_context
        self.device, self.dtype = device, dtype
        self._end_token_ids = checkpoints.end_tokens(checkpoint, self.tokenizer)
        self._lock = threading.RLock()
        self._automata = AutomatonCache()
        self._pad_token_id = checkpoints.pad_token(checkpoint, self.tokenizer)

    @classmethod
    def load(
        cls,
        name: str | Path,
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
    ) -> Self:
        """Load a checkpoint.

        Args:
            name: "nano" (bundled with the package), a checkpoint folder, or a Hugging Face id.
            device: None takes CUDA where there is a GPU, else the CPU.
            dtype: "float32", "bfloat16", "float16" or the torch dtype. None takes bfloat16 on a GPU and float32 on a
                CPU, where bfloat16 is rarely faster.

        Raises:
            CheckpointError: not found, incomplete, or not a DiffusionGemma.
            ConfigError: an unknown device or dtype.
        """
        target = checkpoints.choose_device(device)
        kind = checkpoints.choose_dtype(dtype, target)
        return cls(checkpoints.inspect(checkpoints.resolve(name)), target, kind)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer's vocabulary as constraints see it, as wide as the model's logits."""
        return Vocabulary.from_tokenizer(self.tokenizer, self._model.vocab_size)

    def count_tokens(self, text: str) -> int:
        """How many tokens `text` takes in a prompt."""
        with self._lock:
            return self._chat.count(text)

    def compile(self, constraint: Any, *, whitespace: Whitespace | None = None) -> TokenAutomaton:
        """The token automaton of a constraint, from the engine's cache if it is there.

        Args:
            constraint: what `dg_sglang.grammar.as_constraint` takes, or a compiled Grammar.
            whitespace: for JSON schemas that don't choose one; None takes the checkpoint's policy.

        Raises:
            GrammarError: it is malformed, unsupported, empty or too large.
        """
        with self._lock:
            return self._automata.get(
                constraint,
                whitespace=whitespace or self.config.policy.whitespace,
                make=lambda grammar: TokenAutomaton(
                    grammar,
                    self.vocabulary,
                    end_token_ids=sorted(self._end_token_ids),
                    pad_token_id=self._pad_token_id,
                ),
            )

    def generate(
        self,
        prompt: str | None = None,
        *,
        messages: abc.Sequence[Mapping[str, Any]] | None = None,
        input_ids: abc.Sequence[int] | torch.Tensor | None = None,
        images: Any = None,
        constraint: Any = None,
        max_new_tokens: int | None = None,
        seed: int | None = None,
        config: GenerationConfig | None = None,
        thinking: bool = False,
        fixed_tokens: Mapping[int, int] | None = None,
        **settings: Any,
    ) -> GenerationResult:
        """Answer one request. The arguments are `GenerationRequest`'s fields; `settings` are `GenerationConfig`'s.

        Raises:
            InputError, ConfigError, GrammarError: the request can't be served; raised before any compute.
            CheckpointError: the checkpoint lacks something that the request needs.
        """
        request = {
            "prompt": prompt,
            "messages": messages,
            "input_ids": input_ids,
            "images": images,
            "constraint": constraint,
            "max_new_tokens": max_new_tokens,
            "seed": seed,
            "config": config,
            "thinking": thinking,
            "fixed_tokens": fixed_tokens,
        }
        return self.generate_batch([request | settings])[0]

    def stream(
        self,
        prompt: str | None = None,
        *,
        messages: abc.Sequence[Mapping[str, Any]] | None = None,
        input_ids: abc.Sequence[int] | torch.Tensor | None = None,
        images: Any = None,
        constraint: Any = None,
        max_new_tokens: int | None = None,
        seed: int | None = None,
        config: GenerationConfig | None = None,
        thinking: bool = False,
        fixed_tokens: Mapping[int, int] | None = None,
        **settings: Any,
    ) -> Iterator[Draft]:
        """As `generate`, but yields the draft after every denoising step; the last one carries the result.

        Errors are raised by this call, not by the iterator, which may be abandoned at any time.
        """
        request = {
            "prompt": prompt,
            "messages": messages,
            "input_ids": input_ids,
            "images": images,
            "constraint": constraint,
            "max_new_tokens": max_new_tokens,
            "seed": seed,
            "config": config,
            "thinking": thinking,
            "fixed_tokens": fixed_tokens,
        }
        return self._drafts(self._prepare(request | settings))

    def generate_batch(
        self, requests: abc.Sequence[GenerationRequest | Mapping[str, Any]], *, batch_size: int = 16
    ) -> list[GenerationResult]:
        """Answer several requests together, each with its own prompt length, settings, constraint and seed.

        A request's tokens don't depend on the others (up to rounding in the forward pass). All requests are checked
        before the first is computed.

        Args:
            requests: requests, or mappings of `generate`'s arguments.
            batch_size: how many are denoised at once; when one is finished, the next joins.

        Raises:
            As `generate`.
        """
        if isinstance(requests, Mapping | str) or not isinstance(requests, abc.Sequence):
            raise InputError(f"requests must be a list of requests, got {type(requests).__name__}")
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ConfigError(f"batch_size must be an integer >= 1, got {batch_size!r}")
        waiting: deque[tuple[int, Sequence]] = deque()
        running: dict[int, Sequence] = {}
        results: dict[int, GenerationResult] = {}
        for index, prepared in enumerate([self._prepare(request) for request in requests]):
            if isinstance(prepared, Sequence):
                waiting.append((index, prepared))
                continue
            while not prepared.finished:
                with self._lock:
                    prepared.step(self._model)
            results[index] = prepared.result(self._chat)
        batch = Batch(self._model)
        while waiting or running:
            with self._lock:
                while waiting and len(running) < batch_size:
                    index, sequence = waiting.popleft()
                    batch.start(sequence)
                    running[index] = sequence
                batch.step(list(running.values()))
                for index, sequence in list(running.items()):
                    if sequence.canvas.done:
                        batch.commit(sequence)
                    if sequence.finished:
                        results[index] = running.pop(index).result(self._chat)
        return [results[index] for index in sorted(results)]

    def _drafts(self, sequence: Sequence | CausalSequence) -> Iterator[Draft]:
        batch = Batch(self._model)
        if isinstance(sequence, Sequence):
            with self._lock:
                batch.start(sequence)
        while not sequence.finished:
            with self._lock:
                if isinstance(sequence, CausalSequence):
                    sequence.step(self._model)
                    draft = sequence.draft(self._chat)
                else:
                    batch.step([sequence])
                    draft = sequence.draft(self._chat)
                    if sequence.canvas.done:
                        batch.commit(sequence)
                if sequence.finished:
                    draft = dataclasses.replace(draft, result=sequence.result(self._chat))
            yield draft

    def _prepare(self, values: GenerationRequest | Mapping[str, Any]) -> Sequence | CausalSequence:
        """Check everything about a request that can be checked without the model."""
        if not isinstance(values, GenerationRequest | Mapping):
            raise InputError(
                f"a request is a GenerationRequest or a mapping of its fields, got {type(values).__name__}"
            )
        request = values if isinstance(values, GenerationRequest) else GenerationRequest.of(values)
        config = request.resolved_config(self.config)
        with self._lock:
            prompt = self._chat.encode(request, self._model.vocab_size)
            if len(prompt.ids) + config.max_new_tokens > self.max_context:
                raise PromptTooLongError(
                    f"the prompt has {len(prompt.ids)} tokens; with max_new_tokens={config.max_new_tokens} that is "
                    f"more than the model's context of {self.max_context}: shorten the prompt or lower max_new_tokens"
                )
            constraint, whitespace = request.constraint, config.policy.whitespace
            automaton = None if constraint is None else self.compile(constraint, whitespace=whitespace)
        seed = secrets.randbits(32) if request.seed is None else request.seed
        thinking = self._chat.thinking(prompt.ids) if request.thinking else None
        job = Job(prompt, config, seed, automaton, request.fixed_tokens or {}, thinking=thinking)
        if config.mode == "causal":
            return CausalSequence(job, self._model.new_cache(), end_token_ids=self._end_token_ids)
        return Sequence(
            job,
            self._model.new_cache(),
            canvas_length=self.canvas_length,
            vocab_size=self._model.vocab_size,
            end_token_ids=self._end_token_ids,
            device=self.device,
        )
