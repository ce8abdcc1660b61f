"""Scoring extractions against the truth: the unified value F1 of ExtractBench (arXiv 2607.29677).

Trees are flattened to cells. Cells of plain fields are compared by name; the records of a list are first paired so
that as many cells as possible agree. Strings must be equal after white-space collapse, numbers in value, dates in ISO
form; there is no tolerance. Missing counts as null. A correct null is a correct cell; an invented value costs
precision, a missed one recall; so do surplus and missing records. Only fields that the truth names are scored.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dg_sglang.pipelines.document import Box
from dg_sglang.pipelines.evidence import Evidence

Kind = Literal["text", "date", "number", "boolean", "null"]
PlacedBox = tuple[int, Box]
"""A page's number and a box on it, in PDF points."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Score:
    """Counts of cells: right ones, those predicted, those in the truth (correct nulls are in all three)."""

    right: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: "Score") -> "Score":
        return Score(self.right + other.right, self.predicted + other.predicted, self.gold + other.gold)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 1 where there is nothing to find and nothing was found."""
        cells = self.predicted + self.gold
        return 2 * self.right / cells if cells else 1.0

    @property
    def perfect(self) -> bool:
        """Nothing wrong, nothing missed."""
        return self.right == self.predicted == self.gold


def score_fields(predicted: Mapping[str, Any], gold: Mapping[str, Any], *, relaxed: bool = False) -> Score:
    """Score all fields that `gold` names; both are JSON values. `relaxed` ignores case and punctuation in strings."""
    return _total(_field_cells(predicted, gold, relaxed))


def score_kinds(predicted: Mapping[str, Any], gold: Mapping[str, Any]) -> dict[Kind, Score]:
    """The same cells by kind: of the truth's value or, where that is null or a record is surplus, of the prediction's.

    Strings that are ISO dates count as dates. A correct null is of kind "null".
    """
    scores: dict[Kind, Score] = {}
    for kind, score in _field_cells(predicted, gold, False):
        scores[kind] = scores.get(kind, Score()) + score
    return scores


def score_boxes(predicted: Sequence[PlacedBox], gold: Sequence[PlacedBox]) -> Score:
    """Score one field's boxes, which may cover words on one side and whole lines on the other.

    A predicted box is right if its middle lies in a gold box of the same page; a gold box is found if it holds the
    middle of a predicted one, or its own lies in one. `right` counts the gold boxes found and `predicted` is scaled so
    that precision is the share of right predicted boxes.
    """
    right = sum(any(_holds(truth, box) for truth in gold) for box in predicted)
    found = sum(any(_holds(truth, box) or _holds(box, truth) for box in predicted) for truth in gold)
    return Score(found, found + len(predicted) - right, len(gold))


def null_cells(predicted: Mapping[str, Any], gold: Mapping[str, Any]) -> tuple[int, int]:
    """Of the plain fields that are null in `gold`: how many are null in `predicted`, and how many there are."""
    nulls = [name for name, truth in gold.items() if truth is None]
    return sum(predicted.get(name) is None for name in nulls), len(nulls)


def grounded_leaves(evidence: Any) -> tuple[int, int]:
    """Of the leaves copied from somewhere: how many stand in the document, and how many there are."""
    leaves = [leaf for leaf in _leaves(evidence) if leaf.verbatim is not None]
    return sum(leaf.match != "none" for leaf in leaves), len(leaves)


def assign(costs: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The cheapest pairing of rows and columns, min(rows, columns) pairs (row, column) sorted by row.

    The Hungarian algorithm with potentials (Kuhn 1955, in the O(n^2 m) form of Jonker and Volgenant 1987).
    """
    if not costs or not costs[0]:
        return []
    if len(costs) > len(costs[0]):
        flipped = assign([list(column) for column in zip(*costs, strict=True)])
        return sorted((row, column) for column, row in flipped)
    rows, columns = len(costs), len(costs[0])
    row_potential, column_potential = [0.0] * (rows + 1), [0.0] * (columns + 1)
    owner = [0] * (columns + 1)  # the row that holds each column, both from 1; 0 is free, and column 0 a helper
    for row in range(1, rows + 1):
        owner[0] = row
        column = 0
        slack, came_from, seen = [float("inf")] * (columns + 1), [0] * (columns + 1), [False] * (columns + 1)
        while owner[column]:
            seen[column] = True
            current = owner[column]
            for j in range(1, columns + 1):
                reduced = costs[current - 1][j - 1] - row_potential[current] - column_potential[j]
                if not seen[j] and reduced < slack[j]:
                    slack[j], came_from[j] = reduced, column
            following = min((j for j in range(1, columns + 1) if not seen[j]), key=slack.__getitem__)
            step = slack[following]
            for j in range(columns + 1):
                if seen[j]:
                    row_potential[owner[j]] += step
                    column_potential[j] -= step
                else:
                    slack[j] -= step
            column = following
        while column:
            owner[column] = owner[came_from[column]]
            column = came_from[column]
    return sorted((owner[j] - 1, j - 1) for j in range(1, columns + 1) if owner[j])


