"""Schemas as sets of values: what a clause allows, per JSON type, as a union of rules.

All combinators work on rules, before there is any automaton: allOf, anyOf, oneOf, not, if, dependent* and $ref are
intersection, union and complement of sets. So objects are merged first and only then written in one key order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.grammar.keywords import check_shapes, is_number
from dg_sglang.grammar.number_rule import NumberRule, exact
from dg_sglang.grammar.rules import (
    ALL_VALUES,
    ANY,
    ANY_ARRAY,
    ANY_OBJECT,
    EVERYTHING,
    NEVER,
    Alternatives,
    ArrayRule,
    Clause,
    Condition,
    Literal,
    ObjectRule,
    StringRule,
    ValueSet,
    flip,
)
from dg_sglang.grammar.schema_document import SchemaDocument, Subschema
from dg_sglang.grammar.string_text import StringTexts

MAX_RULES = 400
MAX_WORK = 3_000_000


class Algebra:
    """Intersection and difference of value sets, with the means to see that a rule has no members."""

    def __init__(
        self,
        document: SchemaDocument,
        texts: StringTexts,
        values_of: Callable[[Subschema], ValueSet],
        note: Callable[[Subschema], None],
    ) -> None:
        """`values_of` reads a subschema; `note` is told of those that say so little that they needn't be read."""
        self.document = document
        self.texts = texts
        self.values_of = values_of
        self.note = note
        self.at = ("", "")  # pointer and keyword that are being merged, for messages
        self.nesting = 0  # how many questions about emptiness are being answered
        self.work = 0  # how much has been merged so far: ten for each pair of rules, one for each name
        self._values: dict[Clause, ValueSet] = {}
        self._emptiness: dict[Clause, bool] = {}
        self._made: dict[Any, Subschema] = {}

    # ---- clauses ------------------------------------------------------------------------------------------------

    def clause(self, schema: Subschema) -> Clause:
        """The clause that says just this schema."""
        seen, is_annotation = set[Subschema](), self.document.is_annotation
        while isinstance(schema.value, dict) and "$ref" in schema.value:
            check_shapes(schema.value, schema.pointer)
            if schema in seen or not all(key == "$ref" or is_annotation(key) for key in schema.value):
                break
            self.note(schema)
            seen.add(schema)
            schema = self.document.resolve(schema, "$ref")
        if isinstance(schema.value, dict) and all(map(is_annotation, schema.value)):
            self.note(schema)
            return ANY
        if schema.value is True:
            return ANY
        return NEVER if schema.value is False else frozenset({Literal(schema, True)})

    def made(self, key: Any, value: Any) -> Clause:
        """The clause of a made-up schema, one per key."""
        if key not in self._made:
            self._made[key] = Subschema(value, self.at[0], "")
        return frozenset({Literal(self._made[key], True)})

    def constant_clause(self, value: Any) -> Clause:
        """The clause of one JSON value (numbers may be fractions)."""
        return self.made(("const", json_key(value)), {"const": value})

    def origin(self, clause: Clause) -> tuple[str, str]:
        """Where a clause comes from, and a keyword that may be what is difficult about it, for messages."""
        if not clause:
            return "", "type"
        schema = min(clause, key=_serial).schema
        names = schema.value if isinstance(schema.value, Mapping) else ()
        return schema.pointer, next((one for one in ("not", "oneOf", "if", "anyOf", "allOf") if one in names), "type")

    def negation(self, clause: Clause) -> Clause:
        """The complement of a clause, as a clause."""
        if not clause:
            return NEVER
        parts = tuple(flip(one) for one in sorted(clause, key=_serial))
        if ANY in parts:
            return ANY
        return parts[0] if len(parts) == 1 else self.made(frozenset(parts), Alternatives(parts))

    def values(self, clause: Clause) -> ValueSet:
        """The values that a clause allows."""
        if clause not in self._values:
            values, at = ALL_VALUES, self.at
            for literal in sorted(clause, key=lambda one: (not one.holds, one.schema.serial)):
                more = self.values_of(literal.schema)
                values = self.meet(values, more) if literal.holds else self.subtract(values, more)
            self._values[clause], self.at = values, at
        return self._values[clause]

    def is_empty(self, clause: Clause) -> bool:
        """Whether a clause is known to allow nothing."""
        if clause.issuperset(NEVER) or not clause:
            return bool(clause)
        if len(clause) == 1 and next(iter(clause)).holds:
            return False  # its text will tell
        if clause not in self._emptiness:
            self._emptiness[clause] = False  # what a recursive schema may assume about itself
            self.nesting += 1
            self._emptiness[clause] = self.values(clause).is_empty()
            self.nesting -= 1
        return self._emptiness[clause]

    # ---- value sets ---------------------------------------------------------------------------------------------

    def meet(self, left: ValueSet, right: ValueSet) -> ValueSet:
        """The values in both."""
        if left == ALL_VALUES or right == ALL_VALUES:
            return left if right == ALL_VALUES else right
        return ValueSet(
            left.constants & right.constants,
            self._products(left.numbers, right.numbers),
            self._products(left.strings, right.strings),
            self._products(left.arrays, right.arrays),
            self._products(left.objects, right.objects),
        )

    def subtract(self, left: ValueSet, right: ValueSet) -> ValueSet:
        """The values in `left` that aren't in `right`."""
        return ValueSet(
            left.constants - right.constants,
            self._differences(left.numbers, right.numbers),
            self._differences(left.strings, right.strings),
            self._differences(left.arrays, right.arrays),
            self._differences(left.objects, right.objects),
        )

    def join(self, sets: Iterable[ValueSet]) -> ValueSet:
        """The values in any."""
        return ValueSet().join(*sets)

    def _products(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        if left == right:
            return left
        found: dict[Any, None] = {}
        for one in left:
            for other in right:
                if (met := self.met(one, other)) is not None:
                    found[met] = None
                    self._check_size(found)
        return tuple(found)

    def _differences(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        for rule in right:
            others: tuple[Any, ...] | None = None
            found: dict[Any, None] = {}
            for one in left:
                met = self.met(one, rule)
                if met is None:
                    found[one] = None
                elif met != one:
                    others = self.complement(rule) if others is None else others
                    for other in others:
                        if (rest := self.met(one, other)) is not None:
                            found[rest] = None
                            self._check_size(found)
            left = tuple(found)
        return left

    def _check_size(self, found: dict[Any, None]) -> None:
        if len(found) > MAX_RULES:
            pointer, keyword = self.at
            message = f"{keyword!r} multiplies out to more than {MAX_RULES} cases; simplify it"
            raise UnsupportedSchemaError(message, pointer=pointer, keyword=keyword)

    # ---- rules --------------------------------------------------------------------------------------------------

    def met(self, one: Any, other: Any) -> Any:
        """The rule for both, or None where it has no members."""
        self.work += 10 + (len(one.named) if isinstance(one, ObjectRule) else 0)
        if self.work > MAX_WORK:
            raise UnsupportedSchemaError(
                "merging this takes too long; simplify it", pointer=self.at[0], keyword=self.at[1]
            )
        if isinstance(one, NumberRule):
            return one.meet(other)
        if isinstance(one, StringRule):
            met = one.meet(other)
            return met if met is None or met.options is None or not met.atoms else self.texts.filtered(met)
        if isinstance(one, ArrayRule):
            return one if other is ANY_ARRAY else self.settle_array(one.meet(other))
        return one if other is ANY_OBJECT else self.settle_object(one.meet(other))

    def complement(self, rule: Any) -> tuple[Any, ...]:
        """All values of the rule's type that aren't in it, as a union of rules."""
        if not isinstance(rule, ObjectRule):
            return rule.complement()  # type: ignore[no-any-return]
        parts = [ObjectRule(named=((name, NEVER),)) for name in rule.required]
        for name, clause in rule.named:
            parts += [ObjectRule(named=((name, flip(one)),), required=(name,)) for one in clause]
        for condition in rule.every:
            parts += [ObjectRule(some=frozenset({Condition(condition.keys, flip(one))})) for one in condition.value]
        for condition in rule.some:
            parts.append(ObjectRule(every=frozenset({Condition(condition.keys, self.negation(condition.value))})))
        if rule.low > 0:
            parts.append(ObjectRule(high=rule.low - 1))
        if rule.high is not None:
            parts.append(ObjectRule(low=rule.high + 1))
        return tuple(one for part in parts if (one := self.settle_object(part)) is not None)

    def value_of(self, rule: ObjectRule, name: str) -> Clause:
        """The clause for a member called `name`."""
        clause = rule.names.get(name, ANY)
        for condition in rule.every:
            if self.texts.contains(condition.keys, name):
                clause |= condition.value
        return NEVER if clause.issuperset(NEVER) else clause

    def settle_object(self, rule: ObjectRule) -> ObjectRule | None:
        """The rule in its simplest form, or None where a required member has no value or the counts contradict."""
        exact = [one for one in rule.some if one.keys.options is not None and len(one.keys.options) == 1]
        if exact:
            for one in exact:
                name = next(iter(one.keys.options or ()))
                more = ObjectRule(named=((name, one.value),) if one.value else (), required=(name,))
                rule = replace(rule, some=rule.some - {one}).meet(more)
        for name in rule.required:
            clause = self.value_of(rule, name)
            if clause == NEVER or (len(clause) > 1 and self.is_empty(clause)):
                return None
        if rule.high is not None and max(rule.low, len(rule.required)) > rule.high:
            return None
        if 0 < rule.low <= len(rule.required):
            rule = replace(rule, low=0)
        return rule

    def settle_array(self, rule: ArrayRule) -> ArrayRule | None:
        """The rule in its simplest form, or None where a needed item has no value or the counts contradict."""
        high = rule.high
        for index in range(min(len(rule.prefix), EVERYTHING if high is None else high)):
            if self.is_empty(rule.item(index)):
                high = index
                break
        else:
            if self.is_empty(rule.items):
                high = len(rule.prefix) if high is None else min(high, len(rule.prefix))
        low, kept = rule.low, set()
        for one in rule.contains:
            if self.is_empty(one.value):
                if one.low > 0:
                    return None
                continue
            if one.low > 0 or one.high is not None:
                kept.add(one)
            if one.low > 0:
                low = max(low, one.start + one.low)
            if one.high is not None and one.low > one.high:
                return None
        if high is not None and low > high:
            return None
        if rule.repeated and high is not None and high < 2:
            return None
        prefix = rule.prefix if high is None else rule.prefix[:high]
        items = rule.items if high is None or high > len(prefix) else ANY
        unique = rule.unique and (high is None or high > 1)
        return replace(rule, prefix=prefix, items=items, low=low, high=high, contains=frozenset(kept), unique=unique)


def _serial(literal: Literal) -> int:
    return literal.schema.serial


def json_key(value: Any) -> Any:
    """The same for equal JSON values whose keys come in the same order."""
    if isinstance(value, Mapping):
        return ("object", tuple((name, json_key(one)) for name, one in value.items()))
    if isinstance(value, list | tuple):
        return ("array", tuple(map(json_key, value)))
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value).__name__, value)
    # What is no JSON value equals only itself; whoever reads it refuses it.
    return ("number", exact(value)) if is_number(value) else (type(value).__name__, id(value))
