"""From tick labels to a scale: what a pixel stands for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

_NUMBER = re.compile(
    r"(?P<sign>[-−–+]?)\s*(?P<money>[$€£¥]?)\s*(?P<minus>[-−–]?)(?P<digits>\d[\d.,' ]*(?:[eE][-+−]?\d+)?)(?P<rest>.*)"
)
_POWER = re.compile(r"10([⁻−-]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_PERHAPS_POWER = re.compile(r"10([\dº°])")  # raised digits that were read as plain ones, or as signs of degrees
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹º°⁻−", "012345678900--")
_FACTORS = {
    "": 1.0, "%": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9, "G": 1e9, "T": 1e12, "thousand": 1e3,
    "million": 1e6, "billion": 1e9, "mn": 1e6, "mio": 1e6, "mrd": 1e9, "tsd": 1e3,
}  # fmt: skip
_UNITS = frozenset((
    "°", "°C", "°F", "mm", "cm", "km", "in", "ft", "g", "kg", "t", "ml", "L", "ms", "s", "min", "h", "W", "kW", "MW",
    "GW", "Wh", "kWh", "MWh", "GWh", "TWh", "V", "A", "Hz", "kHz", "MHz", "GHz", "Pa", "kPa", "bar", "kB", "MB",
    "GB", "TB", "ppm", "dB", "px", "ha",
))  # fmt: skip
_GROUP = re.compile(r"[-−–]?[1-9]\d{0,2}([.,])\d{3}")  # 1.250: more than a thousand, or little more than one
_TOLERANCE = 2.5
"""How far in pixels a label's middle may lie from its tick."""


@dataclass(frozen=True)
class Tick:
    """A numeric label: its value, the middle of its text along the axis in pixels, and what is printed behind it."""

    value: float
    position: float
    suffix: str = ""


@dataclass(frozen=True)
class Scale:
    """value = slope · position + offset, or ten to the power of that."""

    slope: float
    offset: float
    kind: Literal["linear", "logarithmic"]
    ticks: tuple[Tick, ...]

    def value(self, position: float) -> float:
        """What a pixel position stands for."""
        value = self.slope * position + self.offset
        return 10.0**value if self.kind == "logarithmic" else value

    def position(self, value: float) -> float:
        """Where a value lies."""
        level = math.log10(value) if self.kind == "logarithmic" else value
        return (level - self.offset) / self.slope

    def times(self, factor: float, more: float = 0.0) -> Scale:
        """The scale whose labels, multiplied by a factor and raised by an offset, are the values. It is linear."""
        ticks = tuple(replace(tick, value=tick.value * factor + more) for tick in self.ticks)
        return Scale(self.slope * factor, self.offset * factor + more, self.kind, ticks)

    @property
    def span(self) -> float:
        """The range of the labelled values."""
        values = [tick.value for tick in self.ticks]
        return max(values) - min(values)


