"""What the schema benchmarks share: reading a suite, ordering keys, checking instances, printing counts."""

from __future__ import annotations

import gzip
import json
import os
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from dg_sglang.errors import EmptyLanguageError, GrammarError, UnsupportedSchemaError
from dg_sglang.grammar import Grammar, JsonSchema, compile_constraint
from dg_sglang.grammar.schema_document import SchemaDocument, Subschema

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LATE = ("anyOf", "oneOf", "if", "then", "else", "dependentSchemas", "dependencies")


@dataclass
class Result:
    """One schema: how many instances it has, why it was refused (None: compiled), how long that took, the verdicts."""

    name: str
    tests: int
    refused: str | None
    seconds: float
    verdicts: list[tuple[bool, bool, Any]] = field(default_factory=list)  # valid, accepted, instance

    @property
    def right(self) -> bool:
        """Compiled, and every instance judged as it should be."""
        return self.refused is None and all(valid == accepted for valid, accepted, _ in self.verdicts)


def arguments(description: str) -> Namespace:
    """The command line."""
    parser = ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DG_SGLANG_DATA", DATA)), help="data folder")
    parser.add_argument("--closed", action="store_true", help="the closed world (default: open, as the standard says)")
    parser.add_argument("--failures", type=int, default=10**9, help="how many failures to list")
    parser.add_argument("--only", default="", help="only the schemas whose name contains this")
    return parser.parse_args()


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a gzipped JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def judge(name: str, schema: Any, tests: list[dict[str, Any]], *, open_world: bool) -> Result:
    """Compile one schema and check its instances, keys in schema order."""
    begin = time.process_time()
    grammar: Grammar | None
    try:
        grammar = compile_constraint(JsonSchema(schema, open=open_world))
    except EmptyLanguageError:  # a verdict: no instance is valid
        grammar = None
    except GrammarError as error:
        kind = error.keyword if isinstance(error, UnsupportedSchemaError) else type(error).__name__
        return Result(name, len(tests), f"{kind}: {error}", time.process_time() - begin)
    result = Result(name, len(tests), None, time.process_time() - begin)
    order = KeyOrder(schema)
    for test in tests:
        text = json.dumps(order.apply(test["data"]), ensure_ascii=False)
        result.verdicts.append((test["valid"], grammar is not None and grammar.accepts(text), test["data"]))
    return result


