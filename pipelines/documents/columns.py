"""Reading order: pages of running text in two columns are read column by column, everything else row by row."""

import math
from collections.abc import Sequence
from statistics import median

from dg_sglang.pipelines.document import Word

Row = list[Word]
MIN_ROWS = 6
"""Fewer rows side by side are a form or a table rather than columns of text."""
MIN_WORDS = 3
"""Words that most of a column's lines have at least."""
MIN_FILL = 0.7
"""Share of a column's width that most of its lines reach."""
MAX_DIGITS = 0.25
"""Share of words with digits from which on it is a table."""
_STEPS = 200  # of the page's width, in the search for the gutter


def reading_blocks(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows as blocks to be read one after the other: whole rows, or a column's parts of rows.

    Args:
        rows: words side by side, from left to right; rows from top to bottom.
    """
    gutter = _gutter(rows)
    if gutter is None:
        return [list(rows)]
    blocks: list[list[Row]] = []
    run: list[Row] = []
    for row in [*rows, None]:
        if row is not None and not _crosses(row, gutter):
            run.append(row)
            continue
        if run:
            sides = (
                [[word for word in one if word.box[2] <= gutter] for one in run],
                [[word for word in one if word.box[0] >= gutter] for one in run],
            )
            columns = [[part for part in side if part] for side in sides]
            blocks += columns if all(map(_is_prose, columns)) else [run]
            run = []
        if row is not None:
            blocks.append([row])
    return _joined(blocks, rows)


def _gutter(rows: Sequence[Row]) -> float | None:
    """The x near the middle that the fewest rows cross, in the middle of the widest such gap; None if many do."""
    words = [word for row in rows for word in row]
    if len(rows) < MIN_ROWS:
        return None
    left, right = min(word.box[0] for word in words), max(word.box[2] for word in words)
    width = (right - left) / _STEPS or 1.0
    crossing = [0] * (_STEPS + 1)
    for row in rows:
        covered = {
            step
            for word in row
            for step in range(int((word.box[0] - left) / width) + 1, math.ceil((word.box[2] - left) / width))
        }
        for step in covered:
            crossing[step] += 1
    middle = range(round(0.3 * _STEPS), round(0.7 * _STEPS))
    least = min(crossing[step] for step in middle)
    if least > len(rows) / 2:
        return None
    best: list[int] = []
    run: list[int] = []
    for step in middle:
        run = [*run, step] if crossing[step] == least else []
        best = max(best, run, key=len)
    return left + width * median(best)


def _crosses(row: Row, gutter: float) -> bool:
    """Whether the row reads on over the gutter: a word lies on it, or no more than a word's space."""
    before = [word.box[2] for word in row if word.box[0] < gutter]
    after = [word.box[0] for word in row if word.box[0] >= gutter]
    if not before:
        return False
    height = max(word.box[3] - word.box[1] for word in row)
    return max(before) > gutter or (bool(after) and min(after) - max(before) < height)


def _is_prose(rows: Sequence[Row]) -> bool:
    if len(rows) < MIN_ROWS:
        return False
    left, right = min(row[0].box[0] for row in rows), max(row[-1].box[2] for row in rows)
    full = sum(row[-1].box[2] - row[0].box[0] >= MIN_FILL * (right - left) for row in rows)
    long = sum(len(row) >= MIN_WORDS for row in rows)
    words = [word.text for row in rows for word in row]
    digits = sum(any(char.isdigit() for char in word) for word in words)
    return min(full, long) >= MIN_FILL * len(rows) and digits <= MAX_DIGITS * len(words)


def _joined(blocks: list[list[Row]], rows: Sequence[Row]) -> list[list[Row]]:
    """Neighbouring blocks of whole rows as one."""
    whole = {id(row) for row in rows}
    joined: list[list[Row]] = []
    for block in blocks:
        if joined and id(joined[-1][-1]) in whole and id(block[0]) in whole:
            joined[-1] += block
        else:
            joined.append(list(block))
    return joined
