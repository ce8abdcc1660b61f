"""A user's schema, pydantic model or JSON Schema, as a tree of what is to be extracted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import unquote

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError

NodeKind = Literal["text", "date", "number", "currency", "free", "boolean", "choice", "object", "list"]
NumberType = Literal["decimal", "float", "integer"]

_ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}
    | {"$comment", "$schema", "$id", "$defs", "definitions"}
)
_CHECKED_AFTER = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "boolean": frozenset[str](),
    "array": frozenset({"uniqueItems"}),
    "object": frozenset[str](),
}
"""Keywords that the finished value is validated against, by pydantic or jsonschema; most hold on the canvas too."""
_USED = {
    "string": frozenset({"x-kind"}),
    "number": frozenset({"x-kind"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "object": frozenset({"properties", "required", "additionalProperties"}),
}
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
"""pydantic's names of a Decimal's bounds, which its JSON Schema lacks."""
_CHECKABLE_FORMATS = frozenset(
    {"email", "idn-email", "hostname", "uri", "uri-reference", "uuid", "ipv4", "ipv6", "iri"}
)
_CURRENCY_PATTERNS = frozenset({"^[A-Z]{3}$", "[A-Z]{3}", "^[A-Z]{3}", "^[A-Z][A-Z][A-Z]$"})


@dataclass(frozen=True)
class Node:
    """One field, list item, or the root.

    Attributes:
        name: the property's name (a pydantic field's alias, where it has one); empty for list items and the root.
        pointer: JSON pointer of the subschema.
        kind: "text", "date", "number", "currency" are stated in the document; "boolean", "choice", "free" are judged.
        nullable: the schema allows null. required: the key must be there.
        checks: the keywords that restrict a leaf's value beyond its type: bounds, pattern, format.
        choices: for "choice", what the model writes and what it stands for.
        children: an object's properties, or a list's single item.
    """

    name: str
    pointer: str
    kind: NodeKind
    description: str = ""
    nullable: bool = False
    required: bool = True
    number_type: NumberType = "float"
    min_length: int = 0
    max_length: int | None = None
    checks: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[tuple[str, Any], ...] = ()
    children: tuple["Node", ...] = ()
    min_items: int = 0
    max_items: int | None = None

    @property
    def stated(self) -> bool:
        """Whether the value is a piece of the document."""
        return self.kind in ("text", "date", "number", "currency")

    @property
    def optional(self) -> bool:
        """Whether the document may lack it."""
        return self.nullable or not self.required

    def leaves(self) -> Iterator["Node"]:
        """The leaves below this node, or the node itself."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


def schema_tree(schema: Any) -> Node:
    """The tree of a pydantic model class or of a JSON Schema given as a dict; its root is an object.

    Raises:
        InvalidSchemaError: the schema is malformed.
        UnsupportedSchemaError: it asks for something that can't be extracted; names the keyword and the JSON pointer.
    """
    if isinstance(schema, type) and hasattr(schema, "model_json_schema"):
        schema = _model_schema(schema)
    elif isinstance(schema, Mapping):
        _check_json_schema(schema)
    else:
        raise InvalidSchemaError(f"a schema must be a pydantic model class or a JSON Schema dict, not {schema!r}")
    try:
        root = _Reader(schema).node("", schema, "", ())
    except RecursionError as error:
        raise InvalidSchemaError("the schema is nested too deeply") from error
    if root.kind != "object" or root.nullable:
        raise UnsupportedSchemaError("the root must be an object with properties", pointer="", keyword="type")
    return root


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
        pointer = "".join(f"/{_escape(str(part))}" for part in error.absolute_path)
        raise InvalidSchemaError(error.message, pointer=pointer) from error
    except RecursionError as error:
        raise InvalidSchemaError("the schema is nested too deeply") from error


