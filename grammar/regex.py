r"""Regular expressions (ECMA-262) → byte expressions.

A pattern is compiled from its end to its beginning: each part is given the language of all that may follow it, so an
assertion is an intersection with that language (look-ahead) or its complement (negative look-ahead), wherever it
stands. What lies before a position matters to `^`, `\b` and look-behind only through the character just before it: its
*context*, the start of the text or a block of code points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.regex_syntax import parse as parse_regex
from dg_sglang.grammar.regex_syntax import unsupported
from dg_sglang.grammar.regex_tree import Boundary, Branch, Chars, Edge, Look, Loop, Node, Sequence
from dg_sglang.grammar.text import Ranges, complement_ranges, intersect_ranges, utf8
from dg_sglang.grammar.unicode_sets import WORD

_ALL: Ranges = complement_ranges([])
_MAX_UNROLLED = 64
_MAX_CONTEXT_CLASSES = 3

Spelling = Callable[[Expressions, Ranges], Expression]
Contexts = tuple[Expression, ...]  # what may follow, by context: the start of the text, then each block


def compile_regex(table: Expressions, pattern: str, flags: str = "") -> Expression:
    """The texts that `pattern` matches from beginning to end, as UTF-8; `flags` as in `(?i)`.

    Raises InvalidSchemaError when the pattern is malformed, UnsupportedSchemaError when it uses what isn't regular.
    """
    return _Compiler(table, pattern, utf8, flags).whole()


def compile_search(table: Expressions, pattern: str, spelling: Spelling) -> Expression:
    """The texts in which `pattern` matches somewhere, characters spelled as `spelling` says. Raises the same."""
    return _Compiler(table, pattern, spelling).anywhere()


class _Compiler:
    def __init__(self, table: Expressions, pattern: str, spelling: Spelling, flags: str = "") -> None:
        self.table = table
        self.pattern = pattern
        self.spelling = spelling
        self.spelled: dict[Ranges, Expression] = {}
        self.tree = parse_regex(pattern, flags)
        self.blocks = self.partition()

    def whole(self) -> Expression:
        return self.match(self.tree, self.everywhere(self.table.empty))[0]

    def anywhere(self) -> Expression:
        table = self.table
        text = table.repeat(self.spell(_ALL))
        found = self.match(self.tree, self.everywhere(text))
        if all(one is found[0] for one in found):
            return table.concat(text, found[0])
        parts = [found[0]]
        for block, after in zip(self.blocks, found[1:], strict=True):
            parts.append(table.concat(text, self.spell(block), after))
        return table.union(parts)

    def everywhere(self, node: Expression) -> Contexts:
        return (node,) * (len(self.blocks) + 1)

    def spell(self, ranges: Ranges) -> Expression:
        key = tuple(ranges)
        if key not in self.spelled:
            self.spelled[key] = self.spelling(self.table, key)
        return self.spelled[key]

    def partition(self) -> list[Ranges]:
        """The blocks of code points that look-behind and word boundaries tell apart."""
        classes: set[Ranges] = set()
        stack = [self.tree]
        while stack:
            node = stack.pop()
            if isinstance(node, Boundary):
                classes.add(WORD)
            elif isinstance(node, Look) and not node.ahead:
                if not isinstance(node.body, Chars):
                    raise unsupported("look-behind over more than one character", self.pattern)
                classes.add(node.body.ranges)
            stack.extend(_children(node))
        if len(classes) > _MAX_CONTEXT_CLASSES:
            raise unsupported("so much look-behind", self.pattern)
        blocks: list[Ranges] = [_ALL]
        for one in classes:
            blocks = [part for block in blocks for part in _cut(block, one) if part]
        return blocks

    def match(self, node: Node, then: Contexts) -> Contexts:
        """`node` and then `then`, for each context before."""
        if isinstance(node, Chars):
            return self.everywhere(self.chars(node.ranges, then))
        if isinstance(node, Sequence):
            return reduce(lambda rest, part: self.match(part, rest), reversed(node.parts), then)
        if isinstance(node, Branch):
            return self.either(*(self.match(option, then) for option in node.options))
        if isinstance(node, Loop):
            return self.loop(node, then)
        return self.assertion(node, then)

    def either(self, *options: Contexts) -> Contexts:
        """The union, context by context."""
        return tuple(self.table.union(column) for column in zip(*options, strict=True))

    def consuming(self, node: Node, then: Contexts) -> Contexts:
        """As `match`, without the matches of `node` that take no character."""
        if isinstance(node, Chars):
            return self.match(node, then)
        if isinstance(node, Sequence) and node.parts:
            first, rest = node.parts[0], Sequence(node.parts[1:])
            later = self.empty_match(first, self.consuming(rest, then))
            return self.either(self.consuming(first, self.match(rest, then)), later)
        if isinstance(node, Branch):
            return self.either(*(self.consuming(option, then) for option in node.options))
        if isinstance(node, Loop) and node.high != 0:
            fewer = Loop(node.body, max(node.low - 1, 0), None if node.high is None else node.high - 1)
            return self.consuming(node.body, self.match(fewer, then))
        return self.everywhere(self.table.nothing)

    def empty_match(self, node: Node, then: Contexts) -> Contexts:
        """As `match`, with only the matches of `node` that take no character."""
        if isinstance(node, Chars):
            return self.everywhere(self.table.nothing)
        if isinstance(node, Sequence):
            return reduce(lambda rest, part: self.empty_match(part, rest), reversed(node.parts), then)
        if isinstance(node, Branch):
            return self.either(*(self.empty_match(option, then) for option in node.options))
        if isinstance(node, Loop):
            return then if node.low == 0 else self.empty_match(node.body, then)
        return self.assertion(node, then)

    def chars(self, ranges: Ranges, then: Contexts) -> Expression:
        table, after = self.table, then[1:]
        if all(one is after[0] for one in after):
            return table.concat(self.spell(ranges), after[0])
        cut = (intersect_ranges(ranges, block) for block in self.blocks)
        return table.union(table.concat(self.spell(part), one) for part, one in zip(cut, after, strict=True) if part)

    def assertion(self, node: Edge | Boundary | Look, then: Contexts) -> Contexts:
        table = self.table
        if isinstance(node, Edge):
            if node.start:
                return (then[0], *[table.nothing] * len(self.blocks))
            return tuple(table.empty if one.nullable else table.nothing for one in then)
        if isinstance(node, Boundary):
            word_next = table.concat(self.spell(WORD), table.anything)
            after_word = (False, *(bool(intersect_ranges(block, WORD)) for block in self.blocks))
            conditions = (word_next if was != node.holds else table.complement(word_next) for was in after_word)
            return tuple(table.intersection(pair) for pair in zip(conditions, then, strict=True))
        if node.ahead:
            seen = self.match(node.body, self.everywhere(table.anything))
            conditions = (one if node.holds else table.complement(one) for one in seen)
            return tuple(table.intersection(pair) for pair in zip(conditions, then, strict=True))
        ranges = node.body.ranges if isinstance(node.body, Chars) else ()
        behind = (False, *(bool(intersect_ranges(block, ranges)) for block in self.blocks))
        return tuple(one if was == node.holds else table.nothing for was, one in zip(behind, then, strict=True))

    def loop(self, node: Loop, then: Contexts) -> Contexts:
        table = self.table
        if not _asserts(node.body) and all(one is then[1] for one in then[1:]):
            body = self.match(node.body, self.everywhere(table.empty))[0]
            turns = table.concat(table.repeat(body, node.low, node.high), then[1])
            if then[0] is then[1]:
                return self.everywhere(turns)
            some = table.intersection((table.repeat(body, node.low, node.high), _nonempty(table)))
            stay = then[0] if node.low == 0 or body.nullable else table.nothing
            return (table.union((table.concat(some, then[1]), stay)), *[turns] * len(self.blocks))
        if (node.low if node.high is None else node.high) > _MAX_UNROLLED:
            raise unsupported("a long counted loop around an assertion", self.pattern)
        if node.high is None:
            result = self.endless(node.body, then)
        else:
            result = then
            for _ in range(node.high - node.low):
                again = self.match(node.body, result)
                result = tuple(table.union(pair) for pair in zip(then, again, strict=True))
        for _ in range(node.low):
            result = self.match(node.body, result)
        return result

    def endless(self, body: Node, then: Contexts) -> Contexts:
        """L = then ∪ body·L, one equation per context. Turns that take no character add nothing."""
        name = object()
        turns: list[Expression] = []

        def target(index: int) -> Expression:
            if not turns:
                turns.extend(self.consuming(body, loops))
            return self.table.union((then[index], turns[index]))

        loops: Contexts = tuple(
            self.table.reference((name, i), lambda i=i: target(i), nullable=one.nullable)  # type: ignore[misc]
            for i, one in enumerate(then)
        )
        return loops


def _children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Sequence):
        return node.parts
    if isinstance(node, Branch):
        return node.options
    return (node.body,) if isinstance(node, Loop | Look) else ()


def _asserts(node: Node) -> bool:
    return isinstance(node, Edge | Boundary | Look) or any(map(_asserts, _children(node)))


def _cut(block: Ranges, by: Ranges) -> tuple[Ranges, Ranges]:
    return intersect_ranges(block, by), intersect_ranges(block, complement_ranges(by))


def _nonempty(table: Expressions) -> Expression:
    return table.repeat(table.byte_range(0, 255), 1)
