"""What a conjunction of schemas says about one JSON type.

A rule is plain data: `meet` combines two rules without looking inside patterns or subschemas, `settle` of the algebra
does that. A clause is a conjunction of subschemas, some of them negated; the empty clause allows anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from dg_sglang.grammar.number_rule import ANY_NUMBER, NumberRule
from dg_sglang.grammar.schema_document import Subschema


class Literal(NamedTuple):
    """A subschema, or (not `holds`) its complement."""

    schema: Subschema
    holds: bool


Clause = frozenset[Literal]


class Alternatives(NamedTuple):
    """The value of a made-up subschema that stands for any of some clauses."""

    clauses: tuple[Clause, ...]


ANY: Clause = frozenset()
_FALSE = Subschema(False, "", "")
NEVER: Clause = frozenset({Literal(_FALSE, True)})
EVERYTHING = 1 << 60  # "all the items", where a number of items is asked


def flip(literal: Literal) -> Clause:
    """The complement of one literal."""
    return ANY if literal.schema is _FALSE else frozenset({Literal(literal.schema, not literal.holds)})


class Atom(NamedTuple):
    """A condition on strings that only an automaton can decide: kind is "pattern", "format" or "verbatim"."""

    kind: str
    argument: Any
    holds: bool
    pointer: str


def least(left: int | None, right: int | None) -> int | None:
    """The tighter of two upper bounds, None being no bound."""
    return left if right is None else right if left is None else min(left, right)


@dataclass(frozen=True)
class StringRule:
    """Strings of `low` to `high` code points, out of `options` (None: any) without `excluded`, and all `atoms` hold."""

    low: int = 0
    high: int | None = None
    options: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()
    atoms: frozenset[Atom] = frozenset()

    @cached_property
    def _hash(self) -> int:
        return hash((self.low, self.high, self.options, self.excluded, self.atoms))

    def __hash__(self) -> int:
        return self._hash

    def meet(self, other: StringRule) -> StringRule | None:
        """The strings in both; None where bounds or options leave none."""
        low, high = max(self.low, other.low), least(self.high, other.high)
        if high is not None and low > high:
            return None
        excluded, atoms = self.excluded | other.excluded, self.atoms | other.atoms
        options = self.options if other.options is None else other.options
        if options is None:
            opposite = atoms and any(atom._replace(holds=not atom.holds) in atoms for atom in atoms)
            return None if opposite else StringRule(low, high, None, excluded, atoms)
        if self.options is not None and other.options is not None:
            options = self.options & other.options
        kept = frozenset(o for o in options - excluded if low <= len(o) and (high is None or len(o) <= high))
        return StringRule(0, None, kept, frozenset(), atoms) if kept else None

    def complement(self) -> tuple[StringRule, ...]:
        """All other strings, as a union."""
        parts = [StringRule(atoms=frozenset({atom._replace(holds=not atom.holds)})) for atom in self.atoms]
        if self.low > 0:
            parts.append(StringRule(high=self.low - 1))
        if self.high is not None:
            parts.append(StringRule(low=self.high + 1))
        if self.options is not None:
            parts.append(StringRule(excluded=self.options))
        if self.excluded:
            parts.append(StringRule(options=self.excluded))
        return tuple(parts)


class Condition(NamedTuple):
    """On members of an object: their name is one of `keys`, their value in `value`."""

    keys: StringRule
    value: Clause


@dataclass(frozen=True)
class ObjectRule:
    """Objects between `low` and `high` members.

    named: a clause per declared name, in order of declaration; every: each member whose name is in `keys` has a value
    in `value`; some: there is a member as described; required: names that are there. The closed world lets undeclared
    names in where the schema speaks about them (`opened`) or about no name at all (not `declared`). evaluated: names
    that some keyword has judged (for unevaluatedProperties).
    """

    named: tuple[tuple[str, Clause], ...] = ()
    every: frozenset[Condition] = frozenset()
    some: frozenset[Condition] = frozenset()
    required: tuple[str, ...] = ()
    low: int = 0
    high: int | None = None
    declared: bool = False
    opened: bool = False
    evaluated: frozenset[StringRule] = frozenset()

    @cached_property
    def names(self) -> Mapping[str, Clause]:
        """`named` as a mapping."""
        return dict(self.named)

    def meet(self, other: ObjectRule) -> ObjectRule:
        """Both rules at once, not settled."""
        named = dict(self.named)
        for name, clause in other.named:
            named[name] = named[name] | clause if name in named else clause
        return ObjectRule(
            tuple(named.items()),
            self.every | other.every,
            self.some | other.some,
            tuple(dict.fromkeys((*self.required, *other.required))),
            max(self.low, other.low),
            least(self.high, other.high),
            self.declared or other.declared,
            self.opened or other.opened,
            self.evaluated | other.evaluated,
        )


class Contains(NamedTuple):
    """Between `low` and `high` of the items from index `start` on are in `value`."""

    start: int
    value: Clause
    low: int
    high: int | None


@dataclass(frozen=True)
class ArrayRule:
    """Arrays of `low` to `high` items: a clause for each of the first ones, `items` for the others.

    unique: no two items are equal; repeated: two are. evaluated, matched: how many of the first items, or items of
    which clauses, have been judged by some keyword (for unevaluatedItems).
    """

    prefix: tuple[Clause, ...] = ()
    items: Clause = ANY
    low: int = 0
    high: int | None = None
    contains: frozenset[Contains] = frozenset()
    unique: bool = False
    repeated: bool = False
    evaluated: int = 0
    matched: frozenset[Clause] = frozenset()

    def item(self, index: int) -> Clause:
        """The clause for one index."""
        return self.prefix[index] if index < len(self.prefix) else self.items

    def meet(self, other: ArrayRule) -> ArrayRule:
        """Both rules at once, not settled."""
        length = max(len(self.prefix), len(other.prefix))
        return ArrayRule(
            tuple(self.item(i) | other.item(i) for i in range(length)),
            self.items | other.items,
            max(self.low, other.low),
            least(self.high, other.high),
            self.contains | other.contains,
            self.unique or other.unique,
            self.repeated or other.repeated,
            max(self.evaluated, other.evaluated),
            self.matched | other.matched,
        )

    def complement(self) -> tuple[ArrayRule, ...]:
        """All other arrays, as a union."""
        parts = []
        for index, clause in enumerate(self.prefix):
            parts += [ArrayRule((*[ANY] * index, flip(one)), low=index + 1) for one in clause]
        tail = len(self.prefix)
        parts += [ArrayRule(contains=frozenset({Contains(tail, flip(one), 1, None)})) for one in self.items]
        for one in self.contains:
            if one.low > 0:
                parts.append(ArrayRule(contains=frozenset({one._replace(low=0, high=one.low - 1)})))
            if one.high is not None:
                parts.append(ArrayRule(contains=frozenset({one._replace(low=one.high + 1, high=None)})))
        if self.low > 0:
            parts.append(ArrayRule(high=self.low - 1))
        if self.high is not None:
            parts.append(ArrayRule(low=self.high + 1))
        if self.unique:
            parts.append(ArrayRule(repeated=True))
        if self.repeated:
            parts.append(ArrayRule(unique=True))
        return tuple(parts)


ANY_STRING = StringRule()
ANY_OBJECT = ObjectRule()
ANY_ARRAY = ArrayRule()


class ValueSet(NamedTuple):
    """A set of JSON values: null and booleans one by one, a union of rules for each other type."""

    constants: frozenset[bool | None] = frozenset()
    numbers: tuple[NumberRule, ...] = ()
    strings: tuple[StringRule, ...] = ()
    arrays: tuple[ArrayRule, ...] = ()
    objects: tuple[ObjectRule, ...] = ()

    def join(self, *others: ValueSet) -> ValueSet:
        """The values in any."""
        constants, *rules = zip(self, *others, strict=True)
        numbers, strings, arrays, objects = map(chain.from_iterable, rules)
        return ValueSet(
            frozenset[bool | None]().union(*constants),
            _union(numbers, ANY_NUMBER),
            _gather_options(_union(strings, ANY_STRING)),
            _union(arrays, ANY_ARRAY),
            _union(objects, ANY_OBJECT),
        )

    def is_empty(self) -> bool:
        """Whether no value is left."""
        return not any(self)


ALL_VALUES = ValueSet(frozenset({None, True, False}), (ANY_NUMBER,), (ANY_STRING,), (ANY_ARRAY,), (ANY_OBJECT,))


def _union(rules: Iterable[Any], top: Any) -> tuple[Any, ...]:
    distinct = dict.fromkeys(rules)
    if top in distinct:
        return (top, *(rule for rule in distinct if getattr(rule, "evaluated", None)))
    return tuple(distinct)


def _gather_options(rules: tuple[StringRule, ...]) -> tuple[StringRule, ...]:
    """Plain enumerations become one."""
    plain = [rule for rule in rules if rule.options is not None and not rule.atoms]
    if len(plain) < 2:
        return rules
    options = frozenset[str]().union(*(rule.options or () for rule in plain))
    others = (rule for rule in rules if rule.options is None or rule.atoms)
    return (*others, StringRule(options=options))
