r"""The formats of JSON Schema as languages.

Each is a regular expression that must match the whole text (RFC 3339, 3986, 3987, 4291, 5321, 6531, 1123, 4122, 6570,
6901), except dates, which know the calendar. `regex`, `idn-hostname` and formats that the standard doesn't name are
not regular or not defined.
"""

from __future__ import annotations

from collections.abc import Callable

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.regex import Spelling, compile_search
from dg_sglang.grammar.text import json_spelling, shown

_HOUR_MINUTE = r"(?:[01]\d|2[0-3]):[0-5]\d"
# A leap second ends a day of UTC (RFC 3339, section 5.7), so it is written as UTC only.
_TIME = rf"(?:{_HOUR_MINUTE}:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-]{_HOUR_MINUTE})|23:59:60(?:\.\d+)?(?:[Zz]|[+-]00:00))"
_DURATION_TIME = r"T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)"
_DURATION_DATE = r"(?:\d+D|\d+M(?:\d+D)?|\d+Y(?:\d+M(?:\d+D)?)?)"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOSTNAME = rf"(?=.{{1,253}}$){_LABEL}(?:\.{_LABEL})*"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
# At most 64 characters (RFC 5321, section 4.5.3.1.1); a quoted one may be of 31, each of them perhaps escaped.
_LOCAL = rf'(?:(?=[^@"]{{1,64}}@){_ATOM}(?:\.{_ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~]){{0,31}}")'
_H16 = "[0-9A-Fa-f]{1,4}"


def _ipv6() -> str:
    last = rf"(?:{_H16}:{_H16}|{_IPV4})"
    forms = [rf"(?:{_H16}:){{6}}{last}"]
    for after in range(5, -1, -1):  # RFC 3986, IPv6address: at most 5 − after groups before the ::
        before = rf"(?:(?:{_H16}:){{0,{5 - after}}}{_H16})?" if after < 5 else ""
        forms.append(rf"{before}::(?:{_H16}:){{{after}}}{last}")
    forms += [rf"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}", rf"(?:(?:{_H16}:){{0,6}}{_H16})?::"]
    return f"(?:{'|'.join(forms)})"


_IPV6 = _ipv6()
_UCS = r"\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}" + "".join(
    rf"\u{{{plane:X}0000}}-\u{{{plane:X}FFFD}}" for plane in range(1, 0xE)
)
_UCS += r"\u{E1000}-\u{EFFFD}"
_PRIVATE = r"\u{E000}-\u{F8FF}\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}"


def _uri(extra: str = "", private: str = "") -> tuple[str, str]:
    """RFC 3986's URI and relative-ref; with extra characters RFC 3987's IRI."""
    encoded = "%[0-9A-Fa-f]{2}"
    chars = rf"A-Za-z0-9._~!$&'()*+,;=\-{extra}"
    segment_char = rf"(?:[{chars}:@]|{encoded})"
    no_colon = rf"(?:[{chars}@]|{encoded})"
    future = r"[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:\-]+"
    authority = rf"(?:(?:[{chars}:]|{encoded})*@)?(?:\[(?:{_IPV6}|{future})\]|(?:[{chars}]|{encoded})*)(?::\d*)?"
    slashed = rf"(?:/{segment_char}*)*"
    absolute = rf"/(?:{segment_char}+{slashed})?"
    tail = rf"(?:\?(?:[{chars}:@/?{private}]|{encoded})*)?(?:#(?:[{chars}:@/?]|{encoded})*)?"
    scheme = r"[A-Za-z][A-Za-z0-9+.\-]*"
    full = rf"{scheme}:(?://{authority}{slashed}|{absolute}|{segment_char}+{slashed}|){tail}"
    relative = rf"(?://{authority}{slashed}|{absolute}|{no_colon}+{slashed}|){tail}"
    return full, relative


_URI, _RELATIVE = _uri()
_IRI, _RELATIVE_IRI = _uri(_UCS, _PRIVATE)
_POINTER = r"(?:/(?:[^~/]|~[01])*)*"
_VARIABLE = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(?::[1-9]\d{0,3}|\*)?"
_TEMPLATE_LITERAL = rf"[!#$&(-;=?-\[\]_a-z~{_UCS}{_PRIVATE}]|%[0-9A-Fa-f]{{2}}"

