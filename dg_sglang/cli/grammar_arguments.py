"""What the arguments of `dg-sglang grammar` mean."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dg_sglang.errors import CheckpointError, InputError

if TYPE_CHECKING:
    from dg_sglang.grammar import Constraint, Vocabulary


def read_constraint(
    schema: str, kind: str | None, *, open_world: bool, annotations: tuple[str, ...], whitespace: Any = None
) -> "Constraint":
    """The constraint that SCHEMA means, read as `kind`: "regex", "ebnf", or None for a JSON Schema."""
    from dg_sglang.grammar import Ebnf, JsonSchema, Regex
    from dg_sglang.pipelines import resolve_schema

    if kind and (open_world or annotations):
        option = "--open" if open_world else "--annotation"
        raise click.UsageError(f"{option} is about JSON Schemas, not --{kind}.")
    if kind == "regex":
        return Regex(schema)
    if kind == "ebnf":
        return Ebnf(read_text(schema, "SCHEMA"))
    given: Any = schema
    if schema == "-":
        given = _stdin("SCHEMA")
    elif schema.lstrip()[:1] != "{" and schema not in ("true", "false"):
        given = resolve_schema(schema)
    return JsonSchema(given, whitespace, open=open_world, annotations=annotations)


def read_text(given: str, what: str) -> str:
    """A text as it is given, from a file, or from stdin; a file's last line break isn't part of it."""
    if given == "-":
        return _stdin(what).removesuffix("\n")
    try:
        if not Path(given).is_file():
            return given
        return Path(given).read_text(encoding="utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{given} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except (OSError, ValueError):  # no name of a file: too long, or with a NUL
        return given


def _stdin(what: str) -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InputError(f"{what} on stdin is not {error.encoding} text: {error.reason}") from error


def load_vocabulary(name: str) -> "tuple[Vocabulary, list[int]]":
    """A tokenizer's vocabulary and its reserved tokens, any of which may end an answer here."""
    from tokenizers import Tokenizer

    from dg_sglang import checkpoint
    from dg_sglang.grammar import Vocabulary

    file = Path(name).expanduser()
    if name in checkpoint.BUNDLED or file.is_dir():
        file = checkpoint.resolve(name) / "tokenizer.json"
    elif not file.is_file() and name.count("/") == 1 and not name.startswith((".", "~", "/")):
        file = _from_hub(name)
    try:
        backend = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises plain Exception
        raise CheckpointError(f"the tokenizer {file} can't be read: {error}") from error
    vocabulary = Vocabulary.from_tokenizer(backend)
    reserved = [number for number, token in enumerate(vocabulary.tokens) if token is None]
    if not reserved:
        raise CheckpointError(f"the tokenizer {file} has no special token that could end an answer")
    return vocabulary, reserved


def _from_hub(name: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(name, "tokenizer.json"))
    except Exception as error:  # the hub's own errors, and those of the network
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CheckpointError(
            f"no tokenizer {name!r}: neither a file nor a folder, and not fetched: {reason}"
        ) from error
