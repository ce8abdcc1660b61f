"""The JSON Schema vocabulary: what each keyword does here, and what its value must look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, NamedTuple

from dg_sglang.errors import InvalidSchemaError
from dg_sglang.grammar.text import shown

MAX_DIGITS = 1000
_MAX_BITS = (10**MAX_DIGITS).bit_length()
IN_DIGITS = f"of at most {MAX_DIGITS:,} digits"
TYPES = ("null", "boolean", "number", "string", "array", "object")


class Keyword(NamedTuple):
    """One keyword: the shape of its value, and what is done about it."""

    shape: str
    enforced: str
    refused: str = ""


ENFORCED: dict[str, Keyword] = {
    "type": Keyword(
        "types", "the types that are left; in open mode 1.0 is an integer, as the standard says from draft 6 on"
    ),
    "enum": Keyword("values", "any JSON values, compared as JSON compares: 1 is 1.0, key order doesn't matter"),
    "const": Keyword("value", "as an enum of one"),
    "minimum": Keyword("number", "an automaton over decimal digits, exact"),
    "maximum": Keyword("number", "an automaton over decimal digits, exact"),
    "exclusiveMinimum": Keyword("number or boolean", "exact; also draft 4's boolean form"),
    "exclusiveMaximum": Keyword("number or boolean", "exact; also draft 4's boolean form"),
    "multipleOf": Keyword("positive number", "an automaton over remainders, exact", "more than 20,000 remainders"),
    "minLength": Keyword("count", "code points, counted in the automaton"),
    "maxLength": Keyword("count", "code points, counted in the automaton"),
    "pattern": Keyword(
        "string",
        "ECMA-262, searched for anywhere; anchors, look-ahead, word boundaries, Unicode categories, flags as `(?i)`",
        "backreferences, look-behind over several characters",
    ),
    "format": Keyword("string", "the formats below, over the whole value", "not regular; unknown, in the closed world"),
    "x-verbatim": Keyword(
        "object",
        "the string is a piece of a source text (at word boundaries, unless `words` is false), or one of its spans",
    ),
    "properties": Keyword("schemas", "merged over the whole conjunction, written in order of first declaration"),
    "patternProperties": Keyword(
        "schemas",
        "per class of names: those each pattern matches or doesn't",
        "patterns that overlap in more than 64 ways",
    ),
    "additionalProperties": Keyword("schema", "the names that no neighbour declares"),
    "propertyNames": Keyword("schema", "as a condition on every name"),
    "required": Keyword("strings", "the property is there; it takes its value from the other keywords"),
    "minProperties": Keyword("count", "counted", "where undeclared names alone would have to reach 2 or more"),
    "maxProperties": Keyword("count", "counted"),
    "dependentRequired": Keyword("string lists", "the property is absent, or the others are present"),
    "dependentSchemas": Keyword("schemas", "the property is absent, or the schema holds"),
    "dependencies": Keyword("dependencies", "both of the above (draft 7)"),
    "unevaluatedProperties": Keyword("schema", "as additionalProperties after merging, alternative by alternative"),
    "prefixItems": Keyword("schema list", "item by item"),
    "items": Keyword("schema or list", "the rest of the items; a list is prefixItems (draft 7)"),
    "additionalItems": Keyword("schema", "the items after draft 7's list"),
    "contains": Keyword("schema", "matches are counted", "over 200 counted items, more than 3 conditions"),
    "minContains": Keyword("count", "beside contains"),
    "maxContains": Keyword("count", "beside contains"),
    "minItems": Keyword("count", "counted"),
    "maxItems": Keyword("count", "counted"),
    "uniqueItems": Keyword(
        "boolean", "where the items come from a finite set", "otherwise, unless maxItems is below 2"
    ),
    "unevaluatedItems": Keyword("schema", "as items after merging, alternative by alternative"),
    "allOf": Keyword("schema list", "schemas are merged", "more than 400 cases multiplied out"),
    "anyOf": Keyword("schema list", "a union", "more than 400 cases multiplied out"),
    "oneOf": Keyword(
        "schema list",
        "exactly one: each without those others that it overlaps",
        "more than 400 cases multiplied out",
    ),
    "not": Keyword("schema", "the complement", "more than 4 demands on undeclared members of one object"),
    "if": Keyword("schema", "(if and then) or (not if and else)"),
    "then": Keyword("schema", "beside if"),
    "else": Keyword("schema", "beside if"),
    "$ref": Keyword("string", "local, by pointer, $id or $anchor, recursive without limit", "remote documents"),
    "$dynamicRef": Keyword("string", "as $ref", "where several $dynamicAnchor have its name"),
}

ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
    | {"$comment", "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$vocabulary", "$defs", "definitions"}
    | {"contentEncoding", "contentMediaType", "contentSchema"}  # annotations since draft 2019-09
    | {"discriminator", "example", "externalDocs", "xml"}  # OpenAPI; pydantic writes the first beside oneOf
    | {"links", "readonly", "self"}  # Hyper-Schema, draft 3's too; self-describing schemas
    | {"markdownDescription", "enumDescriptions", "markdownEnumDescriptions", "enumItemLabels", "defaultSnippets"}
    | {"errorMessage", "patternErrorMessage", "deprecationMessage", "suggestSortText", "doNotSuggest"}
    | {"allowComments", "allowTrailingCommas"}  # these three lines: editors, above all VS Code
    | {"propertyOrder", "enumNames", "tsEnumNames", "tsType"}  # forms, and generators of types
    | {"javaType", "existingJavaType", "javaName", "javaInterfaces", "javaEnumNames", "extendsJavaClass"}
    | {"faker", "chance"}  # generators of examples
)
"""What the standard and common tools attach to a schema without restricting an instance."""

OWN_PREFIXES = ("x-", "_", "//")
"""Names of one's own, and keywords that their author has struck out, begin with one of these."""

