r"""The syntax of ECMA-262 regular expressions (`u` mode, as JSON Schema wants), read into a tree.

Also read, because patterns written for Python use them: `\A`, `\Z`, `(?P<name>…)`, `(?#…)`, and the flags i, s, m, x
and a: `(?i)` for the rest of a group, `(?i:…)` and `(?-i:…)` for a group of its own. `\d`, `\w` are ASCII.
"""

from __future__ import annotations

import re
from typing import Any

from dg_sglang.errors import GrammarTooLargeError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.regex_tree import Boundary, Branch, Chars, Edge, Look, Loop, Node, Sequence
from dg_sglang.grammar.text import MAX_CODE_POINT, MAX_PATTERN, Ranges, complement_ranges, normalise_ranges, shown
from dg_sglang.grammar.unicode_sets import DIGIT, LINE_ENDS, SPACE, WORD, property_ranges, with_case

_CLASSES = {"d": DIGIT, "w": WORD, "s": SPACE}
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "a": 0x07, "0": 0x00}
_HEX = "0123456789abcdefABCDEF"
_FLAGS = re.compile(r"([aimsx]*)(?:-([imsx]+))?([:)])")
_PYTHON_FLAGS = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
_WITHIN_LINE = Chars(tuple(complement_ranges(LINE_ENDS)))


def pattern_text(pattern: Any) -> Any:
    """A compiled pattern as text, its flags in front, `(?i)…`; anything else as it is.

    Raises InvalidSchemaError for a pattern of bytes.
    """
    if not isinstance(pattern, re.Pattern):
        return pattern
    if isinstance(pattern.pattern, bytes):
        raise InvalidSchemaError(f"a regular expression must be a string, not {shown(pattern)}")
    letters = "".join(letter for letter, flag in _PYTHON_FLAGS.items() if pattern.flags & flag)
    return f"(?{letters}){pattern.pattern}" if letters else pattern.pattern


def parse(pattern: str, flags: str = "") -> Node:
    """The tree of `pattern`, with the flags i, s, m, x or a that hold for all of it.

    Raises InvalidSchemaError when it is malformed, UnsupportedSchemaError for backreferences and the like.
    """
    if not isinstance(pattern, str):
        raise InvalidSchemaError(f"a regular expression must be a string, not {type(pattern).__name__}")
    if len(pattern) > MAX_PATTERN:
        raise GrammarTooLargeError(f"the regular expression has more than {MAX_PATTERN:,} characters: {shown(pattern)}")
    try:
        return _Parser(pattern, frozenset(flags)).whole()
    except (ValueError, IndexError, OverflowError) as error:
        if isinstance(error, InvalidSchemaError | UnsupportedSchemaError):
            raise
        raise InvalidSchemaError(f"the regular expression {shown(pattern)} is malformed: {error}") from None


def unsupported(what: str, pattern: str) -> UnsupportedSchemaError:
    """The error for what a pattern asks and no automaton gives."""
    message = f"{what} in the regular expression {shown(pattern)} can't be enforced; rewrite the pattern without it"
    return UnsupportedSchemaError(message, pointer="", keyword="pattern")


class _Parser:
    def __init__(self, pattern: str, flags: frozenset[str]) -> None:
        self.pattern = pattern
        self.flags = flags  # where the parser is now
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
        self.skip()
        while self.at < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            parts.append(self.loop(self.atom()))
            self.skip()
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def skip(self) -> None:
        """White space and comments, where x is on."""
        while "x" in self.flags and self.at < len(self.pattern):
            if self.peek("#"):
                end = self.pattern.find("\n", self.at)
                self.at = len(self.pattern) if end < 0 else end
            elif self.pattern[self.at] in " \t\n\r\v\f":
                self.at += 1
            else:
                return

    def loop(self, body: Node) -> Node:
        self.skip()
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
            return Chars(tuple(complement_ranges(()))) if "s" in self.flags else _WITHIN_LINE
        if char in "^$":
            if "m" in self.flags:  # nothing of the same line before it, or behind it
                return Look(_WITHIN_LINE, ahead=char == "$", holds=False)
            return Edge(char == "^")
        if char == "\\":
            return self.escape()
        if char in "*+?":
            raise ValueError(f"nothing to repeat at {self.at - 1}")
        return Chars(tuple(self.cased([(ord(char), ord(char))])))

    def cased(self, ranges: Ranges) -> Ranges:
        """The code points of `ranges`, and their other cases where i is on."""
        return with_case(ranges, ascii_only="a" in self.flags) if "i" in self.flags else ranges

    def group(self) -> Node:
        look, outer = None, self.flags
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
                elif not self.take(":") and self.set_flags():
                    return Sequence(())
        body = self.branch()
        if not self.take(")"):
            raise ValueError("a group isn't closed")
        self.flags = outer
        return body if look is None else Look(body, *look)

    def set_flags(self) -> bool:
        """Read the flags of a group; whether they hold for the rest of the group around it."""
        found = _FLAGS.match(self.pattern, self.at)
        if found is None:
            if self.next() in "Lu":
                raise unsupported("the flags L and u", self.pattern)
            raise ValueError(f"unknown group at {self.at - 1}")
        self.at = found.end()
        self.flags = self.flags.union(found[1]).difference(found[2] or "")
        return found[3] == ")"

    def escape(self) -> Node:
        char = self.next()
        if char in "bB":
            return Boundary(char == "b")
        if char in "AZz":
            return Edge(char == "A")
        if char == "k" or (char.isdigit() and char != "0"):
            raise unsupported("a backreference", self.pattern)
        ranges = self.escaped(char)
        return Chars(tuple(ranges if char in "dDwWsSpP" else self.cased(ranges)))

    def escaped(self, char: str) -> Ranges:
        """The code points of an escape whose first character has been read; of a class, all cases."""
        if char.lower() in _CLASSES:
            ranges = self.cased(_CLASSES[char.lower()])
            return ranges if char.islower() else complement_ranges(ranges)
        if char in "pP":
            if not self.take("{"):
                raise ValueError(f"\\{char} needs {{…}}")
            end = self.pattern.index("}", self.at)
            name, self.at = self.pattern[self.at : end], end + 1
            ranges = self.cased(property_ranges(name))
            return ranges if char == "p" else complement_ranges(ranges)
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
                if _is_single(left) and _is_single(right):
                    if left[0][0] > right[0][0]:
                        raise ValueError("a range out of order")
                    ranges += self.cased([(left[0][0], right[0][0])])
                    continue
                ranges += [(0x2D, 0x2D), *(self.cased(right) if _is_single(right) else right)]  # [\w-.]: a hyphen
            ranges += self.cased(left) if _is_single(left) else left
        return complement_ranges(ranges) if negated else normalise_ranges(ranges)

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


def _is_single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]