def read_number(text: str, thousands: str = ",") -> tuple[float, str] | None:
    """A tick label's value and suffix ("%", "k", a currency sign, a unit …), or None where it is no number.

    Args:
        text: the label.
        thousands: what parts thousands where a single sign could also begin the decimals.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    suffix = match["rest"].strip()
    word = suffix.strip("€$£¥ ").rstrip(".")
    factor = _FACTORS.get(word, _FACTORS.get(word.lower()) if len(word) > 1 else None)
    if word == "m" and (match["money"] or suffix != word):
        factor = 1e6  # millions of money; else perhaps metres
    if factor is None and suffix not in _UNITS:
        return None
    digits = match["digits"].strip().replace("−", "-").replace("'", "").replace(" ", "")
    try:
        value = _plain(digits, thousands) * (factor or 1.0)
    except ValueError:
        return None
    return -value if (match["sign"] or match["minus"]) in ("-", "−", "–") else value, suffix or match["money"]


def read_numbers(texts: Sequence[str]) -> tuple[list[tuple[float, str] | None], str | None]:
    """`read_number` for the labels of one axis, and what is doubtful about them, in words.

    Where most are powers of ten, 102 may be one, too.
    """
    powers = [_POWER.fullmatch(text.replace(" ", "")) for text in texts]
    if sum(power is not None for power in powers) >= max(2, len(texts) / 2):
        found = [
            _PERHAPS_POWER.fullmatch(text.replace(" ", "")) if p is None else p
            for p, text in zip(powers, texts, strict=True)
        ]
        return [None if one is None else (10.0 ** int(one[1].translate(_RAISED)), "") for one in found], None
    thousands, doubt = _thousands(texts)
    return [read_number(text, thousands) for text in texts], doubt


def _thousands(texts: Sequence[str]) -> tuple[str, str | None]:
    """The sign that parts thousands on an axis, and a warning where nothing tells it from the sign of decimals."""
    signs = {match[1] for text in texts if (match := _GROUP.search(text))}
    if len(signs) != 1:
        return ",", None
    (sign,) = signs
    bare = [re.sub(r"[^\d.,]", "", text) for text in texts]
    if any(re.fullmatch(rf"0\{sign}\d+|\d{{1,3}}\{sign}\d{{1,2}}", one) for one in bare):
        return "" if sign == "," else ",", None
    if any(re.fullmatch(rf"\d{{1,3}}|\d{{1,3}}(\{sign}\d{{3}}){{2,}}", one) for one in bare):
        return sign, None
    if sign == ",":
        return ",", None
    return ",", "the labels have a point and three digits: they were read as decimals, but may be thousands"


def _plain(digits: str, thousands: str) -> float:
    """The number that digits with points and commas stand for. Raises ValueError."""
    if thousands and re.fullmatch(rf"[1-9]\d{{0,2}}(\{thousands}\d{{3}})+", digits):
        return float(digits.replace(thousands, ""))
    if digits.count(",") + digits.count(".") > 1:
        last = max(digits.rfind(","), digits.rfind("."))
        if digits.count(digits[last]) > 1 or len(digits) - last == 4:  # 1,234,567 or 1.234.567
            return float(digits.replace(",", "").replace(".", ""))
        return float(re.sub(r"[.,](?=.*[.,])", "", digits).replace(",", "."))
    return float(digits.replace(",", "."))


def fit_scale(ticks: Sequence[Tick]) -> Scale | None:
    """The scale that most ticks agree on; None where fewer than two, or less than two thirds of them, do.

    Two ticks alone, one ten or a hundred times the other, may be of either kind: None.
    """
    best: Scale | None = None
    for kind in ("linear", "logarithmic"):
        if kind == "logarithmic" and any(tick.value <= 0 for tick in ticks):
            continue
        for one, other in combinations(ticks, 2):
            scale = _through(one, other, kind, ticks)
            if scale and (best is None or len(scale.ticks) > len(best.ticks)):
                best = scale
    if best is None or len(best.ticks) < max(2, math.ceil(2 * len(ticks) / 3)):
        return None
    if len(best.ticks) == 2 and min(tick.value for tick in best.ticks) > 0:
        power = abs(math.log10(best.ticks[0].value / best.ticks[1].value))
        if abs(power - round(power)) < 1e-6:
            return None
    return _refined(best)


def _through(one: Tick, other: Tick, kind: Literal["linear", "logarithmic"], ticks: Sequence[Tick]) -> Scale | None:
    levels = [math.log10(tick.value) if kind == "logarithmic" else tick.value for tick in (one, other)]
    distance = other.position - one.position
    if abs(distance) < 2 * _TOLERANCE or levels[0] == levels[1]:
        return None
    slope = (levels[1] - levels[0]) / distance
    scale = Scale(slope, levels[0] - slope * one.position, kind, ())
    agreeing = tuple(tick for tick in ticks if abs(scale.position(tick.value) - tick.position) <= _TOLERANCE)
    return Scale(scale.slope, scale.offset, kind, agreeing)


def _refined(scale: Scale) -> Scale:
    """Least squares over the agreeing ticks."""
    levels = [math.log10(tick.value) if scale.kind == "logarithmic" else tick.value for tick in scale.ticks]
    places = [tick.position for tick in scale.ticks]
    middle, level = sum(places) / len(places), sum(levels) / len(levels)
    spread = sum((place - middle) ** 2 for place in places)
    slope = sum((place - middle) * (one - level) for place, one in zip(places, levels, strict=True)) / spread
    return Scale(slope, level - slope * middle, scale.kind, scale.ticks)