NEVER_SUPPORTED = {
    "$recursiveRef": "write $dynamicRef",
    "extends": "write allOf",
    "disallow": "write not",
    "divisibleBy": "write multipleOf",
}
"""What other drafts enforce, and how 2020-12 says it. To its letter annotations, but surely not to their author."""

_INSTEAD = NEVER_SUPPORTED | {"nullable": 'write type as a list with "null" in it'}

PARTNERS = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
"""Keywords that restrict nothing without another one."""

SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
SCHEMAS = (
    *("additionalProperties", "propertyNames", "unevaluatedProperties", "items", "additionalItems", "contains"),
    *("unevaluatedItems", "not", "if", "then", "else", "contentSchema"),
)


def is_annotation(keyword: str) -> bool:
    """Whether a keyword never restricts an instance."""
    return keyword in ANNOTATIONS or (str(keyword).startswith(OWN_PREFIXES) and keyword not in ENFORCED)


def instead_of(keyword: str) -> str:
    """What its author may have meant by a keyword that isn't known, for messages."""
    if keyword in _INSTEAD:
        return _INSTEAD[keyword]
    known = {name.lower(): name for name in (*ENFORCED, *ANNOTATIONS)}
    similar = get_close_matches(keyword.lower()[:40], known, n=1, cutoff=0.8)
    return f"did you mean {known[similar[0]]!r}? Else remove it" if similar else "remove it"


def is_count(value: Any) -> bool:
    """A non-negative integer, also written 2.0."""
    return is_number(value) and value >= 0 and value == int(value)


def is_number(value: Any) -> bool:
    """A JSON number, of at most MAX_DIGITS digits before and behind the point."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or value - value != 0:
        return False
    if isinstance(value, float):
        return True
    return bool(value.numerator.bit_length() <= _MAX_BITS and 10**MAX_DIGITS % value.denominator == 0)


def _is_schema(value: Any) -> bool:
    return isinstance(value, Mapping | bool)


def _is_strings(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_strings(list(value)) and all(map(_is_schema, value.values()))


def _is_schema_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_schema, value))


def _is_types(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return _is_strings(names) and bool(names) and all(name in (*TYPES, "integer") for name in names)


_SHAPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "types": (_is_types, f"one of {', '.join(TYPES)}, integer, or a list of them"),
    "values": (lambda v: isinstance(v, list | tuple) and bool(v), "a list that isn't empty"),
    "value": (lambda v: True, "a JSON value"),
    "number": (is_number, f"a number {IN_DIGITS}"),
    "number or boolean": (lambda v: isinstance(v, bool) or is_number(v), f"a number {IN_DIGITS}"),
    "positive number": (lambda v: is_number(v) and v > 0, f"a positive number {IN_DIGITS}"),
    "count": (is_count, f"a non-negative integer {IN_DIGITS}"),
    "string": (lambda v: isinstance(v, str), "a string"),
    "boolean": (lambda v: isinstance(v, bool), "true or false"),
    "object": (lambda v: isinstance(v, Mapping), "an object"),
    "strings": (_is_strings, "a list of names"),
    "string lists": (lambda v: isinstance(v, Mapping) and all(map(_is_strings, v.values())), "lists of names by name"),
    "schema": (_is_schema, "a schema"),
    "schemas": (_is_schemas, "an object of schemas"),
    "schema list": (_is_schema_list, "a list of schemas that isn't empty"),
    "schema or list": (lambda v: _is_schema(v) or v == [] or _is_schema_list(v), "a schema, or a list of schemas"),
    "dependencies": (
        lambda v: isinstance(v, Mapping) and all(_is_schema(one) or _is_strings(one) for one in v.values()),
        "schemas or lists of names by name",
    ),
}


def fits(keyword: str, value: Any) -> bool:
    """Whether `value` has the shape that an enforced keyword asks for."""
    return _SHAPES[ENFORCED[keyword].shape][0](value)


def check_shapes(schema: Any, pointer: str) -> None:
    """Raise InvalidSchemaError when a keyword's value can't be right."""
    if not _is_schema(schema):
        raise InvalidSchemaError(
            f"a schema must be an object or a boolean, not {type(schema).__name__}", pointer=pointer
        )
    if isinstance(schema, bool):
        return
    for keyword, value in schema.items():
        if not isinstance(keyword, str):
            raise InvalidSchemaError(f"a keyword must be a string, not {shown(keyword)}", pointer=pointer)
        if keyword in ENFORCED and not fits(keyword, value):
            shape = _SHAPES[ENFORCED[keyword].shape][1]
            raise InvalidSchemaError(f"{keyword} must be {shape}, not {shown(value)}", pointer=pointer)
