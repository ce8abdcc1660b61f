from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dg_sglang.errors import ImageError
from dg_sglang.vision.grid import GRID, Tile, tiles, to_grid, to_pixels

SIDES = st.integers(1, 6000)
SIZES = st.tuples(SIDES, SIDES)
BOXES = st.lists(st.integers(0, GRID), min_size=4, max_size=4)


@given(BOXES, SIZES)
def test_from_the_grid_and_back(box: list[int], size: tuple[int, int]) -> None:
    y0, x0, y1, x1 = box
    ordered = [min(y0, y1), min(x0, x1), max(y0, y1), max(x0, x1)]
    assert to_grid(to_pixels(box, size), size) == ordered


@given(SIZES, st.data())
def test_from_pixels_and_back(size: tuple[int, int], data: st.DataObject) -> None:
    width, height = size
    x0, x1 = sorted(data.draw(st.tuples(st.floats(0, width), st.floats(0, width))))
    y0, y1 = sorted(data.draw(st.tuples(st.floats(0, height), st.floats(0, height))))
    back = to_pixels(to_grid((x0, y0, x1, y1), size), size)
    for edge, other, side in zip((x0, y0, x1, y1), back, (width, height) * 2, strict=True):
        assert abs(edge - other) <= side / GRID / 2 + 1e-9


def test_the_order_is_gemmas() -> None:
    assert to_pixels([100, 200, 300, 400], (2000, 1000)) == (400, 100, 800, 300)
    assert to_grid((-5, 0, 2500, 1000), (2000, 1000)) == [0, 0, 1000, 1000]


@given(SIZES, st.integers(50, 1500))
def test_tiles_cover_the_picture_and_overlap(size: tuple[int, int], largest: int) -> None:
    parts = tiles(size, largest)
    for axis, side in enumerate(size):
        spans = sorted({((part.left, part.width), (part.top, part.height))[axis] for part in parts})
        assert spans[0][0] == 0
        assert spans[-1][0] + spans[-1][1] == side
        assert all(length <= largest for _, length in spans)
        for (start, length), (following, _) in pairwise(spans):
            assert start + length - following >= int(0.1 * largest) - 1
    assert len(parts) == len(set(parts))
    assert (len(parts) == 1) == (max(size) <= largest)


@given(SIZES, st.integers(50, 1500), BOXES)
def test_boxes_of_tiles_lie_in_the_picture(size: tuple[int, int], largest: int, box: list[int]) -> None:
    for part in tiles(size, largest)[:9]:
        x0, y0, x1, y1 = part.to_whole(box)
        assert part.left <= x0 <= x1 <= part.left + part.width <= size[0]
        assert part.top <= y0 <= y1 <= part.top + part.height <= size[1]


@pytest.mark.parametrize("largest", [0, -5, 47, True, 99.5, "99", None])
def test_sizes_that_are_none(largest: Any) -> None:
    with pytest.raises(ImageError, match="whole number of at least 48 pixels"):
        tiles((100, 100), largest)


@pytest.mark.parametrize("largest", [48, 53])
def test_a_tile_is_what_lies_there(largest: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (120, 140, 3), np.uint8)
    for part in tiles((140, 120), largest):
        cut = np.asarray(part.cut(Image.fromarray(pixels)))
        assert (cut == pixels[part.top : part.top + part.height, part.left : part.left + part.width]).all()
    assert Tile(10, 20, 30, 40).to_whole([0, 0, 1000, 1000]) == (10, 20, 40, 60)
