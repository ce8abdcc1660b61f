"""Schemas as value sets: the combinators, and the order in which keywords are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.keywords import ENFORCED, NEVER_SUPPORTED, PARTNERS, check_shapes, instead_of, is_annotation
from dg_sglang.grammar.rules import (
    ALL_VALUES,
    ANY,
    ANY_STRING,
    EVERYTHING,
    Alternatives,
    ArrayRule,
    Condition,
    ObjectRule,
    ValueSet,
)
from dg_sglang.grammar.schema_algebra import Algebra
from dg_sglang.grammar.schema_document import SchemaDocument, Subschema
from dg_sglang.grammar.string_text import StringTexts
from dg_sglang.grammar.text import shown
from dg_sglang.grammar.type_keywords import GROUPS, TypeKeywords

_GROUP_OF = {keyword: group for group, keywords in GROUPS.items() for keyword in keywords}
_LATE = ("anyOf", "oneOf", "if", "not", "dependentRequired", "dependentSchemas", "dependencies")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


class SchemaReader:
    """Value sets of the subschemas of one document.

    open_world: unknown keywords and formats are annotations, as the standard says; otherwise they are refused.
    report: (pointer, keyword) → what is done about it.
    """

    def __init__(self, document: SchemaDocument, texts: StringTexts, *, open_world: bool) -> None:
        self.document = document
        self.open_world = open_world
        self.algebra = Algebra(document, texts, lambda schema: self.values(schema), self.note)
        self.report: dict[tuple[str, str], str] = {}
        self.types = TypeKeywords(document, self.algebra, self.report, open_world=open_world)
        self._values: dict[tuple[Subschema, bool], ValueSet] = {}
        self._active: list[tuple[Subschema, bool, int]] = []
        self._tracking = False
        self.combinators: dict[str, Callable[[Subschema, ValueSet, str], ValueSet]] = {
            "$ref": self._reference,
            "$dynamicRef": self._reference,
            "allOf": self._all_of,
            "anyOf": self._any_of,
            "oneOf": self._one_of,
            "not": self._not,
            "if": self._if,
            "dependentRequired": self._dependent,
            "dependentSchemas": self._dependent,
            "dependencies": self._dependent,
            "unevaluatedProperties": self._unevaluated_properties,
            "unevaluatedItems": self._unevaluated_items,
        }

    def values(self, schema: Subschema, *, tracking: bool = False) -> ValueSet:
        """The values that `schema` allows; `tracking`: with notes about what it has evaluated."""
        key = (schema, tracking)
        if key not in self._values:
            place = (*key, self.algebra.nesting)
            if place in self._active:
                raise InvalidSchemaError("the schema refers to itself without progress", pointer=schema.pointer)
            self._active.append(place)
            outer, at, self._tracking = self._tracking, self.algebra.at, tracking
            try:
                self._values[key] = self._read(schema)
            finally:
                self._active.pop()
                self._tracking = outer
            self.algebra.at = at
        return self._values[key]

    def _read(self, schema: Subschema) -> ValueSet:
        value = schema.value
        if isinstance(value, Alternatives):
            return self.algebra.join(self.algebra.values(clause) for clause in value.clauses)
        check_shapes(value, schema.pointer)
        if isinstance(value, bool):
            return ALL_VALUES if value else ValueSet()
        self.note(schema)
        keywords = [one for one in value if self._counts(schema, one)]
        outer = self._tracking
        self._tracking = outer or any(keyword in value for keyword in _UNEVALUATED)
        values, done = ALL_VALUES, set()
        for keyword in sorted(keywords, key=_rank):
            self.algebra.at = (schema.pointer, keyword)
            group = _GROUP_OF.get(keyword)
            if group is None:
                values = self.combinators[keyword](schema, values, keyword)
            elif group not in done:
                done.add(group)
                values = self.algebra.meet(values, self.types.read(group, schema, tracking=self._tracking))
        self._tracking = outer
        return values if outer else _forget(values)

    def note(self, schema: Subschema) -> None:
        """Note for each keyword what is done about it: it is enforced, an annotation, or refused."""
        if (schema.pointer, next(iter(schema.value), "")) not in self.report:
            for keyword in schema.value:
                self.report[schema.pointer, keyword] = self._status(schema, keyword)

    def _counts(self, schema: Subschema, keyword: str) -> bool:
        """Whether the keyword is one to read."""
        enforced = self.report[schema.pointer, keyword] == "enforced"
        return enforced and (keyword in self.combinators or keyword in _GROUP_OF)

    def _status(self, schema: Subschema, keyword: str) -> str:
        if is_annotation(keyword):
            return "annotation"
        if keyword in self.document.annotations:
            return "annotation (of your own)"
        if keyword not in ENFORCED:
            if not self.open_world or keyword in NEVER_SUPPORTED:
                otherwise = "check it after generation, or name it in `annotations` if it restricts nothing"
                message = f"{shown(keyword)} is not supported; {instead_of(keyword)}, {otherwise}"
                raise UnsupportedSchemaError(message, pointer=schema.pointer, keyword=keyword)
            return "annotation (not in the vocabulary)"
        if keyword != "$ref" and self.open_world and "$ref" in schema.value and self.document.is_before_2019:
            return "annotation (beside $ref, before draft 2019-09)"
        if PARTNERS.get(keyword, keyword) not in schema.value:
            return f"annotation (nothing to say without {PARTNERS[keyword]})"
        return "enforced"

    # ---- combinators --------------------------------------------------------------------------------------------

    def _inner(self, schema: Subschema, *steps: str | int) -> ValueSet:
        return self.values(self.document.child(schema, *steps), tracking=self._tracking)

    def _reference(self, schema: Subschema, values: ValueSet, keyword: str) -> ValueSet:
        target = self.document.resolve(schema, keyword)
        return self.algebra.meet(values, self.values(target, tracking=self._tracking))

    def _all_of(self, schema: Subschema, values: ValueSet, _: str) -> ValueSet:
        for index in range(len(schema.value["allOf"])):
            values = self.algebra.meet(values, self._inner(schema, "allOf", index))
        return values

    def _any_of(self, schema: Subschema, values: ValueSet, _: str) -> ValueSet:
        algebra = self.algebra
        options = [
            algebra.meet(values, self._inner(schema, "anyOf", index)) for index in range(len(schema.value["anyOf"]))
        ]
        if self._tracking:  # options that hold together evaluate together
            combined: list[ValueSet] = []
            for option in options:
                combined += [option, *(algebra.meet(other, option) for other in combined)]
            options = combined
        return algebra.join(options)

    def _one_of(self, schema: Subschema, values: ValueSet, _: str) -> ValueSet:
        algebra = self.algebra
        inner = [self._inner(schema, "oneOf", index) for index in range(len(schema.value["oneOf"]))]
        options = [algebra.meet(values, one) for one in inner]
        algebra.at = (schema.pointer, "oneOf")
        exactly = []
        for i, option in enumerate(options):
            for j, other in enumerate(inner):
                if i != j and not option.is_empty():
                    option = algebra.subtract(option, other)
            exactly.append(option)
        return algebra.join(exactly)

    def _not(self, schema: Subschema, values: ValueSet, _: str) -> ValueSet:
        child = self.document.child(schema, "not")
        return self.algebra.subtract(values, self.values(child))

    def _if(self, schema: Subschema, values: ValueSet, _: str) -> ValueSet:
        algebra, value = self.algebra, schema.value
        if not self._tracking and "then" not in value and "else" not in value:
            return values
        condition = self._inner(schema, "if")
        branches = []
        for keyword, branch in (
            ("then", algebra.meet(values, condition)),
            ("else", algebra.subtract(values, condition)),
        ):
            branches.append(algebra.meet(branch, self._inner(schema, keyword)) if keyword in value else branch)
        return algebra.join(branches)

    def _dependent(self, schema: Subschema, values: ValueSet, keyword: str) -> ValueSet:
        algebra = self.algebra
        for name, needed in schema.value[keyword].items():
            present = ALL_VALUES._replace(objects=(ObjectRule(required=(name,)),))
            if isinstance(needed, list | tuple):
                implied = ALL_VALUES._replace(objects=(ObjectRule(required=tuple(needed)),))
            else:
                implied = self._inner(schema, keyword, name)
            absent = values._replace(objects=algebra.subtract(values, present).objects)
            having = algebra.meet(values, present)._replace(constants=frozenset(), numbers=(), strings=(), arrays=())
            others = values._replace(objects=())
            values = others.join(absent).join(algebra.meet(having, implied))
        return values

    def _unevaluated_items(self, schema: Subschema, values: ValueSet, keyword: str) -> ValueSet:
        clause, algebra, arrays = self.types.clause(schema, keyword), self.algebra, []
        for rule in values.arrays:
            met: ArrayRule | None = rule
            if rule.evaluated < EVERYTHING:
                others = clause
                if rule.matched and clause:
                    others = algebra.made(("any", rule.matched, clause), Alternatives((*rule.matched, clause)))
                met = algebra.settle_array(rule.meet(ArrayRule((ANY,) * rule.evaluated, others)))
            if met is not None:
                arrays.append(replace(met, evaluated=EVERYTHING))
        return values._replace(arrays=tuple(arrays))

    def _unevaluated_properties(self, schema: Subschema, values: ValueSet, keyword: str) -> ValueSet:
        clause, algebra, objects = self.types.clause(schema, keyword), self.algebra, []
        for rule in values.objects:
            others = self.types.other_strings(tuple(rule.evaluated))
            every = frozenset(Condition(keys, clause) for keys in others if clause)
            opened = schema.value[keyword] is not False
            met = algebra.settle_object(rule.meet(ObjectRule(every=every, opened=opened)))
            if met is not None:
                objects.append(replace(met, evaluated=frozenset({ANY_STRING})))
        return values._replace(objects=tuple(objects))


def _rank(keyword: str) -> int:
    """What prunes most comes first; declarations keep the order of the document."""
    if keyword in ("type", "enum", "const"):
        return 0
    return 3 if keyword in _UNEVALUATED else 2 if keyword in _LATE else 1


def _forget(values: ValueSet) -> ValueSet:
    """Without the notes on what has been evaluated."""
    return values._replace(
        arrays=tuple(replace(one, evaluated=0, matched=frozenset()) for one in values.arrays),
        objects=tuple(replace(one, evaluated=frozenset()) for one in values.objects),
    )
