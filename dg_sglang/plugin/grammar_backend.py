"""SGLang's grammar backend `dg`: constraints become token automata, or are refused with their keyword and pointer."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, BaseGrammarObject, InvalidGrammarObject

from dg_sglang import checkpoint as checkpoints
from dg_sglang.config import Whitespace
from dg_sglang.errors import DgError
from dg_sglang.grammar import JsonSchema, Regex, TokenAutomaton
from dg_sglang.plugin.service import Service
from dg_sglang.plugin.settings import algorithm_defaults

_KINDS = {"json": JsonSchema, "regex": Regex}

Key = tuple[str, str, Whitespace]


class CanvasGrammar(BaseGrammarObject):
    """A compiled constraint. Requests share it: where an answer stands in the automaton is its sequence's affair."""

    def __init__(self, automaton: TokenAutomaton) -> None:
        super().__init__()
        self.automaton = automaton


class CanvasGrammarBackend(BaseGrammarBackend):
    """Compiles constraints in SGLang's compile threads and keeps the most recently used ones.

    Attributes:
        service: the checkpoint, which the scheduler's hooks ask too.
        whitespace: the policy of the request that the scheduler is about to look up.
    """

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        self.whitespace = service.config.policy.whitespace
        self.cache = _Recent()

    def get_request_grammar_key(self, key: tuple[str, str], **_: Any) -> Key:
        """White space is a request's setting, and part of what is compiled."""
        return *key, self.whitespace

    def _init_value_dispatch(self, key: Key, require_reasoning: bool) -> BaseGrammarObject:
        """Compile, in a thread. Upstream asks the `dispatch_…` methods, which don't see the white space."""
        kind, text, whitespace = key
        if kind not in _KINDS:
            return InvalidGrammarObject(f"{kind} can't be enforced; use one of {', '.join(_KINDS)}")
        try:
            return CanvasGrammar(self.service.compile(_KINDS[kind](text), whitespace))
        except DgError as error:
            return InvalidGrammarObject(str(error))


class _Recent(OrderedDict[Any, BaseGrammarObject]):
    """The most recently used entries."""

    capacity = 64

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self:
            self.move_to_end(key)
        return super().get(key, default)

    def __setitem__(self, key: Any, value: BaseGrammarObject) -> None:
        super().__setitem__(key, value)
        if len(self) > self.capacity:
            self.popitem(last=False)


def make_grammar_backend(server_args: Any, tokenizer: Any, vocab_size: int, _: Any) -> CanvasGrammarBackend:
    """What `register_grammar_backend` calls in the scheduler.

    Raises:
        CheckpointError, ConfigError: the checkpoint or the server's settings are at fault.
    """
    from sglang.srt.dllm.config import DllmConfig

    dllm = DllmConfig.from_server_args(server_args)
    service = Service(
        checkpoints.resolve(server_args.model_path, download=False),
        tokenizer,
        vocab_size=vocab_size,
        canvas_length=dllm.block_size,
        defaults=algorithm_defaults(dllm.algorithm_config),
    )
    _ = service.vocabulary.trie  # read now, not while the first request waits
    return CanvasGrammarBackend(service)
