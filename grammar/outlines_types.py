"""outlines' output types as constraints. outlines itself is never imported: whoever passes its types has done that."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.basic import JsonSchema, Regex
from dg_sglang.grammar.constraint import Constraint, nested
from dg_sglang.grammar.ebnf import Ebnf
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.json_value import WhitespacePolicy
from dg_sglang.grammar.text import shown


def is_outlines_term(value: Any) -> bool:
    """Whether `value` is one of outlines' types: Regex, CFG, JsonSchema, Choice, or made of them."""
    dsl = sys.modules.get("outlines.types.dsl")
    return dsl is not None and isinstance(value, dsl.Term)


def constraint_of_term(term: Any) -> Constraint:
    """What an outlines type stands for here.

    Raises:
        UnsupportedSchemaError: a JsonSchema with a white-space pattern of its own.
    """
    dsl = sys.modules["outlines.types.dsl"]
    if isinstance(term, dsl.JsonSchema):
        if term.whitespace_pattern not in (None, ""):
            message = f"the white-space pattern {shown(term.whitespace_pattern)} is not supported: None or '' are"
            raise UnsupportedSchemaError(message, pointer="", keyword="whitespace_pattern")
        return JsonSchema(term.schema, whitespace=None if term.whitespace_pattern is None else "compact")
    if isinstance(term, dsl.CFG):
        return Ebnf(term.definition)
    if isinstance(term, dsl.Regex):
        return Regex(term.pattern)
    return OutlinesTerm(term)


@dataclass(frozen=True)
class OutlinesTerm(Constraint):
    """A term of outlines' expression language: alternatives, sequences and repetitions of its types and of texts."""

    term: Any

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        dsl, term = sys.modules["outlines.types.dsl"], self.term

        def inside(part: Any) -> Expression:
            return nested(constraint_of_term(part), table, whitespace, pointer="")

        if isinstance(term, dsl.String):
            return table.literal(term.value.encode())
        if isinstance(term, dsl.Sequence):
            return table.concat(*map(inside, term.terms))
        if isinstance(term, dsl.Alternatives):
            return table.union([inside(part) for part in term.terms])
        if isinstance(term, dsl.Choice):
            return table.union([inside(dsl.python_types_to_terms(item)) for item in term.items])
        for kind, low, high in _BOUNDS:
            if isinstance(term, getattr(dsl, kind)):
                bounds: list[Any] = [getattr(term, one) if isinstance(one, str) else one for one in (low, high)]
                return table.repeat(inside(term.term), *bounds)
        raise InvalidSchemaError(f"outlines' {type(term).__name__} is not known here")

    def key(self, whitespace: WhitespacePolicy) -> Hashable:
        """As `Constraint.key`."""
        return OutlinesTerm, whitespace, _structure(self.term)


def _structure(part: Any) -> Hashable:
    """The same for terms that look the same: outlines' terms are equal, but not hashable."""
    if isinstance(part, list | tuple):
        return tuple(map(_structure, part))
    if is_outlines_term(part):
        return type(part), *((name, _structure(value)) for name, value in vars(part).items())
    return type(part), part


_BOUNDS = (
    ("KleeneStar", 0, None),
    ("KleenePlus", 1, None),
    ("Optional", 0, 1),
    ("QuantifyExact", "count", "count"),
    ("QuantifyMinimum", "min_count", None),
    ("QuantifyMaximum", 0, "max_count"),
    ("QuantifyBetween", "min_count", "max_count"),
)
"""Repetitions: the class, and its bounds or the attributes that hold them."""
