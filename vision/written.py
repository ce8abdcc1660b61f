"""Charts, screens, tables and forms as a model that sees writes them: without what code knows, boxes on its grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from dg_sglang.vision.asking import SeeingEngine, ask
from dg_sglang.vision.charts.model import Axis, Chart, ChartKind, Point, Series
from dg_sglang.vision.forms.model import Form, FormField
from dg_sglang.vision.geometry.boxes import area, common
from dg_sglang.vision.grid import GridBox, PixelBox, Tile, tiles
from dg_sglang.vision.images import load_image
from dg_sglang.vision.screens.model import Element, Role, Screen, State
from dg_sglang.vision.tables.model import Cell, Table

if TYPE_CHECKING:
    from collections.abc import Callable

_BOXES = "Boxes are [y0, x0, y1, x1], each from 0 to 1000 over the picture."
SAME = 0.5
"""Share of the smaller box that two tiles' elements have in common if they are one."""


class WrittenPoint(BaseModel):
    """A value of a chart."""

    x: str | float | None
    y: float
    box_2d: GridBox | None


class WrittenSeries(BaseModel):
    """A series of a chart."""

    name: str | None
    points: list[WrittenPoint]


class WrittenChart(BaseModel):
    """A chart."""

    kind: ChartKind
    title: str | None
    x_axis: Axis | None
    y_axis: Axis | None
    legend: list[str]
    series: list[WrittenSeries]


class WrittenElement(BaseModel):
    """An element of a screen."""

    role: Role
    text: str
    box_2d: GridBox
    state: State | None
    label: str | None


class WrittenScreen(BaseModel):
    """A screen."""

    elements: list[WrittenElement]


class WrittenCell(BaseModel):
    """A cell of a table; rows and columns count from 0."""

    row: int = Field(ge=0, le=999)
    column: int = Field(ge=0, le=99)
    row_span: int = Field(ge=1, le=99)
    column_span: int = Field(ge=1, le=99)
    text: str
    box_2d: GridBox | None


class WrittenTable(BaseModel):
    """A table."""

    cells: list[WrittenCell]


class WrittenField(BaseModel):
    """A field of a form."""

    kind: Literal["text", "choice", "checkbox", "radio"]
    label: str | None
    value: str | None
    checked: bool | None
    box_2d: GridBox | None


class WrittenForm(BaseModel):
    """A form."""

    fields: list[WrittenField]


def ask_chart(image: object, *, engine: SeeingEngine, **settings: Any) -> Chart:
    """`analyze_chart` by the model's own vision. Raises as `ask`."""
    picture = load_image(image)
    prompt = f"Read this chart: its kind, titles, axes, legend, and every value of every series. {_BOXES}"
    written = ask(picture, WrittenChart, prompt, engine=engine, **settings)
    pixels = _converter(Tile(0, 0, *picture.size))
    series = [
        Series(name=one.name, points=[Point(x=p.x, y=p.y, box=pixels(p.box_2d)) for p in one.points])
        for one in written.series
    ]
    parts = written.model_dump(exclude={"series"})
    return Chart(**parts, series=series, method="model")


def ask_screen(image: object, *, engine: SeeingEngine, tile: int | None = None, **settings: Any) -> Screen:
    """`analyze_screenshot` by the model's own vision. Raises as `ask`.

    `tile`: show the model parts of at most so many pixels a side, one after the other, rather than the whole picture.
    """
    from dg_sglang.vision.screens.order import in_order

    picture = load_image(image)
    prompt = f"List every element on this screen with its role, text, state and label, in reading order. {_BOXES}"
    elements: list[Element] = []
    whole = [Tile(0, 0, *picture.size)]
    for part in whole if tile is None else tiles(picture.size, tile):
        written = ask(part.cut(picture), WrittenScreen, prompt, engine=engine, **settings)
        for one in written.elements:
            read = Element(**one.model_dump(exclude={"box_2d"}), box=part.to_whole(one.box_2d))
            if not any(_same(read, known) for known in elements):
                elements.append(read)
    width, height = picture.size
    return Screen(width=width, height=height, elements=in_order(elements), method="model")


def ask_table(image: object, *, engine: SeeingEngine, **settings: Any) -> Table:
    """`read_table` by the model's own vision. Raises as `ask`."""
    picture = load_image(image)
    prompt = f"Read the table in this picture, cell by cell; rows and columns count from 0. {_BOXES}"
    written = ask(picture, WrittenTable, prompt, engine=engine, **settings)
    pixels = _converter(Tile(0, 0, *picture.size))
    cells = [Cell(**one.model_dump(exclude={"box_2d"}), box=pixels(one.box_2d)) for one in written.cells]
    return Table(
        rows=max((cell.row + cell.row_span for cell in cells), default=0),
        columns=max((cell.column + cell.column_span for cell in cells), default=0),
        cells=cells,
        method="model",
    )


def ask_form(image: object, *, engine: SeeingEngine, **settings: Any) -> Form:
    """`read_form` by the model's own vision. Raises as `ask`."""
    picture = load_image(image)
    prompt = f"Read this form: each field with its label and what is filled in, or whether it is ticked. {_BOXES}"
    written = ask(picture, WrittenForm, prompt, engine=engine, **settings)
    pixels = _converter(Tile(0, 0, *picture.size))
    fields = [FormField(**one.model_dump(exclude={"box_2d"}), box=pixels(one.box_2d)) for one in written.fields]
    return Form(fields=fields, method="model")


def _converter(part: Tile) -> Callable[[list[int] | None], PixelBox | None]:
    return lambda box: None if box is None else part.to_whole(box)


def _same(one: Element, other: Element) -> bool:
    """Whether two tiles show the same element in their overlap."""
    if (one.role, one.text) != (other.role, other.text):
        return False
    smaller = min(area(one.box), area(other.box))
    return common(one.box, other.box) >= SAME * smaller if smaller else one.box == other.box
