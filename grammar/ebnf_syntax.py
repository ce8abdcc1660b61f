"""The tree of a context-free grammar, and how GBNF writes it.

GBNF is the notation of llama.cpp's grammars, which SGLang's `ebnf` parameter takes through xgrammar:
`name ::= "text" [a-z]+ (other | "b"){1,3} # comment`. A rule goes on until the next `name ::=`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.regex_tree import Chars
from dg_sglang.grammar.text import complement_ranges, normalise_ranges


@dataclass(frozen=True)
class Text:
    """Exactly this text, or any of its spellings in upper and lower case."""

    text: str
    ignore_case: bool = False


@dataclass(frozen=True)
class Pattern:
    """What a regular expression matches."""

    pattern: str
    flags: str = ""


@dataclass(frozen=True)
class Name:
    """What a rule stands for. `at` is the place in the grammar's text."""

    name: str
    at: int


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


Node = Text | Pattern | Chars | Name | Sequence | Branch | Loop


@dataclass(frozen=True)
class Rule:
    """One rule. `at` is the place of its name in the grammar's text."""

    name: str
    body: Node
    at: int


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_MACROS = ("TagDispatch", "TokenTagDispatch", "Token", "ExcludeToken", "Regex", "Substring")


class Scanner:
    """A grammar's text and how far it has been read. `blank` matches white space and comments."""

    name = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

    def __init__(self, text: str, blank: str) -> None:
        self.text = text
        self.at = 0
        self._blank = re.compile(blank)

    def fail(self, message: str, at: int | None = None) -> InvalidSchemaError:
        """The error for what is wrong at `at` (by default, here)."""
        return InvalidSchemaError(
            f"the grammar is malformed at {where(self.text, self.at if at is None else at)}: {message}"
        )

    def unsupported(self, what: str, at: int) -> UnsupportedSchemaError:
        """The error for a construct that is understood and can't be enforced."""
        message = f"{what} at {where(self.text, at)} of the grammar is not supported"
        return UnsupportedSchemaError(message, pointer="", keyword="ebnf")

    def skip(self) -> None:
        """Go past white space and comments."""
        while (blank := self._blank.match(self.text, self.at)) and blank.end() > self.at:
            self.at = blank.end()

    def peek(self, text: str) -> bool:
        """Whether `text` comes next."""
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Read `text` if it comes next."""
        found = self.peek(text)
        self.at += len(text) if found else 0
        return found

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """Read what `pattern` matches here."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found[0]

    def found(self) -> str:
        """What comes next, for messages."""
        return repr(self.text[self.at]) if self.at < len(self.text) else "the end"

    def next(self, inside: str, start: int) -> str:
        """Read one character of what began at `start`."""
        if self.at >= len(self.text):
            raise self.fail(f"{inside} isn't closed", start)
        self.at += 1
        return self.text[self.at - 1]

    def character(self, inside: str, start: int) -> str:
        """Read one character, or the escape that stands for it."""
        at = self.at
        char = self.next(inside, start)
        if char != "\\":
            return char
        char = self.next(inside, start)
        if char in _HEX_DIGITS:
            code = self._hexadecimal(_HEX_DIGITS[char], at)
            if 0xD800 <= code < 0xDC00 and self.take("\\u"):
                code = 0x10000 + ((code - 0xD800) << 10) + self._hexadecimal(4, at) - 0xDC00
            if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                raise self.fail("the escape stands for no character", at)
            return chr(code)
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isalnum():
            raise self.fail(f"unknown escape \\{char}", at)
        return char

    def _hexadecimal(self, digits: int, at: int) -> int:
        text = self.match(re.compile(f"[0-9A-Fa-f]{{{digits}}}"))
        if text is None:
            raise self.fail(f"the escape needs {digits} hexadecimal digits", at)
        return int(text, 16)

    def quoted(self) -> str:
        """Read the rest of a string in double quotes."""
        start, chars = self.at - 1, []
        while not self.take('"'):
            if self.peek("\n"):
                raise self.fail("the string isn't closed on its line", start)
            chars.append(self.character("the string", start))
        return "".join(chars)

    def bounds(self) -> tuple[int, int | None] | None:
        """Read a quantifier: `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}`."""
        start = self.at
        for mark, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(mark):
                return bounds
        if not self.take("{"):
            return None
        counts = self.match(re.compile(r"\s*\d{1,9}\s*(?:,\s*(?:\d{1,9}\s*)?)?\}"))
        if counts is None:
            raise self.fail("a repetition is written {n}, {n,} or {n,m}", start)
        low, comma, high = counts[:-1].partition(",")
        return self.ordered(int(low), int(high) if high.strip() else None if comma else int(low), start)

    def ordered(self, low: int, high: int | None, start: int) -> tuple[int, int | None]:
        """The bounds of a repetition that is written at `start`."""
        if high is not None and high < low:
            raise self.fail(f"the repetition's bounds are out of order: {low} > {high}", start)
        return low, high


