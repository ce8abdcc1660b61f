"""What a client sends: the document and what is asked of it."""

import json
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import ConfigError, InvalidSchemaError

if TYPE_CHECKING:
    from fastapi import UploadFile

_LONGEST_NAME = 60
_CHUNK = 1 << 20
_NOT_OURS = frozenset({"source", "schema", "engine", "model", "progress", "limits", "password", "seed", "constraint"})
"""Arguments of `extract` that `settings` may not name."""


def safe_name(name: str | None) -> str:
    """The client's file name without folders and control characters; it names the document in the result."""
    last = PurePosixPath(PureWindowsPath(name or "").name).name
    kept = "".join(character for character in last if character.isprintable() and character not in '<>:"|?*')
    return kept.encode("utf-8", "ignore").decode()[-_LONGEST_NAME:].lstrip(". ") or "document"


async def save(upload: "UploadFile", path: Path) -> None:
    """Write an upload to a file."""
    with path.open("wb") as file:
        while chunk := await upload.read(_CHUNK):
            file.write(chunk)


def read_schema(text: str) -> Any:
    """ "invoice", "receipt" or a JSON Schema as JSON text: nothing that names a file or a module here.

    Raises InvalidSchemaError.
    """
    from dg_sglang.pipelines.schemas import BUILT_IN

    name = text.strip()
    if name in BUILT_IN:
        return name
    try:
        schema = json.loads(name)
    except (ValueError, RecursionError) as error:
        known = ", ".join(BUILT_IN)
        raise InvalidSchemaError(f"the schema is neither one of {known} nor a JSON Schema: {error}") from None
    if not isinstance(schema, dict):
        raise InvalidSchemaError(f"a JSON Schema is a JSON object here, not {type(schema).__name__}")
    check_text(schema)
    return schema


def check_text(schema: Any) -> None:
    """Raises InvalidSchemaError where a name or text in the schema is none (lone surrogates, which JSON can escape)."""
    try:
        json.dumps(schema, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError) as error:
        raise InvalidSchemaError(f"the schema can't be written as text: {error}") from None


def target_of(schema: Any) -> Any:
    """What `extract` takes for a schema that `read_schema` gave."""
    from dg_sglang.pipelines.schemas import BUILT_IN

    return BUILT_IN[schema] if isinstance(schema, str) else schema


def read_settings(text: str | None) -> dict[str, Any]:
    """Generation settings as JSON text. Raises ConfigError; their names and values are checked by the engine."""
    if not text:
        return {}
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"settings is not a JSON object: {error}") from None
    if not isinstance(settings, dict):
        raise ConfigError(f"settings must be a JSON object, not {type(settings).__name__}")
    if taken := sorted(_NOT_OURS & settings.keys()):
        raise ConfigError(f"settings can't hold {', '.join(taken)}")
    return settings
