r"""Sets of code points that regular expressions name: \d, \w, \s, line ends, Unicode categories."""

from __future__ import annotations

import unicodedata
from functools import cache

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.grammar.text import MAX_CODE_POINT, Ranges, normalise_ranges, shown

DIGIT: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = (
    *((0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF)),
)
LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))

_LONG = {
    "Letter": "L",
    "Lowercase_Letter": "Ll",
    "Uppercase_Letter": "Lu",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Mark": "M",
    "Number": "N",
    "Decimal_Number": "Nd",
    "digit": "Nd",
    "Letter_Number": "Nl",
    "Other_Number": "No",
    "Punctuation": "P",
    "punct": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Other": "C",
    "Control": "Cc",
}
_BINARY = {"ASCII": [(0, 0x7F)], "Any": [(0, MAX_CODE_POINT)], "ASCII_Hex_Digit": [(0x30, 0x39), (0x41, 0x46)]}
_BINARY["ASCII_Hex_Digit"].append((0x61, 0x66))


@cache
def property_ranges(name: str) -> Ranges:
    r"""The code points of `\p{name}`: general categories, ASCII, Any. Raises UnsupportedSchemaError for others."""
    key, _, value = name.rpartition("=")
    value = _LONG.get(value, value)
    if not key and value in _BINARY:
        return _BINARY[value]
    if key not in ("", "General_Category", "gc") or value not in _categories():
        message = f"the Unicode property {shown(name)} is not supported; name a general category, as in \\p{{L}}"
        raise UnsupportedSchemaError(message, pointer="", keyword="pattern")
    return _categories()[value]


def with_case(ranges: Ranges, *, ascii_only: bool = False) -> list[tuple[int, int]]:
    """The code points of `ranges` and their other cases: single characters whose case folding agrees."""
    found = list(ranges)
    for group in _cases():
        if ascii_only:
            group = [code for code in group if code < 0x80]
        if any(first <= code <= last for code in group for first, last in ranges):
            found += ((code, code) for code in group)
    return normalise_ranges(found)


@cache
def _cases() -> list[list[int]]:
    """Code points that differ in case only, group by group."""
    groups: dict[str, list[int]] = {}
    for code in range(MAX_CODE_POINT + 1):
        char = chr(code)
        folded = char.casefold()
        if folded != char or char.upper() != char:
            groups.setdefault(folded, []).append(code)
    return [group for group in groups.values() if len(group) > 1]


@cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for code in range(MAX_CODE_POINT + 1):
        category = unicodedata.category(chr(code))
        for name in (category, category[0]):
            spans = found.setdefault(name, [])
            if spans and spans[-1][1] == code - 1:
                spans[-1] = (spans[-1][0], code)
            else:
                spans.append((code, code))
    return {name: normalise_ranges(spans) for name, spans in found.items()}
