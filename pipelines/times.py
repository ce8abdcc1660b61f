"""Times of day, and dates with one, as documents write them."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, timezone

from dg_sglang.pipelines.dates import DateOrder, find_dates, read_date

_HALF = r"(?:\s?(?P<half>[ap])\.?\s?m\b\.?)"
_CLOCK = rf"(?P<h>[0-2]?\d)(?P<sep>[:h])(?P<m>[0-5]\d)(?:[:.](?P<s>[0-5]\d)(?:[.,](?P<f>\d{{1,6}}))?)?{_HALF}?"
_DOTTED = r"(?P<h>[0-2]?\d)\.(?P<m>[0-5]\d)(?=\s?(?:Uhr|uur)\b)"
_HOUR = rf"(?P<h>[01]?\d){_HALF}"
_OFFSET = r"(?P<offset>Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)"
_TIMES = tuple(re.compile(form, re.IGNORECASE) for form in (_CLOCK, _DOTTED, _HOUR))
_SEARCH = tuple(
    re.compile(rf"(?<![\w.,:])(?:{pattern.pattern})(?![:.,]?\d)(?!\w)", re.IGNORECASE) for pattern in _TIMES
)
# What may stand between a date and its time.
_JOINT = re.compile(r"[^\S\n]?[,/|-]?[^\S\n]{0,2}(?:(?:at|um|à|a las|alle|om)[^\S\n])?", re.IGNORECASE)
_ISO = re.compile(r"(?<=\d)T(?=\d\d:)")
_ZONED = re.compile(rf"(?P<time>{_CLOCK})[^\S\n]?{_OFFSET}?(?!\w)", re.IGNORECASE)


def find_times(text: str) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of every piece of `text` that is a time of day, in order, without overlaps."""
    found: list[tuple[int, int]] = []
    taken: set[int] = set()
    for pattern in _SEARCH:
        for match in pattern.finditer(text):
            start, end = match.span()
            if _time(match) is not None and taken.isdisjoint(range(start, end)):
                found.append((start, end))
                taken.update(range(start, end))
    yield from sorted(found)


def find_datetimes(text: str) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of every date of `text` that a time of day follows, both together."""
    text = _ISO.sub(" ", text)
    for start, end in find_dates(text):
        joint = _JOINT.match(text, end)
        if joint and (length := _time_length(text[joint.end() :])):
            yield start, joint.end() + length


def read_time(raw: str) -> time:
    """The time of day that `raw` means. Raises ValueError: it is none."""
    for pattern in _TIMES:
        match = pattern.fullmatch(raw.strip()) or (pattern is _TIMES[1] and pattern.match(raw.strip()))
        if match and (value := _time(match)) is not None:
            return value
    raise ValueError(f"{raw!r} is not a time of day")


def read_datetime(raw: str, order: DateOrder | None = None) -> datetime:
    """The moment that `raw` means; without a time zone unless `raw` states its offset. `order` as for `read_date`.

    Raises:
        ValueError: not a date with a time, or two days are possible and `order` is None.
    """
    text = _ISO.sub(" ", raw.strip())
    for start, end in find_dates(text):
        joint = _JOINT.match(text, end)
        clock = text[joint.end() :] if joint else ""
        if start == 0 and clock and _time_length(clock) == len(clock):
            return datetime.combine(read_date(text[:end], order), *_clock(clock))
    raise ValueError(f"{raw!r} is not a date with a time of day")


def _time_length(text: str) -> int:
    """How many characters of a text that begins with a time of day, and maybe its offset, are that."""
    if (match := _ZONED.match(text)) and match["offset"] and _time(match) is not None:
        return match.end()
    return next((end for start, end in find_times(text[:32]) if start == 0), 0)


def _clock(text: str) -> tuple[time, timezone | None]:
    match = _ZONED.fullmatch(text)
    if match is None or match["offset"] is None:
        return read_time(text), None
    offset = match["offset"].replace(":", "")
    if offset in "zZ":
        return read_time(match["time"]), UTC
    minutes = int(offset[1:3]) * 60 + int(offset[3:])
    return read_time(match["time"]), timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))


def _time(match: re.Match[str]) -> time | None:
    parts = match.groupdict()
    hour, half = int(parts["h"]), (parts.get("half") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "p")
    if hour > 23:
        return None
    second, fraction = int(parts.get("s") or 0), (parts.get("f") or "").ljust(6, "0")
    return time(hour, int(parts.get("m") or 0), second, int(fraction))
