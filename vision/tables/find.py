"""Tables among lines of text and rectangles: ruled ones by their cells, others by columns that line up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from dg_sglang.vision.geometry.boxes import Box, area, around
from dg_sglang.vision.ocr import Text
from dg_sglang.vision.tables.model import Cell, Table

_TOUCH = 5.0  # pixels between two cells of a ruled table
_LEAST_ROWS = 3  # of a table without rules: two rows may line up by chance
_LINED_UP = 0.7  # of the height of a line, by which the edges of a column may differ


@dataclass(frozen=True)
class Place:
    """A cell: where it begins, how many rows and columns it takes, its box, and the indices of its lines of text."""

    row: int
    column: int
    rows: int
    columns: int
    box: Box
    texts: tuple[int, ...]


@dataclass(frozen=True)
class Grid:
    """A table: its box and its cells, row by row."""

    box: Box
    places: tuple[Place, ...]

    @property
    def texts(self) -> set[int]:
        """The indices of all of its lines of text."""
        return {index for place in self.places for index in place.texts}


def as_table(
    grid: Grid, texts: Sequence[Text], given_box: Callable[[Box], Box] | None = None, *, warnings: Sequence[str] = ()
) -> Table:
    """The grid as a table. `given_box` converts a box to the place that the caller speaks of."""
    place_of = given_box or (lambda box: box)
    cells = [
        Cell(
            text=" ".join(texts[index].text for index in place.texts),
            row=place.row,
            column=place.column,
            row_span=place.rows,
            column_span=place.columns,
            box=place_of(place.box),
            confidence=min((texts[index].confidence for index in place.texts), default=None),
        )
        for place in grid.places
    ]
    return Table(
        rows=max(cell.row + cell.row_span for cell in cells),
        columns=max(cell.column + cell.column_span for cell in cells),
        cells=cells,
        box=place_of(grid.box),
        method="geometry",
        warnings=list(warnings),
    )


def find_grids(rectangles: Sequence[Box], texts: Sequence[Text]) -> list[Grid]:
    """All tables: ruled ones, and aligned lines that stand in the same rectangle or in rows of rectangles.

    `rectangles` leaves out the page itself where others are to count as places of their own.
    """
    grids = ruled_grids(rectangles, texts)
    taken = {index for grid in grids for index in grid.texts}
    homes: dict[Box | None, list[int]] = {}
    stacks = stripes(rectangles)
    striped = {box: stack[0] for stack in stacks for box in stack}
    for index, text in enumerate(texts):
        if index not in taken:
            around = [box for box in rectangles if _within((text.x, text.y), box)]
            home = min(around, key=area, default=None)
            homes.setdefault(striped.get(home, home) if home else None, []).append(index)
    for among in homes.values():
        grids += [replace(grid, box=_with_stripes(grid.box, stacks)) for grid in aligned_grids(texts, among=among)]
    return grids


def _with_stripes(box: Box, stacks: Sequence[Sequence[Box]]) -> Box:
    """The box, or where its rows are stripes, theirs."""
    x0, y0, x1, y1 = box
    for stack in stacks:
        rows = [row for row in stack if row[1] < y1 and row[3] > y0 and row[0] <= x0 + 3 and row[2] >= x1 - 3]
        if len(rows) > 1:
            return around([box, *rows])
    return box


def ruled_grids(rectangles: Sequence[Box], texts: Sequence[Text]) -> list[Grid]:
    """Tables whose cells are rectangles that touch: two rows and two columns at least, some text in half of them."""
    leaves = [box for box in rectangles if not any(one != box and _within(_middle(one), box) for one in rectangles)]
    grids = []
    for group in _touching(leaves):
        lines = _edges(box[0] for box in group), _edges(box[1] for box in group)
        if len(group) < 4 or min(map(len, lines)) < 2:
            continue
        places = []
        for box in group:
            (column, columns), (row, rows) = _span(box[0], box[2], lines[0]), _span(box[1], box[3], lines[1])
            own = [index for index, text in enumerate(texts) if _within((text.x, text.y), box)]
            own.sort(key=lambda index: (texts[index].y, texts[index].x))
            places.append(Place(row, column, rows, columns, box, tuple(own)))
        taken = [(place.row, place.column) for place in places]
        if len(set(taken)) == len(taken) and sum(bool(place.texts) for place in places) >= 0.5 * len(places):
            grids.append(Grid(around(group), tuple(sorted(places, key=lambda place: (place.row, place.column)))))
    return grids


def aligned_grids(texts: Sequence[Text], *, among: Iterable[int] | None = None) -> list[Grid]:
    """Tables without rules: three or more rows of two or more columns that line up at the left, right or middle.

    Args:
        texts: lines of text.
        among: the indices of those that may be in a table; all by default.
    """
    chosen = sorted(range(len(texts)) if among is None else among, key=lambda index: texts[index].y)
    rows: list[list[int]] = []
    for index in chosen:
        height = texts[index].height
        if rows and abs(texts[index].y - texts[rows[-1][0]].y) < 0.5 * height:
            rows[-1].append(index)
        else:
            rows.append([index])
    grids = []
    chain: list[list[int]] = []
    for row in [*rows, []]:
        near = not chain or (row and texts[row[0]].y - texts[chain[-1][0]].y < 3.5 * texts[row[0]].height)
        if len(row) > 1 and near:
            chain.append(row)
            continue
        grids += _runs(texts, chain)
        chain = [row] if len(row) > 1 else []
    return grids


def _runs(texts: Sequence[Text], rows: Sequence[Sequence[int]]) -> list[Grid]:
    """The tables in consecutive rows: from each row on the longest run that lines up."""
    grids = []
    start = 0
    while start + _LEAST_ROWS <= len(rows):
        ends = range(len(rows), start + _LEAST_ROWS - 1, -1)
        found = next(((end, grid) for end in ends if (grid := _aligned(texts, rows[start:end]))), None)
        if found is None:
            start += 1
        else:
            start = found[0]
            grids.append(found[1])
    return grids


def _aligned(texts: Sequence[Text], rows: Sequence[Sequence[int]]) -> Grid | None:
    if len(rows) < _LEAST_ROWS:
        return None
    columns: list[list[int]] = []
    reach: list[float] = []
    for index in sorted((index for row in rows for index in row), key=lambda index: texts[index].box[0]):
        if columns and texts[index].box[0] < reach[-1]:
            columns[-1].append(index)
            reach[-1] = max(reach[-1], texts[index].box[2])
        else:
            columns.append([index])
            reach.append(texts[index].box[2])
    if len(columns) < 2 or any(len(column) < 0.6 * len(rows) for column in columns):
        return None
    if any(sum(not set(row).isdisjoint(column) for column in columns) < 2 for row in rows):
        return None
    if not all(_lines_up([texts[index] for index in column]) for column in columns):
        return None
    places = []
    for number, row in enumerate(rows):
        for position, column in enumerate(columns):
            own = tuple(sorted(set(row) & set(column), key=lambda index: texts[index].x))
            if own:
                places.append(Place(number, position, 1, 1, around([texts[index].box for index in own]), own))
    return Grid(around([place.box for place in places]), tuple(places))


def _lines_up(column: Sequence[Text]) -> bool:
    """Whether most lines of a column begin, end or have their middle at the same place."""
    slack = _LINED_UP * sorted(text.height for text in column)[len(column) // 2]
    for places in ([t.box[0] for t in column], [t.box[2] for t in column], [t.x for t in column]):
        middle = sorted(places)[len(places) // 2]
        if sum(abs(place - middle) < slack for place in places) >= 0.8 * len(places):
            return True
    return False


def _touching(boxes: Sequence[Box]) -> list[list[Box]]:
    """Groups of rectangles that are connected by common sides."""
    groups: list[list[Box]] = []
    for box in boxes:
        joined = [group for group in groups if any(_are_neighbours(box, other) for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([box, *(other for group in joined for other in group)])
    return groups


def _are_neighbours(one: Box, other: Box) -> bool:
    for axis in (0, 1):
        gap = max(one[axis], other[axis]) - min(one[axis + 2], other[axis + 2])
        across = 1 - axis
        common = min(one[across + 2], other[across + 2]) - max(one[across], other[across])
        if abs(gap) <= _TOUCH and common > 0.8 * min(one[across + 2] - one[across], other[across + 2] - other[across]):
            return True
    return False


def _edges(places: Iterable[float]) -> list[float]:
    """Places, those that nearly agree taken together."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > _TOUCH:
            found.append(place)
    return found


def _span(low: float, high: float, edges: Sequence[float]) -> tuple[int, int]:
    """The first edge's index and how many begin before `high`."""
    first = min(range(len(edges)), key=lambda index: abs(edges[index] - low))
    return first, max(1, sum(low - _TOUCH <= edge < high - _TOUCH for edge in edges))


def _middle(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _within(point: tuple[float, float], box: Box) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def stripes(rectangles: Sequence[Box]) -> list[list[Box]]:
    """Stacks of rectangles of one width that touch: the rows of a table with rules between them only."""
    stacks: list[list[Box]] = []
    for box in sorted(rectangles, key=lambda box: box[1]):
        for stack in stacks:
            last = stack[-1]
            same = abs(last[0] - box[0]) <= _TOUCH and abs(last[2] - box[2]) <= _TOUCH
            if same and abs(last[3] - box[1]) <= _TOUCH:
                stack.append(box)
                break
        else:
            stacks.append([box])
    return [stack for stack in stacks if len(stack) > 1 and all(one[1] < other[1] for one, other in pairwise(stack))]
