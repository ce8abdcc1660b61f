"""Context-free grammars as a constraint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from dg_sglang.errors import EmptyLanguageError, GrammarError, GrammarTooLargeError, InvalidSchemaError
from dg_sglang.grammar.constraint import Constraint, checked_name
from dg_sglang.grammar.ebnf_syntax import (
    Branch,
    Loop,
    Name,
    Node,
    Pattern,
    Rule,
    Sequence,
    Text,
    parse_gbnf,
    where,
)
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.json_value import WhitespacePolicy
from dg_sglang.grammar.lark_syntax import parse_lark
from dg_sglang.grammar.regex import compile_regex
from dg_sglang.grammar.regex_tree import Chars
from dg_sglang.grammar.text import MAX_PATTERN, shown, utf8
from dg_sglang.grammar.unicode_sets import with_case

Dialect = Literal["gbnf", "lark"]
_ROOTS: dict[str, str] = {"gbnf": "root", "lark": "start"}
_LARGEST_COPY = 1000
"""A rule with more leaves than that is referred to, not copied, where others use it: copies of copies double."""
_LARK = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*)*(?:%|[?!]{0,2}\w+(?:\.-?\d+)?\s*:(?!:=))")


@dataclass(frozen=True)
class Ebnf(Constraint):
    """Texts that a context-free grammar derives.

    A rule may refer to itself, also at the beginning of its own alternatives (`sum ::= sum "+" term | term`); left
    recursion through other rules is refused. Rules that nothing uses are ignored.

    Args:
        grammar: rules as SGLang's `ebnf` takes them (GBNF: `root ::= "a" [0-9]+`), or as Lark writes them
            (`start: "a" /[0-9]+/`).
        root: the rule to start from; None for "root" in GBNF, "start" in Lark.
        dialect: "gbnf" or "lark"; None tells them apart by the first rule.
    """

    grammar: str
    root: str | None = None
    dialect: Dialect | None = None

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        text = self.grammar
        if not isinstance(text, str):
            raise InvalidSchemaError(f"a grammar must be a string, not {type(text).__name__}")
        if len(text) > MAX_PATTERN:
            raise GrammarTooLargeError(f"the grammar has more than {MAX_PATTERN:,} characters")
        dialect = checked_name("dialect", self.dialect)
        if dialect is None:
            dialect = "lark" if _LARK.match(text) else "gbnf"
        if dialect not in _ROOTS:
            raise GrammarError(f"dialect must be one of {tuple(_ROOTS)} or None, not {shown(dialect)}")
        given = checked_name("root", self.root)
        root = _ROOTS[dialect] if given is None else given
        rules = parse_lark(text, root) if dialect == "lark" else parse_gbnf(text)
        if root not in rules:
            known = ", ".join(rules) or "none at all"
            raise InvalidSchemaError(f"the grammar has no rule {shown(root)} to start from; its rules: {known}")
        return _Compiler(table, text, rules).compile(root)


class _Compiler:
    """One grammar's rules as expressions.

    Rules that derive nothing are left out, so that every state still leads to the end of some text; and which rules
    derive the empty text is found first, as references have to know.
    """

    def __init__(self, table: Expressions, text: str, rules: Mapping[str, Rule]) -> None:
        self.table = table
        self.text = text
        self.rules = rules
        self.bodies = {name: _without_left_recursion(rule) for name, rule in rules.items()}
        self.leaves: dict[Node, Expression] = {}
        self.expressions: dict[str, Expression] = {}
        self.started: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.productive: set[str] = set()
        self.nullable: set[str] = set()

    def compile(self, root: str) -> Expression:
        names = self.used(root)
        self.close(self.productive, names, self.derives)
        if root not in self.productive:
            raise EmptyLanguageError(
                f"the grammar's rule {root!r} derives no text: its recursion never ends, or needs what matches nothing"
            )
        self.close(self.nullable, names, self.is_nullable)
        self.refuse_left_recursion([name for name in names if name in self.productive])
        self.rule(root)
        return self.expressions[root]

    def close(self, known: set[str], names: list[str], holds: Callable[[Node], bool]) -> None:
        """Add to `known` the rules for which `holds`, until none is left; those that others use come first."""
        count = -1
        while count != len(known):
            count = len(known)
            for name in reversed(names):
                if name not in known and holds(self.bodies[name]):
                    known.add(name)

    def used(self, root: str) -> list[str]:
        """The rules that `root` needs, itself first. Raises InvalidSchemaError for a name that is no rule."""
        found, known = [root], {root}
        for name in found:
            stack = [self.bodies[name]]
            while stack:
                node = stack.pop()
                if isinstance(node, Name) and node.name not in self.rules:
                    at = where(self.text, node.at)
                    raise InvalidSchemaError(f"there is no rule {node.name!r}, which the grammar uses at {at}")
                if isinstance(node, Name) and node.name not in known:
                    known.add(node.name)
                    found.append(node.name)
                stack += _children(node)
        return found

    def derives(self, node: Node) -> bool:
        """Whether some text comes of `node`, as far as `productive` tells."""
        if isinstance(node, Name):
            return node.name in self.productive
        if isinstance(node, Sequence):
            return all(map(self.derives, node.parts))
        if isinstance(node, Branch):
            return any(map(self.derives, node.options))
        if isinstance(node, Loop):
            return node.low == 0 or self.derives(node.body)
        return self.leaf(node) is not self.table.nothing

    def is_nullable(self, node: Node) -> bool:
        """Whether the empty text comes of `node`, as far as `nullable` tells."""
        if isinstance(node, Name):
            return node.name in self.nullable
        if isinstance(node, Sequence):
            return all(map(self.is_nullable, node.parts))
        if isinstance(node, Branch):
            return any(map(self.is_nullable, node.options))
        if isinstance(node, Loop):
            return node.low == 0 or self.is_nullable(node.body)
        return self.leaf(node).nullable

    def leading(self, node: Node) -> Iterator[Name]:
        """The names that may stand at the very beginning of what comes of `node`."""
        if not self.derives(node):
            return
        if isinstance(node, Name):
            yield node
        elif isinstance(node, Sequence):
            for part in node.parts:
                yield from self.leading(part)
                if not self.is_nullable(part):
                    break
        elif not isinstance(node, Loop) or node.high != 0:
            for child in _children(node):
                yield from self.leading(child)

    def refuse_left_recursion(self, names: list[str]) -> None:
        """Raises InvalidSchemaError where a rule comes to itself before it has derived a character."""
        done: set[str] = set()

        def visit(name: str, path: tuple[str, ...]) -> None:
            if name in path:
                cycle = " → ".join((*path[path.index(name) :], name))
                at = where(self.text, self.rules[name].at)
                raise InvalidSchemaError(
                    f"the grammar's rule {name!r} ({at}) is left-recursive: {cycle}; "
                    "let each alternative begin with a character, or with another rule"
                )
            if name not in done:
                for one in self.leading(self.bodies[name]):
                    visit(one.name, (*path, name))
                done.add(name)

        for name in names:
            visit(name, ())

    def rule(self, name: str) -> Expression:
        """What comes of a rule; a reference to it inside itself, and where copies of it would grow without measure."""
        if name not in self.started:
            self.started.add(name)
            self.expressions[name] = self.expression(self.bodies[name])
            self.sizes[name] = self.size(self.bodies[name])
        if name in self.expressions and self.sizes[name] <= _LARGEST_COPY:
            return self.expressions[name]
        return self.table.reference((self, name), lambda: self.expressions[name], nullable=name in self.nullable)

    def size(self, node: Node) -> int:
        """How many leaves `node` has, those of the rules that are copied into it included."""
        if isinstance(node, Name):
            size = self.sizes.get(node.name, 1)
            return size if size <= _LARGEST_COPY else 1
        return sum(map(self.size, children)) if (children := _children(node)) else 1

    def expression(self, node: Node) -> Expression:
        """What comes of a node."""
        table = self.table
        if isinstance(node, Name):
            return self.rule(node.name) if node.name in self.productive else table.nothing
        if isinstance(node, Sequence):
            return table.concat(*map(self.expression, node.parts))
        if isinstance(node, Branch):
            return table.union(map(self.expression, node.options))
        if isinstance(node, Loop):
            return table.repeat(self.expression(node.body), node.low, node.high)
        return self.leaf(node)

    def leaf(self, node: Text | Pattern | Chars) -> Expression:
        """What a node without children stands for."""
        if node not in self.leaves:
            self.leaves[node] = self._leaf(node)
        return self.leaves[node]

    def _leaf(self, node: Text | Pattern | Chars) -> Expression:
        table = self.table
        if isinstance(node, Chars):
            return utf8(table, node.ranges)
        if isinstance(node, Pattern):
            return compile_regex(table, node.pattern, node.flags)
        if not node.ignore_case:
            return table.literal(node.text.encode())
        return table.concat(*(utf8(table, with_case([(ord(char), ord(char))])) for char in node.text))


def _children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Sequence):
        return node.parts
    if isinstance(node, Branch):
        return node.options
    return (node.body,) if isinstance(node, Loop) else ()


def _without_left_recursion(rule: Rule) -> Node:
    """The body of a rule, a ::= a x | y rewritten to y x* (Arden's rule)."""
    options = rule.body.options if isinstance(rule.body, Branch) else (rule.body,)
    tails, others = list[Node](), list[Node]()
    for option in options:
        parts = option.parts if isinstance(option, Sequence) else (option,)
        if parts and isinstance(parts[0], Name) and parts[0].name == rule.name:
            tails.append(Sequence(parts[1:]))
        else:
            others.append(option)
    if not tails:
        return rule.body
    return Sequence((Branch(tuple(others)), Loop(Branch(tuple(tails)), 0, None)))