class KeyOrder:
    """Puts the keys of instances into schema order.

    First as the subschemas that hold for the instance declare them, then what is only required, then the others.
    """

    def __init__(self, schema: Any) -> None:
        self.document = SchemaDocument(schema)
        self.validator = validator_for(schema, default=Draft202012Validator)(schema)

    def apply(self, value: Any) -> Any:
        """`value` with its keys in order."""
        return self._order([self.document.root], value)

    def _order(self, schemas: list[Subschema], value: Any) -> Any:
        schemas = sorted(set(schemas), key=lambda one: one.serial)
        applied = list(dict.fromkeys(one for schema in schemas for one in self._applied(schema, value, set())))
        if isinstance(value, list):
            return [self._order(self._below(applied, index), item) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        names = [name for schema in schemas for name in self._declared(schema, value, set())]
        for keyword in ("required", "dependentRequired", "dependencies"):
            for one in applied:
                names += _listed(one.value.get(keyword))
        keys = dict.fromkeys(name for name in (*names, *value) if name in value)
        return {name: self._order(self._below(applied, name), value[name]) for name in keys}

    def _holds(self, schema: Subschema, value: Any) -> bool:
        try:
            return bool(self.validator.evolve(schema=schema.value).is_valid(value))
        except Exception:  # a reference to elsewhere: the order doesn't matter then
            return True

    def _inner(self, schema: Subschema, keyword: str, value: Any) -> Iterator[Subschema]:
        """What `keyword` applies to the same instance, if it holds."""
        below = schema.value[keyword]
        if keyword in ("$ref", "$dynamicRef"):
            with suppress(GrammarError):
                yield self.document.resolve(schema, keyword)
        elif keyword in ("allOf", "anyOf", "oneOf"):
            parts = [self.document.child(schema, keyword, index) for index in range(len(below))]
            holding = [one for one in parts if keyword == "allOf" or self._holds(one, value)]
            yield from holding or parts
        elif keyword in ("dependentSchemas", "dependencies"):
            for name, part in below.items():
                if isinstance(value, dict) and name in value and not isinstance(part, list):
                    yield self.document.child(schema, keyword, name)
        elif keyword in ("if", "then", "else"):
            holds = "if" in schema.value and self._holds(self.document.child(schema, "if"), value)
            if holds == (keyword != "else"):
                yield self.document.child(schema, keyword)

    def _applied(self, schema: Subschema, value: Any, seen: set[Subschema]) -> Iterator[Subschema]:
        """`schema` and all that it applies to the same instance."""
        if schema in seen or not isinstance(schema.value, dict):
            return
        seen.add(schema)
        yield schema
        for keyword in schema.value:
            for inner in self._inner(schema, keyword, value):
                yield from self._applied(inner, value, seen)

    def _declared(self, schema: Subschema, value: Any, seen: set[Subschema]) -> Iterator[str]:
        """The names that `schema` declares for an object, keyword by keyword, alternatives last."""
        if schema in seen or not isinstance(schema.value, dict):
            return
        seen.add(schema)
        for option in (*schema.value.get("enum", ()), schema.value.get("const")):
            if option == value:
                yield from option
        for keyword in sorted(schema.value, key=lambda one: one in LATE):
            if keyword == "properties":
                yield from schema.value["properties"]
            for inner in self._inner(schema, keyword, value):
                yield from self._declared(inner, value, seen)

    def _below(self, applied: list[Subschema], key: str | int) -> list[Subschema]:
        """The schemas for one member or item."""
        found = []
        for schema in applied:
            value = schema.value
            if isinstance(key, str):
                if key in value.get("properties", ()):
                    found.append(self.document.child(schema, "properties", key))
                found += [
                    self.document.child(schema, "patternProperties", p) for p in value.get("patternProperties", ())
                ]
                for keyword in ("additionalProperties", "unevaluatedProperties"):
                    found += [self.document.child(schema, keyword)] if keyword in value else []
                continue
            for keyword in ("prefixItems", "items"):
                if isinstance(value.get(keyword), list) and key < len(value[keyword]):
                    found.append(self.document.child(schema, keyword, key))
            for keyword in ("items", "additionalItems", "contains", "unevaluatedItems"):
                found += [self.document.child(schema, keyword)] if isinstance(value.get(keyword), dict) else []
        return found


def _listed(needed: Any) -> Iterator[str]:
    if isinstance(needed, list):
        yield from needed
    elif isinstance(needed, dict):
        for name, more in needed.items():
            yield name
            yield from more if isinstance(more, list) else ()


def report(results: list[Result], *, failures: int) -> None:
    """Counts, compile times, and the failures by reason."""
    compiled = [one for one in results if one.refused is None]
    verdicts = [verdict for one in compiled for verdict in one.verdicts]
    valid, invalid = ([accepted for is_valid, accepted, _ in verdicts if is_valid is want] for want in (True, False))
    correct = sum(is_valid == accepted for is_valid, accepted, _ in verdicts)
    times = sorted(one.seconds * 1000 for one in results)
    rows = [
        ("schemas compiled, all instances right", sum(one.right for one in results), len(results)),
        ("schemas refused", len(results) - len(compiled), len(results)),
        ("instances right (refused schemas count as wrong)", correct, sum(one.tests for one in results)),
        ("valid instances refused by compiled schemas", valid.count(False), len(valid)),
        ("invalid instances accepted", invalid.count(True), len(invalid)),
    ]
    for label, count, total in rows:
        print(f"{label:50} {count:6} of {total:6}  {count / max(total, 1):7.2%}")
    percentiles = [(p, times[min(len(times) - 1, len(times) * p // 100)]) for p in (50, 90, 99, 100)]
    print("compile, CPU ms: " + ", ".join(f"p{p} {value:.1f}" for p, value in percentiles))
    reasons = Counter(one.refused.partition(":")[0] for one in results if one.refused is not None)
    print("refused for: " + ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()))
    for one in [one for one in results if not one.right][:failures]:
        print(f"\n{one.name}: {one.refused or ''}")
        for is_valid, accepted, instance in one.verdicts:
            if is_valid != accepted:
                what = "refuses a valid" if is_valid else "accepts an invalid"
                print(f"  {what} instance: {json.dumps(instance)[:300]}")
