"""What users give as a schema, a pydantic model class or a dict, as one checked JSON Schema."""

from collections.abc import Mapping
from typing import Any

from dg_sglang.errors import InvalidSchemaError

_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
"""pydantic's names of a Decimal's bounds, which its JSON Schema lacks."""


def json_schema_of(schema: Any) -> tuple[Mapping[str, Any], bool]:
    """The JSON Schema, and whether its Decimals are marked as such, so that "number or string" is a union.

    Raises:
        InvalidSchemaError: it is neither, or malformed.
    """
    if isinstance(schema, type) and hasattr(schema, "model_json_schema"):
        return _model_schema(schema), True
    if isinstance(schema, Mapping):
        _check_json_schema(schema)
        return schema, False
    raise InvalidSchemaError(f"a schema must be a pydantic model class or a JSON Schema dict, not {schema!r}")


def escape(name: str) -> str:
    """A property's name as part of a JSON pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def _model_schema(model: type[Any]) -> dict[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

    class _StatedDecimals(GenerateJsonSchema):
        """A Decimal is a number. (pydantic: number or string, differently from version to version.)"""

        def decimal_schema(self, schema: Any) -> JsonSchemaValue:
            bounds = {word: schema[key] for key, word in _BOUNDS.items() if schema.get(key) is not None}
            return {"type": "number", "x-kind": "decimal"} | {word: float(bound) for word, bound in bounds.items()}

    try:
        return dict(model.model_json_schema(mode="validation", schema_generator=_StatedDecimals))
    except Exception as error:  # pydantic's own errors, and whatever the model's hooks raise
        raise InvalidSchemaError(f"{model.__name__} has no JSON Schema: {error}") from error


def _check_json_schema(schema: Mapping[str, Any]) -> None:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    validator = validator_for(schema)
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        pointer = "".join(f"/{escape(str(part))}" for part in error.absolute_path)
        raise InvalidSchemaError(error.message, pointer=pointer) from error
    except RecursionError as error:
        raise InvalidSchemaError("the schema is nested too deeply") from error
