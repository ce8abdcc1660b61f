import datetime as dt
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, BaseModel, Field

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.pipelines.schema_tree import Node, schema_tree


class Colour(Enum):
    RED = "red"
    TWO = 2


class Party(BaseModel):
    """A docstring is no description of the field."""

    name: str


class Everything(BaseModel):
    text: str
    maybe: str | None = None
    decimal: Decimal | None = Field(None, ge=0, max_digits=8)
    number: int | float
    integer: int
    date: dt.date | None
    flag: bool = False
    colour: Colour
    letter: Literal["x", "y"] | None = None
    party: Party = Field(description="  who\n pays ")
    others: list[Party]
    names: set[str] = Field(min_length=1, max_length=3)
    tuples: tuple[str, ...] | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    sign: str | None = Field(None, json_schema_extra={"x-kind": "currency"})
    summary: str = Field(json_schema_extra={"x-kind": "free"})
    aliased: str = Field("x", validation_alias=AliasChoices("other", "another"), min_length=2, max_length=9)


class Open(BaseModel):
    later: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


DEEP: dict[str, Any] = {"type": "string"}
for _ in range(2000):
    DEEP = {"type": "object", "properties": {"a": DEEP}}


def fields(schema: Any) -> dict[str, Node]:
    return {node.name: node for node in schema_tree(schema).children}


def test_a_model_of_every_kind() -> None:
    tree = fields(Everything)
    kinds = {name: node.kind for name, node in tree.items()}
    assert kinds == {
        "text": "text",
        "maybe": "text",
        "decimal": "number",
        "number": "number",
        "integer": "number",
        "date": "date",
        "flag": "boolean",
        "colour": "choice",
        "letter": "choice",
        "party": "object",
        "others": "list",
        "names": "list",
        "tuples": "list",
        "currency": "currency",
        "sign": "currency",
        "summary": "free",
        "other": "text",
    }
    assert [tree[name].number_type for name in ("decimal", "number", "integer")] == ["decimal", "float", "integer"]
    assert tree["colour"].choices == (("red", "red"), ("2", 2))
    assert tree["party"].description == "who pays"
    assert tree["others"].children[0].description == ""
    assert (tree["names"].min_items, tree["names"].max_items) == (1, 3)
    assert (tree["other"].min_length, tree["other"].max_length) == (2, 9)


def test_null_and_absence() -> None:
    tree = fields(Everything)
    nullable = {name for name, node in tree.items() if node.nullable}
    assert nullable == {"maybe", "decimal", "date", "letter", "tuples", "sign"}
    assert tree["date"].required
    assert tree["flag"].optional
    assert not tree["text"].optional


@pytest.mark.parametrize(
    "decimal",
    [
        {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$"}]},
        {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}]},
    ],
)
def test_what_pydantic_makes_of_a_decimal_is_a_number(decimal: dict[str, Any]) -> None:
    node = fields({"type": "object", "properties": {"total": decimal}})["total"]
    assert node.kind == "number"
    assert node.nullable == (len(decimal["anyOf"]) == 3)


def test_json_schema_spellings_of_null() -> None:
    tree = fields(
        {
            "type": "object",
            "properties": {
                "a": {"type": ["string", "null"], "format": "date"},
                "b": {"enum": ["x", None]},
                "c": {"allOf": [{"$ref": "#/$defs/c"}]},
                "d": {"const": "fixed"},
            },
            "$defs": {"c": {"type": "integer", "minimum": 1}},
        }
    )
    assert {name: (node.kind, node.nullable) for name, node in tree.items()} == {
        "a": ("date", True),
        "b": ("choice", True),
        "c": ("number", False),
        "d": ("choice", False),
    }


def test_unions_hold_their_alternatives_plain_text_last() -> None:
    tree = fields(
        {
            "type": "object",
            "properties": {
                "types": {"type": ["string", "integer", "null"], "minimum": 3, "minLength": 2},
                "nested": {"anyOf": [{"oneOf": [{"type": "string"}, {"type": "boolean"}]}, {"type": "null"}]},
                "formats": {"oneOf": [{"type": "string", "format": one} for one in ("date", "date-time", "time")]},
                "judged": {"type": "string", "format": "duration"},
            },
        }
    )
    assert {name: [child.kind for child in node.children] for name, node in tree.items()} == {
        "types": ["number", "text"],
        "nested": ["boolean", "text"],
        "formats": ["date", "datetime", "time"],
        "judged": [],
    }
    assert tree["types"].nullable
    assert tree["nested"].nullable
    number, text = tree["types"].children
    assert (number.checks, text.min_length) == ({"minimum": 3}, 2)
    assert tree["judged"].kind == "free"


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "pointer", "keyword"),
    [
        ({"type": "string"}, "", "type"),
        ({"type": "object"}, "", "properties"),
        ({"a": {"type": "null"}}, "/a", "type"),
        ({"a": {}}, "/a", "type"),
        ({"a": True}, "/a", "type"),
        ({"a": {"type": "array"}}, "/a", "items"),
        ({"a": {"type": "array", "items": {"type": "string"}, "prefixItems": [{}]}}, "/a", "prefixItems"),
        ({"a": {"anyOf": [{"type": "null"}]}}, "/a", "anyOf"),
        ({"a": {"oneOf": [{"type": "string"}, {"type": "array"}]}}, "/a/oneOf/1", "items"),
        ({"a": {"oneOf": [{"type": "string"}], "anyOf": [{"type": "string"}]}}, "/a", "oneOf"),
        ({"a": {"type": "string", "not": {}}}, "/a", "not"),
        ({"a": {"type": "string", "format": "regex"}}, "/a", "format"),
        ({"a": {"type": "string", "x-kind": "colour"}}, "/a", "x-kind"),
        ({"a": {"enum": [{"b": 1}]}}, "/a", "enum"),
        ({"a": {**OBJECT, "additionalProperties": {"type": "string"}}}, "/a", "additionalProperties"),
        ({"a": {**OBJECT, "minProperties": 1}}, "/a", "minProperties"),
        ({"a/b": {"type": "object", "properties": {"c": {"$ref": "#/properties/a~1b"}}}}, "/a~1b", "$ref"),
        ({"a": {"$ref": "https://example.com/schema"}}, "/a", "$ref"),
        ({"a": {"enum": [1, "1"]}}, "/a", "enum"),
        ({"a": {"enum": ["true", True]}}, "/a", "enum"),
    ],
)
def test_what_cant_be_extracted_is_refused_by_name(schema: dict[str, Any], pointer: str, keyword: str) -> None:
    if "type" not in schema:
        schema = {"type": "object", "properties": schema}
        pointer = f"/properties{pointer}"
    with pytest.raises(UnsupportedSchemaError) as caught:
        schema_tree(schema)
    assert caught.value.keyword == keyword
    assert caught.value.pointer.startswith(pointer)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "objec"}, "objec"),
        ({**OBJECT, "required": ["b"]}, "'b' is required but not declared"),
        ({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}, "points nowhere"),
        (DEEP, "nested too deeply"),
        (BaseModel, "BaseModel has no JSON Schema"),
        (Open, "Open has no JSON Schema: .*Nowhere"),
        ("invoice", "must be a pydantic model class or a JSON Schema dict"),
    ],
)
def test_malformed_schemas(schema: Any, problem: str) -> None:
    with pytest.raises(InvalidSchemaError, match=problem):
        schema_tree(schema)


def test_a_reference_with_an_escaped_name() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/x%20~1y"}}, "$defs": {"x /y": {"type": "boolean"}}}
    assert schema_tree({"type": "object", **schema}).children[0].kind == "boolean"
