"""Sets of numbers as decimal texts.

Constrained numbers are written as plain decimals, without exponent: `-?(0|[1-9]d*)(.d+)?`. Within that universe every
spelling of a value (1, 1.0, 1.00) is treated alike, so complements are sound. Only unconstrained numbers, and those
that only their sign bounds, may also have an exponent: of any length in the open world, of two digits in the closed
one, where 1e999 would be a number that no program can hold.
"""

from __future__ import annotations

from fractions import Fraction

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.number_rule import ANY_NUMBER, NumberRule
from dg_sglang.grammar.text import shortened

MAX_REMAINDERS = 20_000


class NumberTexts:
    """Expressions for number rules.

    open_world: whether a number may have any spelling, and exponents any length. integers: whether 1.0 is one of them.
    """

    def __init__(self, table: Expressions, *, open_world: bool, integers: bool) -> None:
        self.table = table
        self.open_world = open_world
        self.integers = integers
        self.digit = table.byte_range(ord("0"), ord("9"))
        self.digits = table.repeat(self.digit)
        self.zeros = table.repeat(table.literal(b"0"))
        self.positive_digits = table.concat(self.zeros, self._between("1", "9"), self.digits)
        self.fraction = table.optional(table.concat(table.literal(b"."), table.repeat(self.digit, 1)))
        self.no_fraction = table.optional(table.concat(table.literal(b"."), table.repeat(table.literal(b"0"), 1)))
        self.natural = table.union((table.literal(b"0"), table.concat(self._between("1", "9"), self.digits)))
        self.plain = table.concat(self.natural, self.fraction)
        self.minus = table.literal(b"-")
        sign = table.optional(table.byte_set(1 << ord("+") | 1 << ord("-")))
        power = table.repeat(self.digit, 1, None if open_world else 2)
        exponent = table.concat(table.byte_set(1 << ord("e") | 1 << ord("E")), sign, power)
        self.exponent = table.optional(exponent)

    def number(self, rule: NumberRule) -> Expression:
        """The texts of the numbers in `rule`. Raises UnsupportedSchemaError for a multipleOf that is too large."""
        table = self.table
        if rule == ANY_NUMBER:
            return table.concat(table.optional(self.minus), self.plain, self.exponent)
        if rule.low is not None and rule.low == rule.high:
            return self.point(rule.low, whole=rule.step is not None) if rule.contains(rule.low) else table.nothing
        if rule == NumberRule(step=Fraction(1)):
            whole = self.no_fraction if self.integers else table.empty
            return table.concat(table.optional(self.minus), self.natural, whole)
        parts = [self.interval(rule)]
        if rule.step is not None:
            parts.append(self.multiples(rule.step))
        if not self.integers and rule.step is not None and rule.step.denominator == 1:
            parts.append(table.concat(table.optional(self.minus), self.natural))
        parts += [table.complement(self.multiples(one)) for one in sorted(rule.no_steps)]
        if rule.excluded:
            parts.append(table.complement(table.union(self.spellings(one) for one in rule.excluded)))
        text = table.intersection(parts)
        return table.nothing if text.kind == "intersection" and table.is_empty(text) else text

    def point(self, value: Fraction, *, whole: bool) -> Expression:
        """One number: in its shortest spelling, or in any where 1.0 may stand for 1 (`whole`: as an integer)."""
        texts = [self.table.literal(_decimal(value).encode())]
        pointed = self.integers if whole and value.denominator == 1 else self.open_world
        if value.denominator != 1 or (abs(value) >= 10**16 and (pointed or not whole)):
            texts.append(
                self.table.literal(repr(float(value)).encode() if _is_float(value) else _decimal(value).encode())
            )
        return self.table.union([*texts, self.spellings(value)] if pointed else texts)

    def spellings(self, value: Fraction) -> Expression:
        """Every plain decimal of this value."""
        table, text = self.table, _decimal(value)
        sign = table.optional(self.minus) if value == 0 else table.empty
        trailing = self.zeros if "." in text else self.no_fraction
        return table.concat(sign, table.literal(text.encode()), trailing)

    # ---- intervals ----------------------------------------------------------------------------------------------

    def interval(self, rule: NumberRule) -> Expression:
        """Plain decimals between the bounds."""
        table = self.table
        low, high = rule.low, rule.high
        if low is None and high is None:
            return table.concat(table.optional(self.minus), self.plain)
        parts = []
        if high is None or high > 0 or (high == 0 and not rule.high_open):
            magnitude = self.magnitude(low, rule.low_open, high, rule.high_open)
            free = high is None and low == 0 and not rule.low_open and rule == NumberRule(low=low)
            parts.append(table.concat(magnitude, self.exponent if free else table.empty))
        if low is None or low < 0 or (low == 0 and not rule.low_open):
            below = None if low is None else -low
            parts.append(
                table.concat(
                    self.minus, self.magnitude(None if high is None else -high, rule.high_open, below, rule.low_open)
                )
            )
        return table.union(parts)

    def magnitude(self, low: Fraction | None, low_open: bool, high: Fraction | None, high_open: bool) -> Expression:
        """Unsigned plain decimals between the bounds."""
        parts = []
        if low is not None and (low > 0 or (low == 0 and low_open)):
            parts.append(self.at_least(low, low_open))
        if high is not None:
            parts.append(self.at_most(high, high_open))
        return self.table.intersection(parts) if parts else self.plain

    def at_least(self, bound: Fraction, strict: bool) -> Expression:
        """Unsigned plain decimals ≥ (or >) `bound` ≥ 0."""
        table = self.table
        whole, _, part = _decimal(bound).partition(".")
        longer = table.concat(self._between("1", "9"), table.repeat(self.digit, len(whole)), self.fraction)
        if part:
            after = table.concat(table.literal(b"."), self._digits_above(part, strict))
        else:
            after = table.concat(table.literal(b"."), self.positive_digits) if strict else self.fraction
        for index in reversed(range(len(whole))):
            rest = table.concat(table.repeat(self.digit, len(whole) - index - 1, len(whole) - index - 1), self.fraction)
            after = table.union(
                (
                    table.concat(self._between(chr(ord(whole[index]) + 1), "9"), rest),
                    table.concat(table.literal(whole[index].encode()), after),
                )
            )
        return table.union((longer, after))

    def at_most(self, bound: Fraction, strict: bool) -> Expression:
        """Unsigned plain decimals ≤ (or <) `bound` ≥ 0."""
        table = self.table
        whole, _, part = _decimal(bound).partition(".")
        parts = []
        if len(whole) > 1:
            shorter = table.concat(self._between("1", "9"), table.repeat(self.digit, 0, len(whole) - 2))
            parts.append(table.concat(table.union((table.literal(b"0"), shorter)), self.fraction))
        if part:
            after = table.optional(table.concat(table.literal(b"."), self._digits_below(part, strict)))
        else:
            after = table.nothing if strict else self.no_fraction
        for index in reversed(range(len(whole))):
            rest = table.concat(table.repeat(self.digit, len(whole) - index - 1, len(whole) - index - 1), self.fraction)
            first = "1" if index == 0 and len(whole) > 1 else "0"
            after = table.union(
                (
                    table.concat(self._between(first, chr(ord(whole[index]) - 1)), rest),
                    table.concat(table.literal(whole[index].encode()), after),
                )
            )
        return table.union([*parts, after])

    def _digits_above(self, digits: str, strict: bool) -> Expression:
        """Fraction digits whose value is ≥ (or >) that of `digits`, which ends in no zero."""
        table = self.table
        after = self.positive_digits if strict else self.digits
        for digit in reversed(digits):
            above = table.concat(self._between(chr(ord(digit) + 1), "9"), self.digits)
            after = table.union((above, table.concat(table.literal(digit.encode()), after)))
        return after

    def _digits_below(self, digits: str, strict: bool) -> Expression:
        """At least one fraction digit, with a value ≤ (or <) that of `digits`, which ends in no zero."""
        table = self.table
        after = table.nothing if strict else self.zeros
        for index in reversed(range(len(digits))):
            below = table.concat(self._between("0", chr(ord(digits[index]) - 1)), self.digits)
            if index < len(digits) - 1:
                after = table.optional(after)
            after = table.union((below, table.concat(table.literal(digits[index].encode()), after)))
        return after

    def _between(self, first: str, last: str) -> Expression:
        return self.table.byte_range(ord(first), ord(last)) if first <= last else self.table.nothing

    # ---- multiples ----------------------------------------------------------------------------------------------

    def multiples(self, step: Fraction) -> Expression:
        """Plain decimals that are multiples of `step`."""
        table = self.table
        places = 0
        while (step * 10**places).denominator != 1:
            places += 1
        modulus = int(step * 10**places)
        if modulus > MAX_REMAINDERS:
            message = f"multipleOf {shortened(_decimal(step))} needs more than {MAX_REMAINDERS:,} remainders"
            raise UnsupportedSchemaError(message, pointer="", keyword="multipleOf")
        if step.denominator == 1 and modulus == 1:
            return table.concat(table.optional(self.minus), self.natural, self.no_fraction)
        divisible = table.automaton(_Remainders(modulus, places))
        return table.intersection((table.concat(table.optional(self.minus), self.plain), divisible))


