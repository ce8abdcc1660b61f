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


def test_bars_of_their_own_colours_are_one_series() -> None:
    pixels = canvas()
    for x, value, colour in ((100, 30, BLUE), (250, 76, RED), (400, 100, GREEN)):
        bar(pixels, x, 0, value, colour)
    chart = read_chart(pixels, axis_texts(["A", "B", "C"], [120, 270, 420]))
    assert chart.kind == "bar"
    (series,) = chart.series
    assert [(point.x, round(point.y)) for point in series.points] == [("A", 30), ("B", 76), ("C", 100)]
    assert series.color is None


def test_stacks_on_both_sides_of_zero() -> None:
    pixels = canvas()
    left = [Text(str(value), (30, 200 - 3 * value - 8, 54, 200 - 3 * value + 8)) for value in (-40, -20, 0, 20, 40)]
    for x, gain, loss in ((100, 30, 20), (250, 45, 8), (400, 10, 40)):
        pixels[200 - 3 * gain : 200, x : x + 40] = BLUE
        pixels[200 : 200 + 3 * loss, x : x + 40] = RED
    chart = read_chart(pixels, [*left, *(text(name, x, 370) for name, x in (("A", 120), ("B", 270), ("C", 420)))])
    assert chart.kind == "stacked bar"
    values = {series.color: [round(point.y) for point in series.points] for series in chart.series}
    assert values == {"#1f77b4": [30, 45, 10], "#d62728": [-20, -8, -40]}


def test_stacks_that_stand_on_nothing_are_refused() -> None:
    pixels = canvas()
    for x, low in ((100, 5), (250, 20), (400, 35)):
        bar(pixels, x, low, low + 20, BLUE)
        bar(pixels, x, low + 20, low + 50, RED)
    with pytest.raises(ChartError, match="common line"):
        read_chart(pixels, axis_texts(["A", "B", "C"], [120, 270, 420]))


def test_bars_between_numbers_take_the_numbers_between_or_are_a_histogram() -> None:
    years = axis_texts(["2000", "2004"], [120, 360])
    pixels, shifted = canvas(), canvas()
    for number, value in enumerate((30, 76, 100, 40, 20)):
        bar(pixels, 100 + 60 * number, 0, value, BLUE)
        bar(shifted, 130 + 60 * number, 0, value, BLUE)
    chart = read_chart(pixels, years)
    assert [point.x for point in chart.series[0].points] == ["2000", "2001", "2002", "2003", "2004"]
    with pytest.raises(ChartError, match="histogram"):
        read_chart(shifted, years)


def test_what_has_no_bar_and_what_is_none_is_warned_of() -> None:
    pixels = canvas()
    for x, value in ((100, 30), (400, 100)):
        bar(pixels, x, 0, value, BLUE)
    cv2.polylines(pixels, [np.array([(120, 300), (270, 180), (420, 220)])], False, RED, 3)
    warnings = read_chart(pixels, axis_texts(["A", "B", "C"], [120, 270, 420])).warnings
    assert len(warnings) == 2
    assert "'B'" in warnings[0]
    assert "line" in warnings[1]


def test_markers_give_the_points_of_a_line() -> None:
    pixels = canvas()
    places = [(100, 320), (200, 200), (300, 260), (400, 80), (500, 140)]
    cv2.polylines(pixels, [np.array(places)], False, RED, 2)
    for place in places:
        cv2.circle(pixels, place, 5, RED, -1)
    chart = read_chart(pixels, axis_texts(["2010", "2012", "2014"], [100, 300, 500]))
    assert [point.x for point in chart.series[0].points] == [2010, 2011, 2012, 2013, 2014]
    assert [point.y for point in chart.series[0].points] == pytest.approx([10, 50, 30, 90, 70], abs=0.8)


def test_a_black_line_is_told_from_axes_and_grid() -> None:
    pixels = canvas()
    pixels[50:351:60, 60:580] = 0xDD
    pixels[20:352, 60] = pixels[351, 60:580] = 0
    pixels[352:356, 100:501:200] = 0
    places = [(100, 320), (200, 200), (300, 260), (400, 80), (500, 140)]
    cv2.polylines(pixels, [np.array(places)], False, (0, 0, 0), 2)
    years = axis_texts(["2010", "2012", "2014"], [100, 300, 500])
    chart = read_chart(pixels, years)
    assert [point.y for point in chart.series[0].points] == pytest.approx([10, 50, 30, 90, 70], abs=1.5)
    cv2.polylines(pixels, [np.array([(x, 400 - y) for x, y in places])], False, BLUE, 2)
    assert len(read_chart(pixels, years).series) == 2