def where(text: str, at: int) -> str:
    """A place in a text as people name it."""
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"


def add_rule(rules: dict[str, Rule], rule: Rule, scanner: Scanner) -> None:
    """One more rule; a name may stand for one rule only."""
    if rule.name in rules:
        first = where(scanner.text, rules[rule.name].at)
        raise scanner.fail(f"the rule {rule.name!r} is defined twice, first at {first}", rule.at)
    rules[rule.name] = rule


def parse_gbnf(text: str) -> Mapping[str, Rule]:
    """The rules of a grammar by name.

    Raises:
        InvalidSchemaError: it is malformed; the message says where.
        UnsupportedSchemaError: it uses xgrammar's look-ahead or macros.
    """
    return _GbnfParser(Scanner(text, r"\s+|#[^\n]*")).rules()


class _GbnfParser:
    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner

    def rules(self) -> dict[str, Rule]:
        scanner, rules = self.scanner, dict[str, Rule]()
        scanner.skip()
        while scanner.at < len(scanner.text):
            start = scanner.at
            name = self.definition()
            if name is None:
                raise scanner.fail(f"expected a rule (name ::= …), not {scanner.found()}", start)
            add_rule(rules, Rule(name, self.branch(), start), scanner)
        return rules

    def definition(self) -> str | None:
        """Read `name ::=`, or nothing."""
        scanner, start = self.scanner, self.scanner.at
        name = scanner.match(scanner.name)
        scanner.skip()
        if name is not None and scanner.take("::="):
            return name
        scanner.at = start
        return None

    def branch(self) -> Node:
        options = [self.sequence()]
        while self.scanner.take("|"):
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Branch(tuple(options))

    def sequence(self) -> Node:
        scanner, parts = self.scanner, list[Node]()
        scanner.skip()
        while scanner.at < len(scanner.text) and not scanner.peek("|") and not scanner.peek(")"):
            start = scanner.at
            if self.definition() is not None:
                scanner.at = start
                break
            parts.append(self.loop(self.atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def loop(self, body: Node) -> Node:
        scanner = self.scanner
        scanner.skip()
        if (bounds := scanner.bounds()) is None:
            return body
        scanner.skip()
        start = scanner.at
        if scanner.bounds() is not None:
            raise scanner.fail("two repetitions in a row; use parentheses", start)
        return Loop(body, *bounds)

    def atom(self) -> Node:
        scanner, start = self.scanner, self.scanner.at
        if scanner.take('"'):
            return Text(scanner.quoted())
        if scanner.take("["):
            return self.char_class()
        if scanner.take("."):
            return Chars(tuple(complement_ranges([])))
        if scanner.take("("):
            return self.group(start)
        name = scanner.match(scanner.name)
        if name is None:
            raise scanner.fail(f"expected a string, a character class, a group or a rule's name, not {scanner.found()}")
        if name in _MACROS and scanner.peek("("):
            raise scanner.unsupported(f"the macro {name}(…)", start)
        return Name(name, start)

    def group(self, start: int) -> Node:
        scanner = self.scanner
        scanner.skip()
        if scanner.peek("="):
            raise scanner.unsupported("the look-ahead (= …)", start)
        body = self.branch()
        if not scanner.take(")"):
            raise scanner.fail("the parenthesis isn't closed", start)
        return body

    def char_class(self) -> Node:
        scanner, start, ranges = self.scanner, self.scanner.at - 1, list[tuple[int, int]]()
        negated = scanner.take("^")
        while not scanner.take("]"):
            at = scanner.at
            first = last = ord(scanner.character("the character class", start))
            if scanner.peek("-") and not scanner.peek("-]"):
                scanner.at += 1
                last = ord(scanner.character("the character class", start))
            if last < first:
                raise scanner.fail("the range is out of order", at)
            ranges.append((first, last))
        return Chars(tuple(complement_ranges(ranges) if negated else normalise_ranges(ranges)))
