from dataclasses import replace

from dg_sglang.pipelines.document import Word
from dg_sglang.pipelines.documents.layout import MAX_GAP, build_lines


def word(text: str, x: float, y: float, height: float = 10) -> Word:
    return Word(text, (x, y, x + 6 * len(text), y + height))


def texts(*words: Word) -> list[str]:
    return [line.text for line in build_lines(words)]


def test_words_are_sorted_into_lines_whatever_their_order() -> None:
    assert texts(word("c", 0, 20), word("b", 40, 1), word("a", 30, 0)) == ["a b", "c"]


def test_a_word_that_sits_lower_or_is_larger_stays_in_its_line() -> None:
    assert texts(word("Total", 0, 0, 10), word("EUR", 36, 3, 10), word("9", 60, -4, 18)) == ["Total EUR 9"]


def test_gaps_become_spaces_in_proportion_up_to_a_limit() -> None:
    near, far = texts(word("a", 0, 0), word("b", 36, 0), word("c", 600, 0))[0].split("b")
    assert near == "a" + " " * 5
    assert far == " " * MAX_GAP + "c"


def test_wide_spacing_inside_one_run_of_ocr_is_no_column() -> None:
    spaced = [replace(word(text, x, 0), run=1) for text, x in (("SIN", 0), ("THYE", 36), ("99.00", 120))]
    assert texts(*spaced) == ["SIN THYE" + " " * 10 + "99.00"]
    assert texts(*spaced[:1], replace(spaced[1], run=2)) == ["SIN   THYE"]


def test_a_larger_vertical_gap_is_noted() -> None:
    lines = build_lines([word("a", 0, 0), word("b", 0, 13), word("c", 0, 40)])
    assert [line.space_before for line in lines] == [False, False, True]


def test_starts_index_the_line() -> None:
    (line,) = build_lines([word("Total", 0, 0), word("9,50", 100, 0)])
    assert [line.text[start:].split()[0] for start in line.starts] == ["Total", "9,50"]


def test_blank_words_are_dropped() -> None:
    assert build_lines([word(" ", 0, 0)]) == ()
