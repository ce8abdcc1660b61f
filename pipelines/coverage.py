"""What an answer may have left out: lines that look like a list's records but hold none of their values.

A record's line shows how its list is set: cells at certain places, numbers among them. Another line whose cells stand
at the same places is a record, too, or a total. Models stop early in long tables; this finds out without asking them.
"""

from collections.abc import Iterable, Mapping, Sequence

from dg_sglang.pipelines.document import Document, Place
from dg_sglang.pipelines.evidence import Path, Traced, record_of
from dg_sglang.pipelines.segments import aligned, cells_of, lines_of

FEWEST_CELLS = 3
"""Lines of fewer cells count only between two records: a total under a price looks the same."""

_Cells = list[list[Place]]


def unread_lines(document: Document, traced: Mapping[Path, Traced], name: str) -> list[int]:
    """The lines of `document`, numbered over all pages, that look like records of the list `name` and hold no value.

    Args:
        document: what was read.
        traced: the places of all values, in this document or in one that has these lines.
        name: the list's field.
    """
    lines = list(lines_of(document))
    line_of = {id(place.word): index for index, line in enumerate(lines) for place in line}
    taken: set[int] = set()
    rows: set[int] = set()
    for path, found in traced.items():
        here = {line_of[id(place.word)] for place in found.places if id(place.word) in line_of}
        taken |= here
        if path[0] == name:
            rows |= here
    if not rows:
        return []
    forms = _forms(lines[row] for row in sorted(rows))
    first, last = min(rows), max(rows)
    unread = []
    for index, line in enumerate(lines):
        cells = list(cells_of(line))
        if index in taken or (len(cells) < FEWEST_CELLS and not first < index < last):
            continue
        if any(_alike(cells, form) for form in forms.get(len(cells), ())):
            unread.append(index)
    return unread


def ends_in_circles(traced: Mapping[Path, Traced], name: str) -> bool:
    """Whether the last record of the list `name` says what an earlier one says, from the same words.

    Equal records of a document stand at different places, as long as there are that many.
    """
    records: dict[Path, set[tuple[Path, int]]] = {}
    for path, found in traced.items():
        record = record_of(path)
        if path[0] == name and record and found.places:
            records.setdefault(record, set()).add((path[len(record) :], found.places[0].start))
    *earlier, last = records.values() or [set()]
    return last in earlier


def _forms(lines: Iterable[Sequence[Place]]) -> dict[int, list[_Cells]]:
    """The different ways in which lines are set, by their number of cells."""
    forms: dict[int, list[_Cells]] = {}
    for line in lines:
        cells = list(cells_of(line))
        known = forms.setdefault(len(cells), [])
        if len(cells) > 1 and not any(_alike(cells, form) for form in known):
            known.append(cells)
    return forms


def _alike(cells: _Cells, form: _Cells) -> bool:
    """Each cell stands below, or above, its fellow, and numbers stand where numbers stand."""
    pairs = list(zip(form, cells, strict=True))
    numbers = [_has_digit(other) for one, other in pairs if _has_digit(one)]
    return any(numbers) and 2 * sum(numbers) >= len(numbers) and all(aligned(one, other) for one, other in pairs)


def _has_digit(cell: Sequence[Place]) -> bool:
    return any(character.isdigit() for place in cell for character in place.word.text)
