"""From loose words to lines of text that keep the page's layout."""

from collections.abc import Sequence
from statistics import median

from dg_sglang.pipelines.document import Line, Word

MAX_GAP = 24
"""Longest run of spaces that a column gap becomes."""
COLUMN_GAP = 1.8
"""A gap from this many average characters on separates columns rather than words."""
PARAGRAPH_GAP = 0.9
"""A vertical gap from this many average word heights on becomes a blank line."""


def build_lines(words: Sequence[Word]) -> tuple[Line, ...]:
    """Group the words of one page into lines, top to bottom, each from left to right.

    A word joins the line whose vertical extent it shares by at least half of the smaller height.
    """
    words = [word for word in words if word.text.strip()]
    if not words:
        return ()
    rows = _rows(words)
    character = median((word.box[2] - word.box[0]) / len(word.text) for word in words) or 1.0
    height = median(word.box[3] - word.box[1] for word in words) or 1.0
    lines: list[Line] = []
    bottom = None
    for row in rows:
        top = min(word.box[1] for word in row)
        lines.append(_line(row, character, bottom is not None and top - bottom >= PARAGRAPH_GAP * height))
        bottom = max(word.box[3] for word in row)
    return tuple(lines)


def _rows(words: Sequence[Word]) -> list[list[Word]]:
    rows: list[list[Word]] = []
    extents: list[tuple[float, float]] = []
    for word in sorted(words, key=lambda word: (word.box[1] + word.box[3], word.box[0])):
        top, bottom = word.box[1], word.box[3]
        for index in range(len(rows) - 1, max(len(rows) - 4, -1), -1):
            row_top, row_bottom = extents[index]
            shared = min(bottom, row_bottom) - max(top, row_top)
            if shared > 0 and shared >= 0.5 * min(bottom - top, row_bottom - row_top):
                rows[index].append(word)
                break
        else:
            rows.append([word])
            extents.append((top, bottom))
    return [sorted(row, key=lambda word: word.box[0]) for row in rows]


def _line(row: Sequence[Word], character: float, space_before: bool) -> Line:
    text = ""
    starts = []
    right = row[0].box[0]
    for word in row:
        if text:
            gap = (word.box[0] - right) / character
            text += " " if gap < COLUMN_GAP else " " * max(2, min(MAX_GAP, round(gap)))
        starts.append(len(text))
        text += word.text
        right = max(right, word.box[2])
    return Line(tuple(row), text, tuple(starts), space_before)
