"""Constraints as text: SGLang's requests carry a JSON Schema, a pattern or a grammar, and nothing beside it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from dg_sglang.errors import GrammarError, InvalidSchemaError
from dg_sglang.grammar import (
    Choice,
    Constraint,
    Ebnf,
    JsonObject,
    JsonSchema,
    Regex,
    StructuralTag,
    Template,
    VerbatimSource,
    as_constraint,
)
from dg_sglang.grammar.constraint import checked_names

KEYWORD = "x-dg"
"""At a schema's root: what `JsonSchema` holds beside it, `{"sources": {…}, "open": true, "annotations": […]}`."""
_SYNTAX = re.compile(r"[\\^$.*+?()\[\]{}|/]")


def to_wire(constraint: Any) -> dict[str, str]:
    """The one of SGLang's sampling parameters that says the same; white space is a setting (`policy.whitespace`).

    Raises:
        GrammarError: it is no constraint, or SGLang has no way to say it.
    """
    constraint = as_constraint(constraint)
    if isinstance(constraint, JsonSchema):
        return {"json_schema": _schema_text(constraint)}
    if isinstance(constraint, StructuralTag):
        return {"structural_tag": _dump(constraint.resolved())}
    if isinstance(constraint, Template):
        return {"structural_tag": _dump({"type": "structural_tag", "format": _format(constraint)})}
    kind, text = _plain(constraint)
    return {kind: text or "()"}  # SGLang takes an empty text for no constraint


def _plain(constraint: Constraint) -> tuple[str, str]:
    """SGLang's name and text of a constraint that is no more than a text."""
    if isinstance(constraint, JsonObject):
        return "json_schema", '{"type": "object"}'
    if isinstance(constraint, Regex):
        return "regex", constraint.pattern
    if isinstance(constraint, Choice):
        return "regex", "|".join(_SYNTAX.sub(r"\\\g<0>", option) for option in constraint.options)
    if isinstance(constraint, Ebnf) and constraint.root is None:
        return "ebnf", constraint.grammar
    what = "Ebnf with a root of its own" if isinstance(constraint, Ebnf) else type(constraint).__name__
    raise GrammarError(
        f"{what} can't be sent to a server, which has no parameter for it: "
        "say the same as a JsonSchema, Regex, Ebnf, Choice, Template or StructuralTag, or use Engine"
    )


def _format(constraint: Constraint) -> dict[str, Any]:
    """A constraint as a format of structural tags."""
    if isinstance(constraint, JsonObject):
        constraint = JsonSchema({"type": "object"}, constraint.whitespace)
    if isinstance(constraint, Template):
        elements = []
        for index, part in enumerate(constraint.parts):
            if index % 2:
                elements.append(_format(constraint.holes[part]))
            elif part:
                elements.append({"type": "const_string", "value": part})
        return {"type": "sequence", "elements": elements}
    if isinstance(constraint, JsonSchema):
        if constraint.sources or constraint.open or constraint.annotations or constraint.whitespace:
            what = "sources, an open world, annotations or white space of its own"
            raise GrammarError(f"a JsonSchema with {what} can't be sent to a server in a template")
        return {"type": "json_schema", "json_schema": constraint.resolved()}
    kind, text = _plain(constraint)
    if kind == "regex":
        return {"type": "regex", "pattern": text}
    return {"type": "grammar", "grammar": text} if kind == "ebnf" else {"type": kind, kind: json.loads(text)}


def read_schema(text: str) -> JsonSchema:
    """The constraint that `to_wire` wrote, or that any client sent as a plain schema.

    Raises:
        InvalidSchemaError: it is not JSON, or the keyword at its root is malformed.
    """
    schema = JsonSchema(text).resolved()
    if not isinstance(schema, dict) or KEYWORD not in schema:
        return JsonSchema(schema)
    extras = schema.pop(KEYWORD)
    if (
        not isinstance(extras, dict)
        or extras.keys() - {"sources", "open", "annotations"}
        or type(extras.get("open", False)) is not bool
    ):
        form = '{"sources": {…}, "open": true or false, "annotations": […]}'
        raise InvalidSchemaError(f"it must be {form}", pointer=f"/{KEYWORD}")
    sources = extras.get("sources", {})
    if not isinstance(sources, dict):
        raise InvalidSchemaError("sources must map names to texts", pointer=f"/{KEYWORD}/sources")
    return JsonSchema(
        schema,
        sources={name: _read_source(name, source) for name, source in sources.items()},
        open=extras.get("open", False),
        annotations=extras.get("annotations", ()),
    )


def _schema_text(constraint: JsonSchema) -> str:
    schema = constraint.resolved()
    extras: dict[str, Any] = {}
    if constraint.sources:
        if not isinstance(constraint.sources, Mapping):
            raise InvalidSchemaError(f"sources must map names to texts, not {type(constraint.sources).__name__}")
        extras["sources"] = {name: _source(VerbatimSource.of(one)) for name, one in constraint.sources.items()}
    if constraint.open:
        extras["open"] = True
    if constraint.annotations:
        extras["annotations"] = sorted(checked_names("annotations", constraint.annotations))
    if extras and isinstance(schema, dict):
        if KEYWORD in schema:
            raise InvalidSchemaError(
                f"{KEYWORD!r} is taken: it carries the sources to the server", pointer=f"/{KEYWORD}"
            )
        schema = schema | {KEYWORD: extras}
    return _dump(schema)


def _dump(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSchemaError(f"the schema is not JSON: {error}") from None


def _source(source: VerbatimSource) -> dict[str, Any]:
    text = source.text if isinstance(source.text, str) else list(source.text)
    return {"text": text, "spans": {kind: list(pieces) for kind, pieces in source.spans.items()}}


def _read_source(name: str, source: Any) -> VerbatimSource | str:
    if isinstance(source, dict) and "text" in source and not source.keys() - {"text", "spans"}:
        return VerbatimSource(**source)
    if isinstance(source, str):
        return source
    raise InvalidSchemaError(
        'a source is a text, or {"text": …, "spans": {…}}',
        pointer=f"/{KEYWORD}/sources/{name.replace('~', '~0').replace('/', '~1')}",
    )
