"""Numbers as documents write them: where they are in a text, and which value they mean."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal, get_args

DecimalMark = Literal[".", ","]

_SPACES = " \u00a0\u2009\u202f"
_APOSTROPHES = "'’"
_MINUS = "−–-"  # the ASCII one last: also fit for a character class
# Digits with separators between them; a space only before exactly three digits.
_BODY = rf"\d(?:[.,{_APOSTROPHES}](?=\d)|[{_SPACES}](?=\d{{3}}(?!\d))|\d)*"
_NUMBER = re.compile(rf"\([{_MINUS}]?{_BODY}\)|[+{_MINUS}]?{_BODY}(?:[{_MINUS}](?![\w{_MINUS}]))?")
_FORM = re.compile(rf"(?P<sign>[+{_MINUS}]?)(?P<body>{_BODY})(?P<end>[{_MINUS}]?)")
# What may touch a number from the left: a currency (RM5.00) or a sign, but not the letters of a code (A4, PO445).
_LEFT = re.compile(r"(?:^|[^\w]|\b(?:RM|Rs|[A-Z]{3}|[xX]))$")
_RIGHT = re.compile(r"[^\W\d_]{0,4}(?![\w])")


def find_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of every piece of `text` that is a number, in order.

    Pieces overlap where a space may be a thousands separator or a gap between two numbers. Codes, dates and other
    groups of digits (12.34.56, PO445) are left out.
    """
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        while text[start] in _MINUS + "+" and start > 0 and (text[start - 1].isalnum() or text[start - 1] in _MINUS):
            start += 1  # a dash that joins, not a sign
        if _free(text, start, end) and _possible(text[start:end]):
            yield start, end
        parts = list(re.finditer(rf"[^{_SPACES}]+", text[start:end]))
        if len(parts) > 1:
            for part in parts:
                if _possible(part.group()):
                    yield start + part.start(), start + part.end()


def read_number(raw: str, mark: DecimalMark | None = None) -> Decimal:
    """The value of `raw`, without its currency, percent or unit. `mark` decides between 1.234 as 1234 and as 1.234.

    Raises:
        ValueError: not a number, or two values are possible and `mark` is None.
    """
    readings = _readings(_bare(raw))
    if not readings:
        raise ValueError(f"{raw!r} is not a number")
    values = set(readings.values())
    if len(values) == 1:
        return values.pop()
    if mark is None:
        raise ValueError(f"{raw!r} may be {readings['.']} or {readings[',']}, and nothing in the document decides")
    return readings[mark]


def mark_shown_by(raw: str) -> DecimalMark | None:
    """The decimal mark that this number gives away by itself, as 1.234,56 and 9,50 do."""
    readings = _readings(_bare(raw))
    if len(readings) != 1:
        return None
    mark = next(iter(readings))
    return mark if mark in raw or ("," if mark == "." else ".") in raw else None


def _free(text: str, start: int, end: int) -> bool:
    """No letters or further digits touch it, other than a currency or a short unit."""
    after = text[end : end + 2]
    if len(after) == 2 and after[0] in ".,/:-" and after[1].isdigit():
        return False
    before = text[max(start - 2, 0) : start]
    if len(before) == 2 and before[1] in ".,/:" and before[0].isdigit():
        return False
    return bool(_LEFT.search(text[max(start - 4, 0) : start]) and _RIGHT.match(text[end : end + 6]))


def _bare(raw: str) -> str:
    """Sign and digits: currency words and signs, percent signs and units at either end are dropped."""
    raw = raw.strip()
    match = _NUMBER.search(raw)
    if match is None or any(character.isdigit() for character in raw[: match.start()] + raw[match.end() :]):
        return ""
    sign = next((c for c in raw[: match.start()] if c in _MINUS), "")  # -€5.00
    body = match.group()
    return sign + body if not sign or body[0].isdigit() else ""


def _possible(raw: str) -> bool:
    return bool(_readings(raw))


def _readings(raw: str) -> dict[DecimalMark, Decimal]:
    """The possible values by decimal mark. A number without marks has the same value for both."""
    negative = raw.startswith("(") and raw.endswith(")")
    match = _FORM.fullmatch(raw.strip("()"))
    if not match or (match["sign"] and match["end"]):
        return {}
    negative = negative or any(sign and sign in _MINUS for sign in (match["sign"], match["end"]))
    readings: dict[DecimalMark, Decimal] = {}
    for mark in get_args(DecimalMark):
        value = _with_mark(match["body"], mark)
        if value is not None:
            readings[mark] = -value if negative else value
    return readings


def _with_mark(body: str, mark: DecimalMark) -> Decimal | None:
    """`body` read with `mark` as the decimal mark, or None where its groups of digits don't fit."""
    whole, _, fraction = body.partition(mark)
    if (mark in body) and not fraction.isdigit():
        return None
    groups = re.split(rf"[.,{_APOSTROPHES}{_SPACES}]", whole)
    separators = {" " if c in _SPACES else c for c in whole if not c.isdigit()}
    if len(groups) > 1:
        western = len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
        indian = separators == {","} and len(groups[0]) <= 2 and all(len(group) == 2 for group in groups[1:-1])
        if len(separators) > 1 or groups[0][0] == "0" or not (western or (indian and len(groups[-1]) == 3)):
            return None
    return Decimal("".join(groups) + ("." + fraction if fraction else ""))
