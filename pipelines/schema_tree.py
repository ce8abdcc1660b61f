"""A user's schema, pydantic model or JSON Schema, as a tree of what is to be extracted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import unquote

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.pipelines.user_schema import escape, json_schema_of

NodeKind = Literal[
    "text", "date", "datetime", "time", "number", "currency", "free", "boolean", "choice", "object", "list", "union"
]
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
_STATED = frozenset({"text", "date", "datetime", "time", "number", "currency"})
_FORMAT_KINDS: dict[str, NodeKind] = {"date": "date", "date-time": "datetime", "time": "time", "duration": "free"}
"""Kinds that a format decides. No document writes a duration in ISO 8601: it is judged, under the format's grammar."""
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
        kind: "text", "date", "datetime", "time", "number", "currency" are stated in the document; "boolean", "choice",
            "free" are judged; a "union" is one of its children.
        nullable: the schema allows null. required: the key must be there.
        checks: the keywords that restrict a leaf's value beyond its type: bounds, pattern, format.
        choices: for "choice", what the model writes and what it stands for.
        children: an object's properties, a list's single item, or a union's alternatives, the plainest text last.
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
        return self.kind in _STATED

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
    schema, own_decimals = json_schema_of(schema)
    try:
        root = _Reader(schema, own_decimals=own_decimals).node("", schema, "", ())
    except RecursionError as error:
        raise InvalidSchemaError("the schema is nested too deeply") from error
    if root.kind != "object" or root.nullable:
        raise UnsupportedSchemaError("the root must be an object with properties", pointer="", keyword="type")
    return root


class _Reader:
    def __init__(self, root: Mapping[str, Any], *, own_decimals: bool) -> None:
        """`own_decimals`: no Decimal hides behind "number or string"."""
        self.root, self.own_decimals = root, own_decimals

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
        for word in ("anyOf", "oneOf"):
            if word in used:
                self._refuse(used - {word, "x-kind", "discriminator"}, at, f"is not supported beside {word}")
                return self._any_of(name, schema, word, at, refs)
        if "enum" in used or "const" in used:
            self._refuse(used - {"enum", "const", "type"}, at, "is not supported beside enum")
            return self._choice(name, schema.get("enum", [schema.get("const")]), at)
        return self._typed(name, schema, used, at, refs)

    def _typed(self, name: str, schema: Mapping[str, Any], used: set[str], at: str, refs: tuple[str, ...]) -> Node:
        declared = schema.get("type")
        types = [declared] if isinstance(declared, str) else list(declared or ())
        nullable = "null" in types and len(types) > 1
        types = [one for one in types if one != "null" or not nullable]
        if not types or types[0] == "null":
            self._refuse(used - {"type"}.union(*_USED.values(), *_CHECKED_AFTER.values()), at, "is not supported")
            message = "the schema doesn't say what to extract; name the type"
            raise UnsupportedSchemaError(message, pointer=at, keyword="type")
        if len(types) > 1:
            self._refuse(used - {"type"}.union(*_USED.values(), *_CHECKED_AFTER.values()), at, "is not supported")
            options = [(f"{at}/type/{i}", _only(schema, one)) for i, one in enumerate(types)]
            return self._union(name, options, refs, nullable=nullable)
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
            replace(self.node(key, value, f"{at}/properties/{escape(key)}", refs), required=key in required)
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
        if text_format in _FORMAT_KINDS:
            kind = _FORMAT_KINDS[text_format]
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

    def _any_of(self, name: str, schema: Mapping[str, Any], word: str, at: str, refs: tuple[str, ...]) -> Node:
        options = schema[word]
        kept = [(i, one) for i, one in enumerate(options) if not _is_null(one)]
        nullable = len(kept) < len(options)
        types = [one.get("type") if isinstance(one, Mapping) else None for _, one in kept]
        as_number = {"number", "integer"} if self.own_decimals else {"number", "integer", "string"}
        if len(kept) == 2 and "number" in types and set(types) <= as_number:
            kept = [kept[types.index("number")]]  # int | float, and pydantic's Decimal: number or numeric string
        if not kept:
            raise UnsupportedSchemaError("nothing but null is left to extract", pointer=at, keyword=word)
        if len(kept) > 1:
            return self._union(name, [(f"{at}/{word}/{i}", one) for i, one in kept], refs, nullable=nullable)
        index, option = kept[0]
        if "x-kind" in schema:  # pydantic puts an optional field's extras beside anyOf
            option = {**option, "x-kind": schema["x-kind"]}
        node = self.node(name, option, f"{at}/{word}/{index}", refs)
        return replace(node, nullable=node.nullable or nullable)

    def _union(self, name: str, options: Sequence[tuple[str, Any]], refs: tuple[str, ...], *, nullable: bool) -> Node:
        alternatives: list[Node] = []
        for pointer, option in options:
            node = self.node("", option, pointer, refs)
            nullable = nullable or node.nullable
            node = replace(node, nullable=False)
            alternatives += node.children if node.kind == "union" else [node]
        alternatives.sort(key=lambda node: node.kind in ("text", "free"))  # what fits anything is tried last
        return Node(name, options[0][0].rpartition("/")[0], "union", children=tuple(alternatives), nullable=nullable)

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


def _only(schema: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What a schema of several types says of one of them."""
    family = "number" if kind == "integer" else kind
    words = _USED.get(family, frozenset()) | _CHECKED_AFTER.get(family, frozenset())
    return {"type": kind} | {word: schema[word] for word in words if word in schema}


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"


def _number_text(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
