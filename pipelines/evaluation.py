"""Scoring extractions against the truth: the unified value F1 of ExtractBench (arXiv 2607.29677).

Trees are flattened to cells. Cells of plain fields are compared by name; the records of a list are first paired so
that as many cells as possible agree. Strings must be equal after white-space collapse, numbers in value, dates in ISO
form; there is no tolerance. Missing counts as null. A correct null is a correct cell; an invented value costs
precision, a missed one recall; so do surplus and missing records. Only fields that the truth names are scored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dg_sglang.pipelines.evidence import Evidence


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
    total = Score()
    for name, truth in gold.items():
        total += _score(predicted.get(name), truth, relaxed)
    return total


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


def _score(predicted: Any, gold: Any, relaxed: bool) -> Score:
    if isinstance(gold, Mapping):
        return score_fields(predicted if isinstance(predicted, Mapping) else {}, gold, relaxed=relaxed)
    if isinstance(gold, list):
        return _score_records(predicted if isinstance(predicted, list) else [], gold, relaxed)
    if predicted is None or gold is None:
        return Score(1, 1, 1) if predicted is gold else Score(0, int(predicted is not None), int(gold is not None))
    return Score(int(_equal(predicted, gold, relaxed)), 1, 1)


def _score_records(predicted: Sequence[Any], gold: Sequence[Any], relaxed: bool) -> Score:
    scores = [[_score(one, truth, relaxed) for truth in gold] for one in predicted]
    pairs = assign([[-score.right for score in row] for row in scores])
    total = sum((scores[i][j] for i, j in pairs), Score())
    paired = {i for i, _ in pairs}, {j for _, j in pairs}
    names = {name for truth in gold if isinstance(truth, Mapping) for name in truth}
    surplus = (one for i, one in enumerate(predicted) if i not in paired[0])
    missing = (one for j, one in enumerate(gold) if j not in paired[1])
    return total + Score(0, sum(_filled(one, names) for one in surplus), sum(_filled(one, names) for one in missing))


def _filled(record: Any, names: set[str]) -> int:
    """Cells of a record that are not null; only those that the truth names, where it names any."""
    if isinstance(record, Mapping):
        return sum(_filled(value, set()) for name, value in record.items() if not names or name in names)
    if isinstance(record, list):
        return sum(_filled(value, set()) for value in record)
    return int(record is not None)


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
