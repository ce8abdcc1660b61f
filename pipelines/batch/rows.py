"""One row of a batch's output per document: `source`, `value`, `evidence`, `usage`, `error` and what goes with them."""

import traceback
from pathlib import Path
from typing import Any

from dg_sglang.errors import DgError, ExtractionError
from dg_sglang.pipelines.engines import TextEngine
from dg_sglang.pipelines.extraction import ExtractionResult, extract
from dg_sglang.pipelines.reading import Failure, to_json_value

FATAL = frozenset({"config", "checkpoint", "schema"})
"""Errors of the batch rather than of one document: every other document would fail in the same way."""
TRANSIENT = frozenset({"timeout", "crash", "memory", "unexpected", "server"})
"""Errors that another attempt may not meet."""


def extract_row(source: str, schema: Any, engine: TextEngine, **extraction: Any) -> dict[str, Any]:
    """Extract from one file. Whatever happens becomes a row.

    Args:
        source: the file's path.
        schema: as for `extract`; so are `engine` and `extraction`.

    Returns:
        A JSON object: `source`, `document` (name and pages), `value`, `evidence`, `warnings`, `usage`, `error`. Without
        an error that is null; else it holds `category`, `message`, and for category "invalid" the `failures` by field
        and, as `partial`, the values that could be read. `value` is then null, and so is what wasn't reached.
    """
    try:
        return _success_row(source, extract(Path(source), schema, engine=engine, **extraction))
    except DgError as error:
        return failure_row(source, error.category, str(error), error)
    except MemoryError as error:
        return failure_row(source, "memory", f"{source}: out of memory", error)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        return failure_row(source, "unexpected", f"{source}: {type(error).__name__}: {error} (in {where})", error)


def failure_row(source: str, category: str, message: str, error: BaseException | None = None) -> dict[str, Any]:
    """The row of a document without a value."""
    row: dict[str, Any] = {
        "source": source,
        "document": None,
        "value": None,
        "evidence": None,
        "warnings": [],
        "usage": None,
    }
    problem: dict[str, Any] = {"category": category, "message": message}
    if isinstance(error, ExtractionError) and isinstance(error.partial, ExtractionResult):
        row |= _parts(error.partial) | {"value": None}
        problem["failures"] = [
            {"field": failure.field, "raw": failure.raw, "reason": failure.reason}
            for failure in error.failures
            if isinstance(failure, Failure)
        ]
        problem["partial"] = to_json_value(error.partial.data)
    return row | {"error": problem}


def _success_row(source: str, result: ExtractionResult) -> dict[str, Any]:
    return {"source": source, **_parts(result), "error": None}


def _parts(result: ExtractionResult) -> dict[str, Any]:
    tree = result.to_json()
    return {name: tree[name] for name in ("document", "value", "evidence", "warnings", "usage")}
