"""Array rules as JSON texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.json_value import JsonPunctuation
from dg_sglang.grammar.rules import ArrayRule, Clause, Contains
from dg_sglang.grammar.schema_algebra import Algebra

MAX_DISTINCT = 64
MAX_COUNTED = 200

_State = tuple[int, tuple[int, ...]]


class ArrayTexts:
    """Expressions for array rules; `text` gives the expression of an item."""

    def __init__(
        self, table: Expressions, json: JsonPunctuation, algebra: Algebra, text: Callable[[Clause], Expression]
    ) -> None:
        self.table = table
        self.json = json
        self.algebra = algebra
        self.text = text

    def array(self, rule: ArrayRule) -> Expression:
        """The texts of the arrays in `rule`."""
        table = self.table
        if rule.repeated:
            return table.union(map(self.array, self.repetitions(rule)))
        if rule.unique:
            return table.intersection(map(self.array, self.uniqueness(rule)))
        if rule.contains:
            return table.concat(self.json.open_array, _Counted(self, rule).after((0, (0,) * len(rule.contains))))
        return table.concat(self.json.open_array, self.items(rule))

    def items(self, rule: ArrayRule) -> Expression:
        """All after the opening bracket, without counting matches."""
        table, json, length = self.table, self.json, len(rule.prefix)
        item = self.text(rule.items) if rule.high is None or rule.high > length else table.nothing
        more = table.concat(json.comma, item)
        least, most = max(rule.low - length, 0), None if rule.high is None else max(rule.high - length, 0)
        end = json.close(b"]", empty=False)
        if length > 0:
            after = table.concat(table.repeat(more, least, most), end)
        else:
            after = json.close(b"]", empty=True) if least == 0 else table.nothing
            if most != 0:
                rest = table.repeat(more, max(least - 1, 0), None if most is None else most - 1)
                after = table.union((after, table.concat(item, rest, end)))
        for index in reversed(range(length)):
            after = table.concat(json.more(self.text(rule.prefix[index]), first=index == 0), after)
            if index >= rule.low:
                after = table.union((after, json.close(b"]", empty=index == 0)))
        return after

    # ---- uniqueItems --------------------------------------------------------------------------------------------

    def uniqueness(self, rule: ArrayRule) -> Iterator[ArrayRule]:
        """Rules that together say that no value comes twice."""
        base = replace(rule, unique=False)
        yield base
        for value in self.distinct(rule):
            yield replace(base, low=0, high=None, contains=frozenset({Contains(0, value, 0, 1)}))

    def repetitions(self, rule: ArrayRule) -> Iterator[ArrayRule]:
        """Rules one of which holds when some value comes twice."""
        for value in self.distinct(rule):
            base = replace(rule, repeated=False, contains=rule.contains | {Contains(0, value, 2, None)})
            if (settled := self.algebra.settle_array(base)) is not None:
                yield settled

    def distinct(self, rule: ArrayRule) -> list[Clause]:
        """A clause per value that an item can have. Raises UnsupportedSchemaError where there are too many."""
        clauses = [*rule.prefix, *([rule.items] if rule.high is None or rule.high > len(rule.prefix) else [])]
        found: dict[Clause, None] = {}
        for clause in clauses:
            for value in self.finite(clause):
                found[self.algebra.constant_clause(value)] = None
                if len(found) > MAX_DISTINCT:
                    raise self.not_finite()
        return list(found)

    def finite(self, clause: Clause) -> Iterator[Any]:
        """The values that a clause allows."""
        values = self.algebra.values(clause)
        if values.arrays or values.objects:
            raise self.not_finite()
        yield from values.constants
        for rule in values.numbers:
            size = rule.size()
            if size is None or size > MAX_DISTINCT:
                raise self.not_finite()
            yield from rule.values()
        for strings in values.strings:
            if strings.options is None or strings.atoms:
                raise self.not_finite()
            yield from sorted(strings.options)

    def not_finite(self) -> UnsupportedSchemaError:
        """The error for items that are too many to tell apart."""
        message = f"'uniqueItems' needs items out of at most {MAX_DISTINCT} values (an enum, a small range)"
        return UnsupportedSchemaError(message, pointer=self.algebra.at[0], keyword="uniqueItems")


class _Counted:
    """Arrays with `contains`: a state is how many items have come and how many matched each condition, both capped."""

    def __init__(self, texts: ArrayTexts, rule: ArrayRule) -> None:
        self.texts = texts
        self.rule = rule
        self.conditions = sorted(rule.contains, key=repr)
        starts = max(one.start for one in self.conditions)
        self.last = max(1, len(rule.prefix), starts, rule.low, rule.high or 0)
        caps = [one.low if one.high is None else one.high for one in self.conditions]
        if max(self.last, *caps) > MAX_COUNTED or len(caps) > 3:
            message = f"'contains' beside more than {MAX_COUNTED} items or 3 conditions is not supported"
            raise UnsupportedSchemaError(message, pointer=texts.algebra.at[0], keyword="contains")
        self.known: dict[_State, Expression] = {}

    def after(self, state: _State) -> Expression:
        if state not in self.known:
            self.known[state] = self._after(state)
        return self.known[state]

    def _after(self, state: _State) -> Expression:
        table, json = self.texts.table, self.texts.json
        index, counts = state
        parts, again = [], []
        if index >= self.rule.low and all(n >= one.low for n, one in zip(counts, self.conditions, strict=True)):
            parts.append(json.close(b"]", empty=index == 0))
        if self.rule.high is None or index < self.rule.high:
            for clause, following in self.choices(state):
                item = json.more(self.texts.text(clause), first=index == 0)
                if following == state:
                    again.append(item)
                else:
                    parts.append(table.concat(item, self.after(following)))
        return table.concat(table.repeat(table.union(again)), table.union(parts))

    def choices(self, state: _State) -> Iterator[tuple[Clause, _State]]:
        """Clauses for the next item that tell which conditions it matches, and the state after it."""
        index, counts = state
        options: list[list[tuple[Clause, int]]] = []
        for count, one in zip(counts, self.conditions, strict=True):
            if index < one.start or (one.high is None and count >= one.low):
                options.append([(frozenset(), count)])
                continue
            choice = [(self.texts.algebra.negation(one.value), count)]
            if one.high is None or count < one.high:
                choice.append((one.value, count + 1))
            options.append(choice)
        for chosen in product(*options):
            clause = self.rule.item(index).union(*(part for part, _ in chosen))
            if not self.texts.algebra.is_empty(clause):
                yield clause, (min(index + 1, self.last), tuple(count for _, count in chosen))
