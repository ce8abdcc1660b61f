"""Currencies as documents write them, and their ISO 4217 codes."""

import re
from collections.abc import Iterator

_COMMON_CODES = (
    "AED ARS AUD BGN BHD BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HRK HUF IDR ILS INR ISK JOD JPY KES KRW KWD "
    "MAD MXN MYR NGN NOK NZD OMR PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD VND ZAR"
)
_CODES = frozenset(_COMMON_CODES.split())
_SIGNS = {
    "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "₺": "TRY", "₽": "RUB", "₴": "UAH", "₫": "VND", "₪": "ILS",
    "฿": "THB", "₱": "PHP", "US$": "USD", "A$": "AUD", "C$": "CAD", "CA$": "CAD", "NZ$": "NZD", "S$": "SGD",
    "HK$": "HKD", "NT$": "TWD", "R$": "BRL", "zł": "PLN", "Kč": "CZK", "Ft": "HUF", "RM": "MYR", "Rs.": "INR",
    "Rp": "IDR", "SFr.": "CHF", "Fr.": "CHF", "CN¥": "CNY", "RMB": "CNY",
}  # fmt: skip
_NAMES = {
    "euro": "EUR",
    "euros": "EUR",
    "us dollar": "USD",
    "us dollars": "USD",
    "pound sterling": "GBP",
    "franken": "CHF",
    "ringgit": "MYR",
}
# Signs of several currencies: the usual one unless the document names another; None: only with such a name.
_SHARED: dict[str, tuple[str | None, frozenset[str]]] = {
    "$": ("USD", frozenset({"USD", "AUD", "CAD", "NZD", "SGD", "HKD", "TWD", "MXN", "ARS", "CLP", "COP"})),
    "¥": ("JPY", frozenset({"JPY", "CNY"})),
    "kr": (None, frozenset({"SEK", "NOK", "DKK", "ISK"})),
    "kr.": (None, frozenset({"SEK", "NOK", "DKK", "ISK"})),
}
_WORDS = sorted((*_CODES, *_SIGNS, *_SHARED), key=len, reverse=True)
_CURRENCY = re.compile(
    rf"(?<![^\W\d_])(?:{'|'.join(map(re.escape, _WORDS))})(?![^\W\d_])"
    rf"|(?<!\w)(?i:{'|'.join(sorted(_NAMES, key=len, reverse=True))})(?!\w)"
)


def find_currencies(text: str) -> Iterator[tuple[int, int]]:
    """Yield [start, end) of every currency sign, code or name in `text`, in order."""
    for match in _CURRENCY.finditer(text):
        yield match.span()


def read_currency(raw: str, others: frozenset[str] = frozenset()) -> str:
    """The ISO 4217 code that `raw` means.

    `others` are the codes that the document names elsewhere; they settle signs of several currencies, such as $.

    Raises:
        ValueError: not a known currency, or a sign that several share and nothing settles.
    """
    text = raw.strip()
    code = text.upper()
    if code in _CODES:
        return code
    if text in _SIGNS:
        return _SIGNS[text]
    if text.lower() in _NAMES:
        return _NAMES[text.lower()]
    if text in _SHARED:
        usual, possible = _SHARED[text]
        named = possible & others
        if len(named) == 1:
            return next(iter(named))
        if usual is None or named:
            raise ValueError(
                f"{raw!r} may be {', '.join(sorted(named or possible))}, and nothing in the document decides"
            )
        return usual
    raise ValueError(f"{raw!r} is not a known currency")
