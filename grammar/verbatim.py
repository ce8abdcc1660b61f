"""Pieces of a given text as a language: what a value may be when it has to be stated in the document.

The automaton is the suffix automaton of the text restricted to starts and ends at word boundaries (Blumer et al., 1985,
"The smallest automaton recognizing the subwords of a text"), built by determinising sets of positions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dg_sglang.grammar.text import json_body

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

    def segments(self) -> list[str]:
        """The stretches that a piece may not leave, white space collapsed, each once."""
        texts = [self.text] if isinstance(self.text, str) else self.text
        return list(dict.fromkeys(s for text in texts for raw in _GAP.split(text) if (s := collapse(raw))))


def joins(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word, so that a piece can't begin or end between them."""
    return left.isalnum() and right.isalnum() and not (_is_ideograph(left) or _is_ideograph(right))


def _is_ideograph(char: str) -> bool:
    return unicodedata.category(char) == "Lo" and unicodedata.east_asian_width(char) in "WF"


class PieceAutomaton:
    """Deterministic automaton of all word-bounded pieces of some segments, as JSON string bodies in UTF-8.

    State 0 is the start. States are interned sets of positions; `accepting` and `moves` answer per state.
    """

    def __init__(self, segments: Iterable[str]) -> None:
        text, starts, ends = bytearray(), set(), set()
        for segment in segments:
            for index, char in enumerate(segment):
                if not char.isspace() and (index == 0 or not joins(segment[index - 1], char)):
                    starts.add(len(text))
                text += json_body(char)
                if not char.isspace() and (index + 1 == len(segment) or not joins(char, segment[index + 1])):
                    ends.add(len(text))
            text.append(0)  # no JSON string body holds a zero byte: a wall between segments
        self._moves: list[dict[int, int]] = []
        self._accepting: list[bool] = []
        states: dict[tuple[int, ...], int] = {}
        queue = [tuple(sorted(starts))]
        states[queue[0]] = 0
        for positions in queue:
            following: dict[int, list[int]] = {}
            for position in positions:
                if text[position]:
                    following.setdefault(text[position], []).append(position + 1)
            moves = {}
            for byte, targets in following.items():
                key = tuple(targets)
                if key not in states:
                    states[key] = len(queue)
                    queue.append(key)
                moves[byte] = states[key]
            self._moves.append(moves)
            self._accepting.append(bool(positions) and not ends.isdisjoint(positions) and positions != queue[0])

    def __len__(self) -> int:
        return len(self._moves)

    def accepting(self, state: int) -> bool:
        """Whether a piece may end here."""
        return self._accepting[state]

    def moves(self, state: int) -> dict[int, int]:
        """byte → next state."""
        return self._moves[state]
