"""The keywords that speak about one JSON type: what they allow, as rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import formats
from dg_sglang.grammar.keywords import IN_DIGITS, is_number
from dg_sglang.grammar.number_rule import ANY_NUMBER, NumberRule, exact
from dg_sglang.grammar.rules import (
    ALL_VALUES,
    ANY,
    ANY_ARRAY,
    ANY_OBJECT,
    ANY_STRING,
    EVERYTHING,
    NEVER,
    ArrayRule,
    Atom,
    Clause,
    Condition,
    Contains,
    ObjectRule,
    StringRule,
    ValueSet,
)
from dg_sglang.grammar.schema_algebra import Algebra
from dg_sglang.grammar.schema_document import SchemaDocument, Subschema
from dg_sglang.grammar.text import shown

GROUPS: dict[str, tuple[str, ...]] = {
    "type": ("type",),
    "enum": ("enum", "const"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format", "x-verbatim"),
    "array": ("prefixItems", "items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "object": (
        *("properties", "patternProperties", "additionalProperties", "required", "propertyNames"),
        *("minProperties", "maxProperties"),
    ),
}
"""Keywords that are read together."""

_TYPE_SETS = {
    "null": ValueSet(frozenset({None})),
    "boolean": ValueSet(frozenset({True, False})),
    "number": ValueSet(numbers=(ANY_NUMBER,)),
    "integer": ValueSet(numbers=(NumberRule(step=exact(1)),)),
    "string": ValueSet(strings=(ANY_STRING,)),
    "array": ValueSet(arrays=(ANY_ARRAY,)),
    "object": ValueSet(objects=(ANY_OBJECT,)),
}


class TypeKeywords:
    """Value sets of single groups of keywords.

    report: (pointer, keyword) → what is done about it; filled in for formats that are annotations.
    """

    def __init__(
        self, document: SchemaDocument, algebra: Algebra, report: dict[tuple[str, str], str], *, open_world: bool
    ) -> None:
        self.document = document
        self.algebra = algebra
        self.report = report
        self.open_world = open_world

    def clause(self, schema: Subschema, *steps: str | int) -> Clause:
        """The clause of the subschema at `steps` below `schema`."""
        return self.algebra.clause(self.document.child(schema, *steps))

    def read(self, group: str, schema: Subschema, *, tracking: bool) -> ValueSet:
        """What the keywords of `group` in `schema` allow; `tracking`: with notes about what they evaluate."""
        value = schema.value
        if group == "type":
            declared = value["type"]
            names = [declared] if isinstance(declared, str) else declared
            return self.algebra.join(_TYPE_SETS[name] for name in names)
        if group == "enum":
            return self.options(value)
        if group == "number":
            rule = self.number(value)
            return ALL_VALUES._replace(numbers=(rule,) if rule else ())
        if group == "string":
            strings = self.string(schema)
            values = ALL_VALUES._replace(strings=(strings,) if strings else ())
            if value.get("format") in formats.INTEGERS and not self.open_world:
                low, high = map(exact, formats.INTEGERS[value["format"]])
                values = values._replace(numbers=(NumberRule(low=low, high=high, step=exact(1)),))
            return values
        if group == "array":
            arrays = self.array(schema, tracking=tracking)
            return ALL_VALUES._replace(arrays=(arrays,) if arrays else ())
        objects = self.object(schema, tracking=tracking)
        return ALL_VALUES._replace(objects=(objects,) if objects else ())

    def options(self, value: Mapping[str, Any]) -> ValueSet:
        """The values of enum that const also allows."""
        values = ALL_VALUES
        for options in (value.get("enum"), [value["const"]] if "const" in value else None):
            if options is not None:
                texts = frozenset(one for one in options if isinstance(one, str))
                chosen = self.algebra.join(self.constant(one) for one in options if not isinstance(one, str))
                if texts:
                    chosen = chosen.join(ValueSet(strings=(StringRule(options=texts),)))
                values = self.algebra.meet(values, chosen)
        return values

    def constant(self, value: Any) -> ValueSet:
        """Just this JSON value."""
        if value is None or isinstance(value, bool):
            return ValueSet(frozenset({value}))
        if is_number(value):
            return ValueSet(numbers=(NumberRule.point(exact(value)),))
        if isinstance(value, str):
            return ValueSet(strings=(StringRule(options=frozenset({value})),))
        if isinstance(value, list | tuple):
            prefix = tuple(map(self.algebra.constant_clause, value))
            return ValueSet(arrays=(ArrayRule(prefix, low=len(value), high=len(value)),))
        if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
            named = tuple((name, self.algebra.constant_clause(one)) for name, one in value.items())
            others = Condition(StringRule(excluded=frozenset(value)), NEVER)
            return ValueSet(objects=(ObjectRule(named, frozenset({others}), required=tuple(value)),))
        message = f"enum and const must hold JSON values, numbers {IN_DIGITS}, not {shown(value)}"
        raise InvalidSchemaError(message, pointer=self.algebra.at[0])

    def number(self, value: Mapping[str, Any]) -> NumberRule | None:
        """Bounds (draft 4's boolean exclusive* too) and multipleOf; None where they leave nothing."""
        bounds = []
        for keyword, is_low in (("minimum", True), ("maximum", False)):
            exclusive = value.get("exclusive" + keyword.title())
            if keyword in value:
                bounds.append((is_low, exact(value[keyword]), exclusive is True))
            if is_number(exclusive):
                bounds.append((is_low, exact(exclusive), True))
        rules = [
            NumberRule(low=bound, low_open=strict) if is_low else NumberRule(high=bound, high_open=strict)
            for is_low, bound, strict in bounds
        ]
        if "multipleOf" in value:
            rules.append(NumberRule(step=exact(value["multipleOf"])))
        met: NumberRule | None = ANY_NUMBER
        for rule in rules:
            met = met and met.meet(rule)
        return met

    def string(self, schema: Subschema) -> StringRule | None:
        """Lengths, pattern, format and x-verbatim; None where the lengths contradict each other."""
        value, atoms = schema.value, []
        if "pattern" in value:
            atoms.append(Atom("pattern", value["pattern"], True, schema.pointer))
        if "format" in value and self._is_format_of_strings(schema):
            atoms.append(Atom("format", value["format"], True, schema.pointer))
        if "x-verbatim" in value:
            at = f"{schema.pointer}/x-verbatim"
            atoms.append(Atom("verbatim", _verbatim_argument(value["x-verbatim"], at), True, at))
        low, high = int(value.get("minLength", 0)), int(value["maxLength"]) if "maxLength" in value else None
        return None if high is not None and high < low else StringRule(low, high, atoms=frozenset(atoms))

    def _is_format_of_strings(self, schema: Subschema) -> bool:
        """Whether the format is one that strings are held to. Notes what is done about it."""
        name = schema.value["format"]
        if name in formats.STANDARD or (name in formats.OTHERS and not self.open_world):
            return True
        if name in formats.INTEGERS and not self.open_world:
            return False
        named = name in self.document.annotations
        if not named and (name in formats.NOT_REGULAR or not (self.open_world or name in formats.ANNOTATIONS)):
            otherwise = "remove it, or name it in `annotations` to leave it unchecked"
            message = f"the format {shown(name)} is not supported; {otherwise}"
            raise UnsupportedSchemaError(message, pointer=schema.pointer, keyword="format")
        why = "of your own" if named else "a hint" if name in formats.ANNOTATIONS else "not in the standard"
        self.report[schema.pointer, "format"] = f"annotation ({why}: {name})"
        return False

    def array(self, schema: Subschema, *, tracking: bool) -> ArrayRule | None:
        """Items, their number, contains, uniqueItems; None where they contradict each other."""
        value, prefix, items, evaluated = schema.value, [], ANY, 0
        for keyword in ("prefixItems", "items"):
            if isinstance(value.get(keyword), list | tuple):
                prefix = [self.clause(schema, keyword, index) for index in range(len(value[keyword]))]
                evaluated = len(prefix)
        rest = "additionalItems" if isinstance(value.get("items"), list | tuple) else "items"
        if rest in value and (rest == "items" or "items" in value):
            items, evaluated = self.clause(schema, rest), EVERYTHING
        high = int(value["maxItems"]) if "maxItems" in value else None
        contains, matched = frozenset[Contains](), frozenset[Clause]()
        if "contains" in value:
            least = int(value.get("minContains", 1))
            most = int(value["maxContains"]) if "maxContains" in value else None
            contains = frozenset({Contains(0, self.clause(schema, "contains"), least, most)})
            matched = frozenset({self.clause(schema, "contains")})
        low, unique = int(value.get("minItems", 0)), value.get("uniqueItems", False)
        rule = self.algebra.settle_array(ArrayRule(tuple(prefix), items, low, high, contains, unique))
        return replace(rule, evaluated=evaluated, matched=matched) if rule and tracking else rule

    def object(self, schema: Subschema, *, tracking: bool) -> ObjectRule | None:
        """Members, their names and their number; None where they contradict each other."""
        value, algebra = schema.value, self.algebra
        named = tuple((name, self.clause(schema, "properties", name)) for name in value.get("properties", ()))
        patterns = [Atom("pattern", pattern, True, schema.pointer) for pattern in value.get("patternProperties", ())]
        rules = [StringRule(atoms=frozenset({atom})) for atom in patterns]
        every = [
            Condition(rule, self.clause(schema, "patternProperties", atom.argument))
            for rule, atom in zip(rules, patterns, strict=True)
        ]
        evaluated = [StringRule(options=frozenset(name for name, _ in named)), *rules] if named else rules
        if "additionalProperties" in value:
            others = StringRule(
                excluded=frozenset(name for name, _ in named),
                atoms=frozenset(atom._replace(holds=False) for atom in patterns),
            )
            every.append(Condition(others, self.clause(schema, "additionalProperties")))
            evaluated.append(others)
        if "propertyNames" in value:
            names = algebra.values(self.clause(schema, "propertyNames")).strings
            every += [Condition(keys, NEVER) for keys in self.other_strings(names)]
        high = int(value["maxProperties"]) if "maxProperties" in value else None
        return algebra.settle_object(
            ObjectRule(
                named,
                frozenset(one for one in every if one.value),
                required=tuple(dict.fromkeys(value.get("required", ()))),
                low=int(value.get("minProperties", 0)),
                high=high,
                declared="properties" in value or "required" in value,
                opened=bool(patterns) or value.get("additionalProperties", False) is not False,
                evaluated=frozenset(evaluated) if tracking else frozenset(),
            )
        )

    def other_strings(self, rules: tuple[StringRule, ...]) -> tuple[StringRule, ...]:
        """The complement of a union of string rules."""
        return self.algebra.subtract(ValueSet(strings=(ANY_STRING,)), ValueSet(strings=rules)).strings


def _verbatim_argument(settings: Mapping[str, Any], pointer: str) -> tuple[str, str | None, bool]:
    """The source, kind and word boundaries that an x-verbatim asks for."""
    source, kind, words = settings.get("source"), settings.get("kind"), settings.get("words", True)
    known = set(settings) <= {"source", "kind", "words"}
    if known and isinstance(source, str) and isinstance(kind, str | None) and isinstance(words, bool):
        return source, kind, words
    message = 'x-verbatim must be {"source": name}, with an optional "kind" (a name) and "words" (true or false)'
    raise InvalidSchemaError(message, pointer=pointer)
