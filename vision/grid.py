"""Places on a picture: the grid that Gemma writes boxes in, pixels, and parts of a picture.

Gemma writes a box as [y0, x0, y1, x1], each from 0 to 1000 over the whole height or width of the picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from dg_sglang.errors import ImageError

if TYPE_CHECKING:
    from PIL.Image import Image

GRID = 1000
Coordinate = Annotated[int, Field(ge=0, le=GRID)]
GridBox = Annotated[list[Coordinate], Field(min_length=4, max_length=4, description="y0, x0, y1, x1 from 0 to 1000")]
"""The type of a field that holds a box as the model writes it."""
PixelBox = tuple[float, float, float, float]
"""(x0, y0, x1, y1) in pixels of the picture as displayed, origin at the top left corner."""
LEAST_TILE = 48
"""Pixels of a tile's side: what one soft token covers."""
OVERLAP = 0.1
"""Share of a tile's side that it has in common with its neighbour, so that small things are whole in one of them."""


def to_pixels(box: list[int], size: tuple[float, float]) -> PixelBox:
    """A box on the grid as pixels of a picture of `size` (width, height); corners in any order."""
    y0, x0, y1, x1 = box
    width, height = size
    (left, right), (top, bottom) = sorted((x0, x1)), sorted((y0, y1))
    return left * width / GRID, top * height / GRID, right * width / GRID, bottom * height / GRID


def to_grid(box: PixelBox, size: tuple[int, int]) -> list[int]:
    """The box on the grid that is nearest to one in pixels; what lies outside the picture is moved to its edge."""
    x0, y0, x1, y1 = box
    width, height = size
    edges = ((y0, height), (x0, width), (y1, height), (x1, width))
    return [min(GRID, max(0, round(edge * GRID / side))) for edge, side in edges]


@dataclass(frozen=True)
class Tile:
    """A part of a picture: where its top left corner lies, and its size, in pixels of the whole."""

    left: int
    top: int
    width: int
    height: int

    def cut(self, picture: Image) -> Image:
        """The part as a picture of its own."""
        return picture.crop((self.left, self.top, self.left + self.width, self.top + self.height))

    def to_whole(self, box: list[int]) -> PixelBox:
        """A box that the model wrote about this part, in pixels of the whole picture."""
        x0, y0, x1, y1 = to_pixels(box, (self.width, self.height))
        return x0 + self.left, y0 + self.top, x1 + self.left, y1 + self.top


def tiles(size: tuple[int, int], largest: int) -> list[Tile]:
    """Overlapping parts, at most `largest` pixels a side, that cover a picture of `size`; the whole if it is no larger.

    Raises:
        ImageError: `largest` is no whole number, or smaller than a part that is worth showing.

    Small text is lost when a large picture is shrunk to the model's soft tokens: each part is shrunk less.
    """
    if isinstance(largest, bool) or not isinstance(largest, int) or largest < LEAST_TILE:
        raise ImageError(f"a tile must be a whole number of at least {LEAST_TILE} pixels, got {largest!r}")
    columns, rows = (list(_spans(side, largest)) for side in size)
    return [Tile(left, top, width, height) for top, height in rows for left, width in columns]


def _spans(side: int, largest: int) -> Iterator[tuple[int, int]]:
    if side <= largest:
        yield 0, side
        return
    count = ceil((side - largest * OVERLAP) / (largest * (1 - OVERLAP)))
    for index in range(count):
        yield round(index * (side - largest) / (count - 1)), largest
