"""A batch's rows as files: JSONL, CSV, Parquet. A file is written whole or not at all."""

import csv
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dg_sglang.errors import BatchError, ConfigError
from dg_sglang.pipelines.schema_tree import Node

if TYPE_CHECKING:
    import pyarrow as pa

Rows = Callable[[], Iterable[Mapping[str, Any]]]
"""Gives the rows once more each time it is called."""
CHUNK = 1000
"""Rows that are held in memory together."""


def write_rows(path: Path, rows: Rows, root: Node) -> None:
    """Write all rows in the format of the path's suffix; the file takes its place only when it is complete.

    Args:
        path: what to write.
        rows: gives the rows; formats with columns read them twice.
        root: the schema; Parquet takes dates and decimals as such where it says so.

    Raises:
        BatchError: the file can't be written, or the values of one field don't fit one column.
    """
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
            draft = Path(file.name)
            try:
                _WRITERS[path.suffix.lower()](file, rows, root)
                file.flush()
                os.fsync(file.fileno())
                draft.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
                draft.replace(path)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise BatchError(f"{path} can't be written: {error.strerror}") from error


def check_format(path: Path) -> None:
    """Raises ConfigError for a file whose format can't be written, before anything is computed."""
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise ConfigError(f"{path}: name an output file that ends in {', '.join(_WRITERS)}")
    if path.is_dir() or not path.parent.is_dir():
        raise ConfigError(f"{path}: name a file in an existing folder")
    if suffix == ".parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise ConfigError("Parquet needs an extra: pip install 'dg-sglang[batch]'") from error


def json_line(row: Mapping[str, Any]) -> bytes:
    """The row as one line of JSON in UTF-8; ASCII where a file's name is no text."""
    try:
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row).encode() + b"\n"


def _write_jsonl(file: IO[bytes], rows: Rows, root: Node) -> None:
    file.writelines(map(json_line, rows()))


def _write_csv(file: IO[bytes], rows: Rows, root: Node) -> None:
    """Nested fields get a column each (`value.seller.name`), lists one that holds them as JSON."""
    columns = dict.fromkeys(name for row in rows() for name in _cells(row))
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(map(_cells, rows()))
    text.detach()


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    error = row["error"] or {"category": None, "message": None}
    cells = {"source": row["source"], "error_category": error["category"], "error_message": error["message"]}
    return cells | dict(_flat("value", row["value"] or {}))


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(f"{name}.{key}", one)
    else:
        yield name, json.dumps(value, ensure_ascii=False) if isinstance(value, list | bool) else value


def _write_parquet(file: IO[bytes], rows: Rows, root: Node) -> None:
    """One struct column `value`; the evidence as JSON. The types are those of all rows together."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _fixed_columns()
    try:
        for chunk in _chunks(rows()):
            found = pa.Table.from_pylist([_record(row, root) for row in chunk]).schema
            schema = pa.unify_schemas([schema, found], promote_options="permissive")
        with pq.ParquetWriter(file, schema) as writer:
            for chunk in _chunks(rows()):
                writer.write_table(pa.Table.from_pylist([_record(row, root) for row in chunk], schema))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise BatchError(f"the values of a field don't fit one column ({error}); write JSONL instead") from error


def _fixed_columns() -> "pa.Schema":
    import pyarrow as pa

    texts = ("source", "error_category", "error_message", "evidence")
    return pa.schema([*((name, pa.string()) for name in texts), ("warnings", pa.list_(pa.string()))])


def _record(row: Mapping[str, Any], root: Node) -> dict[str, Any]:
    error = row["error"] or {"category": None, "message": None}
    return {
        "source": row["source"].encode("utf-8", "backslashreplace").decode(),
        "error_category": error["category"],
        "error_message": error["message"],
        "evidence": None if row["evidence"] is None else json.dumps(row["evidence"]),
        "warnings": row["warnings"],
        "value": _typed(root, row["value"]),
        "usage": row["usage"],
    }


def _typed(node: Node, value: Any) -> Any:
    """Dates and decimals, which JSON writes as strings, as such."""
    if isinstance(value, Mapping):
        children = {child.name: child for child in node.children}
        return {name: _typed(children[name], one) if name in children else one for name, one in value.items()}
    if isinstance(value, list) and node.kind == "list":
        return [_typed(node.children[0], one) for one in value]
    try:
        if node.kind == "date" and isinstance(value, str):
            return date.fromisoformat(value)
        if node.kind == "number" and node.number_type == "decimal" and value is not None:
            return Decimal(str(value))
    except (ValueError, InvalidOperation):
        return value  # the model's own serializer wrote something else
    return value


def _chunks(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_WRITERS: dict[str, Callable[[IO[bytes], Rows, Node], None]] = {
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
