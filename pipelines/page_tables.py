"""The tables of a page, by its words: cells that line up in three rows or more."""

from dg_sglang.pipelines.document import Document, Page
from dg_sglang.pipelines.segments import cells_of, lines_of
from dg_sglang.vision.geometry.boxes import around
from dg_sglang.vision.ocr import Text
from dg_sglang.vision.tables.find import as_table, find_grids
from dg_sglang.vision.tables.model import Table


def tables_of(page: Page) -> list[Table]:
    """The page's tables from top to bottom, boxes in PDF points, origin top left.

    Rules are not looked at: a cell is a run of words without a column gap, and one cell a line of text. For a picture
    of a table with rules, or with cells of several lines, see `dg_sglang.vision.tables.read_table`.
    """
    runs = [[place.word for place in cell] for line in lines_of(Document("", (page,))) for cell in cells_of(line)]
    texts = [
        Text(
            " ".join(word.text for word in run),
            around([word.box for word in run]),
            min(word.confidence for word in run),
        )
        for run in runs
    ]
    tables = [as_table(grid, texts) for grid in find_grids([], texts)]
    return sorted(tables, key=lambda table: table.box[1] if table.box else 0.0)
