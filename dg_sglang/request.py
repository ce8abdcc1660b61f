"""One request as people write it, checked for form; the engine, which knows the checkpoint, checks the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import torch

from dg_sglang.config import GenerationConfig, close_matches
from dg_sglang.errors import ConfigError, EmptyPromptError, InputError

MAX_SEED = 2**63 - 1


@dataclass(frozen=True)
class GenerationRequest:
    """What to generate from, and how. Exactly one of `prompt`, `messages` and `input_ids` is given.

    Attributes:
        prompt: one user turn, put through the chat template.
        messages: a conversation, as in transformers' chat templates; image parts may carry their picture
            (`{"type": "image", "image": picture}`) or stand for the next one of `images`.
        input_ids: the prompt's token ids, used as they are.
        images: pictures (PIL images, paths or bytes). With `prompt` they come before its text.
        constraint: what the answer must satisfy: a constraint of `dg_sglang.grammar` (JsonSchema, Regex, Ebnf, …), a
            JSON Schema as a dict, a Python type (a pydantic model, `Literal["a", "b"]`, …), or a compiled Grammar.
        max_new_tokens: shorthand for the setting.
        seed: 0 … 2**63 − 1; None draws one, which the result tells.
        config: the settings to start from instead of the checkpoint's own.
        thinking: ask for the thinking channel (the chat template's `enable_thinking`). A constraint then begins where
            the channel closes.
        fixed_tokens: position in the answer → token id that stands there from the first step on.
        settings: changes to single settings, checked against GenerationConfig.
    """

    prompt: str | None = None
    messages: Sequence[Mapping[str, Any]] | None = None
    input_ids: Sequence[int] | torch.Tensor | None = None
    images: Any = None
    constraint: Any = None
    max_new_tokens: int | None = None
    seed: int | None = None
    config: GenerationConfig | None = None
    thinking: bool = False
    fixed_tokens: Mapping[int, int] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sources = [name for name in ("prompt", "messages", "input_ids") if getattr(self, name) is not None]
        if len(sources) != 1:
            given = " and ".join(sources) or "none"
            raise InputError(f"give exactly one of prompt, messages and input_ids ({given} given)")
        if self.prompt is not None:
            _check_prompt(self.prompt)
        if self.messages is not None:
            _check_messages(self.messages)
        if self.seed is not None and not (_is_int(self.seed) and 0 <= self.seed <= MAX_SEED):
            raise ConfigError(f"seed must be an integer from 0 to {MAX_SEED}, got {self.seed!r}")
        if self.config is not None and not isinstance(self.config, GenerationConfig):
            raise ConfigError(f"config must be a GenerationConfig, got {type(self.config).__name__}")
        if not isinstance(self.thinking, bool):
            raise ConfigError(f"thinking must be True or False, got {self.thinking!r}")
        if self.fixed_tokens is not None:
            pairs = self.fixed_tokens.items() if isinstance(self.fixed_tokens, Mapping) else [(None, None)]
            if not all(_is_int(position) and _is_int(token) for position, token in pairs):
                raise ConfigError(f"fixed_tokens must map positions to token ids, got {self.fixed_tokens!r}")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """From keyword arguments; names that are no fields are settings.

        Raises:
            ConfigError: a name is neither.
        """
        own = {entry.name for entry in fields(cls)} - {"settings"}
        extra = {name: value for name, value in values.items() if name not in own}
        known = [*own, *(entry.name for entry in fields(GenerationConfig))]
        if strangers := [name for name in extra if name not in known]:
            GenerationConfig().replace({name: extra[name] for name in strangers if not close_matches(name, own)})
            raise ConfigError(f"unknown argument {strangers[0]!r}{close_matches(strangers[0], known)}")
        return cls(**{name: value for name, value in values.items() if name in own}, settings=extra)

    def resolved_config(self, default: GenerationConfig) -> GenerationConfig:
        """The settings in force, from the checkpoint's default, `config`, `settings` and `max_new_tokens`."""
        changes = dict(self.settings)
        if self.max_new_tokens is not None:
            changes["max_new_tokens"] = self.max_new_tokens
        return (self.config or default).replace(changes)

    def checked_ids(self, vocab_size: int) -> list[int]:
        """`input_ids` as a list.

        Raises:
            InputError: not a sequence of ids of this vocabulary, or empty.
        """
        ids = self.input_ids
        if isinstance(ids, torch.Tensor):
            if ids.dim() == 2 and ids.shape[0] == 1:
                ids = ids[0]
            if ids.dim() != 1 or ids.is_floating_point():
                raise InputError(f"input_ids must be integers of shape [n], got {ids.dtype} of shape {list(ids.shape)}")
            ids = ids.tolist()
        if isinstance(ids, str) or not isinstance(ids, Sequence):
            raise InputError(f"input_ids must be a sequence of token ids, got {type(ids).__name__}")
        if not ids:
            raise EmptyPromptError("input_ids is empty: there is nothing to answer")
        for position, token in enumerate(ids):
            if not _is_int(token) or not 0 <= token < vocab_size:
                raise InputError(f"input_ids[{position}] must be an integer from 0 to {vocab_size - 1}, got {token!r}")
        return list(ids)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_prompt(prompt: object) -> None:
    if not isinstance(prompt, str):
        raise InputError(f"prompt must be a string, got {type(prompt).__name__} (messages and input_ids take the rest)")
    if not prompt.strip():
        raise EmptyPromptError("the prompt is empty: there is nothing to answer")
    _check_text(prompt, "the prompt")


def _check_text(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where} holds a lone surrogate ({text[error.start]!r} at position {error.start}), which no text can"
        ) from error


def _check_messages(messages: object) -> None:
    if isinstance(messages, str | Mapping) or not isinstance(messages, Sequence):
        raise InputError(f"messages must be a list of {{role, content}} objects, got {type(messages).__name__}")
    if not messages:
        raise EmptyPromptError("messages is empty: there is nothing to answer")
    substance = False
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise InputError(f"{where} must be an object with a role and a content, got {message!r}")
        content = message.get("content")
        if content is not None and not isinstance(content, str) and not _is_parts(content):
            raise InputError(
                f"{where}: content must be a string or a list of parts, "
                '{"type": "text", "text": …} or {"type": "image"}'
            )
        text = content if isinstance(content, str) else "".join(part.get("text", "*") for part in content or ())
        _check_text(text, where)
        substance = substance or bool(text.strip())
    if not substance:
        raise EmptyPromptError("all messages are empty: there is nothing to answer")


def _is_parts(content: object) -> bool:
    return isinstance(content, Sequence) and all(
        isinstance(part, Mapping)
        and (part.get("type") == "image" or (part.get("type") == "text" and isinstance(part.get("text"), str)))
        for part in content
    )
