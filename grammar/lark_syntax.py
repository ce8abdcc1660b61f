"""How Lark writes context-free grammars, as llguidance and outlines take them.

`start: "text"i /regex/ (other | TERMINAL)* ~ 1..3`, with `%ignore` and `%import common`. A terminal is a language like
any other: there is no lexer, so nothing depends on the longest match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dg_sglang.grammar.ebnf_syntax import Branch, Loop, Name, Node, Pattern, Rule, Scanner, Sequence, Text, add_rule
from dg_sglang.grammar.regex_tree import Chars

_DECIMAL = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)"
_FLOAT = rf"(?:[0-9]+[eE][+-]?[0-9]+|{_DECIMAL}(?:[eE][+-]?[0-9]+)?)"
COMMON = {
    "DIGIT": "[0-9]",
    "HEXDIGIT": "[0-9A-Fa-f]",
    "INT": "[0-9]+",
    "SIGNED_INT": "[+-]?[0-9]+",
    "DECIMAL": _DECIMAL,
    "FLOAT": _FLOAT,
    "SIGNED_FLOAT": f"[+-]?{_FLOAT}",
    "NUMBER": f"(?:{_FLOAT}|[0-9]+)",
    "SIGNED_NUMBER": f"[+-]?(?:{_FLOAT}|[0-9]+)",
    "ESCAPED_STRING": r'"(?:[^"\\\n]|\\[^\n])*"',
    "LCASE_LETTER": "[a-z]",
    "UCASE_LETTER": "[A-Z]",
    "LETTER": "[A-Za-z]",
    "WORD": "[A-Za-z]+",
    "CNAME": "[A-Za-z_][A-Za-z0-9_]*",
    "WS_INLINE": r"[ \t]+",
    "WS": r"[ \t\f\r\n]+",
    "CR": r"\r",
    "LF": r"\n",
    "NEWLINE": r"(?:\r?\n)+",
}
"""The terminals of Lark's module `common` as regular expressions."""

_REGEX = re.compile(r"((?:\\.|[^/\\\n])+)/([a-z]*)")
_DEFINITION = re.compile(r"[?!]{0,2}(\w+)(?:\.-?\d+)?\s*:")
_TERMINAL = re.compile(r"_*[A-Z]")
_IMPORT = re.compile(r"common(?:\.(\w+)|[ \t]*\(([\w, \t]+)\))(?:[ \t]*->[ \t]*(\w+))?")


def parse_lark(text: str, start: str) -> Mapping[str, Rule]:
    """The rules of a grammar by name. What `%ignore` names may stand before `start` and behind every terminal.

    Raises:
        InvalidSchemaError: it is malformed; the message says where.
        UnsupportedSchemaError: it uses templates, or directives other than %ignore and %import common.
    """
    parser = _LarkParser(Scanner(text, r"\s+|//[^\n]*|#[^\n]*"))
    rules = parser.rules()
    if not parser.ignored:
        return rules
    blank = Loop(Branch(tuple(parser.ignored)), 0, None)
    spaced = {
        name: rule if _TERMINAL.match(name) else Rule(name, _spaced(rule.body, blank), rule.at)
        for name, rule in rules.items()
    }
    if start in spaced:
        spaced[start] = Rule(start, Sequence((blank, spaced[start].body)), spaced[start].at)
    return spaced


def _spaced(node: Node, blank: Node) -> Node:
    if isinstance(node, Sequence):
        return Sequence(tuple(_spaced(part, blank) for part in node.parts))
    if isinstance(node, Branch):
        return Branch(tuple(_spaced(option, blank) for option in node.options))
    if isinstance(node, Loop):
        return Loop(_spaced(node.body, blank), node.low, node.high)
    if isinstance(node, Name) and not _TERMINAL.match(node.name):
        return node
    return Sequence((node, blank))


