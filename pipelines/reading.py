"""From the model's answer to typed values with evidence."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from typing import Any

from dg_sglang.pipelines.evidence import Claim, Evidence, Path, Traced
from dg_sglang.pipelines.normalise import FINDERS, Conventions, normalise
from dg_sglang.pipelines.schema_tree import Node

_MISSING = object()


@dataclass(frozen=True)
class Failure:
    """A field without a valid value: where, what the model chose, and why it can't be used."""

    field: str
    raw: str | None
    reason: str
    path: Path = dataclasses.field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        said = f" (the model chose {self.raw!r})" if self.raw is not None else ""
        return f"{self.field}: {self.reason}{said}"


@dataclass
class Reading:
    """Typed values and evidence, both as trees of the schema's shape; what could not be read, by severity."""

    values: dict[str, Any] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_answer(
    nodes: Sequence[Node],
    answer: Mapping[str, Any],
    traced: Mapping[Path, Traced],
    conventions: Conventions,
    confidences: Mapping[Path, float],
) -> Reading:
    """Turn the canvas's JSON into typed values: dates, Decimals, floats, ints, ISO currency codes, the schema's own
    choices. `traced` says where its `claims` stand.

    A value that can't be read is null with a warning where the schema allows it, else a failure. The key of a null
    that the schema neither requires nor allows is left out, so that the schema's default applies.
    """
    reader = _Reader(traced, conventions, confidences)
    reader.reading.values, reader.reading.evidence = reader.object(nodes, answer, ())
    return reader.reading


def path_name(path: Sequence[str | int]) -> str:
    """`line_items[2].amount`."""
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return name.removeprefix(".")


def claims(nodes: Sequence[Node], answer: Mapping[str, Any], path: Path = ()) -> list[Claim]:
    """The leaves of an answer whose words the document may hold, for `evidence.trace`."""
    found: list[Claim] = []
    for node in nodes:
        found.extend(_claims_of(node, answer.get(node.name), (*path, node.name)))
    return found


def alternative(node: Node, value: Any, conventions: Conventions | None = None) -> Node | None:
    """The first of a union's alternatives that an answer's `value` fits; the node itself where it is no union.

    Two objects are told apart by their keys and by the values that their choices allow; of texts, a date, a number or a
    currency must read as one, whatever `conventions` make of it.
    """
    if node.kind != "union":
        return node
    fitting = next((child for child in node.children if _fits(child, value, conventions or Conventions())), None)
    return fitting and replace(fitting, name=node.name, nullable=node.nullable, required=node.required)


def _fits(node: Node, value: Any, conventions: Conventions) -> bool:
    if node.kind == "object":
        return (
            isinstance(value, Mapping)
            and value.keys() <= {child.name for child in node.children}
            and all(child.name in value for child in node.children if child.required)
            and all(
                _fits(child, value[child.name], conventions)
                for child in node.children
                if child.kind in ("choice", "boolean") and value.get(child.name) is not None
            )
        )
    if node.kind == "list":
        return isinstance(value, list)
    if node.kind == "boolean" or isinstance(value, bool):
        return node.kind == "boolean" and isinstance(value, bool)
    if node.kind == "choice":
        return any(text == str(value) for text, _ in node.choices)
    if not isinstance(value, str | int | float):
        return False
    if node.kind in FINDERS:
        text = " ".join(str(value).split())
        whole = (0, len(text)) in FINDERS[node.kind](text)
        return whole and not (node.number_type == "integer" and _fraction(text, conventions))
    return isinstance(value, str)


def _fraction(text: str, conventions: Conventions) -> bool:
    """Whether a number certainly has decimals."""
    try:
        value = normalise(text, "number", conventions)
    except ValueError:
        return False
    return isinstance(value, Decimal) and value != value.to_integral_value()


def _claims_of(node: Node, value: Any, path: Path) -> list[Claim]:
    if node.kind == "union":
        chosen = alternative(node, value)
        return _claims_of(chosen, value, path) if chosen else []
    if node.kind == "object" and isinstance(value, Mapping):
        return claims(node.children, value, path)
    if node.kind == "list" and isinstance(value, list):
        return [claim for i, item in enumerate(value) for claim in _claims_of(node.children[0], item, (*path, i))]
    if (node.stated or node.kind == "free") and isinstance(value, str | int | float) and str(value).strip():
        return [Claim(path, node, str(value))]
    return []


