"""The deterministic automaton over bytes that an expression denotes, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import GrammarTooLargeError
from dg_sglang.grammar.expression import Automaton, Expression, Expressions

MAX_STATES = 400_000


@dataclass(frozen=True)
class ByteAutomaton:
    """State 0 is the start.

    next: int32 [states, classes], the state after a byte of a class, −1 where no member goes on.
    byte_class: int32 [256], the class (column) of each byte.
    accepting: bool [states].
    """

    next: NDArray[np.int32]
    byte_class: NDArray[np.int32]
    accepting: NDArray[np.bool_]

    @classmethod
    def build(cls, table: Expressions, root: Expression) -> ByteAutomaton:
        """Explore the derivatives of `root` breadth first.

        Raises GrammarTooLargeError past MAX_STATES states, and at once where values nest without bound.
        """
        if _nests(table, root):
            raise GrammarTooLargeError(
                "values nest without bound (a recursive $ref, or a value of any type), "
                "which no finite automaton holds; say what the values may be"
            )
        return _Builder(table, root).build()


class _Builder:
    def __init__(self, table: Expressions, root: Expression) -> None:
        self.table = table
        self.root = root
        self.byte_class = _byte_classes(table, root)
        self.width = int(self.byte_class.max()) + 1
        self.columns: dict[int, NDArray[np.intp]] = {}
        self.ids: dict[Expression, int] = {}
        self.nodes: list[Expression] = []
        self.filled: dict[int, NDArray[np.int32]] = {}
        self.embedded: dict[Automaton, NDArray[np.int32]] = {}

    def build(self) -> ByteAutomaton:
        self.state(self.root)
        index = 0
        while index < len(self.nodes):
            if index not in self.filled:
                node = self.nodes[index]
                if not self.embed(node):
                    self.filled[index] = self.row(node)
            index += 1
        rows = np.concatenate([np.atleast_2d(self.filled[i]) for i in sorted(self.filled)])
        accepting = np.fromiter((node.nullable for node in self.nodes), np.bool_, len(self.nodes))
        return ByteAutomaton(np.ascontiguousarray(rows), self.byte_class, accepting)

    def state(self, node: Expression) -> int:
        number = self.ids.get(node)
        if number is None:
            number = self.ids[node] = len(self.nodes)
            self.nodes.append(node)
            if number >= MAX_STATES:
                raise GrammarTooLargeError(
                    f"the constraint needs more than {MAX_STATES:,} states; lower maxLength or maxItems, or split it"
                )
        return number

    def row(self, node: Expression) -> NDArray[np.int32]:
        row = np.full(self.width, -1, np.int32)
        for mask in self.table.classes(node):
            target = self.table.derivative(node, mask)
            if target is not self.table.nothing:
                row[self.mask_columns(mask)] = self.state(target)
        return row

    def mask_columns(self, mask: int) -> NDArray[np.intp]:
        columns = self.columns.get(mask)
        if columns is None:
            bits = np.unpackbits(np.frombuffer(mask.to_bytes(32, "little"), np.uint8), bitorder="little")
            columns = self.columns[mask] = np.unique(self.byte_class[bits.astype(bool)])
        return columns

    def embed(self, node: Expression) -> bool:
        """Lay out a whole embedded automaton at once when its members can't run into what follows it."""
        head, tail = node.args if node.kind == "concat" else (node, self.table.empty)
        if head.kind != "automaton":
            return False
        automaton, entry = head.args
        inner = self.embedded.get(automaton)
        if inner is None:
            inner = self.embedded[automaton] = self.inner_table(automaton)
        if entry != 0 or len(self.nodes) + len(inner) > MAX_STATES:
            return False
        ends = [self.table.automaton(automaton, s).nullable for s in range(len(inner))]
        exits = self.row(tail)
        if (inner[np.array(ends)][:, exits >= 0] >= 0).any():
            return False
        numbers = np.fromiter(
            (self.state(self.table.concat(self.table.automaton(automaton, s), tail)) for s in range(len(inner))),
            np.int32,
            len(inner),
        )
        rows = np.where(inner >= 0, numbers[inner], np.int32(-1))
        rows[np.ix_(np.array(ends), exits >= 0)] = exits[exits >= 0]
        self.filled.update(zip(numbers.tolist(), rows, strict=True))
        return True

    def inner_table(self, automaton: Automaton) -> NDArray[np.int32]:
        rows, state, known = [], 0, 1
        while state < known:
            row = np.full(self.width, -1, np.int32)
            for byte, target in automaton.moves(state).items():
                row[self.byte_class[byte]] = target
                known = max(known, target + 1)
            rows.append(row)
            state += 1
        return np.stack(rows)


def _nests(table: Expressions, root: Expression) -> bool:
    """Whether some reference comes to itself with something still to follow it: then derivatives grow forever."""
    return any(_nests_in_itself(table, one) for one in _reachable(table, root) if one.kind == "reference")


def _nests_in_itself(table: Expressions, reference: Expression) -> bool:
    stack, seen = [(table.target(reference), False)], set()
    while stack:
        node, followed = stack.pop()
        if node is reference:
            if followed:
                return True
            continue
        if (node, followed) not in seen:
            seen.add((node, followed))
            parts = _parts(table, node)
            wraps = node.kind == "repeat" or (node.kind == "concat" and node.args[1] is not table.empty)
            stack += [(part, followed or (wraps and part is not node.args[-1])) for part in parts]
    return False


def _parts(table: Expressions, node: Expression) -> Iterable[Expression]:
    """What an expression is made of; for a reference what it stands for."""
    if node.kind in ("concat", "union", "intersection"):
        return node.args  # type: ignore[no-any-return]
    if node.kind == "repeat":
        return (node.args[0],)
    if node.kind == "complement":
        return (node.args,)
    return (table.target(node),) if node.kind == "reference" else ()


def _reachable(table: Expressions, root: Expression) -> set[Expression]:
    seen, stack = set[Expression](), [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(_parts(table, node))
    return seen


def _byte_classes(table: Expressions, root: Expression) -> NDArray[np.int32]:
    """Bytes that no leaf of the expression tells apart share a class."""
    masks: set[int] = set()
    automata: set[Automaton] = set()
    for node in _reachable(table, root):
        if node.kind == "literal":
            masks.update(1 << byte for byte in node.args)
        elif node.kind == "bytes":
            masks.add(node.args)
        elif node.kind == "automaton":
            automata.add(node.args[0])
    for automaton in automata:
        masks.update(1 << byte for byte in _alphabet(automaton))
    signatures = [tuple(mask >> byte & 1 for mask in sorted(masks)) for byte in range(256)]
    numbers: dict[tuple[int, ...], int] = {}
    return np.array([numbers.setdefault(signature, len(numbers)) for signature in signatures], np.int32)


def _alphabet(automaton: Automaton) -> set[int]:
    bytes_, state, known = set(), 0, 1
    while state < known:
        for byte, target in automaton.moves(state).items():
            bytes_.add(byte)
            known = max(known, target + 1)
        state += 1
    return bytes_
