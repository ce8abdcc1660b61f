"""Is an answer valid? Judged by validators that know nothing of this package."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for


class Judge:
    """One schema's validators: jsonschema-rs with format assertions, and jsonschema as an arbiter; 0.1 is a tenth."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.fast = jsonschema_rs.validator_for(schema, validate_formats=True)
        self.known: dict[str, str] = {}

    def fault(self, text: str) -> str:
        """What is wrong with `text`; empty if nothing is."""
        if text not in self.known:
            self.known[text] = self._fault(text)
        return self.known[text]

    def _fault(self, text: str) -> str:
        try:
            value = json.loads(text, parse_float=_number)
        except (ValueError, RecursionError) as error:
            return f"not JSON: {error}"
        if self.fast.is_valid(value):
            return ""
        error = next(iter(self.fast.iter_errors(value)))
        return f"{error.message[:200]} (schema path {error.schema_path})"

    def second_opinion(self, text: str) -> str:
        """The same by jsonschema, which asserts few formats."""
        schema = json.loads(json.dumps(self.schema), parse_float=Decimal)
        kind = validator_for(schema, default=Draft202012Validator)
        try:
            errors = kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(json.loads(text, parse_float=_number))
            return next((error.message[:200] for error in errors), "")
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def _number(text: str) -> Decimal:
    """The exact value; where its exponent is beyond all machines, something large or small of its sign."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal(f"{'-' if text[0] == '-' else ''}1e{'-' if '-' in text[1:] else ''}9999")
