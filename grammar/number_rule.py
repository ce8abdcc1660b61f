"""Sets of numbers: intervals, multiples, exceptions. Exact: values are fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any


def exact(value: Any) -> Fraction:
    """A number of a schema as its author wrote it: 0.1 is a tenth, not the nearest binary fraction."""
    return Fraction(Decimal(repr(value)) if isinstance(value, float) else value)


@dataclass(frozen=True)
class NumberRule:
    """Numbers from `low` to `high` (None: no bound; `*_open`: the bound itself excluded) that are multiples of `step`.

    They are no multiples of any of `no_steps` and none of `excluded`.
    """

    low: Fraction | None = None
    low_open: bool = False
    high: Fraction | None = None
    high_open: bool = False
    step: Fraction | None = None
    no_steps: frozenset[Fraction] = frozenset()
    excluded: frozenset[Fraction] = frozenset()

    @classmethod
    def point(cls, value: Fraction) -> NumberRule:
        """Just this number."""
        return cls(low=value, high=value)

    def meet(self, other: NumberRule) -> NumberRule | None:
        """The numbers in both, or None where there is none."""
        low, low_open = max(_low(self), _low(other), key=lambda b: (b[0] is not None, b[0] or 0, b[1]))
        high, high_open = min(_high(self), _high(other), key=lambda b: (b[0] is None, b[0] or 0, not b[1]))
        steps = [one for one in (self.step, other.step) if one is not None]
        met = NumberRule(
            *(low, low_open, high, high_open),
            _common_multiple(*steps) if len(steps) == 2 else (steps[0] if steps else None),
            self.no_steps | other.no_steps,
            self.excluded | other.excluded,
        )
        return None if met.is_empty() else met

    def complement(self) -> tuple[NumberRule, ...]:
        """All other numbers, as a union."""
        parts = [NumberRule.point(one) for one in self.excluded] + [NumberRule(step=one) for one in self.no_steps]
        if self.low is not None:
            parts.append(NumberRule(high=self.low, high_open=not self.low_open))
        if self.high is not None:
            parts.append(NumberRule(low=self.high, low_open=not self.high_open))
        if self.step is not None:
            parts.append(NumberRule(no_steps=frozenset({self.step})))
        return tuple(parts)

    def contains(self, value: Fraction) -> bool:
        """Membership."""
        return (
            (self.low is None or value > self.low or (value == self.low and not self.low_open))
            and (self.high is None or value < self.high or (value == self.high and not self.high_open))
            and (self.step is None or value % self.step == 0)
            and all(value % one for one in self.no_steps)
            and value not in self.excluded
        )

    def is_empty(self) -> bool:
        """Whether no number is left (what finite enumeration or interval arithmetic can tell)."""
        if self.step is not None and any(self.step % one == 0 for one in self.no_steps):
            return True
        if self.low is None or self.high is None:
            return False
        if self.low == self.high:
            return not self.contains(self.low)
        return self.low > self.high or (self.step is not None and next(self.values(), None) is None)

    def values(self) -> Iterator[Fraction]:
        """The members in order; only for a bounded set with a step, or a single number."""
        if self.low is None or self.high is None or (self.step is None and self.low != self.high):
            raise ValueError("not a finite set")
        if self.step is None:
            yield from [self.low] if self.contains(self.low) else []
            return
        value = math.ceil(self.low / self.step) * self.step
        while value <= self.high:
            if self.contains(value):
                yield value
            value += self.step

    def size(self) -> int | None:
        """At most how many members there are; None where that isn't bounded."""
        if self.low is None or self.high is None:
            return None
        if self.low == self.high:
            return 1
        return None if self.step is None else int((self.high - self.low) / self.step) + 1

    def without_exceptions(self) -> NumberRule:
        """The same without `no_steps` and `excluded`."""
        return replace(self, no_steps=frozenset(), excluded=frozenset())


ANY_NUMBER = NumberRule()


def _low(rule: NumberRule) -> tuple[Fraction | None, bool]:
    return rule.low, rule.low_open


def _high(rule: NumberRule) -> tuple[Fraction | None, bool]:
    return rule.high, rule.high_open


def _common_multiple(left: Fraction, right: Fraction) -> Fraction:
    return Fraction(math.lcm(left.numerator, right.numerator), math.gcd(left.denominator, right.denominator))
