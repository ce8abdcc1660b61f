"""Charts drawn pixel by pixel, their texts given: no text recognition here."""

import cv2
import numpy as np
import pytest

from dg_sglang.errors import ChartError
from dg_sglang.vision.charts.model import Chart, Point, Series
from dg_sglang.vision.charts.reader import read_chart
from dg_sglang.vision.ocr import Text

BLUE, RED, GREEN = (31, 119, 180), (214, 39, 40), (44, 160, 44)


def canvas() -> np.ndarray:
    return np.full((400, 600, 3), 255, np.uint8)


def text(words: str, x: float, y: float) -> Text:
    half = 4.0 * len(words)
    return Text(words, (x - half, y - 8, x + half, y + 8))


def axis_texts(names: list[str], places: list[float]) -> list[Text]:
    """0 to 100 on the left between y = 350 and y = 50, names below."""
    left = [Text(str(value), (30, 350 - 3 * value - 8, 54, 350 - 3 * value + 8)) for value in (0, 20, 40, 60, 80, 100)]
    return left + [text(name, x, 370) for name, x in zip(names, places, strict=True)]


def bar(pixels: np.ndarray, x: int, low: float, high: float, colour: tuple[int, int, int], width: int = 40) -> None:
    pixels[round(350 - 3 * high) : round(350 - 3 * low), x : x + width] = colour


def test_bars_and_their_title() -> None:
    pixels = canvas()
    for x, value in ((100, 30), (250, 76), (400, 100)):
        bar(pixels, x, 0, value, BLUE)
    chart = read_chart(pixels, [*axis_texts(["A", "B", "C"], [120, 270, 420]), text("Sales", 300, 15)])
    assert chart.kind == "bar"
    assert chart.title == "Sales"
    assert chart.method == "geometry"
    assert [(point.x, round(point.y)) for point in chart.series[0].points] == [("A", 30), ("B", 76), ("C", 100)]
    assert chart.series[0].points[0].box == (100, 260, 140, 350)
    assert chart.series[0].color == "#1f77b4"
    assert chart.table()[1][0][0] == "A"


def test_stacked_and_grouped_bars_with_a_legend() -> None:
    stacked, grouped = canvas(), canvas()
    for x, one, other in ((100, 30, 20), (250, 50, 10), (400, 10, 60)):
        bar(stacked, x, 0, one, BLUE)
        bar(stacked, x, one, one + other, RED)
        bar(grouped, x, 0, one, BLUE)
        bar(grouped, x + 40, 0, other, RED)
    legend = [text("first", 560, 60), text("second", 564, 85)]
    for pixels in (stacked, grouped):
        pixels[54:66, 510:530] = BLUE
        pixels[79:91, 510:530] = RED
    names = axis_texts(["A", "B", "C"], [120, 270, 420])
    for pixels, kind in ((stacked, "stacked bar"), (grouped, "grouped bar")):
        chart = read_chart(pixels, names + legend)
        assert chart.kind == kind
        assert [series.name for series in chart.series] == ["first", "second"] == chart.legend
        values = [[round(point.y) for point in series.points] for series in chart.series]
        assert values == [[30, 50, 10], [20, 10, 60]]


def test_line_over_numbers_and_dots() -> None:
    years = axis_texts(["2010", "2012", "2014"], [100, 300, 500])
    pixels = canvas()
    places = [(100, 320), (200, 200), (300, 260), (400, 80), (500, 140)]
    cv2.polylines(pixels, [np.array(places)], False, RED, 2)
    chart = read_chart(pixels, years)
    assert chart.kind == "line"
    assert [point.x for point in chart.series[0].points] == [2010, 2011, 2012, 2013, 2014]
    assert [point.y for point in chart.series[0].points] == pytest.approx([10, 50, 30, 90, 70], abs=1.5)
    pixels = canvas()
    for x, y in [*places, (104, 100), (350, 300)]:
        cv2.circle(pixels, (x, y), 5, GREEN, -1)
    chart = read_chart(pixels, years)
    assert chart.kind == "scatter"
    assert len(chart.series[0].points) == 7
    assert min(point.y for point in chart.series[0].points) == pytest.approx(10, abs=0.5)


def test_pie_by_its_angles() -> None:
    pixels = canvas()
    for start, end, colour in ((0, 90, BLUE), (90, 234, RED), (234, 360, GREEN)):
        cv2.ellipse(pixels, (300, 200), (120, 120), 0, start, end, colour, -1)
    chart = read_chart(pixels, [text("south-east", 430, 310), text("west", 150, 230), text("north", 330, 60)])
    assert chart.kind == "pie"
    shares = {point.x: point.y for point in chart.series[0].points}
    assert shares == pytest.approx({"south-east": 25, "west": 40, "north": 35}, abs=0.7)


@pytest.mark.parametrize("case", ["blank", "no labels", "no numbers"])
def test_what_cannot_be_read_is_refused(case: str) -> None:
    pixels = canvas()
    texts: list[Text] = []
    if case != "blank":
        bar(pixels, 100, 0, 50, BLUE)
        bar(pixels, 300, 0, 70, BLUE)
    if case == "no numbers":
        texts = [text(word, 40, 50 + 60 * row) for row, word in enumerate(("low", "mid", "high"))]
        texts += [text("A", 120, 370), text("B", 320, 370)]
    with pytest.raises(ChartError):
        read_chart(pixels, texts)


def test_a_bar_whose_label_was_not_read_gets_no_other_name_and_keeps_its_value() -> None:
    pixels = canvas()
    for x, value in ((100, 30), (250, 76), (400, 100)):
        bar(pixels, x, 0, value, BLUE)
    chart = read_chart(pixels, axis_texts(["A", "B"], [120, 270]))
    assert [(point.x, round(point.y)) for point in chart.series[0].points] == [("A", 30), ("B", 76), (None, 100)]
    assert [(name, round(value)) for name, value in chart.table()[1]] == [("A", 30), ("B", 76), (None, 100)]


def test_points_with_the_same_name_all_stand_in_the_table() -> None:
    points = [Point(x="Jan", y=1.0), Point(x="Jan", y=2.0), Point(x=None, y=3.0)]
    other = [Point(x="Jan", y=4.0), Point(x=None, y=5.0)]
    chart = Chart(kind="bar", series=[Series(points=points), Series(points=other)], method="geometry")
    rows = [["Jan", 1.0, 4.0], ["Jan", 2.0, None], [None, 3.0, None], [None, None, 5.0]]
    assert chart.table()[1] == rows


def test_bars_that_float_are_refused() -> None:
    pixels = canvas()
    for x, low, high in ((100, 0, 30), (250, 20, 76), (400, 35, 100)):
        bar(pixels, x, low, high, BLUE)
    with pytest.raises(ChartError, match="common line"):
        read_chart(pixels, axis_texts(["A", "B", "C"], [120, 270, 420]))