class _Remainders:
    """Reads a plain decimal and keeps the remainder of what it has read as an integer of a fixed number of places.

    States are interned (phase, remainder): phase −1 before the point, then the number of places read.
    """

    def __init__(self, modulus: int, places: int) -> None:
        self.modulus = modulus
        self.places = places
        self.states: dict[tuple[int, int], int] = {(-1, 0): 0}
        self.keys = [(-1, 0)]

    def _state(self, phase: int, remainder: int) -> int:
        key = (phase, remainder)
        if key not in self.states:
            self.states[key] = len(self.keys)
            self.keys.append(key)
        return self.states[key]

    def accepting(self, state: int) -> bool:
        phase, remainder = self.keys[state]
        return bool(remainder * 10 ** (self.places - max(phase, 0)) % self.modulus == 0)

    def moves(self, state: int) -> dict[int, int]:
        phase, remainder = self.keys[state]
        if phase == self.places:
            return {ord("0"): state}
        following = phase if phase < 0 else phase + 1
        moves = {ord("0") + d: self._state(following, (remainder * 10 + d) % self.modulus) for d in range(10)}
        if phase < 0:
            moves |= {ord("-"): state} if state == 0 else {}
            moves[ord(".")] = self._state(0, remainder)
        return moves


def _decimal(value: Fraction) -> str:
    """The shortest plain decimal of a decimal fraction."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits


def _is_float(value: Fraction) -> bool:
    return abs(value) < 10**308 and Fraction(repr(float(value))) == value
