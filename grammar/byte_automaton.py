"""The deterministic automaton over bytes that an expression denotes, built as far as it is walked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dg_sglang.errors import GrammarTooLargeError, InvalidSchemaError
from dg_sglang.grammar.expression import Automaton, Expression, Expressions
from dg_sglang.kernels import arena, derivatives, expressions
from dg_sglang.kernels.arena import Arena

MAX_STATES = 400_000
"""The most states whose moves are computed."""

_MAX_PARTS = 1 << 17
"""The most parts of one expression: as nested counters, which count in many ways at once, have them."""

_KINDS = {
    "nothing": arena.VOID,
    "empty": arena.VOID,
    "literal": arena.LITERAL,
    "bytes": arena.BYTES,
    "concat": arena.CONCAT,
    "union": arena.UNION,
    "intersection": arena.INTERSECTION,
    "complement": arena.COMPLEMENT,
    "repeat": arena.REPEAT,
    "reference": arena.REFERENCE,
    "automaton": arena.AUTOMATON,
}


class ByteAutomaton:
    """States are expressions, numbered as nodes of an arena; `start` is the root's. State 0 accepts nothing at all.

    Attributes:
        arena: the nodes, and the moves of those that were walked.
        nests: whether values nest without bound, so that there is no end of states.
        counted: how far all counters count together.
    """

    def __init__(self, table: Expressions, root: Expression) -> None:
        nodes = _in_order(table, root)
        self.nests = any(_nests_in_itself(table, one) for one in nodes if one.kind == "reference")
        bounds = [one.args[1:] for one in nodes if one.kind == "repeat"]
        self.counted = sum(low if high is None else high for low, high in bounds)
        listing = _Listing(table, nodes)
        self.arena = _new_arena(listing)
        self.call(expressions.begin)
        numbers = np.zeros(len(nodes), np.int64)
        self.call(expressions.load, *listing.arrays(), numbers)
        for reference, target in listing.targets():
            self.arena.nodes["second"][numbers[reference]] = numbers[target]
        self.loaded = numbers
        self.start = int(numbers[listing.number[root]])

    def call(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """What `kernel(arena, *arguments)` returns once there is room enough for it.

        Raises GrammarTooLargeError past MAX_STATES states, InvalidSchemaError for a rule that begins with itself.
        """
        while True:
            result, done = self.attempt(kernel, *arguments)
            if done:
                return result

    def attempt(self, kernel: Callable[..., Any], *arguments: Any) -> tuple[Any, bool]:
        """As `call`, but once: False where it has to be tried again because the arena was too small."""
        result = kernel(self.arena, *arguments)
        problem = self.arena.count[arena.PROBLEM]
        self.arena.count[arena.PROBLEM] = 0
        if problem == arena.LEFT_RECURSION:
            raise InvalidSchemaError("a rule leads back to itself without reading a character (left recursion)")
        if problem:
            self._grow()
        return result, not problem

    def accepting(self, state: int) -> bool:
        """Whether the bytes so far form a member."""
        return bool(self.arena.nodes[state]["nullable"])

    def after(self, state: int, data: bytes) -> int:
        """The state after `data`; 0 where no member goes on like that."""
        return int(self.call(derivatives.run, state, np.frombuffer(data, np.uint8)))

    @property
    def states(self) -> int:
        """How many states have been walked."""
        return int(self.arena.count[arena.ROWS])

    def _grow(self) -> None:
        now, (nodes, members, masks, rows) = self.arena, self.arena.count[: arena.PROBLEM].tolist()
        if rows >= MAX_STATES:
            raise _too_large(f"{MAX_STATES:,} states")
        changed: dict[str, NDArray[Any]] = {}
        if 2 * nodes > len(now.nodes):
            changed["nodes"] = _doubled(now.nodes, nodes)
            changed["slots"] = np.full(2 * len(now.slots), -1, np.int32)
            arena.rehash(changed["slots"], changed["nodes"], nodes)
        if 2 * members > len(now.members):
            changed["members"] = _doubled(now.members, members)
        if 2 * masks > len(now.masks):
            changed["masks"] = _doubled(now.masks, masks)
        if 2 * rows > len(now.rows):
            changed["rows"] = _doubled(now.rows, rows)[:MAX_STATES]
        if not changed:  # one expression has very many parts
            if now.scratch.shape[1] >= _MAX_PARTS:
                raise _too_large(f"{_MAX_PARTS:,} parts of one state")
            changed["members"] = _doubled(now.members, members)
            changed["scratch"] = np.zeros((len(now.scratch), 2 * now.scratch.shape[1]), np.int64)
        self.arena = now._replace(**changed)


def _too_large(what: str) -> GrammarTooLargeError:
    return GrammarTooLargeError(f"the constraint needs more than {what}; lower maxLength or maxItems, or split it")


class _Listing:
    """Expressions as arrays, parts before what holds them, references before anything."""

    def __init__(self, table: Expressions, nodes: list[Expression]) -> None:
        self.table = table
        self.nodes = nodes
        self.number = {node: index for index, node in enumerate(nodes)}
        self.text = bytearray()
        self.text_start: list[int] = []
        self.masks: list[int] = []
        self.parts: list[int] = []
        self.automata: dict[Automaton, int] = {}
        self.automaton_states = 0
        self.fields = [self.field(node) for node in nodes]

    def field(self, node: Expression) -> tuple[int, int, int]:
        kind, args, number = node.kind, node.args, self.number
        if kind == "concat":
            return number[args[0]], number[args[1]], 0
        if kind == "literal":
            self.text_start.append(len(self.text))
            self.text += args
            return self.text_start[-1], len(args), 0
        if kind in ("union", "intersection"):
            self.parts += [number[one] for one in args]
            return len(self.parts) - len(args), len(args), 0
        if kind == "bytes":
            self.masks.append(args)
            return len(self.masks) - 1, 0, 0
        if kind == "repeat":
            return number[args[0]], args[1], -1 if args[2] is None else args[2]
        if kind == "complement":
            return number[args], 0, 0
        if kind == "reference":
            return number[node], 0, 0
        if kind == "automaton":
            if args[0] not in self.automata:
                self.automata[args[0]] = self.automaton_states
                self.automaton_states += _size(args[0])
            return self.automata[args[0]] + args[1], 0, 0
        return int(kind == "empty"), 0, 0

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The arguments of `expressions.load`."""
        return (
            np.array([_KINDS[node.kind] for node in self.nodes], np.int64),
            np.array(self.fields, np.int64).reshape(-1, 3),
            np.array([node.nullable for node in self.nodes], np.bool_),
            np.array(self.parts, np.int64),
            _mask_words(self.masks),
        )

    def targets(self) -> list[tuple[int, int]]:
        """The positions of each reference and of what it stands for."""
        number = self.number
        return [(number[one], number[self.table.target(one)]) for one in self.nodes if one.kind == "reference"]


