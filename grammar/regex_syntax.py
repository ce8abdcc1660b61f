r"""The syntax of ECMA-262 regular expressions (`u` mode, as JSON Schema wants), as a tree.

Also read, because patterns written for Python use them: `\A`, `\Z`, `(?P<name>…)`. `\d`, `\w` are ASCII.
"""

from __future__ import annotations

from dataclasses import dataclass

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.text import MAX_CODE_POINT, Ranges, complement_ranges, normalise_ranges, shown
from dg_sglang.grammar.unicode_sets import DIGIT, LINE_ENDS, SPACE, WORD, property_ranges, with_case

_CLASSES = {"d": DIGIT, "w": WORD, "s": SPACE}
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "a": 0x07, "0": 0x00}
_HEX = "0123456789abcdefABCDEF"


@dataclass(frozen=True)
class Chars:
    """One code point out of `ranges`."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sequence:
    """The parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Branch:
    """One of the options."""

    options: tuple[Node, ...]


@dataclass(frozen=True)
class Loop:
    """`body` between `low` and `high` times (None: without bound)."""

    body: Node
    low: int
    high: int | None


@dataclass(frozen=True)
class Edge:
    """The beginning (`start`) or the end of the text."""

    start: bool


@dataclass(frozen=True)
class Boundary:
    r"""A word boundary, `\b`, or (not `holds`) its opposite."""

    holds: bool


@dataclass(frozen=True)
class Look:
    """Look-ahead or look-behind; `holds` is false for the negative forms."""

    body: Node
    ahead: bool
    holds: bool


Node = Chars | Sequence | Branch | Loop | Edge | Boundary | Look


def parse(pattern: str, *, ignore_case: bool = False, dot_all: bool = False) -> Node:
    """The tree of `pattern`; the flags are those that other notations write beside it.

    Raises InvalidSchemaError when it is malformed, UnsupportedSchemaError for flags, backreferences and the like.
    """
    if not isinstance(pattern, str):
        raise InvalidSchemaError(f"a regular expression must be a string, not {type(pattern).__name__}")
    try:
        return _Parser(pattern, ignore_case=ignore_case, dot_all=dot_all).whole()
    except (ValueError, IndexError, OverflowError) as error:
        if isinstance(error, InvalidSchemaError | UnsupportedSchemaError):
            raise
        raise InvalidSchemaError(f"the regular expression {shown(pattern)} is malformed: {error}") from None


def unsupported(what: str, pattern: str) -> UnsupportedSchemaError:
    """The error for what a pattern asks and no automaton gives."""
    message = f"{what} in the regular expression {shown(pattern)} can't be enforced; rewrite the pattern without it"
    return UnsupportedSchemaError(message, pointer="", keyword="pattern")


