"""From the document's words to typed values. Ambiguity is settled by the document itself or refused, never guessed."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from typing import Literal

from dg_sglang.pipelines.currencies import find_currencies, read_currency
from dg_sglang.pipelines.dates import DateOrder, find_dates, order_shown_by, read_date
from dg_sglang.pipelines.numbers import DecimalMark, find_numbers, mark_shown_by, read_number
from dg_sglang.pipelines.times import find_datetimes, find_times, read_datetime, read_time

StatedKind = Literal["text", "date", "datetime", "time", "number", "currency"]

FINDERS: dict[str, Callable[[str], Iterator[tuple[int, int]]]] = {
    "date": find_dates,
    "datetime": find_datetimes,
    "time": find_times,
    "number": find_numbers,
    "currency": find_currencies,
}
"""What yields the [start, end) of every piece of a kind in a text."""
# Frequent short words that few of the other languages share.
_FUNCTION_WORDS = {
    "en": "the of and to for with from this is by your",
    "de": "der die das und von bis für mit nicht bei vom zum zur ist wir",
    "fr": "le les des du et pour par avec sur est une dans au",
    "es": "el los las y por con una del para al es",
    "it": "il gli della di e per con del una alla",
    "nl": "het een van en voor met op niet bij te",
}
# Where English is written, the date order follows the country.
_DAY_FIRST_PLACES = re.compile(
    r"\b(?:GST|VAT|SDN\.? ?BHD|RM|MYR|SGD|INR|GBP|AUD|NZD|ABN|Pte|Pty|Ltd|EUR|United Kingdom)\b|£|€|₹", re.I
)
_MONTH_FIRST_PLACES = re.compile(r"\b(?:Sales Tax|USA|ZIP|U\.S\.|[A-Z]{2} \d{5}(?:-\d{4})?|Inc|LLC)\b")
_CLEAR = 3
"""How many times more often one habit must show than its rival to count as the document's."""


@dataclass(frozen=True)
class Conventions:
    """How one document writes its values, and what says so. None where the document leaves it open."""

    date_order: DateOrder | None = None
    decimal_mark: DecimalMark | None = None
    currencies: frozenset[str] = frozenset()
    reasons: tuple[str, ...] = ()

    def with_(self, *, date_order: DateOrder | None = None, decimal_mark: DecimalMark | None = None) -> "Conventions":
        """The same, with what the caller knows better."""
        return replace(self, date_order=date_order or self.date_order, decimal_mark=decimal_mark or self.decimal_mark)


def conventions_of(text: str) -> Conventions:
    """Read a document's habits off its unambiguous values.

    Date order: other dates in the document (25/12/2024); else its language (German, French, Spanish, Italian and Dutch
    put the day first); else, in English, words of one country (GST, £; Sales Tax, ZIP codes). Decimal mark: other
    amounts (9,50).
    """
    reasons = []
    order, why = _clear_habit(order_shown_by(raw) for raw in pieces(text, "date"))
    if order is None:
        order, why = _order_by_language(text)
    if order:
        reasons.append(f"dates {order.replace('_', ' ')}: {why}")
    mark, why = _clear_habit(mark_shown_by(raw) for raw in pieces(text, "number"))
    if mark:
        reasons.append(f"decimal mark {mark!r}: {why}")
    codes = set()
    for raw in pieces(text, "currency"):
        if len(raw) > 2:
            try:
                codes.add(read_currency(raw))
            except ValueError:
                continue
    return Conventions(order, mark, frozenset(codes), tuple(reasons))  # type: ignore[arg-type]


def pieces(text: str, kind: str) -> list[str]:
    """The distinct pieces of `text` that look like one of a kind of `FINDERS`, in order of appearance."""
    return list(dict.fromkeys(" ".join(text[start:end].split()) for start, end in FINDERS[kind](text)))


def normalise(raw: str, kind: StatedKind, conventions: Conventions) -> str | date | time | Decimal:
    """The typed value of a stated leaf: text as it is, a date, a datetime, a time, a Decimal, or a currency's ISO code.

    Raises:
        ValueError: `raw` is not of this kind, or has several readings and the document doesn't settle which.
    """
    if kind == "date":
        return read_date(raw, conventions.date_order)
    if kind == "datetime":
        return read_datetime(raw, conventions.date_order)
    if kind == "time":
        return read_time(raw)
    if kind == "number":
        return read_number(raw, conventions.decimal_mark)
    if kind == "currency":
        return read_currency(raw, conventions.currencies)
    return raw


def _clear_habit(shown: Iterable[str | None]) -> tuple[str | None, str]:
    counts = Counter(habit for habit in shown if habit)
    if not counts:
        return None, ""
    (habit, most), *others = counts.most_common()
    if sum(count for _, count in others) * _CLEAR > most:
        return None, ""
    return habit, f"{most} of the document's unambiguous values write it so"


def language_of(text: str) -> str | None:
    """The language (en, de, fr, es, it, nl) whose function words are most frequent, or None when they hardly occur."""
    words = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    scores = {language: sum(words[word] for word in known.split()) for language, known in _FUNCTION_WORDS.items()}
    (best, most), (_, second) = sorted(scores.items(), key=lambda item: -item[1])[:2]
    return best if most >= 3 and most > second else None


def _order_by_language(text: str) -> tuple[DateOrder | None, str]:
    language = language_of(text)
    if language and language != "en":
        return "day_first", f"the document's language is {language}"
    day_first, month_first = _DAY_FIRST_PLACES.search(text), _MONTH_FIRST_PLACES.search(text)
    if day_first and not month_first:
        return "day_first", f"{day_first.group()!r} in the document"
    if month_first and not day_first:
        return "month_first", f"{month_first.group()!r} in the document"
    return None, ""