class _Reader:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root

    def node(self, name: str, schema: Any, at: str, refs: tuple[str, ...]) -> Node:
        """`at` is the JSON pointer of `schema`, `refs` the references being followed."""
        if not isinstance(schema, Mapping):
            message = f"the schema {str(schema).lower()} doesn't say what to extract; name the type"
            raise UnsupportedSchemaError(message, pointer=at, keyword="type")
        node = self._any_node(name, schema, at, refs)
        description = " ".join(str(schema.get("description", "")).split())
        return replace(node, description=description or node.description)

    def _any_node(self, name: str, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> Node:
        used = set(schema) - _ANNOTATIONS
        if "$ref" in used:
            self._refuse(used - {"$ref"}, at, "is not supported beside $ref")
            target, followed = self._follow(schema["$ref"], at, refs)
            return replace(self.node(name, target, schema["$ref"][1:], followed), description="")
        if "allOf" in used and len(schema["allOf"]) == 1:
            self._refuse(used - {"allOf"}, at, "is not supported beside allOf")
            return self.node(name, schema["allOf"][0], f"{at}/allOf/0", refs)
        if "anyOf" in used:
            self._refuse(used - {"anyOf", "x-kind"}, at, "is not supported beside anyOf")
            return self._any_of(name, schema, at, refs)
        if "enum" in used or "const" in used:
            self._refuse(used - {"enum", "const", "type"}, at, "is not supported beside enum")
            return self._choice(name, schema.get("enum", [schema.get("const")]), at)
        return self._typed(name, schema, used, at, refs)

    def _typed(self, name: str, schema: Mapping[str, Any], used: set[str], at: str, refs: tuple[str, ...]) -> Node:
        declared = schema.get("type")
        types = [declared] if isinstance(declared, str) else list(declared or ())
        nullable = "null" in types and len(types) > 1
        types = [one for one in types if one != "null" or not nullable]
        if len(types) != 1 or types[0] == "null":
            self._refuse(used - {"type"}.union(*_USED.values(), *_CHECKED_AFTER.values()), at, "is not supported")
            message = (
                "one type is needed (besides null)"
                if types
                else "the schema doesn't say what to extract; name the type"
            )
            raise UnsupportedSchemaError(message, pointer=at, keyword="type")
        kind = "number" if types[0] == "integer" else types[0]
        self._refuse(used - {"type"} - _USED.get(kind, frozenset()) - _CHECKED_AFTER[kind], at, "is not supported")
        if kind == "object":
            node = self._object(name, schema, at, refs)
        elif kind == "array":
            node = self._list(name, schema, at, refs)
        elif kind == "boolean":
            node = Node(name, at, "boolean")
        elif kind == "number":
            node = self._number(name, schema, types[0] == "integer", at)
        else:
            node = self._string(name, schema, at)
        return replace(node, nullable=nullable)

    def _object(self, name: str, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> Node:
        properties = schema.get("properties", {})
        if not properties:
            message = "an object needs properties that say what to extract"
            raise UnsupportedSchemaError(message, pointer=at, keyword="properties")
        if isinstance(schema.get("additionalProperties"), Mapping):
            message = "properties without declared names are not supported"
            raise UnsupportedSchemaError(message, pointer=at, keyword="additionalProperties")
        required = schema.get("required", ())
        if missing := [key for key in required if key not in properties]:
            raise InvalidSchemaError(f"{missing[0]!r} is required but not declared in properties", pointer=at)
        children = (
            replace(self.node(key, value, f"{at}/properties/{_escape(key)}", refs), required=key in required)
            for key, value in properties.items()
        )
        return Node(name, at, "object", children=tuple(children))

    def _list(self, name: str, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> Node:
        if "items" not in schema:
            raise UnsupportedSchemaError("an array needs items that say what to extract", pointer=at, keyword="items")
        item = self.node("", schema["items"], f"{at}/items", refs)
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        high = None if high is None else int(high)
        return Node(name, at, "list", children=(item,), min_items=int(low), max_items=high)

    def _number(self, name: str, schema: Mapping[str, Any], integer: bool, at: str) -> Node:
        kind = schema.get("x-kind", "number")
        if kind not in ("number", "decimal"):
            raise UnsupportedSchemaError(f"{kind!r} is not a kind of number", pointer=at, keyword="x-kind")
        number_type: NumberType = "integer" if integer else "decimal" if kind == "decimal" else "float"
        checks = {word: schema[word] for word in _CHECKED_AFTER["number"] if word in schema}
        return Node(name, at, "number", number_type=number_type, checks=checks)

    def _string(self, name: str, schema: Mapping[str, Any], at: str) -> Node:
        text_format, asked = schema.get("format"), schema.get("x-kind", "text")
        kinds: dict[str, NodeKind] = {"text": "text", "currency": "currency", "free": "free"}
        if asked not in kinds:
            message = f"{asked!r} is not a kind of string; use text, currency or free"
            raise UnsupportedSchemaError(message, pointer=at, keyword="x-kind")
        kind = kinds[asked]
        if text_format == "date":
            kind = "date"
        elif text_format is not None and text_format not in _CHECKABLE_FORMATS:
            message = f"the format {text_format!r} can't be read off a document yet; use a plain string"
            raise UnsupportedSchemaError(message, pointer=at, keyword="format")
        if kind == "text" and schema.get("pattern") in _CURRENCY_PATTERNS:
            kind = "currency"
        bounds = (schema.get("minLength", 0), schema.get("maxLength")) if kind in ("text", "free") else (0, None)
        words = ("pattern", "format") if kind in ("text", "free") else ()
        checks = {word: schema[word] for word in words if word in schema}
        return Node(name, at, kind, min_length=bounds[0], max_length=bounds[1], checks=checks)

    def _choice(self, name: str, values: Sequence[Any], at: str) -> Node:
        scalars = [value for value in values if value is not None]
        if not scalars or not all(isinstance(value, str | int | float) for value in scalars):
            raise UnsupportedSchemaError("only strings, numbers and booleans can be chosen", pointer=at, keyword="enum")
        choices: dict[str, Any] = {}
        for value in scalars:
            text = value if isinstance(value, str) else _number_text(value)
            if type(choices.setdefault(text, value)) is not type(value):
                message = f"two choices are both written {text!r}, {choices[text]!r} and {value!r}"
                raise UnsupportedSchemaError(message, pointer=at, keyword="enum")
        return Node(name, at, "choice", choices=tuple(choices.items()), nullable=None in values)

    def _any_of(self, name: str, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> Node:
        options = schema["anyOf"]
        kept = [(i, one) for i, one in enumerate(options) if not _is_null(one)]
        nullable = len(kept) < len(options)
        types = [one.get("type") if isinstance(one, Mapping) else None for _, one in kept]
        if len(kept) == 2 and "number" in types and set(types) <= {"number", "integer", "string"}:
            kept = [kept[types.index("number")]]  # int | float, and pydantic's Decimal: number or numeric string
        if len(kept) != 1:
            raise UnsupportedSchemaError("only X or null is supported, no other union", pointer=at, keyword="anyOf")
        index, option = kept[0]
        if "x-kind" in schema:  # pydantic puts an optional field's extras beside anyOf
            option = {**option, "x-kind": schema["x-kind"]}
        node = self.node(name, option, f"{at}/anyOf/{index}", refs)
        return replace(node, nullable=node.nullable or nullable)

    def _follow(self, reference: Any, at: str, refs: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
        if not isinstance(reference, str) or not reference.startswith("#"):
            message = f"only local references (#/…) are supported, not {reference!r}"
            raise UnsupportedSchemaError(message, pointer=at, keyword="$ref")
        if reference in refs:
            message = f"{reference!r} refers to itself; recursion is not supported"
            raise UnsupportedSchemaError(message, pointer=at, keyword="$ref")
        target: Any = self.root
        for raw in reference[1:].split("/")[1:]:
            part = unquote(raw).replace("~1", "/").replace("~0", "~")
            try:
                target = target[int(part)] if isinstance(target, list) else target[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise InvalidSchemaError(f"the reference {reference!r} points nowhere", pointer=at) from None
        return target, (*refs, reference)

    def _refuse(self, keywords: set[str], at: str, why: str) -> None:
        for keyword in sorted(keywords):
            raise UnsupportedSchemaError(f"{keyword!r} {why} for extraction", pointer=at, keyword=keyword)


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _number_text(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
