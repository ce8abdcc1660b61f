"""Python types as constraints: their JSON Schema, or the texts that they enumerate."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Iterable
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from dg_sglang.errors import InvalidSchemaError
from dg_sglang.grammar.text import shown


def is_python_type(value: Any) -> bool:
    """Whether pydantic is to be asked for the JSON Schema of `value`: types, annotations, functions."""
    return (
        isinstance(value, type | functools.partial)
        or get_origin(value) is not None
        or inspect.isroutine(value)
        or any(hasattr(value, name) for name in ("model_json_schema", "__supertype__", "__value__"))  # NewType, aliases
    )


def schema_of_type(value: Any) -> Any:
    """The JSON Schema of the JSON that pydantic reads as `value`; for a function, of its arguments.

    Raises:
        InvalidSchemaError: it has none.
    """
    from pydantic import TypeAdapter

    try:
        if hasattr(value, "model_json_schema"):
            return value.model_json_schema()
        return TypeAdapter(value).json_schema()
    except Exception as error:  # pydantic's own errors, and whatever the type's hooks raise
        name = getattr(value, "__name__", None) or shown(value)
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InvalidSchemaError(f"{name} has no JSON Schema: {reason}") from error


def enumerated_texts(value: Any) -> list[str] | None:
    """The texts of a Literal or an Enum class: strings as they are, other values as JSON; None for other types.

    Raises:
        InvalidSchemaError: a value is neither a string nor a number, boolean or None.
    """
    members: Iterable[Any]
    if get_origin(value) is Literal:
        members = get_args(value)
    elif isinstance(value, type) and issubclass(value, Enum):
        members = value
    else:
        return None
    values = [one.value if isinstance(one, Enum) else one for one in members]
    for one in values:
        if one is not None and not isinstance(one, str | int | float):
            raise InvalidSchemaError(f"{shown(value)} holds {shown(one)}, which is no text, number, boolean or None")
    return [one if isinstance(one, str) else json.dumps(one) for one in values]
