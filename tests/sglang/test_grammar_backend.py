import re
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject, InvalidGrammarObject

from dg_sglang import checkpoint
from dg_sglang.plugin.grammar_backend import CanvasGrammar, CanvasGrammarBackend
from dg_sglang.plugin.service import Service


@pytest.fixture(scope="module")
def backend(tiny_path: Path) -> CanvasGrammarBackend:
    tokenizer = checkpoint.load_tokenizer(checkpoint.inspect(tiny_path))
    return CanvasGrammarBackend(Service(tiny_path, tokenizer, vocab_size=304, canvas_length=16))


def compiled(backend: CanvasGrammarBackend, kind: str, text: str) -> BaseGrammarObject:
    """As SGLang's grammar manager asks."""
    key = backend.get_request_grammar_key((kind, text), input_ids=[], thinking_budget=None)
    value, hit = backend.get_cached_or_future_value(key, False)
    if hit:
        return value
    assert isinstance(value, Future)
    backend.set_cache(key, value.result().copy())
    return value.result()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", '{"enum": ["a", "b"]}'),
        ("regex", "a|b"),
        ("ebnf", 'root ::= "a" | "b"'),
        ("structural_tag", '{"type": "structural_tag", "format": {"type": "regex", "pattern": "a|b"}}'),
    ],
)
def test_every_kind_becomes_an_automaton_and_is_kept(backend: CanvasGrammarBackend, kind: str, text: str) -> None:
    first = compiled(backend, kind, text)
    assert isinstance(first, CanvasGrammar)
    assert first.automaton.min_tokens(first.automaton.start) == (3 if kind == "json" else 1)
    assert compiled(backend, kind, text) is first


def test_white_space_is_part_of_what_is_kept(backend: CanvasGrammarBackend) -> None:
    schema = '{"type": "array", "items": {"enum": [1]}, "minItems": 1}'
    automata = []
    for whitespace in ("compact", "json"):
        backend.whitespace = whitespace
        grammar = compiled(backend, "json", schema)
        assert isinstance(grammar, CanvasGrammar)
        automata.append(grammar.automaton)
    space = backend.service.vocabulary.tokens.index(b" ")
    assert [bool(one.allowed(one.advance(one.start, [_token(backend, "[")]), 9)[space]) for one in automata] == [
        False,
        True,
    ]


def _token(backend: CanvasGrammarBackend, text: str) -> int:
    return backend.service.vocabulary.tokens.index(text.encode())


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("json", '{"type": "array", "uniqueItems": true}', "UnsupportedSchemaError: .*'uniqueItems'"),
        ("json", "{", "InvalidSchemaError: the schema is not valid JSON"),
        ("regex", "(", "InvalidSchemaError"),
        ("json", '{"enum": []}', "Error"),
    ],
)
def test_what_can_t_be_enforced_is_invalid(backend: CanvasGrammarBackend, kind: str, text: str, message: str) -> None:
    refused = compiled(backend, kind, text)
    assert isinstance(refused, InvalidGrammarObject)
    assert re.search(message, refused.error_message)


def test_the_oldest_entries_go(backend: CanvasGrammarBackend) -> None:
    entry: Any = BaseGrammarObject()
    for number in range(100):
        backend.set_cache(("regex", str(number), "json"), entry)
        assert backend.cache.get(("regex", "0", "json")) is entry  # used all the time
    assert len(backend.cache) == backend.cache.capacity
    assert backend.cache.get(("regex", "1", "json")) is None
    backend.reset()
    assert not backend.cache
