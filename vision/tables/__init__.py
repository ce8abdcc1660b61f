"""Tables as typed data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dg_sglang.errors import TableError
from dg_sglang.vision.picture import read_picture

if TYPE_CHECKING:
    from dg_sglang.vision.asking import SeeingEngine
    from dg_sglang.vision.tables.model import Table

__all__ = ["read_table"]


def read_table(image: object, *, engine: SeeingEngine | None = None, **settings: Any) -> Table:
    """Read the largest table on a picture by its rules, or by its columns where it has none.

    Without rules a table has three rows or more, a line of text a cell, and no empty rows.

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.
        engine: of a checkpoint that sees; it then reads the picture itself, and `method` is "model".
        settings: for the engine, as for `Engine.generate`.

    Returns:
        The table, boxes in pixels of the picture; `method` is "geometry". `warnings` says if there are more tables.

    Raises:
        ImageError: it can't be read as an image, is too large, or RapidOCR isn't installed.
        TableError: no table was found.
    """
    if engine is not None:
        from dg_sglang.vision.written import ask_table

        return ask_table(image, engine=engine, **settings)
    straight = read_picture(image)

    from dg_sglang.vision.geometry.lines import prepare
    from dg_sglang.vision.geometry.regions import find_regions, smoothed
    from dg_sglang.vision.tables.find import as_table, find_grids

    flat = smoothed(straight.pixels)
    lines = prepare(flat, straight.texts)
    grids = find_grids([region.box for region in find_regions(flat)], lines)
    if not grids:
        raise TableError("no table was found: neither cells with rules around them nor three rows that line up")
    grid = max(grids, key=lambda grid: len(grid.places))
    others = len(grids) - 1
    warnings = [f"the largest of {others + 1} tables: crop the picture to read another one"] if others else []
    return as_table(grid, lines, straight.given_box, warnings=warnings)
