"""What a chart says, as typed data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from dg_sglang.vision.frames import data_frame
from dg_sglang.vision.grid import PixelBox

if TYPE_CHECKING:
    import pandas as pd

ChartKind = Literal["bar", "horizontal bar", "grouped bar", "stacked bar", "line", "scatter", "pie"]


class Axis(BaseModel):
    """One axis. `minimum` and `maximum` are the outermost labelled values; None where the labels are categories."""

    title: str | None = None
    unit: str | None = Field(default=None, description="in brackets behind the title, or printed with the labels")
    scale: Literal["linear", "logarithmic", "category"]
    minimum: float | None = None
    maximum: float | None = None
    categories: list[str] = []


class Point(BaseModel):
    """One value. `x` is a category or a number; in a pie `y` is the share in percent."""

    x: str | float | None
    y: float
    box: PixelBox | None = Field(default=None, description="the mark that the value was read from")
    confidence: float | None = None


class Series(BaseModel):
    """Values that belong together: one colour of marks."""

    name: str | None = None
    color: str | None = Field(default=None, description="#rrggbb")
    points: list[Point]


class Chart(BaseModel):
    """A chart. `method` says what read it: "model" (its vision) or "geometry" (text recognition and pixels)."""

    kind: ChartKind
    title: str | None = None
    x_axis: Axis | None = None
    y_axis: Axis | None = None
    series: list[Series]
    legend: list[str] = []
    method: Literal["model", "geometry"]
    confidence: float | None = None
    warnings: list[str] = []

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Header and rows: one row a point of x, one column a series; scatter charts have one row a point."""
        names = [series.name or ("value" if len(self.series) == 1 else f"series {number}")
                 for number, series in enumerate(self.series, 1)]  # fmt: skip
        if self.kind == "scatter":
            rows = [
                [name, point.x, point.y] for name, one in zip(names, self.series, strict=True) for point in one.points
            ]
            return ["series", "x", "y"], rows
        values = [_numbered(index, series.points) for index, series in enumerate(self.series)]
        order = list(dict.fromkeys(key for one in values for key in one))
        return ["x", *names], [[key[0], *(one.get(key) for one in values)] for key in order]

    def to_dataframe(self) -> pd.DataFrame:
        """`table()` as a pandas DataFrame. Raises ConfigError where pandas isn't installed."""
        header, rows = self.table()
        return data_frame(rows, header)


def _numbered(series: int, points: list[Point]) -> dict[tuple[str | float | None, int, int], float]:
    """Values by x and how often it came before in the series; what has no x belongs to no other series' point."""
    seen = Counter[str | float | None]()
    values = {}
    for point in points:
        values[point.x, seen[point.x], series if point.x is None else 0] = point.y
        seen[point.x] += 1
    return values
