"""What a table says, as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from dg_sglang.vision.frames import data_frame
from dg_sglang.vision.grid import PixelBox

if TYPE_CHECKING:
    import pandas as pd


class Cell(BaseModel):
    """A cell: its text, lines joined by spaces; where it stands; how many rows and columns it takes."""

    text: str
    row: int = Field(ge=0)
    column: int = Field(ge=0)
    row_span: int = Field(default=1, ge=1)
    column_span: int = Field(default=1, ge=1)
    box: PixelBox | None = Field(default=None, description="of the cell where rules bound it, else of its text")
    confidence: float | None = Field(default=None, description="how sure the reader of its text was")


class Table(BaseModel):
    """A table: its cells row by row. `method` says what read it: "model" or "geometry" (text recognition, pixels)."""

    rows: int
    columns: int
    cells: list[Cell]
    box: PixelBox | None = None
    method: Literal["model", "geometry"]
    warnings: list[str] = []

    def texts(self) -> list[list[str]]:
        """Row by row; a cell that takes several places stands in the first, "" in the others and where none is."""
        grid = [[""] * self.columns for _ in range(self.rows)]
        for cell in self.cells:
            grid[cell.row][cell.column] = cell.text
        return grid

    def to_dataframe(self, *, header: bool = True) -> pd.DataFrame:
        """`texts()` as a pandas DataFrame, the first row as the columns' names unless told otherwise.

        Raises:
            ConfigError: pandas isn't installed.
        """
        rows = self.texts()
        return data_frame(rows[1:], rows[0]) if header else data_frame(rows)