class _LarkParser:
    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.ignored: list[Node] = []

    def rules(self) -> dict[str, Rule]:
        scanner, rules = self.scanner, dict[str, Rule]()
        scanner.skip()
        while scanner.at < len(scanner.text):
            start = scanner.at
            if scanner.take("%"):
                self.directive(start, rules)
            elif (name := self.definition()) is not None:
                add_rule(rules, Rule(name, self.branch(), start), scanner)
            else:
                raise scanner.fail(f"expected a rule (name: …), not {scanner.found()}", start)
            scanner.skip()
        return rules

    def directive(self, start: int, rules: dict[str, Rule]) -> None:
        scanner = self.scanner
        kind = scanner.match(re.compile(r"\w*")) or ""
        scanner.match(re.compile(r"[ \t]+"))
        if kind == "ignore":
            self.ignored.append(self.branch())
            return
        named = _IMPORT.match(scanner.text, scanner.at) if kind == "import" else None
        if named is None:
            raise scanner.unsupported(f"%{kind} (only %ignore and %import common.NAME are known)", start)
        scanner.at = named.end()
        for name in [named[1]] if named[1] else re.findall(r"\w+", named[2]):
            if name not in COMMON:
                raise scanner.fail(f"there is no terminal common.{name}", start)
            add_rule(rules, Rule(named[3] or name, Pattern(COMMON[name]), start), scanner)

    def definition(self) -> str | None:
        """Read `name:` with its modifiers, or nothing."""
        found = _DEFINITION.match(self.scanner.text, self.scanner.at)
        if found is None:
            return None
        self.scanner.at = found.end()
        return found[1]

    def branch(self) -> Node:
        scanner, options = self.scanner, [self.sequence()]
        while scanner.take("|"):
            options.append(self.sequence())
        return options[0] if len(options) == 1 else Branch(tuple(options))

    def sequence(self) -> Node:
        scanner, parts = self.scanner, list[Node]()
        scanner.skip()
        while scanner.at < len(scanner.text) and scanner.text[scanner.at] not in "|)]%":
            start = scanner.at
            if self.definition() is not None:
                scanner.at = start
                break
            if scanner.take("->"):
                scanner.skip()
                if scanner.match(re.compile(r"\w+")) is None:
                    raise scanner.fail(f"expected an alias, not {scanner.found()}")
            else:
                parts.append(self.loop(self.atom()))
            scanner.skip()
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def loop(self, body: Node) -> Node:
        scanner = self.scanner
        scanner.match(re.compile(r"[ \t]+"))
        start = scanner.at
        if scanner.take("~"):
            counts = scanner.match(re.compile(r"\s*\d{1,9}(?:\s*\.\.\s*\d{1,9})?"))
            if counts is None:
                raise scanner.fail("a repetition is written ~ n or ~ n..m", start)
            low, _, high = counts.partition("..")
            return Loop(body, *scanner.ordered(int(low), int(high or low), start))
        # "a" ?b: is the next rule, with its modifier
        bounds = None if self.at_definition() else scanner.bounds()
        return body if bounds is None else Loop(body, *bounds)

    def at_definition(self) -> bool:
        start = self.scanner.at
        found = self.definition() is not None
        self.scanner.at = start
        return found

    def atom(self) -> Node:
        scanner, start = self.scanner, self.scanner.at
        if scanner.take('"'):
            return self.string(start)
        if scanner.take("/"):
            found = _REGEX.match(scanner.text, scanner.at)
            if found is None:
                raise scanner.fail("the regular expression isn't closed", start)
            scanner.at = found.end()
            if unknown := set(found[2]) - set("imsux"):
                raise scanner.unsupported(f"the flag {min(unknown)!r} of the regular expression", start)
            return Pattern(found[1].replace("\\/", "/"), found[2].replace("u", ""))
        for bracket, closing in ("()", "[]"):
            if scanner.take(bracket):
                body = self.branch()
                if not scanner.take(closing):
                    raise scanner.fail(f"the {bracket} isn't closed", start)
                return body if bracket == "(" else Loop(body, 0, 1)
        name = scanner.match(re.compile(r"[A-Za-z_]\w*"))
        if name is None:
            raise scanner.fail(f"expected a string, /regex/, a group or a name, not {scanner.found()}")
        if re.compile(r"\{\s*[A-Za-z_\"/]").match(scanner.text, scanner.at):
            raise scanner.unsupported(f"the template {name}{{…}}", start)
        return Name(name, start)

    def string(self, start: int) -> Node:
        scanner = self.scanner
        text = scanner.quoted()
        if not re.compile(r"\s*\.\.").match(scanner.text, scanner.at):
            return Text(text, ignore_case=scanner.take("i"))
        scanner.match(re.compile(r"\s*\.\.\s*"))
        last = scanner.quoted() if scanner.take('"') else ""
        if len(text) != 1 or len(last) != 1 or last < text:
            raise scanner.fail('a range is written "a".."z"', start)
        return Chars(((ord(text), ord(last)),))