class _Reader:
    def __init__(
        self, traced: Mapping[Path, Traced], conventions: Conventions, confidences: Mapping[Path, float]
    ) -> None:
        self.traced = traced
        self.conventions = conventions
        self.confidences = confidences
        self.reading = Reading()

    def object(
        self, nodes: Sequence[Node], answer: Mapping[str, Any], path: Path
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        values: dict[str, Any] = {}
        evidence: dict[str, Any] = {}
        for node in nodes:
            value, evidence[node.name] = self.node(node, answer.get(node.name), (*path, node.name))
            if value is not _MISSING:
                values[node.name] = value
        return values, evidence

    def node(self, node: Node, raw: Any, path: Path) -> tuple[Any, Any]:
        if node.kind == "union" and raw is not None and raw != "":
            chosen = alternative(node, raw, self.conventions)
            if chosen is None:
                return self.absent(node, path, f"{raw!r} is none of the union's alternatives", raw)
            return self.node(chosen, raw, path)
        if node.kind == "object":
            if isinstance(raw, Mapping):
                return self.object(node.children, raw, path)
            return self.absent(node, path, None if raw is None else f"{raw!r} is not an object", raw)
        if node.kind == "list":
            return self.list(node, raw, path)
        if raw is None or raw == "":
            return self.absent(node, path)
        try:
            return self.value(node, raw), self.evidence(node, raw, path)
        except ValueError as error:
            return self.absent(node, path, str(error), raw)

    def list(self, node: Node, raw: Any, path: Path) -> tuple[Any, Any]:
        if raw is not None and not isinstance(raw, list):
            return self.absent(node, path, f"{raw!r} is not a list", raw)
        if not raw and node.nullable:
            return None, self.evidence(node, None, path)
        read = [self.node(node.children[0], item, (*path, index)) for index, item in enumerate(raw or ())]
        kept = [(value, evidence) for value, evidence in read if value is not _MISSING]
        return [value for value, _ in kept], [evidence for _, evidence in kept]

    def absent(self, node: Node, path: Path, problem: str | None = None, raw: Any = None) -> tuple[Any, Any]:
        """null, or no value at all; `problem` says why `raw` can't be used."""
        said = None if raw is None else str(raw)
        evidence = self.evidence(node, raw if problem else None, path)
        if not node.optional:
            reason = problem or "the schema requires it, but it was not found in the document"
            self.reading.failures.append(Failure(path_name(path), said, reason, path))
            return _MISSING, evidence
        if problem:
            self.reading.warnings.append(f"{path_name(path)} is null: {problem}")
        return None if node.nullable else _MISSING, evidence

    def value(self, node: Node, raw: Any) -> Any:
        """The typed value. Raises ValueError."""
        if node.kind == "boolean":
            if not isinstance(raw, bool):
                raise ValueError(f"{raw!r} is neither true nor false")
            return raw
        if isinstance(raw, bool) or not isinstance(raw, str | int | float):
            raise ValueError(f"{raw!r} is not a single value")
        if node.kind == "choice":
            choices = dict(node.choices)
            if str(raw) not in choices:
                raise ValueError(f"{raw!r} is none of {', '.join(map(repr, choices))}")
            return choices[str(raw)]
        if node.kind in FINDERS:
            value = normalise(str(raw), node.kind, self.conventions)  # type: ignore[arg-type]
            return _number(node, value) if isinstance(value, Decimal) else value
        return str(raw)

    def evidence(self, node: Node, raw: Any, path: Path) -> Evidence:
        confidence = self.confidences.get(path)
        traced = self.traced.get(path)
        if traced is None or raw is None:
            return Evidence("none", confidence=confidence)
        if not traced.places:
            return Evidence("none", str(raw), confidence=confidence)
        computed = node.kind in FINDERS
        return Evidence(
            match="fuzzy" if traced.fuzzy else "normalised" if computed else "exact",
            verbatim=str(raw),
            page=traced.places[0].page,
            boxes=tuple(place.word.box for place in traced.places),
            occurrences=traced.occurrences,
            confidence=confidence,
        )


def _number(node: Node, value: Decimal) -> Decimal | float | int:
    if node.number_type == "integer":
        if value != value.to_integral_value():
            raise ValueError(f"{value} is not a whole number")
        return int(value)
    return value if node.number_type == "decimal" else float(value)


def to_json_value(value: Any) -> Any:
    """The same tree with dates and times in ISO form and Decimals as numbers."""
    if isinstance(value, Mapping):
        return {key: to_json_value(one) for key, one in value.items()}
    if isinstance(value, list):
        return [to_json_value(one) for one in value]
    if isinstance(value, date | time):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value
