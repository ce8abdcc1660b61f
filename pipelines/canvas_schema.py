"""The canvas schema: what the model writes. Stated leaves are pieces of the document, judged ones are generated.

The answer is one JSON object with every key present, in schema order. Absent means null, never invented: only a leaf
that the schema requires can't be null.
"""

from collections.abc import Collection, Sequence
from typing import Any

from dg_sglang.pipelines.prompt import Field
from dg_sglang.pipelines.schema_tree import Node

SOURCE = "document"
"""Name of the document among the grammar's sources."""
SPAN_KINDS = ("date", "datetime", "time", "number", "currency")
"""Kinds whose pieces are found beforehand, rather than any piece between word boundaries."""
MOST_COUNTED = 20
"""Items are counted on the canvas up to here (each count costs a copy of the item's states); validation checks more."""


def prompt_fields(nodes: Sequence[Node]) -> list[Field]:
    """The fields as the prompt shows them."""
    return [_field(node) for node in nodes]


def piece_kind(leaf: Node) -> str:
    """The kind of pieces that a stated leaf may be; one of its own for a number or text that the schema restricts."""
    if leaf.kind in ("number", "text") and (leaf.checks or leaf.number_type == "integer"):
        return f"{leaf.kind} of {leaf.pointer}"
    return leaf.kind


def text_schema(leaf: Node, *, checked: bool = True) -> dict[str, Any]:
    """A piece of the document of the lengths, pattern and format that the schema asks for."""
    schema = {"type": "string", "x-verbatim": {"source": SOURCE}} | _maximum(leaf)
    if leaf.min_length > 1:
        schema["minLength"] = leaf.min_length
    return schema | (dict(leaf.checks) if checked else {})


def canvas_schema(nodes: Sequence[Node], available: Collection[str]) -> dict[str, Any]:
    """JSON Schema of the answer for these fields, with the grammar's `x-verbatim` keyword on stated leaves.

    `available` are the kinds (see `piece_kind`) of which the document holds any piece; leaves of other kinds can only
    be null. A text's kind with "unchecked " before it leaves its pattern and format to validation.
    """
    return {
        "type": "object",
        "properties": {node.name: _schema(node, available) for node in nodes},
        "required": [node.name for node in nodes],
        "additionalProperties": False,
    }


def _field(node: Node) -> Field:
    kind = "text" if node.kind == "free" else node.kind
    choices = tuple(text for text, _ in node.choices)
    return Field(node.name, kind, node.description, choices, tuple(_field(child) for child in node.children))


def _schema(node: Node, available: Collection[str]) -> dict[str, Any]:
    if node.kind == "list":
        bounds = {"minItems": min(node.min_items, MOST_COUNTED)}
        if node.max_items is not None and node.max_items <= MOST_COUNTED:
            bounds["maxItems"] = node.max_items
        return {"type": "array", "items": _schema(node.children[0], available)} | bounds
    schema = leaf_schema(node, available)
    return {"anyOf": [schema, {"type": "null"}]} if node.optional and schema != {"type": "null"} else schema


def leaf_schema(node: Node, available: Collection[str]) -> dict[str, Any]:
    """The same without the null that an optional field may be."""
    if node.kind == "object":
        schema = canvas_schema(node.children, available)
    elif node.kind == "union":
        options = [one for child in node.children if (one := _schema(child, available)) != {"type": "null"}]
        schema = {"anyOf": options} if options else {"type": "null"}
    elif node.kind == "boolean":
        schema = {"type": "boolean"}
    elif node.kind == "choice":
        schema = {"enum": [text for text, _ in node.choices]}
    elif node.kind == "free":
        schema = {"type": "string", "minLength": max(node.min_length, 1)} | _maximum(node)
        schema |= {word: check for word, check in node.checks.items() if word == "format"}
    elif node.kind in SPAN_KINDS:
        kind = piece_kind(node)
        if kind not in available:
            return {"type": "null"}
        schema = {"type": "string", "x-verbatim": {"source": SOURCE, "kind": kind}} | _maximum(node)
    else:
        checked = piece_kind(node) in available
        if node.checks and not checked and f"unchecked {piece_kind(node)}" not in available:
            return {"type": "null"}
        schema = text_schema(node, checked=checked)
    return schema


def _maximum(node: Node) -> dict[str, int]:
    return {} if node.max_length is None else {"maxLength": node.max_length}
