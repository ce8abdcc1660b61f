"""Words of a line in the order in which they are read, where some or all of them are written from right to left."""

import unicodedata
from collections.abc import Sequence

from dg_sglang.pipelines.document import Word


def in_reading_order(row: Sequence[Word]) -> list[Word]:
    """The words of a row, given from left to right, in logical order.

    The line runs in the direction of most of its letters. Against it run stretches of words of the other direction; a
    number belongs to such a stretch only inside it (the Unicode bidirectional algorithm, UAX 9, by whole words).
    """
    sides = [_side(word.text) for word in row]
    if "R" not in sides:
        return list(row)
    right, left = sides.count("R"), sides.count("L")
    backwards = right > left or (right == left and next(filter(None, sides)) == "R")
    words, other = (list(reversed(row)), "L") if backwards else (list(row), "R")
    if backwards:
        sides.reverse()
    ordered: list[Word] = []
    index = 0
    while index < len(words):
        end = index
        while sides[index] == other and (following := _next_strong(sides, end + 1, other)) is not None:
            end = following
        ordered.extend(reversed(words[index : end + 1]))
        index = end + 1
    return ordered


def _next_strong(sides: Sequence[str], start: int, wanted: str) -> int | None:
    """The next word with a direction of its own, if that is `wanted`."""
    for index in range(start, len(sides)):
        if sides[index]:
            return index if sides[index] == wanted else None
    return None


def _side(text: str) -> str:
    """ "L" or "R" by the first letter with a direction; "" for numbers and signs."""
    for char in text:
        kind = unicodedata.bidirectional(char)
        if kind in ("R", "AL"):
            return "R"
        if kind == "L":
            return "L"
    return ""
