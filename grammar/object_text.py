"""Object rules as JSON texts: declared members in order of declaration, then the others in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

from dg_sglang.errors import GrammarTooLargeError, UnsupportedSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.json_value import JsonPunctuation
from dg_sglang.grammar.rules import ANY, NEVER, Clause, Condition, ObjectRule, StringRule
from dg_sglang.grammar.schema_algebra import Algebra
from dg_sglang.grammar.text import json_body

MAX_NAME_CLASSES = 64
MAX_DEMANDS = 4
MAX_MEMBERS = 1_000


class ObjectTexts:
    """Expressions for object rules; `text` gives the expression of a member's value."""

    def __init__(
        self,
        table: Expressions,
        json: JsonPunctuation,
        algebra: Algebra,
        text: Callable[[Clause], Expression],
        *,
        open_world: bool,
    ) -> None:
        self.table = table
        self.json = json
        self.algebra = algebra
        self.text = text
        self.open_world = open_world

    def object(self, rule: ObjectRule, demanded: tuple[Condition, ...] = ()) -> Expression:
        """The texts of the objects in `rule` in which undeclared members meet each of `demanded`."""
        if rule.some:
            return self.with_some(rule, demanded)
        table = self.table
        members: list[tuple[Expression, bool]] = []
        names = declared_names(rule)
        if len(names) > MAX_MEMBERS:
            raise GrammarTooLargeError(f"an object declares {len(names):,} properties, more than {MAX_MEMBERS:,}")
        for name in names:
            value = self.algebra.value_of(rule, name)
            text = table.nothing if value == NEVER else self.text(value)
            if text is not table.nothing:
                key = self.json.quoted(table.literal(json_body(name)))
                members.append((table.concat(key, self.json.colon, text), name in rule.required))
            elif name in rule.required:
                return table.nothing
        others = self.classes(rule, names) if self.is_open(rule) else []
        return table.concat(self.json.open_object, self.sequence(rule, members, others, demanded))

    def is_open(self, rule: ObjectRule) -> bool:
        """Whether names that the schema doesn't declare may appear."""
        return self.open_world or rule.opened or not rule.declared

    def with_some(self, rule: ObjectRule, demanded: tuple[Condition, ...]) -> Expression:
        """One existential condition is met by a declared member, or by an undeclared one."""
        condition = min(rule.some, key=repr)
        rest = replace(rule, some=rule.some - {condition})
        parts = [self.object(rest, (*demanded, condition))] if self.is_open(rule) else []
        for name in declared_names(rule):
            if self.algebra.texts.contains(condition.keys, name):
                more = ObjectRule(named=((name, condition.value),), required=(name,))
                met = self.algebra.settle_object(rest.meet(more))
                parts += [self.object(met, demanded)] if met is not None else []
        return self.table.union(parts)

    def classes(self, rule: ObjectRule, names: list[str]) -> list[Condition]:
        """Undeclared names by what their values must be; a class may overlap another only where both say the same."""
        cells = [Condition(StringRule(excluded=frozenset(names)), ANY)]
        for condition in sorted(rule.every, key=repr):
            split: dict[Condition, None] = {}
            for keys, value in cells:
                inside = self.algebra.met(keys, condition.keys)
                if inside is not None and not self.algebra.is_empty(value | condition.value):
                    split[Condition(inside, value | condition.value)] = None
                for outside in condition.keys.complement():
                    if (rest := self.algebra.met(keys, outside)) is not None:
                        split[Condition(rest, value)] = None
            cells = list(split)
            if len(cells) > MAX_NAME_CLASSES:
                message = f"the name patterns of one object overlap in more than {MAX_NAME_CLASSES} ways"
                raise UnsupportedSchemaError(message, pointer=self.algebra.at[0], keyword="patternProperties")
        return cells

    def member(self, cells: list[Condition]) -> Expression:
        """One member whose name is in some class."""
        parts = []
        for keys, value in cells:
            key = self.json.quoted(self.algebra.texts.body(keys))
            parts.append(self.table.concat(key, self.json.colon, self.text(value)))
        return self.table.union(parts)

    def sequence(
        self,
        rule: ObjectRule,
        members: list[tuple[Expression, bool]],
        others: list[Condition],
        demanded: tuple[Condition, ...],
    ) -> Expression:
        """All after the opening brace. Built from the end; states count members only where the rule does."""
        table, low, high = self.table, rule.low, rule.high
        if high is not None and not others and len(members) <= high:
            high = None
        most = low if high is None else high
        counting = low > 0 or high is not None
        counts = range(min(most, len(members)) + 1) if counting else range(1)
        tails = self.tails(others, demanded, counting)
        # after[empty, count]: what may follow when the object is still empty or not, after `count` members
        after = {(e, n): tails(e, n, low, high) for e in (True, False) for n in counts}
        for text, required in reversed(members):
            before = {}
            for empty, count in after:
                following = after.get((False, min(count + 1, most) if counting else 0), table.nothing)
                if high is not None and count >= high:
                    following = table.nothing
                taken = table.concat(self.json.more(text, first=empty), following)
                before[empty, count] = taken if required else table.union((taken, after[empty, count]))
            after = before
        return after[True, 0]

    def tails(
        self, others: list[Condition], demanded: tuple[Condition, ...], counting: bool
    ) -> Callable[[bool, int, int, int | None], Expression]:
        """The undeclared members and the closing brace, by what came before."""
        table, json = self.table, self.json
        member = self.member(others)
        end = json.close(b"}", empty=False)
        refused = UnsupportedSchemaError(
            "undeclared members can't be made to have several different names; declare them",
            pointer=self.algebra.at[0],
            keyword="minProperties",
        )

        def plain(empty: bool, count: int, low: int, high: int | None) -> Expression:
            least = max(low - count, 0) if counting else 0
            most = None if high is None else high - count
            if least > 1 and member is not table.nothing:
                raise refused
            more = table.concat(json.comma, member)
            if not empty:
                return table.concat(table.repeat(more, least, most), end)
            closed = json.close(b"}", empty=True) if least == 0 else table.nothing
            if most == 0:
                return closed
            rest = table.repeat(more, max(least - 1, 0), None if most is None else most - 1)
            return table.union((closed, table.concat(member, rest, end)))

        def demanding(empty: bool, count: int, low: int, high: int | None) -> Expression:
            if counting and low - count > 1:
                raise refused
            left = None if high is None else high - count
            return demands.after(frozenset(range(len(demanded))), left, first=empty)

        if not demanded:
            return plain
        demands = _Demands(self, others, demanded)
        return demanding

    def narrowed(self, cells: list[Condition], by: Condition, *, inside: bool) -> list[Condition]:
        """The classes within the names of `by`, with its value too, or those outside."""
        found = []
        for keys, value in cells:
            for part in (by.keys,) if inside else by.keys.complement():
                if (met := self.algebra.met(keys, part)) is not None:
                    found.append(Condition(met, value | by.value if inside else value))
        return [one for one in found if not self.algebra.is_empty(one.value)]


