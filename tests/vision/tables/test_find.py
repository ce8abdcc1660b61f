from dg_sglang.vision.ocr import Text
from dg_sglang.vision.tables.find import aligned_grids, ruled_grids


def line(words: str, x: float, y: float) -> Text:
    return Text(words, (x, y, x + 9 * len(words), y + 18))


def test_cells_that_take_several_columns() -> None:
    boxes = [(0, 0, 200, 30), (0, 30, 100, 60), (100, 30, 200, 60), (0, 60, 100, 90), (100, 60, 200, 90)]
    texts = [line("Both", 60, 6), line("a", 10, 36), line("b", 110, 36), line("c", 10, 66)]
    (grid,) = ruled_grids(boxes, texts)
    assert [(place.row, place.column, place.columns, place.texts) for place in grid.places] == [
        (0, 0, 2, (0,)),
        (1, 0, 1, (1,)),
        (1, 1, 1, (2,)),
        (2, 0, 1, (3,)),
        (2, 1, 1, ()),
    ]


def test_rectangles_that_do_not_touch_are_no_table() -> None:
    boxes = [(x, y, x + 80, y + 30) for x in (0, 120) for y in (0, 60)]
    assert ruled_grids(boxes, [line("a", x + 5, y + 5) for x, y, *_ in boxes]) == []


def test_columns_line_up_at_either_side() -> None:
    rows = [("Bread", "2.10"), ("Whole milk", "11.35"), ("Egg", "0.20"), ("Cheese", "104.00")]
    texts = []
    for number, (name, price) in enumerate(rows):
        texts += [line(name, 20, 30 * number), line(price, 300 - 9 * len(price), 30 * number)]
    (grid,) = aligned_grids(texts)
    assert [(place.row, place.column) for place in grid.places] == [
        (row, column) for row in range(4) for column in (0, 1)
    ]


def test_lines_that_do_not_line_up_are_no_table() -> None:
    texts = []
    for number, (x, other) in enumerate(((20, 200), (60, 320), (90, 240), (30, 290))):
        texts += [line("word", x, 30 * number), line("another", other, 30 * number)]
    assert aligned_grids(texts) == []
    assert aligned_grids([line("a", 20, 0), line("b", 100, 0), line("c", 20, 30), line("d", 100, 30)]) == []


def test_a_table_is_found_between_other_text() -> None:
    texts = [line("A heading over all of it", 20, 0)]
    texts += [line(word, x, 40 + 30 * row) for row in range(3) for x, word in ((20, "left"), (200, "right"))]
    texts += [line("And one more line below", 20, 140)]
    (grid,) = aligned_grids(texts)
    assert grid.texts == set(range(1, 7))


def test_rows_that_line_up_with_nothing_end_a_table() -> None:
    texts = [
        line("A long line of words", 20, 0),
        line("17:42", 230, 0),
        line("Till", 20, 30),
        line("Receipt 118", 120, 30),
    ]
    for number, (name, price) in enumerate((("Wholemeal bread", "1.85"), ("Eggs", "2.40"), ("Cheddar", "14.15"))):
        texts += [line(name, 20, 60 + 30 * number), line(price, 300 - 9 * len(price), 60 + 30 * number)]
    (grid,) = aligned_grids(texts)
    assert grid.texts == set(range(4, 10))