class _Parser:
    def __init__(self, pattern: str, *, ignore_case: bool, dot_all: bool) -> None:
        self.pattern = pattern
        self.ignore_case = ignore_case
        self.dot_all = dot_all
        self.at = 0

    def whole(self) -> Node:
        node = self.branch()
        if self.at < len(self.pattern):
            raise ValueError(f"unbalanced ) at {self.at}")
        return node

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        found = self.peek(text)
        self.at += len(text) if found else 0
        return found

    def next(self) -> str:
        if self.at >= len(self.pattern):
            raise ValueError("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def branch(self) -> Node:
        options = [self.sequence()]
        while self.take("|"):
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Branch(tuple(options))

    def sequence(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            parts.append(self.loop(self.atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def loop(self, body: Node) -> Node:
        bounds = self.quantifier()
        if bounds is None:
            return body
        if isinstance(body, Edge | Boundary):
            raise ValueError("nothing to repeat")
        low, high = bounds
        if high is not None and high < low:
            raise ValueError(f"{{{low},{high}}} is out of order")
        if self.take("+"):
            raise unsupported("a possessive quantifier", self.pattern)
        self.take("?")
        if self.quantifier() is not None:
            raise ValueError("multiple repeat")
        return Loop(body, low, high)

    def quantifier(self) -> tuple[int, int | None] | None:
        for mark, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(mark):
                return bounds
        if not self.peek("{"):
            return None
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at + 1 : end].partition(",") if end > 0 else ("", "", "")
        if not (low or (comma and high)) or not all(c.isascii() and c.isdigit() for c in low + high):
            return None  # a brace that is no quantifier stands for itself
        if not low:
            raise unsupported("{,n} (a quantifier to some engines, plain text to others)", self.pattern)
        self.at = end + 1
        return int(low), (int(high) if high else None) if comma else int(low)

    def atom(self) -> Node:
        char = self.next()
        if char == "(":
            return self.group()
        if char == "[":
            return Chars(tuple(self.char_class()))
        if char == ".":
            return Chars(tuple(complement_ranges(() if self.dot_all else LINE_ENDS)))
        if char in "^$":
            return Edge(char == "^")
        if char == "\\":
            return self.escape()
        if char in "*+?":
            raise ValueError(f"nothing to repeat at {self.at - 1}")
        return self.chars([(ord(char), ord(char))])

    def chars(self, ranges: Ranges) -> Chars:
        return Chars(tuple(with_case(ranges) if self.ignore_case else ranges))

    def group(self) -> Node:
        look = None
        if self.take("?"):
            for mark, ahead, holds in (("=", 1, 1), ("!", 1, 0), ("<=", 0, 1), ("<!", 0, 0)):
                if self.take(mark):
                    look = (bool(ahead), bool(holds))
                    break
            else:
                if self.take("<") or self.take("P<"):
                    while self.next() != ">":
                        pass
                elif self.take(">"):
                    raise unsupported("an atomic group", self.pattern)
                elif self.take("("):
                    raise unsupported("a conditional group", self.pattern)
                elif self.take("P="):
                    raise unsupported("a backreference", self.pattern)
                elif self.take("#"):
                    while self.next() != ")":
                        pass
                    return Sequence(())
                elif not self.take(":"):
                    if self.next() in "aiLmsux-":
                        raise unsupported("flags such as (?i)", self.pattern)
                    raise ValueError(f"unknown group at {self.at}")
        body = self.branch()
        if not self.take(")"):
            raise ValueError("a group isn't closed")
        return body if look is None else Look(body, *look)

    def escape(self) -> Node:
        char = self.next()
        if char in "bB":
            return Boundary(char == "b")
        if char in "AZz":
            return Edge(char == "A")
        if char == "k" or (char.isdigit() and char != "0"):
            raise unsupported("a backreference", self.pattern)
        return self.chars(self.escaped(char))

    def escaped(self, char: str) -> Ranges:
        """The code points of an escape whose first character has been read."""
        if char.lower() in _CLASSES:
            ranges = _CLASSES[char.lower()]
            return ranges if char.islower() else complement_ranges(ranges)
        if char in "pP":
            if not self.take("{"):
                raise ValueError(f"\\{char} needs {{…}}")
            end = self.pattern.index("}", self.at)
            name, self.at = self.pattern[self.at : end], end + 1
            return property_ranges(name) if char == "p" else complement_ranges(property_ranges(name))
        if char in _CONTROLS:
            code = _CONTROLS[char]
        elif char == "c":
            letter = self.next()
            if not (letter.isascii() and letter.isalpha()):
                raise ValueError("\\c needs a letter")
            code = ord(letter) % 32
        elif char == "x":
            code = self.hexadecimal(2)
        elif char in "uU":
            code = self.unicode_escape(char)
        elif char.isascii() and char.isalnum():
            raise ValueError(f"bad escape \\{char}")
        else:
            code = ord(char)
        return [(code, code)]

    def unicode_escape(self, char: str) -> int:
        if char == "U":
            return self.hexadecimal(8)
        if self.take("{"):
            end = self.pattern.index("}", self.at)
            code, self.at = int(self.pattern[self.at : end], 16), end + 1
            if code > MAX_CODE_POINT:
                raise ValueError("no such code point")
            return code
        code = self.hexadecimal(4)
        if 0xD800 <= code < 0xDC00 and self.take("\\u"):
            low = self.hexadecimal(4)
            if not 0xDC00 <= low < 0xE000:
                raise ValueError("a lone surrogate")
            return 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
        return code

    def hexadecimal(self, digits: int) -> int:
        text = self.pattern[self.at : self.at + digits]
        if len(text) < digits or not all(c in _HEX for c in text):
            raise ValueError("incomplete hexadecimal escape")
        self.at += digits
        return int(text, 16)

    def char_class(self) -> Ranges:
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        while not self.take("]"):
            left = self.class_atom()
            if self.peek("-") and not self.peek("-]"):
                self.at += 1
                right = self.class_atom()
                if len(left) == len(right) == 1 and left[0][0] == left[0][1] and right[0][0] == right[0][1]:
                    if left[0][0] > right[0][0]:
                        raise ValueError("a range out of order")
                    left = [(left[0][0], right[0][0])]
                else:  # [\w-.]: the hyphen stands for itself
                    left = [*left, (0x2D, 0x2D), *right]
            ranges.extend(left)
        cased = with_case(ranges) if self.ignore_case else normalise_ranges(ranges)
        return complement_ranges(cased) if negated else cased

    def class_atom(self) -> Ranges:
        char = self.next()
        if char != "\\":
            return [(ord(char), ord(char))]
        char = self.next()
        if char == "b":
            return [(0x08, 0x08)]
        if char.isdigit() and char != "0":
            raise unsupported("a backreference", self.pattern)
        return self.escaped(char)
