"""Errors as HTTP answers: the status says whose fault it is, the body what to do."""

from typing import Any

from dg_sglang.errors import (
    CheckpointError,
    ConfigError,
    DgError,
    ExtractionError,
    GrammarError,
    InputError,
)

STATUS: tuple[tuple[type[DgError], int], ...] = (
    (GrammarError, 400),
    (ConfigError, 400),
    (InputError, 422),
    (ExtractionError, 422),
    (CheckpointError, 503),
)
"""400: the request is wrong whatever the document. 422: this document can't be read, or not as the schema asks."""


def status_of(error: DgError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def body_of(error: DgError) -> dict[str, Any]:
    """The JSON body of an error; what was extracted nevertheless comes along."""
    detail = {
        "message": str(error),
        "type": type(error).__name__,
        "code": error.category,
        "pointer": getattr(error, "pointer", None) or None,
        "keyword": getattr(error, "keyword", None),
    }
    partial = getattr(error, "partial", None)
    return {"error": detail, "partial": partial.to_json() if hasattr(partial, "to_json") else partial}


def problem(message: str, kind: str, code: str) -> dict[str, Any]:
    """The JSON body of a problem that has no error of ours."""
    detail = {"message": message, "type": kind, "code": code, "pointer": None, "keyword": None}
    return {"error": detail, "partial": None}
