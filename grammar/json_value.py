"""The punctuation of JSON as byte expressions: white space, brackets, commas, quotes."""

from __future__ import annotations

from typing import Literal

from dg_sglang.grammar.expression import Expression, Expressions

WhitespacePolicy = Literal["json", "compact"]

MAX_INDENT_SPACES = 24
MAX_INDENT_TABS = 6


class JsonPunctuation:
    """What stands between the values of a JSON text, under one white-space policy.

    "json" allows one space between any two tokens, and where JSON is written over several lines, a line break with
    indentation instead: behind an opening bracket, behind a comma, before a closing bracket. All of it is bounded, so
    that white space can't be used as padding. "compact" allows none.
    """

    def __init__(self, table: Expressions, whitespace: WhitespacePolicy) -> None:
        self.table = table
        blank = table.optional(table.literal(b" ")) if whitespace == "json" else table.empty
        self.space = table.union((blank, self._line_break())) if whitespace == "json" else table.empty
        self.comma = table.concat(blank, table.literal(b","), self.space)
        self.colon = table.concat(blank, table.literal(b":"), blank)
        self.open_array = table.concat(table.literal(b"["), self.space)
        self.open_object = table.concat(table.literal(b"{"), self.space)
        self.quote = table.literal(b'"')

    def _line_break(self) -> Expression:
        table = self.table
        indent = table.union(
            (
                table.repeat(table.literal(b" "), 0, MAX_INDENT_SPACES),
                table.repeat(table.literal(b"\t"), 0, MAX_INDENT_TABS),
            )
        )
        return table.concat(table.optional(table.literal(b"\r")), table.literal(b"\n"), indent)

    def quoted(self, body: Expression) -> Expression:
        """A JSON string with this body."""
        return self.table.concat(self.quote, body, self.quote)

    def close(self, bracket: bytes, *, empty: bool) -> Expression:
        """The end of an array or object; after a member white space may come before it."""
        closing = self.table.literal(bracket)
        return closing if empty else self.table.concat(self.space, closing)

    def more(self, item: Expression, *, first: bool) -> Expression:
        """One more item, with a comma unless it is the first."""
        return item if first else self.table.concat(self.comma, item)
