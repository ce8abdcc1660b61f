"""Pieces of a given text as a language: what a value may be when it has to be stated in the document.

The automaton is the suffix automaton of the text (Blumer et al., 1985, "The smallest automaton recognizing the subwords
of a text") restricted to starts and ends at word boundaries.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dg_sglang.errors import GrammarTooLargeError, InvalidSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.text import check_size, json_body, shown

_GAP = re.compile(r"(?:[^\S\n]{2,}|\n[^\S\n]*(?:\n[^\S\n]*)+|\t)")


def collapse(text: str) -> str:
    """White-space runs become one space; none at the ends."""
    return " ".join(text.split())


@dataclass(frozen=True)
class VerbatimSource:
    """A text whose pieces may be answers.

    Args:
        text: the document, or several texts none of whose pieces may run from one into the next. Column gaps (two or
            more spaces, a tab) and blank lines also end a piece; a single line break inside a piece reads as a space.
        spans: per kind ("date", "number", …) the only pieces allowed for that kind, as they stand in the text.
    """

    text: str | Sequence[str]
    spans: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) and not _is_texts(self.text):
            raise InvalidSchemaError(f"a verbatim source must be a text or a list of texts, not {shown(self.text)}")
        if not isinstance(self.spans, Mapping) or not all(map(_is_texts, self.spans.values())):
            raise InvalidSchemaError(f"spans must map kinds to lists of texts, not {shown(self.spans)}")

    @classmethod
    def of(cls, source: Any) -> VerbatimSource:
        """A source as people pass it: itself, or just its text or texts.

        Raises:
            InvalidSchemaError: it is neither.
        """
        return source if isinstance(source, VerbatimSource) else cls(source)

    def segments(self) -> list[str]:
        """The stretches that a piece may not leave, white space collapsed, each once."""
        texts = [self.text] if isinstance(self.text, str) else self.text
        return list(dict.fromkeys(s for text in texts for raw in _GAP.split(text) if (s := collapse(raw))))


def _is_texts(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(one, str) for one in value)


def inside_word(text: str, index: int) -> bool:
    """Whether `index` lies inside a word of `text`, so that no piece can begin or end there.

    A word is letters and digits, joined by hyphens, slashes and the like (RE-2025/17, O'Neil, a@b), digits also by
    points, commas and colons (1.234,56). Every ideograph is a word.
    """
    if not 0 < index < len(text):
        return False
    left, right = text[index - 1], text[index]
    if _links(text, index - 1) or _links(text, index):
        return True
    return left.isalnum() and right.isalnum() and not (_is_ideograph(left) or _is_ideograph(right))


def _links(text: str, index: int) -> bool:
    """Whether the sign at `index` joins its neighbours into one word."""
    sign, around = text[index], text[max(index - 1, 0) : index + 2 : 2]
    if len(around) < 2 or sign not in _LINKS | _DIGIT_LINKS:
        return False
    return around.isdigit() if sign in _DIGIT_LINKS else around.isalnum()


def _is_ideograph(char: str) -> bool:
    return unicodedata.category(char) == "Lo" and unicodedata.east_asian_width(char) in "WF"


_LINKS = frozenset("-‐‑–/_@&'’+")
_DIGIT_LINKS = frozenset(".,:")
_START, _WALL = "a piece may start here", "the segment ends"
"""Marks among the characters of a segment."""
MAX_SUFFIX_STATES = 2_000_000

_Inside = tuple[tuple[bytes, int], ...]


class PieceAutomaton:
    """Deterministic automaton of all pieces of some segments, by default word-bounded and as JSON string bodies.

    Built from the suffix automaton of the segments with a mark before each place where a piece may start: what may
    follow the mark are the pieces, with the marks inside them left out. Its size is about linear in the text's,
    however often it repeats itself. State 0 is the start; `accepting` and `moves` answer per state.

    Raises GrammarTooLargeError past MAX_SUFFIX_STATES states of the suffix automaton.
    """

    def __init__(
        self, segments: Iterable[str], *, words: bool = True, spell: Callable[[str], bytes] = json_body
    ) -> None:
        """`words`: pieces begin and end at word boundaries. `spell`: how the text writes a character."""
        suffixes, last = _suffix_automaton([*_marked(segment, words=words), _WALL] for segment in segments)
        # Between two characters a state is the states of the suffix automaton that the piece may be in (a mark may
        # stand before a character here and not there); inside a character, what is left of it and where it ends.
        queue: list[tuple[int, ...] | _Inside] = [(suffixes[0][_START],) if _START in suffixes[0] else ()]
        numbers = {queue[0]: 0}
        self._moves: list[dict[int, int]] = []
        self._accepting: list[bool] = []
        bodies: dict[str, bytes] = {}
        for state in queue:
            edges: set[tuple[bytes, int]] = set()
            accepting = False
            for part in state:
                if isinstance(part, tuple):
                    edges.add(part)
                    continue
                after = suffixes[part]
                within = last[part] != _START and not last[part].isspace()
                accepting |= within and any(char in (_START, _WALL) or char.isspace() for char in after)
                for moves_on in (after, suffixes[after[_START]] if _START in after else {}):
                    for char, target in moves_on.items():
                        if char not in (_START, _WALL):
                            edges.add((bodies.get(char) or bodies.setdefault(char, spell(char)), target))
            following: dict[int, list[tuple[bytes, int]]] = {}
            for body, target in edges:
                following.setdefault(body[0], []).append((body[1:], target))
            moves = {}
            for byte, rest in following.items():
                key = tuple(sorted(rest)) if rest[0][0] else tuple(sorted(target for _, target in rest))
                if key not in numbers:
                    numbers[key] = len(queue)
                    queue.append(key)
                moves[byte] = numbers[key]
            self._moves.append(moves)
            self._accepting.append(accepting)

    def __len__(self) -> int:
        return len(self._moves)

    def accepting(self, state: int) -> bool:
        """Whether a piece may end here."""
        return self._accepting[state]

    def moves(self, state: int) -> dict[int, int]:
        """byte → next state."""
        return self._moves[state]


def compile_verbatim(
    table: Expressions,
    source: VerbatimSource,
    kind: str | None = None,
    *,
    words: bool = True,
    spell: Callable[[str], bytes] = json_body,
) -> Expression:
    """The pieces of a source, or its spans of a kind, as the text spells them.

    Raises:
        InvalidSchemaError: the source has no such kind.
        GrammarTooLargeError: it is too long.
    """
    if kind is not None:
        if kind not in source.spans:
            known = ", ".join(map(repr, source.spans)) or "none"
            raise InvalidSchemaError(f"the source has no spans of kind {shown(kind)}; its kinds: {known}")
        pieces = dict.fromkeys(collapse(span) for span in source.spans[kind])
        return table.union([table.literal(spell(piece)) for piece in pieces if piece])
    check_size("the verbatim source", source.text)
    automaton = PieceAutomaton(source.segments(), words=words, spell=spell)
    return table.automaton(automaton) if automaton.moves(0) else table.nothing


def _marked(segment: str, *, words: bool) -> Iterator[str]:
    for index, char in enumerate(segment):
        if not char.isspace() and not (words and inside_word(segment, index)):
            yield _START
        yield char


def _suffix_automaton(texts: Iterable[Iterable[str]]) -> tuple[list[dict[str, int]], list[str]]:
    """The suffix automaton of several texts (Blumer et al.): the moves of each state, and the symbol that leads to it.

    State 0 is the start.
    """
    moves: list[dict[str, int]] = [{}]
    symbols, lengths, links = [""], [0], [-1]

    def split(state: int, symbol: str) -> int:
        """The state after `symbol` that holds only what ends in the longest text of `state`."""
        target = moves[state][symbol]
        if lengths[target] == lengths[state] + 1:
            return target
        copy = add(dict(moves[target]), symbol, lengths[state] + 1, links[target])
        links[target] = copy
        while state >= 0 and moves[state].get(symbol) == target:
            moves[state][symbol] = copy
            state = links[state]
        return copy

    def add(own: dict[str, int], symbol: str, length: int, link: int) -> int:
        if len(moves) == MAX_SUFFIX_STATES:
            raise GrammarTooLargeError("the verbatim source is too long; split it")
        moves.append(own)
        symbols.append(symbol)
        lengths.append(length)
        links.append(link)
        return len(moves) - 1

    for text in texts:
        end = 0
        for symbol in text:
            if symbol in moves[end]:
                end = split(end, symbol)
                continue
            state, end = end, add({}, symbol, lengths[end] + 1, 0)
            while state >= 0 and symbol not in moves[state]:
                moves[state][symbol] = end
                state = links[state]
            if state >= 0:
                links[end] = split(state, symbol)
    return moves, symbols
