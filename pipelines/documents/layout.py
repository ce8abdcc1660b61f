"""From loose words to lines of text that keep the page's layout."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from dg_sglang.pipelines.document import Line, Word
from dg_sglang.pipelines.documents.columns import reading_blocks
from dg_sglang.pipelines.documents.direction import in_reading_order

MAX_GAP = 24
"""Longest run of spaces that a column gap becomes."""
COLUMN_GAP = 1.8
"""A gap from this many average characters on separates columns rather than words."""
RUN_GAP = 4.0
"""The same inside one run of OCR."""
PARAGRAPH_GAP = 0.9
"""A vertical gap from this many average word heights on becomes a blank line."""


Direction = tuple[int, int]
"""Where a text's baseline runs on the page: (1, 0) to the right, (0, 1) down, (-1, 0) to the left, (0, -1) up."""


def build_lines(words: Sequence[Word], direction: Direction = (1, 0)) -> tuple[Line, ...]:
    """Group the words of one page, all running in `direction`, into lines in the order in which they are read.

    A word joins the line whose extent across the direction it shares by at least half of the smaller height. Columns of
    running text are read one after the other; words written from right to left come in logical order.
    """
    words = [_turned(word, direction) for word in words if word.text.strip()]
    if not words:
        return ()
    blocks = reading_blocks(_rows(words))
    character = median((word.box[2] - word.box[0]) / len(word.text) for word in words) or 1.0
    height = median(word.box[3] - word.box[1] for word in words) or 1.0
    lines: list[Line] = []
    for block in blocks:
        bottom = None
        for row in block:
            top = min(word.box[1] for word in row)
            gap = bool(lines) if bottom is None else top - bottom >= PARAGRAPH_GAP * height
            line = _line(in_reading_order(row), character, gap)
            lines.append(
                replace(line, words=tuple(_turned(word, (direction[0], -direction[1])) for word in line.words))
            )
            bottom = max(word.box[3] for word in row)
    return tuple(lines)


def join_lines(parts: Iterable[tuple[Line, ...]]) -> tuple[Line, ...]:
    """The lines of one page's parts one after the other, with a gap between parts."""
    joined: list[Line] = []
    for lines in parts:
        first = [replace(lines[0], space_before=True)] if joined and lines else list(lines[:1])
        joined += [*first, *lines[1:]]
    return tuple(joined)


def _turned(word: Word, direction: Direction) -> Word:
    """The word in coordinates along `direction` and, to its right hand, across it."""
    if direction == (1, 0):
        return word
    (x0, y0, x1, y1), (cos, sin) = word.box, direction
    along = sorted((x0 * cos + y0 * sin, x1 * cos + y1 * sin))
    across = sorted((y0 * cos - x0 * sin, y1 * cos - x1 * sin))
    return replace(word, box=(along[0], across[0], along[1], across[1]))


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
    starts: list[int] = []
    for before, word in zip([None, *row], row, strict=False):
        if before:
            gap = max(word.box[0] - before.box[2], before.box[0] - word.box[2]) / character
            apart = gap >= (RUN_GAP if word.run is not None and word.run == before.run else COLUMN_GAP)
            text += " " * max(2, min(MAX_GAP, round(gap))) if apart and _neighbours(before, word, row) else " "
        starts.append(len(text))
        text += word.text
    return Line(tuple(row), text, tuple(starts), space_before)


def _neighbours(one: Word, other: Word, row: Sequence[Word]) -> bool:
    """Whether no word stands between them: where directions mix, the next word in reading order may stand elsewhere."""
    left, right = sorted((one, other), key=lambda word: word.box[0])
    return not any(left.box[0] < word.box[0] < right.box[0] for word in row)
