"""The prompt that asks for a document's fields: what the model reads, in training (nano) and in production alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "date", "datetime", "time", "number", "currency", "boolean", "choice", "object", "list", "union"]

INSTRUCTION = "Extract the fields as JSON. Copy values as the document writes them; null if it does not state them."
_NAMES = {"boolean": "true or false", "datetime": "date and time"}


@dataclass(frozen=True)
class Field:
    """One field of the canvas schema, as the prompt shows it.

    `children` holds an object's fields, or the single item of a list (whose own name is empty).
    A "union" has its alternatives there, which have no names either.
    `choices` holds the JSON strings that a "choice" field may take.
    """

    name: str
    kind: Kind
    description: str = ""
    choices: tuple[str, ...] = ()
    children: tuple["Field", ...] = ()


def _type_name(field: Field) -> str:
    if field.kind == "choice":
        return "one of " + " | ".join(field.choices)
    if field.kind == "union":
        return " or ".join(_type_name(child) for child in field.children)
    if field.kind == "list":
        item = field.children[0]
        return "list of " + ("objects" if item.kind == "object" else _type_name(item))
    return _NAMES.get(field.kind, field.kind)


def _lines(fields: Sequence[Field], depth: int) -> Iterator[str]:
    for field in fields:
        note = f" ({field.description})" if field.description else ""
        yield f"{'  ' * depth}{field.name}: {_type_name(field)}{note}"
        nested = field.children
        while nested and nested[0].kind == "list" and not nested[0].name:
            nested = nested[0].children
        if field.kind == "list" and nested and nested[0].kind == "object":
            nested = nested[0].children
        if nested and nested[0].name:
            yield from _lines(nested, depth + 1)
        alternatives = [child.children for child in nested if field.kind == "union" and child.kind == "object"]
        for number, children in enumerate(alternatives, 1):
            yield f"{'  ' * (depth + 1)}object {number}:"
            yield from _lines(children, depth + 2)


def render_fields(fields: Sequence[Field]) -> str:
    """The field list, one line a field, nested fields indented by two spaces."""
    return "\n".join(_lines(fields, 0))


def build_prompt(fields: Sequence[Field], document: str) -> str:
    """The user message for one extraction: instruction, field list, document text (schema first, so that the
    encoder reads the document knowing what is asked)."""
    return f"{INSTRUCTION}\n{render_fields(fields)}\nDocument:\n{document}"