PATTERNS: dict[str, str] = {
    "time": _TIME,
    "duration": rf"P(?:{_DURATION_DATE}(?:{_DURATION_TIME})?|{_DURATION_TIME}|\d+W)",
    "email": rf"{_LOCAL}@(?:{_LABEL}(?:\.{_LABEL})*|\[(?:{_IPV4}|IPv6:{_IPV6})\])",
    "hostname": _HOSTNAME,
    "ipv4": _IPV4,
    "ipv6": _IPV6,
    "uri": _URI,
    "uri-reference": rf"(?:{_URI}|{_RELATIVE})",
    "iri": _IRI,
    "iri-reference": rf"(?:{_IRI}|{_RELATIVE_IRI})",
    "uuid": r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
    "uri-template": rf"(?:{_TEMPLATE_LITERAL}|\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}})*",
    "json-pointer": _POINTER.replace(r"[^~/]", r"[^~\/]"),
    "relative-json-pointer": rf"(?:0|[1-9]\d*)(?:#|{_POINTER})",
}
_IDN_LABEL = rf"[A-Za-z0-9{_UCS}](?:[A-Za-z0-9{_UCS}-]*[A-Za-z0-9{_UCS}])?"
_IDN_ATOM = rf"[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{_UCS}-]+"
PATTERNS["idn-email"] = rf"{_IDN_ATOM}(?:\.{_IDN_ATOM})*@{_IDN_LABEL}(?:\.{_IDN_LABEL})*"

CALENDAR = ("date", "date-time")
STANDARD = (*PATTERNS, *CALENDAR)
NOT_REGULAR = ("regex", "idn-hostname")

_BASE64 = "(?:[A-Za-z0-9{extra}]{{4}})*(?:[A-Za-z0-9{extra}]{{2}}==|[A-Za-z0-9{extra}]{{3}}=)?"
OTHERS: dict[str, str] = {
    "byte": _BASE64.format(extra="+/"),
    "base64": _BASE64.format(extra="+/"),
    "base64url": _BASE64.format(extra="_-"),
    "host-name": _HOSTNAME,
    "ip-address": _IPV4,
    "ipvanyaddress": rf"(?:{_IPV4}|{_IPV6})",
    **{
        f"uuid{n}": rf"[0-9A-Fa-f]{{8}}-[0-9A-Fa-f]{{4}}-{n}[0-9A-Fa-f]{{3}}-[89ABab][0-9A-Fa-f]{{3}}-[0-9A-Fa-f]{{12}}"
        for n in range(1, 9)
    },
}
"""Formats of OpenAPI, pydantic and draft 3. The standard doesn't name them: to its letter they are annotations."""

INTEGERS = {f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)} | {
    f"uint{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)
}
"""OpenAPI's formats of numbers: the least and the largest integer."""

# Formats that only restate the type or hint at a widget, as OpenAPI and vendors write them: nothing to enforce.
ANNOTATIONS = frozenset(
    {"float", "double", "password", "textarea", "text", "checkbox", "markdown", "html", "color-hint", "binary"}
    | {"path", "file-path", "directory-path"}  # pydantic: any text may be one
)


def compile_format(table: Expressions, name: str, spelling: Spelling = json_spelling) -> Expression:
    """The texts of this format, by default as JSON string bodies.

    Raises UnsupportedSchemaError for a format that isn't enforced.
    """
    if name == "date":
        return _date(table)
    if name == "date-time":
        separator = table.byte_set(1 << ord("T") | 1 << ord("t"))
        return table.concat(_date(table), separator, _matched(table, _TIME, spelling))
    pattern = PATTERNS.get(name) or OTHERS.get(name)
    if pattern is None:
        raise UnsupportedSchemaError(f"the format {shown(name)} is not supported", pointer="", keyword="format")
    return _matched(table, pattern, spelling)


def _matched(table: Expressions, pattern: str, spelling: Spelling) -> Expression:
    return compile_search(table, f"^(?:{pattern})$", spelling)


def _date(table: Expressions) -> Expression:
    """A calendar date, YYYY-MM-DD, as RFC 3339's full-date: 30 February doesn't exist, leap years are right."""
    digit = table.byte_range(ord("0"), ord("9"))

    def numbers(low: int, high: int, keep: Callable[[int], bool] = lambda n: True) -> Expression:
        return table.union([table.literal(f"{n:02}".encode()) for n in range(low, high + 1) if keep(n)])

    def dashed(*parts: Expression) -> Expression:
        return table.concat(*[x for part in parts for x in (table.literal(b"-"), part)])

    long_months = numbers(1, 12, lambda month: month in (1, 3, 5, 7, 8, 10, 12))
    short_months = numbers(4, 11, lambda month: month in (4, 6, 9, 11))
    any_year = table.repeat(digit, 4, 4)
    leap = table.union(
        (
            table.concat(table.repeat(digit, 2, 2), numbers(1, 99, lambda n: n % 4 == 0)),
            table.concat(numbers(0, 99, lambda n: n % 4 == 0), table.literal(b"00")),
        )
    )
    usual = table.union(
        (
            dashed(long_months, numbers(1, 31)),
            dashed(short_months, numbers(1, 30)),
            dashed(numbers(2, 2), numbers(1, 28)),
        )
    )
    return table.union((table.concat(any_year, usual), table.concat(leap, table.literal(b"-02-29"))))
