"""The stretches of a document that a stated value may come from, and where a value occurs in them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from dg_sglang.grammar.verbatim import inside_word
from dg_sglang.pipelines.document import Document, Place
from dg_sglang.pipelines.normalise import FINDERS

CELL_GAP = 2
"""This many characters between two words part cells, or blocks: a column gap or a blank line."""


@dataclass(frozen=True)
class Segment:
    """Words that may be read on from one to the next, joined by one space each in `text`."""

    places: tuple[Place, ...]

    @cached_property
    def text(self) -> str:
        """The words, joined by one space."""
        return " ".join(place.word.text for place in self.places)

    @cached_property
    def _ends(self) -> list[int]:
        ends, end = [], -1
        for place in self.places:
            end += 1 + len(place.word.text)
            ends.append(end)
        return ends

    @cached_property
    def _spans(self) -> dict[str, list[tuple[int, int]]]:
        return {}

    @cached_property
    def _begins(self) -> list[int]:
        return [end - len(place.word.text) for end, place in zip(self._ends, self.places, strict=True)]

    def find(self, piece: str, *, inside_words: bool = False) -> Iterator[tuple[Place, ...]]:
        """Yield the words of each occurrence of `piece` (white space collapsed), by default between word boundaries."""
        start = self.text.find(piece) if piece else -1
        while start >= 0:
            end = start + len(piece)
            if inside_words or not (inside_word(self.text, start) or inside_word(self.text, end)):
                yield self._between(start, end)
            start = self.text.find(piece, start + 1)

    def find_kind(self, piece: str, kind: str) -> Iterator[tuple[Place, ...]]:
        """Yield the words of each date, number or currency of the text that reads `piece`; nothing for other kinds."""
        if kind in FINDERS and kind not in self._spans:
            self._spans[kind] = list(FINDERS[kind](self.text))
        for start, end in self._spans.get(kind, ()):
            if self.text[start:end] == piece:
                yield self._between(start, end)

    def _between(self, start: int, end: int) -> tuple[Place, ...]:
        """The words that share a character with `text[start:end]`."""
        return self.places[bisect_right(self._ends, start) : bisect_left(self._begins, end)]

    def find_loosely(self, piece: str) -> Iterator[tuple[Place, ...]]:
        """The same by whole words, whatever their case and punctuation."""
        wanted = [loose for word in piece.split() if (loose := _loose(word))]
        words = [(loose, place) for place in self.places if (loose := _loose(place.word.text))]
        for start in range(len(words) - len(wanted) + 1) if wanted else ():
            run = words[start : start + len(wanted)]
            if [loose for loose, _ in run] == wanted:
                yield tuple(place for _, place in run)


def segments_of(document: Document) -> tuple[Segment, ...]:
    """Two readings of the page: along the lines, parted at column gaps and blank lines; and down the columns.

    Along the lines, one full line reads on into the next, which suits running text. Down a column, cells of
    neighbouring lines read on where they align, which suits an address beside another one and a cell whose text wraps.
    """
    rows = _rows(document)
    along = {place.start: (index, position) for index, row in enumerate(rows) for position, place in enumerate(row)}
    segments = [Segment(tuple(row)) for row in rows]
    for column in _columns(document):
        (first, at), *others = [along[place.start] for place in column]
        if any(where != (first, at + step) for step, where in enumerate(others, 1)):
            segments.append(Segment(tuple(column)))
    return tuple(segments)


def _rows(document: Document) -> list[list[Place]]:
    """Cells; lines of a single cell that follow one another without a gap are one."""
    rows: list[list[Place]] = []
    single = False
    for line in lines_of(document):
        cells = list(cells_of(line))
        if single and len(cells) == 1 and line[0].start - rows[-1][-1].end < CELL_GAP:
            rows[-1].extend(line)
        else:
            rows.extend(cells)
        single = len(cells) == 1
    return rows


def _columns(document: Document) -> list[list[Place]]:
    """Chains of two or more cells, one below the other in neighbouring lines."""
    chains: list[list[Place]] = []
    above: list[list[Place]] = []
    for line in lines_of(document):
        if above and line[0].start - max(place.end for chain in above for place in chain) >= CELL_GAP:
            above = []
        here = []
        free = list(above)
        for cell in cells_of(line):
            chain = next((chain for chain in free if aligned(_tail(chain), cell)), None)
            if chain is None:
                chain = []
                chains.append(chain)
            else:
                free.remove(chain)
            chain.extend(cell)
            here.append(chain)
        above = here
    return [chain for chain in chains if chain[0].line != chain[-1].line]


def lines_of(document: Document) -> Iterator[list[Place]]:
    """Yield the words of each line."""
    line: list[Place] = []
    for place in document.places:
        if line and (place.page, place.line) != (line[0].page, line[0].line):
            yield line
            line = []
        line.append(place)
    if line:
        yield line


def cells_of(line: Sequence[Place]) -> Iterator[list[Place]]:
    """Yield the words of each cell of a line."""
    cell = [line[0]]
    for place in line[1:]:
        if place.start - cell[-1].end >= CELL_GAP:
            yield cell
            cell = []
        cell.append(place)
    yield cell


def _tail(chain: Sequence[Place]) -> list[Place]:
    return [place for place in chain if place.line == chain[-1].line]


def aligned(upper: Sequence[Place], lower: Sequence[Place]) -> bool:
    """Same left edge, same middle, or same right edge, within about one character."""
    slack = 0.7 * min(place.word.box[3] - place.word.box[1] for place in (upper[0], lower[0]))
    left, right = upper[0].word.box[0] - lower[0].word.box[0], upper[-1].word.box[2] - lower[-1].word.box[2]
    return min(abs(left), abs(right), abs(left + right) / 2) <= slack


def _loose(word: str) -> str:
    return "".join(character for character in word.casefold() if character.isalnum())
