"""What extraction needs from an engine, and how one is named where it must be loaded in another process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dg_sglang.config import GenerationConfig
    from dg_sglang.results import GenerationResult


class Tokens(Protocol):
    """The vocabulary as far as confidences need it."""

    @property
    def tokens(self) -> Sequence[bytes | None]:
        """Each token's bytes; None for special tokens."""


class TextEngine(Protocol):
    """`dg_sglang.Engine`, or anything that answers like it."""

    @property
    def config(self) -> "GenerationConfig":
        """Its default settings."""

    @property
    def canvas_length(self) -> int:
        """Tokens in a canvas."""

    @property
    def max_context(self) -> int:
        """The most tokens that prompt and answer may have together."""

    @property
    def vocabulary(self) -> Tokens:
        """The tokenizer's vocabulary."""

    def count_tokens(self, text: str) -> int:
        """How many tokens `text` takes in a prompt."""

    def generate_batch(self, requests: Sequence[Mapping[str, Any]]) -> "list[GenerationResult]":
        """Answer several requests; their keys are `GenerationRequest`'s fields."""


@dataclass(frozen=True)
class EngineSpec:
    """Which engine to use: a model in this process, an SGLang server's, or what `make` returns in each process."""

    model: str = "nano"
    url: str | None = None
    make: Callable[[], TextEngine] | None = None

    def load(self) -> TextEngine:
        """The engine. Raises CheckpointError, ConfigError, ServerError, or what `make` raises."""
        if self.make is not None:
            return self.make()
        if self.url is not None:
            from dg_sglang.remote import SGLangEngine

            return SGLangEngine(self.url)
        from dg_sglang.engine import Engine

        return Engine.load(self.model)
