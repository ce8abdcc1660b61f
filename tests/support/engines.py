"""Other constrained-decoding engines, behind one interface: to compare speed with, and to ask for a second opinion.

Each raises `RefusedError` for what it says it can't do.
"""

from __future__ import annotations

import json
from typing import Any

from vocabularies import Tokens


class RefusedError(Exception):
    """The engine says that it does not support a constraint."""


class XGrammar:
    """xgrammar (pushdown automata over a byte-level grammar)."""

    name = "xgrammar"

    def __init__(self, tokens: Tokens) -> None:
        import xgrammar

        self.module = xgrammar
        encoded = [b"" if token is None else token for token in tokens.vocabulary.tokens]
        self.end = tokens.end_token_ids[0]
        self.info = xgrammar.TokenizerInfo(encoded, vocab_size=tokens.size, stop_token_ids=list(tokens.end_token_ids))
        self.compiler = xgrammar.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        self.mask = xgrammar.allocate_token_bitmask(1, tokens.size)

    def schema(self, schema: Any, *, open_world: bool) -> Any:
        """A matcher for a JSON Schema."""
        return self._matcher(lambda: self.compiler.compile_json_schema(json.dumps(schema), strict_mode=not open_world))

    def regex(self, pattern: str) -> Any:
        """A matcher for a regular expression that the whole text matches."""
        return self._matcher(lambda: self.compiler.compile_regex(pattern))

    def _matcher(self, compile_grammar: Any) -> Any:
        try:
            return self.module.GrammarMatcher(compile_grammar())
        except Exception as error:
            raise RefusedError(str(error)) from None

    def first_mask(self, matcher: Any) -> None:
        """The mask of the first token."""
        matcher.fill_next_token_bitmask(self.mask)

    def accepts(self, matcher: Any, text: str) -> bool:
        """Whether `text` is a complete member; the matcher can be used again."""
        matcher.reset()
        return (not text or matcher.accept_string(text)) and matcher.accept_token(self.end)


class LLGuidance:
    """llguidance (Earley parser over derivative-based lexers)."""

    name = "llguidance"

    def __init__(self, tokens: Tokens) -> None:
        import llguidance

        self.module = llguidance.LLMatcher
        self.tokenizer = llguidance.LLTokenizer(
            tokens.tokenizer.to_str(), n_vocab=None, eos_token=list(tokens.end_token_ids)
        )

    def schema(self, schema: Any, *, open_world: bool) -> Any:
        """A matcher for a JSON Schema (always as the standard says)."""
        return self._matcher(lambda: self.module.grammar_from_json_schema(json.dumps(schema)))

    def regex(self, pattern: str) -> Any:
        """A matcher for a regular expression that the whole text matches."""
        return self._matcher(lambda: self.module.grammar_from_regex(pattern))

    def _matcher(self, grammar: Any) -> Any:
        try:
            matcher = self.module(self.tokenizer, grammar(), log_level=0)
        except ValueError as error:
            raise RefusedError(str(error)) from None
        if matcher.is_error():
            raise RefusedError(matcher.get_error())
        return matcher

    def first_mask(self, matcher: Any) -> None:
        """The mask of the first token."""
        matcher.compute_bitmask()

    def accepts(self, matcher: Any, text: str) -> bool:
        """Whether `text` is a complete member; the matcher can be used again."""
        matcher = matcher.deep_copy()
        tokens = self.tokenizer.tokenize_str(text)
        return (
            matcher.validate_tokens(tokens) == len(tokens) and matcher.consume_tokens(tokens) and matcher.is_accepting()
        )


class OutlinesCore:
    """outlines-core (an index of all states over the vocabulary, from a regular expression)."""

    name = "outlines-core"

    def __init__(self, tokens: Tokens) -> None:
        import outlines_core

        self.module = outlines_core
        ids: dict[bytes, list[int]] = {}
        for number, token in enumerate(tokens.vocabulary.tokens):
            if token:
                ids.setdefault(token, []).append(number)
        self.vocabulary = outlines_core.Vocabulary(tokens.end_token_ids[0], ids)

    def schema(self, schema: Any, *, open_world: bool) -> Any:
        """An index for a JSON Schema."""
        try:
            pattern = self.module.json_schema.build_regex_from_schema(json.dumps(schema))
            return self.module.Guide(self.module.Index(pattern, self.vocabulary))
        except Exception as error:
            raise RefusedError(str(error)) from None

    def first_mask(self, guide: Any) -> None:
        """The tokens that may come first."""
        guide.get_tokens()
