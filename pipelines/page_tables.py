"""The tables of a page, by its words: cells that line up in three rows or more."""

from collections.abc import Iterator

from dg_sglang.pipelines.document import Box, Line, Page, Word
from dg_sglang.vision.ocr import Text
from dg_sglang.vision.tables.find import find_grids
from dg_sglang.vision.tables.model import Cell, Table

GAP = 2
"""This many spaces part two cells in a line's layout."""


def tables_of(page: Page) -> list[Table]:
    """The page's tables from top to bottom, boxes in PDF points, origin top left.

    Rules are not looked at: a cell is a run of words without a column gap, and one cell a line of text. For a picture
    of a table with rules, or with cells of several lines, see `dg_sglang.vision.tables.read_table`.
    """
    runs = [run for line in page.lines for run in _runs(line)]
    texts = [
        Text(" ".join(word.text for word in run), _around(run), min(word.confidence for word in run)) for run in runs
    ]
    tables = []
    for grid in find_grids([], texts):
        cells = [
            Cell(
                text=" ".join(texts[index].text for index in place.texts),
                row=place.row,
                column=place.column,
                row_span=place.rows,
                column_span=place.columns,
                box=place.box,
                confidence=min((texts[index].confidence for index in place.texts), default=None),
            )
            for place in grid.places
        ]
        rows, columns = max(cell.row + cell.row_span for cell in cells), max(c.column + c.column_span for c in cells)
        tables.append(Table(rows=rows, columns=columns, cells=cells, box=grid.box, method="geometry"))
    return sorted(tables, key=lambda table: table.box[1] if table.box else 0.0)


def _runs(line: Line) -> Iterator[list[Word]]:
    run: list[Word] = []
    end = 0
    for word, start in zip(line.words, line.starts, strict=True):
        if run and start - end >= GAP:
            yield run
            run = []
        run.append(word)
        end = start + len(word.text)
    if run:
        yield run


def _around(run: list[Word]) -> Box:
    boxes = [word.box for word in run]
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )
