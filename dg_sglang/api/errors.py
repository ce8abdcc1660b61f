"""Errors as HTTP answers: the status says whose fault it is, the body what to do."""

from collections.abc import Mapping
from typing import Any

from dg_sglang.errors import DgError

_STATUS = {
    "config": 400,
    "schema": 400,
    "timeout": 504,
    "checkpoint": 503,
    "server": 503,
    "crash": 500,
    "memory": 500,
    "unexpected": 500,
}
_ABOUT_THE_DOCUMENT = 422


def status_of(code: str) -> int:
    """The HTTP status of an error's category.

    400: the request is wrong whatever the document. 422: this document can't be read, or not as the schema asks.
    """
    return _STATUS.get(code, _ABOUT_THE_DOCUMENT)


def body_of(error: DgError) -> dict[str, Any]:
    """The JSON body of an error that was raised before any document was read."""
    return problem(
        str(error), error.category, pointer=getattr(error, "pointer", None), keyword=getattr(error, "keyword", None)
    )


def body_of_row(error: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON body of a row's error; what was extracted nevertheless comes along."""
    body = problem(error["message"], error["category"], failures=error.get("failures", []))
    return body | {"partial": error.get("partial")}


def problem(message: str, code: str, **details: Any) -> dict[str, Any]:
    """The JSON body of an error."""
    known: dict[str, Any] = {"message": message, "code": code, "pointer": None, "keyword": None, "failures": []}
    return {"error": known | details, "partial": None}
