"""A tokenizer's vocabulary as bytes, in a trie that automata walk."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import CheckpointError

_BYTE_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_RESERVED = re.compile(r"<unused\d+>|\[multimodal\]")


@dataclass(frozen=True)
class TokenTrie:
    """The trie in preorder; a token set is found by one pass that skips the subtrees it can't enter.

    byte: uint8 [nodes]; depth: int32 [nodes], 0 for the root's children; skip: int32 [nodes], the next node outside the
    subtree; token_start: int32 [nodes + 1], bounds into token_ids: the tokens that end at the node (maybe several).
    """

    byte: NDArray[np.uint8]
    depth: NDArray[np.int32]
    skip: NDArray[np.int32]
    token_start: NDArray[np.int32]
    token_ids: NDArray[np.int32]

    @property
    def max_depth(self) -> int:
        """The longest token in bytes."""
        return int(self.depth.max(initial=-1)) + 1


class Vocabulary:
    """The bytes of each token id. Reserved tokens (turns, images, channels, unused) have none: no text contains them.

    Args:
        tokens: bytes per id, or None for an id that may never appear inside a constrained text.
        size: the width of the model's logits, at least len(tokens).
    """

    def __init__(self, tokens: Sequence[bytes | None], size: int | None = None) -> None:
        self.size = len(tokens) if size is None else size
        if self.size < len(tokens):
            raise CheckpointError(f"the tokenizer has {len(tokens)} tokens, the model only {self.size}")
        self.tokens = [*tokens, *[None] * (self.size - len(tokens))]

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, size: int | None = None) -> Vocabulary:
        """Read a transformers fast tokenizer, or a `tokenizers.Tokenizer`.

        Byte-level BPE and SentencePiece-style BPE (▁ for a space, <0xNN> for a byte) are understood.
        Raises CheckpointError for any other kind.
        """
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        if not hasattr(backend, "to_str"):
            raise CheckpointError("a fast tokenizer (tokenizer.json) is needed for constrained generation")
        spec = json.loads(backend.to_str())
        kinds = _types(spec["decoder"]) | _types(spec["pre_tokenizer"])
        if "ByteLevel" in kinds:
            to_bytes = _byte_level()
        elif kinds & {"ByteFallback", "Metaspace", "Replace"}:
            to_bytes = _sentence_piece
        else:
            raise CheckpointError(f"the tokenizer's decoder ({', '.join(sorted(kinds)) or 'none'}) is not supported")
        added = {token["id"]: token for token in spec["added_tokens"]}
        special = set(getattr(tokenizer, "all_special_ids", ()))
        tokens: list[bytes | None] = [None] * (max(backend.get_vocab().values(), default=-1) + 1)
        for text, number in backend.get_vocab().items():
            if number in added:
                plain = not added[number]["special"] and number not in special and not _RESERVED.fullmatch(text)
                tokens[number] = text.encode() if plain else None
            elif number not in special:
                tokens[number] = to_bytes(text)
        return cls(tokens, size)

    def __len__(self) -> int:
        return self.size

    @cached_property
    def trie(self) -> TokenTrie:
        """Built once, on first use."""
        from dg_sglang.kernels.automaton import build_trie

        order = sorted((data, number) for number, data in enumerate(self.tokens) if data)
        text = np.frombuffer(b"".join(data for data, _ in order), np.uint8)
        start = np.cumsum([0, *(len(data) for data, _ in order)], dtype=np.int64)
        ids = np.fromiter((number for _, number in order), np.int32, len(order))
        byte, depth, skip, token_start = build_trie(text, start)
        return TokenTrie(byte, depth, skip, token_start, ids)


def _types(part: Any) -> set[str]:
    """The names of all steps in a decoder's or pre-tokenizer's specification."""
    if isinstance(part, dict):
        return {part["type"]}.union(*map(_types, part.values())) if "type" in part else set()
    return set().union(*map(_types, part)) if isinstance(part, list) else set()


def _byte_level() -> Callable[[str], bytes]:
    """GPT-2's printable stand-ins for bytes (openai/gpt-2, `bytes_to_unicode`), undone."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    stands_for = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
    return lambda text: bytes(stands_for[char] for char in text)


def _sentence_piece(text: str) -> bytes:
    fallback = _BYTE_FALLBACK.fullmatch(text)
    return bytes([int(fallback[1], 16)]) if fallback else text.replace("▁", " ").encode()