Cells = list[tuple[Kind, Score]]


def _total(cells: Cells) -> Score:
    return sum((score for _, score in cells), Score())


def _field_cells(predicted: Mapping[str, Any], gold: Mapping[str, Any], relaxed: bool) -> Cells:
    return [cell for name, truth in gold.items() for cell in _cells(predicted.get(name), truth, relaxed)]


def _cells(predicted: Any, gold: Any, relaxed: bool) -> Cells:
    if isinstance(gold, Mapping):
        return _field_cells(predicted if isinstance(predicted, Mapping) else {}, gold, relaxed)
    if isinstance(gold, list):
        return _record_cells(predicted if isinstance(predicted, list) else [], gold, relaxed)
    if predicted is None and gold is None:
        return [("null", Score(1, 1, 1))]
    if predicted is None or gold is None:
        return [(_kind(predicted if gold is None else gold), Score(0, int(gold is None), int(predicted is None)))]
    return [(_kind(gold), Score(int(_equal(predicted, gold, relaxed)), 1, 1))]


def _record_cells(predicted: Sequence[Any], gold: Sequence[Any], relaxed: bool) -> Cells:
    table = [[_cells(one, truth, relaxed) for truth in gold] for one in predicted]
    pairs = assign([[-_total(cells).right for cells in row] for row in table])
    cells = [cell for i, j in pairs for cell in table[i][j]]
    rows, columns = {i for i, _ in pairs}, {j for _, j in pairs}
    names = {name for truth in gold if isinstance(truth, Mapping) for name in truth}
    surplus = [value for i, one in enumerate(predicted) if i not in rows for value in _filled(one, names)]
    missing = [value for j, one in enumerate(gold) if j not in columns for value in _filled(one, names)]
    cells += [(_kind(value), Score(0, 1, 0)) for value in surplus]
    return cells + [(_kind(value), Score(0, 0, 1)) for value in missing]


def _filled(record: Any, names: set[str]) -> Iterator[Any]:
    """The values of a record that are not null; only those that the truth names, where it names any."""
    if isinstance(record, Mapping):
        for name, value in record.items():
            if not names or name in names:
                yield from _filled(value, set())
    elif isinstance(record, list):
        for value in record:
            yield from _filled(value, set())
    elif record is not None:
        yield record


def _kind(value: Any) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "date" if isinstance(value, str) and _DATE.fullmatch(value) else "text"


def _holds(outer: PlacedBox, inner: PlacedBox) -> bool:
    """Whether the middle of `inner` lies in `outer`."""
    (page, (left, top, right, bottom)), (other, (x0, y0, x1, y1)) = outer, inner
    return page == other and left <= (x0 + x1) / 2 <= right and top <= (y0 + y1) / 2 <= bottom


def _equal(one: Any, other: Any, relaxed: bool) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    if isinstance(one, str) and isinstance(other, str):
        return _plain(one, relaxed) == _plain(other, relaxed)
    return False


def _plain(text: str, relaxed: bool) -> str:
    if relaxed:
        return "".join(character for character in text.casefold() if character.isalnum())
    return " ".join(text.split())


def _leaves(evidence: Any) -> Iterator[Evidence]:
    if isinstance(evidence, Evidence):
        yield evidence
    elif isinstance(evidence, Mapping):
        for branch in evidence.values():
            yield from _leaves(branch)
    elif isinstance(evidence, list):
        for branch in evidence:
            yield from _leaves(branch)
