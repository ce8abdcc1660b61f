"""Dates as documents write them: where they are in a text, and which day they mean."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Literal

DateOrder = Literal["day_first", "month_first"]

# Month names and their usual abbreviations in English, German, French, Spanish, Italian and Dutch, in this order.
_MONTHS = (
    "january jan januar jänner janvier janv enero ene gennaio gen januari",
    "february feb februar feber février fevrier févr fevr fév febrero febbraio februari",
    "march mar märz maerz mär mrz mars marzo maart mrt",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio mag mei",
    "june jun juni juin junio giugno giu",
    "july jul juli juillet juil julio luglio lug",
    "august aug août aout agosto ago augustus",
    "september sep sept septembre septiembre setiembre settembre set",
    "october oct oktober okt octobre octubre ottobre ott",
    "november nov novembre noviembre",
    "december dec dez dezember décembre decembre déc diciembre dic dicembre",
)
_MONTH_NUMBER = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}
_MONTH = "(?:" + "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True)) + r")(?!\w)\.?"
_YEAR = r"(?:19|20)\d\d"
_SHORT_YEAR = rf"(?:{_YEAR}|['’]?\d\d)"
_DAY = r"[0-3]?\d"
_GAP = r"[^\S\n]{0,2}"

_NUMERIC = re.compile(rf"(?P<a>{_DAY})(?P<sep>[./-]|\.[^\S\n])(?P<b>{_DAY})(?P=sep)(?P<y>{_SHORT_YEAR})")
_YEAR_FIRST = re.compile(rf"(?P<y>{_YEAR})(?P<sep>[./-]?)(?P<m>[01]\d|(?<=[./-])\d)(?P=sep)(?P<d>[0-3]\d|(?<=[./-])\d)")
_DAY_NAME = re.compile(
    rf"(?P<d>{_DAY})(?:st|nd|rd|th|er|\.|º|°)?{_GAP}(?:of\s|de\s|di\s)?[-/]?(?P<m>{_MONTH}){_GAP}(?:de\s|del\s|,\s?)?[-/]?{_GAP}"
    rf"(?P<y>{_SHORT_YEAR})",
    re.IGNORECASE,
)
_NAME_DAY = re.compile(
    rf"(?P<m>{_MONTH}){_GAP}[-/]?(?P<d>{_DAY})(?:st|nd|rd|th)?{_GAP}[,-]?{_GAP}(?P<y>{_YEAR})", re.IGNORECASE
)
_PATTERNS = (_YEAR_FIRST, _DAY_NAME, _NAME_DAY, _NUMERIC)
# Not inside a longer word or number with separators; a dash may join two dates to a period, and a clock time may follow
# without a space, as tills print it and OCR reads it.
_BEFORE, _AFTER = r"(?<!\w)(?<!\d[.,/])", r"(?:(?=\d\d:\d\d)|(?!\w)(?![./]\d))"
_SEARCH = tuple(re.compile(_BEFORE + pattern.pattern + _AFTER, pattern.flags) for pattern in _PATTERNS)


def find_dates(text: str) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of every piece of `text` that is a date in some usual notation, in order, without overlaps."""
    found: list[tuple[int, int]] = []
    for pattern in _SEARCH:
        for match in pattern.finditer(text):
            start, end = match.span()
            if _readings(match.group()) and not any(start < e and s < end for s, e in found):
                found.append((start, end))
    yield from sorted(found)


def read_date(raw: str, order: DateOrder | None = None) -> date:
    """The day that `raw` means. `order` decides between 03/04 as 3 April and as 4 March.

    Raises:
        ValueError: not a date, or two days are possible and `order` is None.
    """
    readings = _readings(raw.strip())
    if not readings:
        raise ValueError(f"{raw!r} is not a date")
    days = set(readings.values())
    if len(days) == 1:
        return days.pop()
    if order is None:
        choices = f"{readings['day_first']} or {readings['month_first']}"
        raise ValueError(f"{raw!r} may be {choices}, and nothing in the document decides")
    return readings[order]


def order_shown_by(raw: str) -> DateOrder | None:
    """The order that this date gives away by itself, as 25/12/2024 does."""
    readings = _readings(raw)
    return next(iter(readings)) if len(readings) == 1 else None


def _readings(raw: str) -> dict[DateOrder, date]:
    """The possible days by order; the same day for both where the notation leaves no choice. Dots mean day first."""
    for pattern in (_YEAR_FIRST, _DAY_NAME, _NAME_DAY):
        if match := pattern.fullmatch(raw):
            month = match["m"]
            number = int(month) if month.isdigit() else _MONTH_NUMBER[month.rstrip(".").lower()]
            day = _day(match["y"], number, int(match["d"]))
            return {"day_first": day, "month_first": day} if day else {}
    if match := _NUMERIC.fullmatch(raw):
        a, b = int(match["a"]), int(match["b"])
        days = {"day_first": _day(match["y"], b, a), "month_first": _day(match["y"], a, b)}
        if match["sep"][0] == "." and days["day_first"]:
            days["month_first"] = days["day_first"]
        return {order: day for order, day in days.items() if day}  # type: ignore[misc]
    return {}


def _day(year: str, month: int, day: int) -> date | None:
    number = int(year.lstrip("'’"))
    if number < 100:  # POSIX's pivot for two-digit years
        number += 2000 if number < 69 else 1900
    try:
        return date(number, month, day)
    except ValueError:
        return None