def test_a_legend_of_one_entry_is_no_mark() -> None:
    pixels = canvas()
    places = [(100, 320), (200, 200), (300, 260), (400, 80), (500, 140)]
    cv2.polylines(pixels, [np.array(places)], False, RED, 2)
    pixels[300:302, 430:460] = RED
    years = axis_texts(["2010", "2012", "2014"], [100, 300, 500])
    chart = read_chart(pixels, [*years, Text("Sales", (468, 292, 508, 310))])
    assert chart.legend == ["Sales"]
    assert [(series.name, len(series.points)) for series in chart.series] == [("Sales", 5)]


def test_bubbles_are_single_dots_unless_they_overlap() -> None:
    pixels = canvas()
    for x, y, radius in ((100, 300, 5), (220, 250, 25), (300, 150, 8), (400, 280, 5), (480, 100, 30)):
        cv2.circle(pixels, (x, y), radius, GREEN, -1)
    years = axis_texts(["0", "50", "100"], [100, 300, 500])
    chart = read_chart(pixels, years)
    assert len(chart.series[0].points) == 5
    assert "sizes" in chart.warnings[0]
    cv2.circle(pixels, (250, 235), 20, GREEN, -1)
    with pytest.raises(ChartError, match="overlap"):
        read_chart(pixels, years)


def test_a_ring_in_a_ring_is_refused() -> None:
    pixels = canvas()
    for radius, turn in ((120, 0), (70, 60)):
        for start, colour in ((0, BLUE), (90, RED), (234, GREEN)):
            end = {0: 90, 90: 234, 234: 360}[start]
            cv2.ellipse(pixels, (300, 200), (radius, radius), turn, start, end, colour, -1)
    with pytest.raises(ChartError, match="rings"):
        read_chart(pixels, [text("one", 430, 310), text("two", 150, 230)])


@pytest.mark.parametrize(("words", "values"), [("1e6", [3e7, 7.6e7, 1e8]), ("+2e3", [2030, 2076, 2100])])
def test_a_factor_or_an_offset_above_the_axis_counts(words: str, values: list[float]) -> None:
    pixels = canvas()
    for x, value in ((100, 30), (250, 76), (400, 100)):
        bar(pixels, x, 0, value, BLUE)
    chart = read_chart(pixels, [*axis_texts(["A", "B", "C"], [120, 270, 420]), Text(words, (60, 20, 90, 34))])
    assert [point.y for point in chart.series[0].points] == pytest.approx(values)
    assert chart.title is None


def test_slices_of_similar_colours_stay_apart() -> None:
    pixels = canvas()
    for start, end, colour in ((0, 45, (129, 114, 178)), (45, 75, (76, 114, 176)), (75, 360, GREEN)):
        cv2.ellipse(pixels, (300, 200), (120, 120), 0, start, end, colour, -1)
    chart = read_chart(pixels, [text("one", 450, 250), text("two", 390, 330), text("rest", 160, 130)])
    shares = {point.x: point.y for point in chart.series[0].points}
    assert shares == pytest.approx({"one": 12.5, "two": 8.33, "rest": 79.17}, abs=0.7)


def test_a_dashed_line_has_its_points_where_the_others_have_theirs() -> None:
    pixels = canvas()
    dashed = canvas()
    cv2.polylines(dashed, [np.array([(100, 200), (200, 170), (300, 210), (400, 150), (500, 190)])], False, BLUE, 2)
    columns = np.arange(600)[None, :, None] % 9 < 6
    pixels[:] = np.where(columns, dashed, pixels)
    cv2.polylines(pixels, [np.array([(100, 320), (200, 280), (300, 330), (400, 250), (500, 300)])], False, RED, 2)
    chart = read_chart(pixels, axis_texts(["2010", "2012", "2014"], [100, 300, 500]))
    assert [[point.x for point in series.points] for series in chart.series] == 2 * [[2010, 2011, 2012, 2013, 2014]]


def test_the_smooth_edges_of_a_line_on_black_are_no_grey_line() -> None:
    pixels = np.zeros((400, 600, 3), np.uint8)
    places = [(100, 320), (200, 200), (300, 260), (400, 80), (500, 140)]
    cv2.polylines(pixels, [np.array(places)], False, (141, 211, 199), 3, cv2.LINE_AA)
    (series,) = read_chart(pixels, axis_texts(["2010", "2012", "2014"], [100, 300, 500])).series
    assert [point.x for point in series.points] == [2010, 2011, 2012, 2013, 2014]