def _new_arena(listing: _Listing) -> Arena:
    capacity = 1 << max(12, (4 * len(listing.nodes)).bit_length())
    embedded, moves = _moves(listing.automata)
    byte_class = _byte_classes(listing, moves[:, 0])
    _, example = np.unique(byte_class, return_index=True)
    classes = np.zeros((2, 256), np.int64)
    classes[0], classes[1, : len(example)] = byte_class, example
    text = np.zeros(len(listing.text), arena.LETTER)
    text["byte"] = np.frombuffer(bytes(listing.text), np.uint8)
    arena.hash_text(text, np.array([*listing.text_start[1:], len(text)], np.int64))
    return Arena(
        nodes=np.zeros(capacity, arena.NODE),
        slots=np.full(4 * capacity, -1, np.int32),
        members=np.zeros(max(capacity, 2 * len(listing.parts)), np.int64),
        masks=np.zeros((max(256, 2 * len(listing.masks)), 4), np.uint64),
        text=text,
        embedded=embedded,
        moves=moves,
        classes=classes,
        rows=np.zeros((capacity, len(example)), np.int32),
        count=np.zeros(arena.PROBLEM + 1, np.int64),
        scratch=np.zeros((3, capacity), np.int64),
    )


def _doubled(array: NDArray[Any], used: int) -> NDArray[Any]:
    bigger = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    bigger[:used] = array[:used]
    return bigger


def _mask_words(masks: list[int]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(mask.to_bytes(32, "little") for mask in masks), "<u8").reshape(-1, 4)


def _byte_classes(listing: _Listing, moving: NDArray[np.int64]) -> NDArray[np.int32]:
    """int32 [256]: bytes that no leaf of the expression tells apart share a class."""
    single = np.zeros(256, np.bool_)
    single[np.frombuffer(bytes(listing.text), np.uint8)] = True
    single[moving] = True
    words = _mask_words(list(dict.fromkeys(listing.masks)))
    bits = np.unpackbits(words.view(np.uint8).reshape(-1, 32), axis=1, bitorder="little")  # [masks, 256]
    own = np.where(single, np.arange(1, 257), 0)[None]
    classes = np.unique(np.concatenate([bits, own]), axis=1, return_inverse=True)[1]
    return classes.reshape(256).astype(np.int32)


def _moves(automata: dict[Automaton, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`Arena.embedded` and `Arena.moves` for all automata in turn."""
    embedded: list[tuple[int, bool]] = []
    moves: list[tuple[int, int]] = []
    for automaton, base in automata.items():
        for state in range(_size(automaton)):
            embedded.append((len(moves), automaton.accepting(state)))
            moves += [(byte, base + target) for byte, target in automaton.moves(state).items()]
    return np.array([*embedded, (len(moves), False)], np.int64), np.array(moves, np.int64).reshape(-1, 2)


def _size(automaton: Automaton) -> int:
    state, known = 0, 1
    while state < known:
        known = max(known, 1 + max(automaton.moves(state).values(), default=0))
        state += 1
    return known


def _in_order(table: Expressions, root: Expression) -> list[Expression]:
    """All expressions that `root` is made of, each once: parts before what holds them, references anywhere."""
    order: dict[Expression, None] = {}
    roots = [root]
    for start in roots:  # grows
        stack = [start]
        while stack:
            node = stack[-1]
            missing = [] if node.kind == "reference" else [one for one in _parts(node) if one not in order]
            if missing and node not in order:
                stack += missing
                continue
            stack.pop()
            if node not in order:
                order[node] = None
                if node.kind == "reference":
                    roots.append(table.target(node))
    return list(order)


def _parts(node: Expression) -> Iterable[Expression]:
    """What an expression is made of, references left as they are."""
    if node.kind in ("concat", "union", "intersection"):
        return node.args  # type: ignore[no-any-return]
    if node.kind == "repeat":
        return (node.args[0],)
    return (node.args,) if node.kind == "complement" else ()


def _nests_in_itself(table: Expressions, reference: Expression) -> bool:
    """Whether a reference comes to itself with something still to follow it: then derivatives grow forever."""
    stack, seen = [(table.target(reference), False)], set()
    while stack:
        node, followed = stack.pop()
        if node is reference:
            if followed:
                return True
            continue
        if (node, followed) not in seen:
            seen.add((node, followed))
            if node.kind == "reference":
                stack.append((table.target(node), followed))
                continue
            wraps = node.kind == "repeat" or node.kind == "concat"
            last = node.args[-1] if node.kind == "concat" else None
            stack += [(part, followed or (wraps and part is not last)) for part in _parts(node)]
    return False
