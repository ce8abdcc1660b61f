"""Built-in schemas, and how a schema is named on the command line."""

import datetime as dt
import importlib
import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from dg_sglang.errors import InvalidSchemaError


class LineItem(BaseModel):
    """One position of an invoice."""

    description: str | None = Field(None, description="what was sold")
    quantity: Decimal | None = None
    unit_price: Decimal | None = Field(None, description="price of one unit")
    amount: Decimal | None = Field(None, description="amount of the line")


class Invoice(BaseModel):
    """An invoice. What the document doesn't state is null."""

    invoice_number: str | None = None
    issue_date: dt.date | None = Field(None, description="date the document was issued")
    due_date: dt.date | None = Field(None, description="date by which to pay")
    currency: str | None = Field(None, json_schema_extra={"x-kind": "currency"})
    seller_name: str | None = Field(None, description="company that issued the document")
    buyer_name: str | None = Field(None, description="company or person that is billed")
    net_total: Decimal | None = Field(None, description="total before tax")
    tax_total: Decimal | None = Field(None, description="total tax amount")
    grand_total: Decimal | None = Field(None, description="total including tax")
    line_items: list[LineItem] = Field(default_factory=list)


class Receipt(BaseModel):
    """A shop's receipt. What the document doesn't state is null."""

    company: str | None = Field(None, description="company that issued the document")
    date: dt.date | None = None
    address: str | None = Field(None, description="address of the company")
    total: Decimal | None = Field(None, description="total including tax")
    currency: str | None = Field(None, json_schema_extra={"x-kind": "currency"})


BUILT_IN: dict[str, type[BaseModel]] = {"invoice": Invoice, "receipt": Receipt}


def resolve_schema(name: str) -> type[BaseModel] | dict[str, Any]:
    """The schema that `name` means: "invoice", "receipt", "module:Class" (a pydantic model) or a JSON Schema file.

    Raises:
        InvalidSchemaError: there is no such schema, or it is neither a pydantic model nor a JSON object.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name.endswith(".json") or _is_file(name):
        return _read_json(Path(name))
    if ":" in name:
        return _import(name)
    known = ", ".join(BUILT_IN)
    raise InvalidSchemaError(f"unknown schema {name!r}; use {known}, a JSON Schema file, or module:Class")


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # too long for a file's name, or in a folder that may not be read
        return False


def _read_json(path: Path) -> dict[str, Any]:
    try:
        schema = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidSchemaError(f"the schema file {path} can't be read: {error.strerror}") from error
    except ValueError as error:  # not JSON, or not UTF-8
        raise InvalidSchemaError(f"the schema file {path} is not valid JSON: {error}") from error
    except RecursionError as error:
        raise InvalidSchemaError(f"the schema file {path} is nested too deeply") from error
    if not isinstance(schema, dict):
        raise InvalidSchemaError(f"the schema file {path} must hold a JSON object, not {type(schema).__name__}")
    return schema


def _import(name: str) -> type[BaseModel]:
    module_name, _, class_name = name.partition(":")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)  # a console script, unlike `python -m`, doesn't look in the current folder
    try:
        module = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the user's module raises while it is imported, SystemExit too
        reason = str(error) or type(error).__name__
        raise InvalidSchemaError(f"the module {module_name!r} of {name!r} can't be imported: {reason}") from error
    model = getattr(module, class_name, None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        if model is None:
            raise InvalidSchemaError(f"the module {module_name!r} has no class {class_name!r}")
        raise InvalidSchemaError(f"{class_name!r} in the module {module_name!r} is not a pydantic model")
    return model
