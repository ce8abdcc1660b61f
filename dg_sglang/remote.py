"""The engine's interface over an SGLang server that runs this package's plugin."""

import base64
import io
import json
import math
import secrets
import time
from collections import abc
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import requests as http

from dg_sglang import checkpoint as checkpoints
from dg_sglang.chat import Chat
from dg_sglang.config import checkpoint_config
from dg_sglang.connection import Connection, refusal
from dg_sglang.errors import CheckpointError, ConfigError, InputError, PromptTooLongError, ServerError
from dg_sglang.grammar import Constraint, Vocabulary, as_constraint
from dg_sglang.request import GenerationRequest
from dg_sglang.results import Draft, GenerationResult, Usage
from dg_sglang.wire import to_wire


@dataclass(frozen=True)
class _Prepared:
    """A request as the server takes it, and what is needed to read the answer."""

    body: dict[str, Any]
    prompt: list[int]
    constraint: Constraint | None
    seed: int


class SGLangEngine:
    """What `Engine` is, with the model on a server. The tokenizer and the settings are read here, from the checkpoint.

    Threads may share it.

    Attributes:
        path: the checkpoint's folder on this machine.
        tokenizer: its transformers tokenizer.
        config: its default settings.
        canvas_length: tokens in a canvas, L.
        max_context: the most tokens that prompt and answer may have together.
        sees: whether the checkpoint was trained to read pictures.
        soft_tokens: the most that it makes of a picture; 0 where it has no image processor.
    """

    def __init__(
        self, url: str, *, model: str | Path | None = None, timeout: float = 600.0, api_key: str | None = None
    ) -> None:
        """Ask the server what it serves.

        Args:
            url: such as http://127.0.0.1:30000.
            model: the checkpoint, where the server's own path or name for it doesn't hold on this machine.
            timeout: seconds that the server may be silent during a request.
            api_key: the server's, if it asks for one.

        Raises:
            ConfigError: `url` is none.
            ServerError: no server answers, or it is none of SGLang's.
            CheckpointError: it serves no DiffusionGemma, or one that is not on this machine.
        """
        self._server = Connection(url, timeout=timeout, api_key=api_key)
        checkpoint = checkpoints.inspect(self._local_folder(model))
        self.path = checkpoint.path
        self.config = checkpoint_config(checkpoint.path, checkpoint.generation)
        images = checkpoints.load_image_processor(checkpoint)
        self.sees = checkpoints.sees(checkpoint)
        self.soft_tokens: int = images.max_soft_tokens if images else 0
        self.tokenizer = checkpoints.load_tokenizer(checkpoint)
        self._chat = Chat(self.tokenizer, images if self.sees else None, image_token_id=None, name=str(checkpoint.path))
        text = checkpoint.config["text_config"]
        self._vocab_size: int = text["vocab_size"]
        self.canvas_length: int = checkpoint.config["canvas_length"]
        limit = self._server.ask("/server_info").get("context_length")
        self.max_context: int = limit or text["max_position_embeddings"]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer's vocabulary as constraints see it."""
        return Vocabulary.from_tokenizer(self.tokenizer, self._vocab_size)

    def count_tokens(self, text: str) -> int:
        """How many tokens `text` takes in a prompt."""
        return self._chat.count(text)

    def generate(self, prompt: str | None = None, **values: Any) -> GenerationResult:
        """As `Engine.generate`, with the same arguments.

        Raises:
            InputError, ConfigError, GrammarError: here, or as the server says.
            ServerError: the server can't be reached, is too busy, or fails.
        """
        return self.generate_batch([{"prompt": prompt} | values])[0]

    def stream(self, prompt: str | None = None, **values: Any) -> Iterator[Draft]:
        """As `Engine.stream`, but with one draft a canvas, once it is committed. The last one carries the result.

        The request is sent by the first `next`; leaving the iterator ends it on the server too.
        """
        return self._drafts(self._prepare({"prompt": prompt} | values))

    def generate_batch(
        self, requests: abc.Sequence[GenerationRequest | Mapping[str, Any]], *, batch_size: int = 16
    ) -> list[GenerationResult]:
        """As `Engine.generate_batch`: `batch_size` requests are under way at once."""
        if isinstance(requests, Mapping | str) or not isinstance(requests, abc.Sequence):
            raise InputError(f"requests must be a list of requests, got {type(requests).__name__}")
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ConfigError(f"batch_size must be an integer >= 1, got {batch_size!r}")
        prepared = [self._prepare(request) for request in requests]
        with ThreadPoolExecutor(batch_size) as threads:
            return list(threads.map(self._answer, prepared))

    def _answer(self, request: _Prepared) -> GenerationResult:
        started = time.perf_counter()
        return self._result(request, self._server.ask("/generate", request.body), started)

    def _drafts(self, request: _Prepared) -> Iterator[Draft]:
        started = time.perf_counter()
        with self._server.send("/generate", request.body | {"stream": True}, stream=True) as response:
            try:
                for line in response.iter_lines():
                    data = line.removeprefix(b"data: ")
                    if not data or data == b"[DONE]":
                        continue
                    answer = json.loads(data)
                    if "error" in answer:
                        raise refusal(answer["error"]["message"])
                    result, about = self._result(request, answer, started), answer["meta_info"]
                    last = result if about["finish_reason"] is not None else None
                    yield Draft(
                        about["canvas_steps"][-1], about["canvas_index"][-1], result.text, result.token_ids, last
                    )
            except http.RequestException as error:
                raise ServerError(f"{self._server.url} broke off its answer: {error}") from error

    def _prepare(self, values: GenerationRequest | Mapping[str, Any]) -> _Prepared:
        """Check what can be checked here, and write the request down."""
        if not isinstance(values, GenerationRequest | Mapping):
            raise InputError(
                f"a request is a GenerationRequest or a mapping of its fields, got {type(values).__name__}"
            )
        request = values if isinstance(values, GenerationRequest) else GenerationRequest.of(values)
        config = request.resolved_config(self.config)
        prompt, source = self._prompt(request)
        if len(prompt) + config.max_new_tokens > self.max_context:
            raise PromptTooLongError(
                f"the prompt has {len(prompt)} tokens; with max_new_tokens={config.max_new_tokens} that is more than "
                f"the server's context of {self.max_context}: shorten the prompt or lower max_new_tokens"
            )
        constraint = None if request.constraint is None else as_constraint(request.constraint)
        seed = secrets.randbits(32) if request.seed is None else request.seed
        parameters = {
            "max_new_tokens": config.max_new_tokens,
            "sampling_seed": seed,
            "custom_params": _settings(request, getattr(constraint, "whitespace", None)),
        }
        parameters |= {} if constraint is None else to_wire(constraint)
        body = source | {
            "sampling_params": parameters,
            "return_logprob": True,
            "require_reasoning": request.thinking,
        }
        return _Prepared(body, prompt, constraint, seed)

    def _prompt(self, request: GenerationRequest) -> tuple[list[int], dict[str, Any]]:
        """The prompt's tokens (without those that images become), and the prompt as the server takes it."""
        if not _has_images(request):
            ids = self._chat.encode(request, self._vocab_size).ids
            return ids, {"input_ids": ids}
        text, pictures = self._chat.write(request)
        ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids, {"text": text, "image_data": [_data_uri(picture) for picture in pictures]}

    def _result(self, request: _Prepared, answer: Mapping[str, Any], started: float) -> GenerationResult:
        about, tokens = answer["meta_info"], answer["output_ids"]
        thinking, text = self._chat.read(tokens, request.prompt)
        stopped = (about["finish_reason"] or {}).get("type") == "stop"
        # By canvas. The server tells nothing of one whose tokens were all dropped, which only thinking can do.
        steps = dict(zip(about["canvas_index"], about["canvas_steps"], strict=True))
        seconds = time.perf_counter() - started
        return GenerationResult(
            text=text,
            thinking=thinking,
            parsed=request.constraint.parse(text) if stopped and request.constraint is not None else None,
            token_ids=tokens,
            finish_reason="stop" if stopped else "length",
            token_confidence=[math.exp(logprob) for logprob, *_ in about["output_token_logprobs"]],
            usage=Usage(about["prompt_tokens"], len(tokens), max(steps, default=0) + 1, sum(steps.values()), seconds),
            seed=request.seed,
        )

    def _local_folder(self, model: str | Path | None) -> Path:
        """The folder on this machine of the checkpoint that the server serves."""
        if model is not None:
            return checkpoints.resolve(model)
        served = self._server.ask("/model_info")
        names = list(dict.fromkeys(served[key] for key in ("model_path", "served_model_name") if served.get(key)))
        for name in names:
            try:
                return checkpoints.resolve(name)
            except CheckpointError:
                continue
        raise CheckpointError(
            f"{self._server.url} serves {' or '.join(names)}, which is not on this machine: "
            "pass model=, the checkpoint's name or folder here"
        )


def _settings(request: GenerationRequest, whitespace: str | None) -> dict[str, Any]:
    """SGLang's `custom_params`: what the request changes of the server's settings, and what SGLang has no name for."""
    custom = asdict(request.config) if request.config is not None else {}
    custom |= request.settings
    custom.pop("max_new_tokens", None)
    policy = custom.get("policy", {})
    custom["policy"] = dict(policy) if isinstance(policy, Mapping) else asdict(policy)
    if whitespace is not None:
        custom["policy"]["whitespace"] = whitespace
    if request.fixed_tokens:
        custom["fixed_tokens"] = dict(request.fixed_tokens)
    return custom


def _has_images(request: GenerationRequest) -> bool:
    contents = [message.get("content") for message in request.messages or ()]
    parts = [part for content in contents if content and not isinstance(content, str) for part in content]
    return request.images is not None or any(part["type"] == "image" for part in parts)


def _data_uri(picture: Any) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
