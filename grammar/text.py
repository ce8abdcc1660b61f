"""Code points as bytes: UTF-8, and the ways JSON may spell a character."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dg_sglang.errors import GrammarTooLargeError
from dg_sglang.grammar.expression import Expression, Expressions

Ranges = Sequence[tuple[int, int]]

MAX_CODE_POINT = 0x10FFFF
MAX_VALUES = 50_000
MAX_CHARACTERS = 1_000_000
MAX_PATTERN = 100_000  # characters of a regular expression or a grammar
_SURROGATES = (0xD800, 0xDFFF)
_UTF8_ENDS = (0x7F, 0x7FF, 0xFFFF, MAX_CODE_POINT)
_SHORT_ESCAPES = '"\\/bfnrt'


def normalise_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted, merged, without surrogates."""
    cleaned: list[tuple[int, int]] = []
    for first, last in ranges:
        if first < _SURROGATES[0]:
            cleaned.append((first, min(last, _SURROGATES[0] - 1)))
        if last > _SURROGATES[1]:
            cleaned.append((max(first, _SURROGATES[1] + 1), last))
    merged: list[tuple[int, int]] = []
    for first, last in sorted(cleaned):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def complement_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """All other code points (never surrogates)."""
    gaps = []
    start = 0
    for first, last in normalise_ranges([*ranges, _SURROGATES]):
        if first > start:
            gaps.append((start, first - 1))
        start = last + 1
    gaps.append((start, MAX_CODE_POINT))
    return normalise_ranges(gap for gap in gaps if gap[0] <= gap[1])


def intersect_ranges(left: Ranges, right: Ranges) -> list[tuple[int, int]]:
    """The code points in both."""
    return complement_ranges([*complement_ranges(left), *complement_ranges(right)])


def utf8(table: Expressions, ranges: Ranges) -> Expression:
    """One code point out of `ranges`, in UTF-8 (the byte-range splitting of RFC 3629's encoding)."""
    parts = []
    for first, last in normalise_ranges(ranges):
        start = first
        for end in _UTF8_ENDS:
            if start <= min(end, last):
                low, high = chr(start).encode(), chr(min(end, last)).encode()
                parts.append(_byte_ranges(table, low, high))
                start = end + 1
    return table.union(parts)


def _byte_ranges(table: Expressions, low: bytes, high: bytes) -> Expression:
    """All well-formed sequences between two of equal length."""
    if len(low) == 1:
        return table.byte_range(low[0], high[0])
    if low[0] == high[0]:
        return table.concat(table.byte_range(low[0], low[0]), _byte_ranges(table, low[1:], high[1:]))
    first, last = b"\x80" * (len(low) - 1), b"\xbf" * (len(low) - 1)
    parts, start, stop = [], low[0], high[0]
    if low[1:] != first:
        parts.append(table.concat(table.byte_range(start, start), _byte_ranges(table, low[1:], last)))
        start += 1
    if high[1:] != last:
        parts.append(table.concat(table.byte_range(stop, stop), _byte_ranges(table, first, high[1:])))
        stop -= 1
    if start <= stop:
        parts.append(table.concat(table.byte_range(start, stop), _byte_ranges(table, first, last)))
    return table.union(parts)


def json_character(table: Expressions) -> Expression:
    """One character (code point) of a JSON string: itself, or an escape (RFC 8259, section 7); no lone surrogates."""
    plain = utf8(table, complement_ranges([(0, 0x1F), (ord('"'), ord('"')), (ord("\\"), ord("\\"))]))
    short = table.byte_set(sum(1 << ord(c) for c in _SHORT_ESCAPES))

    def hexadecimal(digits: str) -> Expression:
        return table.byte_set(sum(1 << b for b in {ord(c) for d in digits for c in (d.lower(), d.upper())}))

    u, any_digit = table.literal(b"u"), hexadecimal("0123456789abcdef")
    two = table.concat(any_digit, any_digit)
    scalar = table.union(
        (
            table.concat(hexadecimal("0123456789abcef"), any_digit),
            table.concat(hexadecimal("d"), hexadecimal("01234567")),
        )
    )
    pair = table.concat(
        u, hexadecimal("d"), hexadecimal("89ab"), two, table.literal(b"\\u"), hexadecimal("d"), hexadecimal("cdef"), two
    )
    escaped = table.concat(table.literal(b"\\"), table.union((short, table.concat(u, scalar, two), pair)))
    return table.union((plain, escaped))


def shown(value: Any) -> str:
    """A value as messages show it: shortened, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # an integer of more digits than Python writes; nested too deeply; a repr of its own that fails
        text = f"{type(value).__name__} that can't be shown"
    return shortened(text)


def shortened(text: str) -> str:
    """A text as messages quote it."""
    return text if len(text) <= 80 else f"{text[:79]}…"


def check_size(what: str, value: Any) -> None:
    """Raise GrammarTooLargeError where `value` holds more than MAX_VALUES values, or MAX_CHARACTERS in its strings."""
    values, characters, stack = 0, 0, [value]
    while stack:
        one = stack.pop()
        values += 1
        characters += len(one) if isinstance(one, str) else 0
        if values > MAX_VALUES:
            raise GrammarTooLargeError(f"{what} holds more than {MAX_VALUES:,} values, or itself")
        if characters > MAX_CHARACTERS:
            raise GrammarTooLargeError(f"{what} holds more than {MAX_CHARACTERS:,} characters")
        if isinstance(one, Mapping):
            stack += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            stack += one


def json_body(text: str) -> bytes:
    """The canonical JSON spelling of `text`, without the quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


_ESCAPED = {c: json.dumps(chr(c))[1:-1].encode() for c in (*range(0x20), ord('"'), ord("\\"))}


def json_spelling(table: Expressions, ranges: Ranges) -> Expression:
    r"""One code point out of `ranges` as a JSON string spells it: itself, or escaped where JSON demands that.

    Constrained strings have this one spelling (hex digits of \u00XX in either case) per value: what an optional escape
    would add is no value, but several times the states. It also makes complements sound: no value has a spelling that
    escapes them.
    """
    parts = [utf8(table, intersect_ranges(ranges, complement_ranges((c, c) for c in _ESCAPED)))]
    for code_point, spelling in _ESCAPED.items():
        if any(first <= code_point <= last for first, last in ranges):
            digits = (table.byte_set(1 << byte | 1 << ord(chr(byte).upper())) for byte in spelling[2:])
            parts.append(table.concat(table.literal(spelling[:2]), *digits))
    return table.union(parts)
