"""JSON Schema → byte expression. A keyword is enforced, or the schema is refused with keyword and JSON pointer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.json_value import JsonValues, Property, WhitespacePolicy
from dg_sglang.grammar.text import json_body
from dg_sglang.grammar.verbatim import PieceAutomaton, VerbatimSource, collapse

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}
    | {"$comment", "$schema", "$id", "$defs", "definitions"}
)
_KEYWORDS = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems"}),
    "string": frozenset({"minLength", "maxLength", "format", "x-verbatim"}),
    "number": frozenset(),
    "integer": frozenset(),
    "boolean": frozenset(),
    "null": frozenset(),
}
_KNOWN = frozenset({"type", "enum", "const", "anyOf", "$ref"}).union(*_KEYWORDS.values())


def compile_schema(
    table: Expressions, schema: Any, whitespace: WhitespacePolicy, sources: Mapping[str, VerbatimSource]
) -> Expression:
    """The JSON texts valid under `schema`, properties in schema order, undeclared properties never.

    Raises UnsupportedSchemaError for a keyword that isn't enforced, InvalidSchemaError for a malformed schema.
    """
    return _Compiler(table, schema, whitespace, sources).schema(schema, "", ())


class _Compiler:
    def __init__(
        self, table: Expressions, root: Any, whitespace: WhitespacePolicy, sources: Mapping[str, VerbatimSource]
    ) -> None:
        self.table = table
        self.root = root
        self.json = JsonValues(table, whitespace)
        self.sources = sources
        self.pieces: dict[str, PieceAutomaton] = {}
        self.types: dict[str, Callable[[Mapping[str, Any], str, tuple[str, ...]], Expression]] = {
            "object": self.object,
            "array": self.array,
            "string": self.string,
            "number": lambda schema, at, refs: self.json.number,
            "integer": lambda schema, at, refs: self.json.integer,
            "boolean": lambda schema, at, refs: self.json.boolean,
            "null": lambda schema, at, refs: self.json.null,
        }

    def schema(self, schema: Any, at: str, refs: tuple[str, ...]) -> Expression:
        """`at` is the JSON pointer of `schema`, `refs` the references being resolved."""
        if isinstance(schema, bool):
            raise UnsupportedSchemaError(
                f"the schema {str(schema).lower()} is not supported; name the type",
                pointer=at,
                keyword=str(schema).lower(),
            )
        if not isinstance(schema, Mapping):
            raise InvalidSchemaError(f"a schema must be an object, not {type(schema).__name__}", pointer=at)
        used = set(schema) - ANNOTATIONS
        self._refuse(used - _KNOWN, at, "is not supported")
        for keyword in ("$ref", "anyOf"):
            if keyword in used:
                self._refuse(used - {keyword}, at, f"is not supported beside {keyword}")
                return self.reference(schema[keyword], at, refs) if keyword == "$ref" else self.any_of(schema, at, refs)
        if "const" in used or "enum" in used:
            self._refuse(used - {"const", "enum", "type"}, at, "is not supported beside enum or const")
            return self.enumeration(schema, at)
        types = self._types(schema, at)
        own = frozenset({"type"}).union(*(_KEYWORDS[name] for name in types))
        self._refuse(used - own, at, f"does not belong to type {' or '.join(types)}")
        return self.table.union([self.types[name](schema, at, refs) for name in types])

    def _refuse(self, keywords: set[str], at: str, why: str) -> None:
        for keyword in sorted(keywords):
            advice = "" if keyword in _KNOWN else "; remove it, or check it after generation"
            raise UnsupportedSchemaError(f"{keyword!r} {why}{advice}", pointer=at, keyword=keyword)

    def _types(self, schema: Mapping[str, Any], at: str) -> list[str]:
        declared = schema.get("type")
        if declared is None:
            guesses = [name for name, keywords in _KEYWORDS.items() if keywords & set(schema)]
            if len(guesses) == 1:  # keywords of one type only: what hand-written schemas that forget "type" mean
                return guesses
            raise UnsupportedSchemaError(
                "a schema without a type allows any JSON; name the type", pointer=at, keyword="type"
            )
        names = [declared] if isinstance(declared, str) else declared
        if not isinstance(names, list) or not names or not all(isinstance(n, str) and n in _KEYWORDS for n in names):
            raise InvalidSchemaError(f"unknown type {declared!r}; use one of {', '.join(_KEYWORDS)}", pointer=at)
        return ["number" if n == "integer" and "number" in names else n for n in dict.fromkeys(names)]

    def reference(self, target: Any, at: str, refs: tuple[str, ...]) -> Expression:
        if not isinstance(target, str) or not (target == "#" or target.startswith("#/")):
            raise UnsupportedSchemaError(
                f"only local references (#/…) are supported, not {target!r}", pointer=at, keyword="$ref"
            )
        if target in refs:
            raise UnsupportedSchemaError(
                f"{target!r} refers to itself; recursion is not supported", pointer=at, keyword="$ref"
            )
        node = self.root
        for raw in target.split("/")[1:]:
            part = raw.replace("~1", "/").replace("~0", "~")
            try:
                node = node[int(part)] if isinstance(node, list) else node[part]
            except (KeyError, IndexError, ValueError, TypeError):
                raise InvalidSchemaError(f"the reference {target!r} points nowhere", pointer=at) from None
        return self.schema(node, target[1:], (*refs, target))

    def any_of(self, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> Expression:
        options = self._list(schema, "anyOf", at)
        return self.table.union([self.schema(one, f"{at}/anyOf/{i}", refs) for i, one in enumerate(options)])

    def enumeration(self, schema: Mapping[str, Any], at: str) -> Expression:
        values = self._list(schema, "enum", at) if "enum" in schema else [schema["const"]]
        if "enum" in schema and "const" in schema:
            values = [v for v in values if _same_json(v, schema["const"])]
        if "type" in schema:
            types = self._types(schema, at)
            values = [v for v in values if any(_has_type(v, name) for name in types)]
        try:
            return self.table.union([self.json.literal(value) for value in values])
        except (TypeError, ValueError) as error:
            raise InvalidSchemaError(f"enum and const must hold JSON values: {error}", pointer=at) from None

    def object(self, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> Expression:
        if schema.get("additionalProperties", False) is not False:
            message = "undeclared properties are not supported; declare them, or set additionalProperties to false"
            raise UnsupportedSchemaError(message, pointer=at, keyword="additionalProperties")
        properties = schema.get("properties", {})
        if not isinstance(properties, Mapping):
            raise InvalidSchemaError("properties must be an object", pointer=f"{at}/properties")
        required = schema.get("required", [])
        if not isinstance(required, list | tuple) or not all(isinstance(name, str) for name in required):
            raise InvalidSchemaError("required must be a list of names", pointer=f"{at}/required")
        if undeclared := [name for name in required if name not in properties]:
            raise InvalidSchemaError(f"{undeclared[0]!r} is required but not declared in properties", pointer=at)
        return self.json.object(
            [
                Property(name, self.schema(value, f"{at}/properties/{_escape(name)}", refs), name in required)
                for name, value in properties.items()
            ]
        )

    def array(self, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> Expression:
        if "items" not in schema:
            raise UnsupportedSchemaError(
                "an array without items allows any JSON; describe its items", pointer=at, keyword="items"
            )
        low, high = self._bounds(schema, "minItems", "maxItems", at)
        return self.json.array(self.schema(schema["items"], f"{at}/items", refs), low, high)

    def string(self, schema: Mapping[str, Any], at: str, refs: tuple[str, ...]) -> Expression:
        low, high = self._bounds(schema, "minLength", "maxLength", at)
        body = self.table.repeat(self.json.character, low, high)
        parts = []
        if "format" in schema:
            if schema["format"] != "date":
                message = f"the format {schema['format']!r} is not supported"
                raise UnsupportedSchemaError(message, pointer=at, keyword="format")
            parts.append(self.json.date())
        if "x-verbatim" in schema:
            parts.append(self.verbatim(schema["x-verbatim"], f"{at}/x-verbatim"))
        if not parts or low > 0 or high is not None:
            parts.append(body)
        return self.json.quoted(self.table.intersection(parts))

    def verbatim(self, settings: Any, at: str) -> Expression:
        """A piece of a source, or one of its spans of a kind."""
        if not isinstance(settings, Mapping) or set(settings) - {"source", "kind"} or "source" not in settings:
            raise InvalidSchemaError('x-verbatim must be {"source": …} with an optional "kind"', pointer=at)
        name, kind = settings["source"], settings.get("kind")
        if name not in self.sources:
            raise InvalidSchemaError(
                f"there is no source {name!r}; pass sources={{{name!r}: VerbatimSource(…)}}", pointer=at
            )
        source = self.sources[name]
        if kind is not None:
            if kind not in source.spans:
                raise InvalidSchemaError(f"the source {name!r} has no spans of kind {kind!r}", pointer=at)
            pieces = dict.fromkeys(collapse(span) for span in source.spans[kind])
            return self.table.union([self.table.literal(json_body(piece)) for piece in pieces if piece])
        if name not in self.pieces:
            self.pieces[name] = PieceAutomaton(source.segments())
        automaton = self.pieces[name]
        return self.table.automaton(automaton) if automaton.moves(0) else self.table.nothing

    def _bounds(self, schema: Mapping[str, Any], low: str, high: str, at: str) -> tuple[int, int | None]:
        for keyword in (low, high):
            value = schema.get(keyword, 0)
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != int(value):
                raise InvalidSchemaError(f"{keyword} must be a non-negative integer, not {value!r}", pointer=at)
        return int(schema.get(low, 0)), int(schema[high]) if high in schema else None

    def _list(self, schema: Mapping[str, Any], keyword: str, at: str) -> list[Any]:
        if not isinstance(schema[keyword], list | tuple) or not schema[keyword]:
            raise InvalidSchemaError(f"{keyword} must be a list that isn't empty", pointer=f"{at}/{keyword}")
        return list(schema[keyword])


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _same_json(left: Any, right: Any) -> bool:
    """JSON equality: 1 equals 1.0, but true doesn't equal 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same_json(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same_json, left, right))
    return bool(left == right)


def _has_type(value: Any, name: str) -> bool:
    if name == "integer":
        return not isinstance(value, bool) and isinstance(value, int | float) and value == int(value)
    python: dict[str, Any] = {
        "object": Mapping,
        "array": list,
        "string": str,
        "number": (int, float),
        "null": type(None),
    }
    if name == "boolean" or isinstance(value, bool):
        return isinstance(value, bool) and name == "boolean"
    return isinstance(value, python[name])
