"""SGLang's grammar backend `dg`: constraints become token automata, or are refused with their keyword and pointer."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, BaseGrammarObject, InvalidGrammarObject

from dg_sglang import checkpoint as checkpoints
from dg_sglang.config import Whitespace
from dg_sglang.errors import DgError
from dg_sglang.grammar import Ebnf, Regex, StructuralTag, TokenAutomaton
from dg_sglang.plugin.service import Service, named
from dg_sglang.plugin.settings import algorithm_defaults
from dg_sglang.wire import read_schema

_KINDS: dict[str, Callable[[str], Any]] = {
    "json": read_schema,
    "regex": Regex,
    "ebnf": Ebnf,
    "full_assistant_ebnf": Ebnf,
    "structural_tag": StructuralTag,
}

_LOGGER = logging.getLogger(__name__)

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
        try:
            return CanvasGrammar(self.service.compile(_KINDS[kind](text), whitespace))
        except DgError as error:
            return InvalidGrammarObject(named(error))
        except Exception as error:  # the scheduler would end the server for it
            _LOGGER.exception("a constraint could not be compiled: %.500s", text)
            return InvalidGrammarObject(named(error))


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
    service.warm_up(torch.device(server_args.device))
    return CanvasGrammarBackend(service)
