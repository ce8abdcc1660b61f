"""The building blocks of JSON as byte expressions: white space, strings, numbers, arrays, objects, dates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.text import json_character

WhitespacePolicy = Literal["json", "compact"]

MAX_INDENT_SPACES = 24
MAX_INDENT_TABS = 6


class Property(NamedTuple):
    """One declared property of an object."""

    name: str
    value: Expression
    required: bool


class JsonValues:
    """Expressions for JSON texts under one white-space policy.

    "json" allows, between tokens, one space or one line break with indentation (bounded, so that white space can't be
    used as padding); "compact" allows none.
    """

    def __init__(self, table: Expressions, whitespace: WhitespacePolicy) -> None:
        self.table = table
        self.character = json_character(table)
        self.digit = table.byte_range(ord("0"), ord("9"))
        self.space = self._space() if whitespace == "json" else table.empty
        self.comma = self._spaced(b",")
        self.null = table.literal(b"null")
        self.boolean = table.union((table.literal(b"true"), table.literal(b"false")))
        self.integer = self._integer()
        self.number = self._number()

    def _space(self) -> Expression:
        table = self.table
        indent = table.union(
            (
                table.repeat(table.literal(b" "), 0, MAX_INDENT_SPACES),
                table.repeat(table.literal(b"\t"), 0, MAX_INDENT_TABS),
            )
        )
        line_break = table.concat(table.optional(table.literal(b"\r")), table.literal(b"\n"), indent)
        return table.union((table.empty, table.literal(b" "), line_break))

    def _spaced(self, mark: bytes) -> Expression:
        return self.table.concat(self.space, self.table.literal(mark), self.space)

    def _integer(self) -> Expression:
        table = self.table
        natural = table.union(
            (table.literal(b"0"), table.concat(table.byte_range(ord("1"), ord("9")), table.repeat(self.digit)))
        )
        return table.concat(table.optional(table.literal(b"-")), natural)

    def _number(self) -> Expression:
        table = self.table
        digits = table.repeat(self.digit, 1)
        fraction = table.concat(table.literal(b"."), digits)
        sign = table.optional(table.byte_set(1 << ord("+") | 1 << ord("-")))
        exponent = table.concat(table.byte_set(1 << ord("e") | 1 << ord("E")), sign, digits)
        return table.concat(self.integer, table.optional(fraction), table.optional(exponent))

    def quoted(self, body: Expression) -> Expression:
        """A JSON string with this body."""
        quote = self.table.literal(b'"')
        return self.table.concat(quote, body, quote)

    def string(self, min_length: int = 0, max_length: int | None = None) -> Expression:
        """Any JSON string whose length in code points lies in the bounds."""
        return self.quoted(self.table.repeat(self.character, min_length, max_length))

    def literal(self, value: Any) -> Expression:
        """This JSON value, strings and numbers in their canonical spelling, members in the given order."""
        table = self.table
        if isinstance(value, Mapping):
            return self.object([Property(name, self.literal(member), True) for name, member in value.items()])
        if isinstance(value, list | tuple):
            items: list[Expression] = []
            for member in value:
                items += [self.comma, self.literal(member)] if items else [self.literal(member)]
            return self._bracketed(b"[", table.concat(*items), b"]")
        return table.literal(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())

    def _bracketed(self, left: bytes, body: Expression, right: bytes) -> Expression:
        table = self.table
        if body is table.empty:
            return table.concat(table.literal(left), self.space, table.literal(right))
        return table.concat(table.literal(left), self.space, body, self.space, table.literal(right))

    def array(self, item: Expression, min_items: int = 0, max_items: int | None = None) -> Expression:
        """An array of `item`s."""
        table = self.table
        if max_items is not None and max_items < min_items:
            return table.nothing
        filled: Expression = table.nothing
        if max_items != 0:
            more = table.repeat(
                table.concat(self.comma, item), max(min_items - 1, 0), None if max_items is None else max_items - 1
            )
            filled = self._bracketed(b"[", table.concat(item, more), b"]")
        return filled if min_items > 0 else table.union((self._bracketed(b"[", table.empty, b"]"), filled))

    def object(self, properties: Sequence[Property]) -> Expression:
        """An object with these properties in this order and no others."""
        table = self.table
        # `first` continues a still empty object, `later` one that has a member already.
        first: Expression = table.empty
        later: Expression = table.empty
        for name, value, required in reversed(properties):
            key = table.literal(json.dumps(name, ensure_ascii=False).encode())
            member = table.concat(key, self._spaced(b":"), value)
            with_first = table.concat(member, later)
            with_later = table.concat(self.comma, member, later)
            first = with_first if required else table.union((with_first, first))
            later = with_later if required else table.union((with_later, later))
        if first.nullable and first is not table.empty:
            filled = table.intersection((first, self._anything_but_empty()))
            return table.union((self._bracketed(b"{", table.empty, b"}"), self._bracketed(b"{", filled, b"}")))
        return self._bracketed(b"{", first, b"}")

    def _anything_but_empty(self) -> Expression:
        return self.table.repeat(self.table.byte_range(0, 255), 1)

    def date(self) -> Expression:
        """A calendar date, YYYY-MM-DD, as RFC 3339's full-date: 30 February doesn't exist, leap years are right."""
        table = self.table

        def number(low: int, high: int) -> Expression:
            return table.union([table.literal(f"{n:02}".encode()) for n in range(low, high + 1)])

        def dashed(*parts: Expression) -> Expression:
            return table.concat(*[x for part in parts for x in (table.literal(b"-"), part)])

        def two_digits(keep: Callable[[int], bool]) -> Expression:
            return table.union([table.literal(f"{n:02}".encode()) for n in range(100) if keep(n)])

        long_months = table.union([number(m, m) for m in (1, 3, 5, 7, 8, 10, 12)])
        short_months = table.union([number(m, m) for m in (4, 6, 9, 11)])
        any_year = table.repeat(self.digit, 4, 4)
        leap = table.union(
            (
                table.concat(table.repeat(self.digit, 2, 2), two_digits(lambda n: n % 4 == 0 and n > 0)),
                table.concat(two_digits(lambda n: n % 4 == 0), table.literal(b"00")),
            )
        )
        usual = table.union(
            (
                dashed(long_months, number(1, 31)),
                dashed(short_months, number(1, 30)),
                dashed(number(2, 2), number(1, 28)),
            )
        )
        return table.union((table.concat(any_year, usual), table.concat(leap, table.literal(b"-02-29"))))
