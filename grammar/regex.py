r"""Regular expressions → byte expressions, matched against the whole text.

Syntax as Python's `re` parses it; `\d`, `\w`, `\s` and `.` as ECMA-262 defines them (`\d`, `\w` are ASCII). What is
not regular (backreferences) or not supported (look-around, flags, word boundaries) is refused by name.
"""

from __future__ import annotations

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as sre_parse  # type: ignore[import-not-found]
from typing import Any

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.text import Ranges, complement_ranges, utf8

_DIGIT = [(0x30, 0x39)]
_WORD = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
_SPACE = [(0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)]
_SPACE += [(0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)]
_LINE_ENDS = [(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)]
_CATEGORIES: dict[Any, Ranges] = {
    sre.CATEGORY_DIGIT: _DIGIT,
    sre.CATEGORY_NOT_DIGIT: complement_ranges(_DIGIT),
    sre.CATEGORY_WORD: _WORD,
    sre.CATEGORY_NOT_WORD: complement_ranges(_WORD),
    sre.CATEGORY_SPACE: _SPACE,
    sre.CATEGORY_NOT_SPACE: complement_ranges(_SPACE),
}
_NOT_REGULAR = {
    "GROUPREF": "a backreference",
    "GROUPREF_EXISTS": "a conditional group",
    "ASSERT": "look-around",
    "ASSERT_NOT": "look-around",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive quantifier",
}
_STARTS = (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING)
_ENDS = (sre.AT_END, sre.AT_END_STRING)


def compile_regex(table: Expressions, pattern: str) -> Expression:
    """The texts that `pattern` matches from beginning to end, as UTF-8.

    Raises InvalidSchemaError when the pattern is malformed, UnsupportedSchemaError when it uses what isn't supported.
    """
    if not isinstance(pattern, str):
        raise InvalidSchemaError(f"a regular expression must be a string, not {type(pattern).__name__}")
    try:
        tree = sre_parse.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidSchemaError(f"the regular expression {pattern!r} is malformed: {error}") from None
    if tree.state.flags & ~re.UNICODE:
        raise _unsupported("flags such as (?i)", pattern)
    return _Compiler(table, pattern).sequence(list(tree), at_start=True, at_end=True)


def _unsupported(what: str, pattern: str) -> UnsupportedSchemaError:
    message = f"{what} in the regular expression {pattern!r} can't be enforced; rewrite the pattern without it"
    return UnsupportedSchemaError(message, pointer="", keyword="pattern")


class _Compiler:
    def __init__(self, table: Expressions, pattern: str) -> None:
        self.table = table
        self.pattern = pattern

    def sequence(self, items: list[Any], *, at_start: bool, at_end: bool) -> Expression:
        """The items one after the other; anchors are allowed where nothing can come before or after them."""
        parts: list[Expression] = []
        for index, (op, value) in enumerate(items):
            first, last = at_start and not parts, at_end and all(later is sre.AT for later, _ in items[index + 1 :])
            if op is sre.AT:
                if not ((value in _STARTS and first) or (value in _ENDS and last)):
                    raise _unsupported("an anchor or word boundary inside", self.pattern)
                continue
            parts.append(self.item(op, value, at_start=first, at_end=last))
        return self.table.concat(*parts)

    def item(self, op: Any, value: Any, *, at_start: bool, at_end: bool) -> Expression:
        table = self.table
        if op is sre.LITERAL:
            return utf8(table, [(value, value)])
        if op is sre.NOT_LITERAL:
            return utf8(table, complement_ranges([(value, value)]))
        if op is sre.ANY:
            return utf8(table, complement_ranges(_LINE_ENDS))
        if op is sre.IN:
            return utf8(table, self.char_class(value))
        if op is sre.BRANCH:
            return table.union([self.sequence(list(one), at_start=at_start, at_end=at_end) for one in value[1]])
        if op is sre.SUBPATTERN:
            _, add_flags, del_flags, body = value
            if add_flags or del_flags:
                raise _unsupported("flags such as (?i:…)", self.pattern)
            return self.sequence(list(body), at_start=at_start, at_end=at_end)
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, high, body = value
            part = self.sequence(list(body), at_start=False, at_end=False)
            return table.repeat(part, low, None if high is sre.MAXREPEAT else high)
        raise _unsupported(_NOT_REGULAR.get(str(op), str(op).lower()), self.pattern)

    def char_class(self, items: list[Any]) -> Ranges:
        ranges: list[tuple[int, int]] = []
        negated = False
        for op, value in items:
            if op is sre.NEGATE:
                negated = True
            elif op is sre.LITERAL:
                ranges.append((value, value))
            elif op is sre.RANGE:
                ranges.append(value)
            else:
                ranges.extend(_CATEGORIES[value])
        return complement_ranges(ranges) if negated else ranges