class _Demands:
    """Undeclared members some of which must meet demands: a state is the demands that are still unmet.

    Once a demand is met, members of its names must meet it too: JSON lets a name come again, and the last one counts.
    """

    def __init__(self, texts: ObjectTexts, others: list[Condition], demanded: tuple[Condition, ...]) -> None:
        self.texts = texts
        self.others = others
        self.demanded = demanded
        self.known: dict[tuple[frozenset[int], int | None, bool], Expression] = {}
        if len(demanded) > MAX_DEMANDS:
            pointer, keyword = texts.algebra.at
            message = f"{keyword!r} makes more than {MAX_DEMANDS} demands on undeclared members at once"
            raise UnsupportedSchemaError(message, pointer=pointer, keyword=keyword)

    def after(self, unmet: frozenset[int], left: int | None, *, first: bool) -> Expression:
        """The members from here on, at most `left` of them, and the closing brace."""
        key = (unmet, left, first)
        if key not in self.known:
            self.known[key] = self._after(unmet, left, first)
        return self.known[key]

    def _after(self, unmet: frozenset[int], left: int | None, first: bool) -> Expression:
        table, json = self.texts.table, self.texts.json
        parts = [] if unmet else [json.close(b"}", empty=first)]
        again = table.nothing
        fewer = left if left is None else left - 1
        for met in _subsets(unmet) if left is None or left > 0 else ():
            member = json.more(self.texts.member(self.cells(unmet, met)), first=first)
            if not met and left is None and not first:
                again = member
            else:
                parts.append(table.concat(member, self.after(unmet - met, fewer, first=False)))
        return table.concat(table.repeat(again), table.union(parts))

    def cells(self, unmet: frozenset[int], met: frozenset[int]) -> list[Condition]:
        """The members that meet the demands `met`, and undo none that was met before."""
        cells = self.others
        for index, demand in enumerate(self.demanded):
            if index in met:
                cells = self.texts.narrowed(cells, demand, inside=True)
            elif index not in unmet:
                inside = self.texts.narrowed(cells, demand, inside=True)
                cells = inside + self.texts.narrowed(cells, demand, inside=False)
        return cells


def _subsets(items: frozenset[int]) -> list[frozenset[int]]:
    return [frozenset(some) for size in range(len(items) + 1) for some in combinations(sorted(items), size)]


def declared_names(rule: ObjectRule) -> list[str]:
    """In order of declaration; what is only required comes last."""
    return list(dict.fromkeys((*rule.names, *rule.required)))
