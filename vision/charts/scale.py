"""From tick labels to a scale: what a pixel stands for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

_NUMBER = re.compile(r"[-−–]?\d[\d.,' ]*(?:[eE][-+−]?\d+)?")
_POWER = re.compile(r"10([⁻−-]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_PERHAPS_POWER = re.compile(r"10([\dº°])")  # raised digits that were read as plain ones, or as signs of degrees
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹º°⁻−", "012345678900--")
_FACTORS = {"": 1.0, "%": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "B": 1e9, "bn": 1e9, "G": 1e9, "T": 1e12}
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

    @property
    def span(self) -> float:
        """The range of the labelled values."""
        values = [tick.value for tick in self.ticks]
        return max(values) - min(values)


def read_number(text: str) -> tuple[float, str] | None:
    """A tick label's value and suffix ("%", "k", a currency sign …), or None where it is no number."""
    stripped = text.strip().lstrip("$€£¥").strip()
    match = _NUMBER.match(stripped)
    if match is None:
        return None
    suffix = stripped[match.end() :].strip()
    if suffix not in _FACTORS and suffix not in ("€", "$", "£", "°", "°C"):
        return None
    digits = match[0].replace("−", "-").replace("–", "-").replace("'", "").replace(" ", "")
    try:
        return _plain(digits) * _FACTORS.get(suffix, 1.0), suffix
    except ValueError:
        return None


def read_numbers(texts: Sequence[str]) -> list[tuple[float, str] | None]:
    """`read_number` for the labels of one axis: where most are powers of ten, 102 may be one, too."""
    powers = [_POWER.fullmatch(text.replace(" ", "")) for text in texts]
    if sum(power is not None for power in powers) < max(2, len(texts) / 2):
        return [read_number(text) for text in texts]
    found = [
        _PERHAPS_POWER.fullmatch(text.replace(" ", "")) if p is None else p
        for p, text in zip(powers, texts, strict=True)
    ]
    return [None if one is None else (10.0 ** int(one[1].translate(_RAISED)), "") for one in found]


def _plain(digits: str) -> float:
    """One separator followed by three digits groups thousands, unless the number begins with zero."""
    if digits.count(",") + digits.count(".") > 1 or re.fullmatch(r"-?[1-9]\d{0,2},\d{3}", digits):
        last = max(digits.rfind(","), digits.rfind("."))
        if digits.count(digits[last]) > 1 or len(digits) - last == 4:  # 1,234,567 or 1.234.567
            return float(digits.replace(",", "").replace(".", ""))
        return float(re.sub(r"[.,](?=.*[.,])", "", digits).replace(",", "."))
    return float(digits.replace(",", "."))


def fit_scale(ticks: Sequence[Tick]) -> Scale | None:
    """The scale that most ticks agree on; None where fewer than two, or less than two thirds of them, do."""
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
