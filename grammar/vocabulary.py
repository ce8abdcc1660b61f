"""A tokenizer's vocabulary as bytes, in a trie that automata walk."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import CheckpointError
from dg_sglang.grammar.fold import SharedFold

if TYPE_CHECKING:
    from dg_sglang.kernels.trie import Trie

_BYTE_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_HASH_SEED = 0x5EED
_RESERVED = re.compile(r"<unused\d+>|\[multimodal\]")


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
        self._fold = SharedFold()

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

    @property
    def fold(self) -> SharedFold:
        """What token automata have found out about the trie, for the next one to use."""
        if self._fold.is_full:
            self._fold = SharedFold()
        return self._fold

    @cached_property
    def trie(self) -> Trie:
        """Built once, on first use."""
        from dg_sglang.kernels.trie import Trie, build_trie

        order = sorted((data, number) for number, data in enumerate(self.tokens) if data)
        text = np.frombuffer(b"".join(data for data, _ in order), np.uint8)
        start = np.cumsum([0, *(len(data) for data, _ in order)], dtype=np.int64)
        ids = np.fromiter((number for _, number in order), np.int32, len(order))
        byte, depth, parent, ends = build_trie(text, start)
        # From preorder to breadth first: by depth. Behind the root, hence the ones.
        breadth = np.argsort(depth, kind="stable")
        children = np.bincount(parent + 1, minlength=len(byte) + 1)
        children = np.append(children[0], children[1:][breadth])
        tokens = np.diff(ends)[breadth]
        token_start = np.concatenate([[0, 0], np.cumsum(tokens)])
        within = np.arange(len(ids)) - np.repeat(token_start[1:-1], tokens)
        return Trie(
            byte=np.append(np.uint8(0), byte[breadth]),
            child_start=np.concatenate([[1], 1 + np.cumsum(children)]).astype(np.int32),
            token_start=token_start.astype(np.int32),
            token_ids=ids[np.repeat(ends[:-1][breadth], tokens) + within],
            token_hash=np.random.default_rng(_HASH_SEED).integers(1, 2**63, self.size, np.uint64),
        )

    @cached_property
    def single_bytes(self) -> NDArray[np.bool_]:
        """bool [256]: the bytes that a token spells alone."""
        single = np.zeros(256, np.bool_)
        single[[data[0] for data in self.tokens if data and len(data) == 1]] = True
        return single


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
