"""Asking again for a field whose value won't do: everything else is held by the grammar, and the value excluded."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dg_sglang.pipelines.canvas_schema import leaf_schema
from dg_sglang.pipelines.evidence import Path
from dg_sglang.pipelines.reading import Failure, alternative
from dg_sglang.pipelines.schema_tree import Node

Tried = Mapping[Path, Sequence[Any]]
"""Leaves to ask for again, and what they must not be."""


def repairable(failures: Iterable[Failure], answer: Mapping[str, Any]) -> dict[Path, Any]:
    """The leaves at fault for which the model chose a value, with that value.

    A field that is null because the document holds nothing for it can't be repaired, nor can a fault of the whole.
    """
    found: dict[Path, Any] = {}
    for failure in failures:
        value: Any = answer
        for part in failure.path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                value = None
                break
        if failure.path and value is not None and not isinstance(value, Mapping | list):
            found[failure.path] = value
    return found


def tighter_schema(
    nodes: Sequence[Node], answer: Mapping[str, Any], tried: Tried, available: Collection[str]
) -> dict[str, Any]:
    """JSON Schema of the same answer in which only the leaves in `tried` are free, and not to be what they were."""
    return _object(nodes, answer, (), tried, available)


def _object(
    nodes: Sequence[Node], answer: Mapping[str, Any], path: Path, tried: Tried, available: Collection[str]
) -> dict[str, Any]:
    held = {node.name: _held(node, answer.get(node.name), (*path, node.name), tried, available) for node in nodes}
    return {"type": "object", "properties": held, "required": list(held), "additionalProperties": False}


def _held(node: Node, value: Any, path: Path, tried: Tried, available: Collection[str]) -> dict[str, Any]:
    if path in tried:
        other = {**leaf_schema(node, available), "not": {"enum": list(tried[path])}}
        return {"anyOf": [other, {"type": "null"}]} if node.optional else other
    node = alternative(node, value) or node
    if isinstance(value, Mapping) and node.kind == "object":
        return _object(node.children, value, path, tried, available)
    if isinstance(value, list) and node.kind == "list" and value:
        items = [_held(node.children[0], item, (*path, i), tried, available) for i, item in enumerate(value)]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    return {"const": value}
