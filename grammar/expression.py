"""Hash-consed expressions over bytes and their derivatives.

An expression denotes a set of byte strings. Its derivative by a byte is what may follow that byte (Brzozowski,
"Derivatives of Regular Expressions", JACM 1964); states of the byte automaton are expressions, equal ones are one
object. Bytes are handled in classes: masks of bytes that lead to the same derivative (Owens, Reppy & Turon, JFP 2009).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

from dg_sglang.errors import GrammarTooLargeError

ALL_BYTES = (1 << 256) - 1
MAX_COUNT = 1_000_000_000
MAX_SEQUENCE = 250_000


class Automaton(Protocol):
    """A ready-made deterministic automaton that can be embedded in an expression as a leaf."""

    def accepting(self, state: int) -> bool:
        """Whether the bytes read so far form a member."""

    def moves(self, state: int) -> dict[int, int]:
        """byte → next state."""


class Expression:
    """One node. Compare with `is`; create through `Expressions` only."""

    __slots__ = ("_classes", "_derivatives", "args", "kind", "nullable")

    def __init__(self, kind: str, args: Any, nullable: bool) -> None:
        self.kind = kind
        self.args = args
        self.nullable = nullable
        self._classes: tuple[int, ...] | None = None
        self._derivatives: dict[int, Expression] = {}


class Expressions:
    """Makes expressions and keeps one object per distinct expression. One table serves one grammar."""

    def __init__(self) -> None:
        self._table: dict[Hashable, Expression] = {}
        self._targets: dict[Expression, Expression | Callable[[], Expression]] = {}
        self.nothing = self._node("nothing", (), False)
        self.empty = self._node("empty", (), True)
        self.anything = self.repeat(self.byte_set(ALL_BYTES))

    def _node(self, kind: str, args: Any, nullable: bool) -> Expression:
        key = (kind, args)
        node = self._table.get(key)
        if node is None:
            node = self._table.setdefault(key, Expression(kind, args, nullable))
        return node

    # ---- constructors -------------------------------------------------------------------------------------------

    def literal(self, data: bytes) -> Expression:
        """Exactly these bytes."""
        return self._node("literal", data, False) if data else self.empty

    def byte_set(self, mask: int) -> Expression:
        """One byte out of a bit mask (bit b stands for byte b)."""
        return self._node("bytes", mask, False) if mask else self.nothing

    def byte_range(self, first: int, last: int) -> Expression:
        """One byte from `first` to `last`, both included."""
        return self.byte_set(((1 << (last + 1)) - 1) & ~((1 << first) - 1))

    def automaton(self, automaton: Automaton, state: int = 0) -> Expression:
        """What `automaton` accepts from `state`."""
        return self._node("automaton", (automaton, state), automaton.accepting(state))

    def concat(self, *parts: Expression) -> Expression:
        """The parts one after the other. Raises GrammarTooLargeError where they are made of more than MAX_SEQUENCE."""
        if any(part is self.nothing for part in parts):
            return self.nothing
        stack, result, taken = list(parts), self.empty, 0
        while stack:
            part = stack.pop()
            taken += 1
            if taken > MAX_SEQUENCE:  # as where each definition holds the one before twice
                raise GrammarTooLargeError(
                    f"the constraint has a sequence of more than {MAX_SEQUENCE:,} parts; split it"
                )
            if (
                part.kind == "concat" and result is not self.empty
            ):  # nested to the right only, so that deep texts stay shallow expressions
                stack += part.args
            elif result is self.empty:
                result = part
            elif part is not self.empty:
                result = self._node("concat", (part, result), part.nullable and result.nullable)
        return result

    def union(self, parts: Iterable[Expression]) -> Expression:
        """Any of the parts."""
        members: set[Expression] = set()
        mask = 0
        for part in parts:
            for one in part.args if part.kind == "union" else (part,):
                if one.kind == "bytes":
                    mask |= one.args
                elif one is self.anything:
                    return one
                elif one is not self.nothing:
                    members.add(one)
        if mask:
            members.add(self.byte_set(mask))
        if len(members) <= 1:
            return members.pop() if members else self.nothing
        return self._node("union", frozenset(members), any(one.nullable for one in members))

    def intersection(self, parts: Iterable[Expression]) -> Expression:
        """All of the parts at once (at least one part)."""
        members: set[Expression] = set()
        for part in parts:
            if part is self.nothing:
                return self.nothing
            members |= part.args if part.kind == "intersection" else {part}
        if len(members) > 1:
            members.discard(self.anything)
            if self.empty in members:
                return self.empty if all(one.nullable for one in members) else self.nothing
        if len(members) == 1:
            return members.pop()
        return self._node("intersection", frozenset(members), all(one.nullable for one in members))

    def complement(self, part: Expression) -> Expression:
        """Every byte string but the members of `part`."""
        if part.kind == "complement":
            return part.args  # type: ignore[no-any-return]
        if part is self.nothing:
            return self.anything
        if part is self.anything:
            return self.nothing
        return self._node("complement", part, not part.nullable)

    def reference(self, name: Hashable, resolve: Callable[[], Expression], *, nullable: bool = False) -> Expression:
        """What `resolve()` returns, found when it is first needed: what makes recursion possible.

        One name, one target. `nullable` must be right, and the target must consume a byte before it comes to itself.
        """
        node = self._node("reference", name, nullable)
        self._targets.setdefault(node, resolve)
        return node

    def target(self, node: Expression) -> Expression:
        """The expression that a reference stands for."""
        target = self._targets[node]
        if not isinstance(target, Expression):
            target = self._targets[node] = target()
        return target

    def repeat(self, part: Expression, low: int = 0, high: int | None = None) -> Expression:
        """`part` at least `low` and at most `high` times (None: without bound). The counter lives in the expression.

        Raises GrammarTooLargeError where `low` is more than MAX_COUNT; such a `high` is as good as none.
        """
        if high is not None and high < low:
            return self.nothing
        if low > MAX_COUNT:
            raise GrammarTooLargeError(f"no answer is long enough for more than {MAX_COUNT:,} repetitions")
        if high is not None and high > MAX_COUNT:
            high = None
        if part is self.nothing:
            return self.empty if low == 0 else self.nothing
        if part is self.empty or high == 0:
            return self.empty
        if low == high == 1:
            return part
        return self._node("repeat", (part, low, high), low == 0 or part.nullable)

    def optional(self, part: Expression) -> Expression:
        """`part` or nothing at all."""
        return self.union((part, self.empty))

    # ---- derivatives --------------------------------------------------------------------------------------------

    def classes(self, node: Expression) -> tuple[int, ...]:
        """A partition of all bytes: bytes of one class (bit mask) have the same derivative of `node`."""
        if node._classes is None:
            node._classes = self._find_classes(node)
        return node._classes

    def _find_classes(self, node: Expression) -> tuple[int, ...]:
        kind, args = node.kind, node.args
        if kind == "literal":
            return _split((1 << args[0],))
        if kind == "bytes":
            return _split((args,))
        if kind == "concat":
            head, tail = args
            return _refine((self.classes(head), self.classes(tail))) if head.nullable else self.classes(head)
        if kind in ("union", "intersection"):
            return _refine([self.classes(one) for one in args])
        if kind == "repeat":
            return self.classes(args[0])
        if kind == "complement":
            return self.classes(args)
        if kind == "reference":
            return self.classes(self.target(node))
        if kind == "automaton":
            by_target: dict[int, int] = {}
            for byte, target in args[0].moves(args[1]).items():
                by_target[target] = by_target.get(target, 0) | 1 << byte
            return _split(tuple(by_target.values()))
        return (ALL_BYTES,)

    def derivative(self, node: Expression, mask: int) -> Expression:
        """What may follow in `node` after a byte of `mask`, which must lie inside one of its classes."""
        result = node._derivatives.get(mask)
        if result is None:
            result = node._derivatives[mask] = self._derive(node, mask)
        return result

    def _derive(self, node: Expression, mask: int) -> Expression:
        kind, args = node.kind, node.args
        if kind == "literal":
            return self.literal(args[1:]) if mask >> args[0] & 1 else self.nothing
        if kind == "bytes":
            return self.empty if args & mask else self.nothing
        if kind == "concat":
            head, tail = args
            after_head = self.concat(self.derivative(head, mask), tail)
            return self.union((after_head, self.derivative(tail, mask))) if head.nullable else after_head
        if kind == "union":
            return self.union([self.derivative(one, mask) for one in args])
        if kind == "intersection":
            return self.intersection(self.derivative(one, mask) for one in args)
        if kind == "complement":
            return self.complement(self.derivative(args, mask))
        if kind == "reference":
            return self.derivative(self.target(node), mask)
        if kind == "repeat":
            part, low, high = args
            rest = self.repeat(part, max(low - 1, 0), None if high is None else high - 1)
            return self.concat(self.derivative(part, mask), rest)
        if kind == "automaton":
            target = args[0].moves(args[1]).get((mask & -mask).bit_length() - 1)
            return self.nothing if target is None else self.automaton(args[0], target)
        return self.nothing

    def is_empty(self, node: Expression, limit: int = 64) -> bool:
        """Whether `node` has no members, as far as `limit` of its derivatives tell (False: not known to be empty)."""
        seen, stack = {self.nothing, node}, [] if node is self.nothing else [node]
        while stack:
            one = stack.pop()
            if one.nullable or len(seen) > limit:
                return False
            for mask in self.classes(one):
                target = self.derivative(one, mask)
                if target not in seen:
                    seen.add(target)
                    stack.append(target)
        return True

    def after(self, node: Expression, data: bytes) -> Expression:
        """What may follow in `node` after `data`."""
        for byte in data:
            node = self.derivative(node, 1 << byte)
            if node is self.nothing:
                break
        return node


def _split(masks: Sequence[int]) -> tuple[int, ...]:
    """The disjoint masks, completed to a partition of all bytes."""
    rest = ALL_BYTES
    for mask in masks:
        rest &= ~mask
    return tuple(mask for mask in (*masks, rest) if mask)


def _refine(partitions: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The coarsest partition that is finer than all of `partitions`."""
    result: tuple[int, ...] = (ALL_BYTES,)
    for partition in partitions:
        if partition != result and len(partition) > 1:
            result = tuple(meet for mask in result for other in partition if (meet := mask & other))
    return result
