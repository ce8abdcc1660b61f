"""Constraints: schema or pattern → byte automaton → token automaton → canvas posterior."""

from typing import TYPE_CHECKING, Any

from dg_sglang.errors import (
    BudgetError,
    EmptyLanguageError,
    GrammarError,
    GrammarTooLargeError,
    InvalidSchemaError,
    UnsupportedSchemaError,
)
from dg_sglang.grammar.basic import Choice, JsonObject, JsonSchema, Regex, Verbatim
from dg_sglang.grammar.coercion import as_constraint
from dg_sglang.grammar.constraint import Constraint, Grammar, compile_constraint
from dg_sglang.grammar.ebnf import Ebnf
from dg_sglang.grammar.structural_tag import StructuralTag
from dg_sglang.grammar.template import Template
from dg_sglang.grammar.verbatim import VerbatimSource

if TYPE_CHECKING:
    from dg_sglang.grammar.posterior import CanvasPosterior
    from dg_sglang.grammar.token_automaton import TokenAutomaton
    from dg_sglang.grammar.vocabulary import Vocabulary

__all__ = [
    "BudgetError",
    "CanvasPosterior",
    "Choice",
    "Constraint",
    "Ebnf",
    "EmptyLanguageError",
    "Grammar",
    "GrammarError",
    "GrammarTooLargeError",
    "InvalidSchemaError",
    "JsonObject",
    "JsonSchema",
    "Regex",
    "StructuralTag",
    "Template",
    "TokenAutomaton",
    "UnsupportedSchemaError",
    "Verbatim",
    "VerbatimSource",
    "Vocabulary",
    "as_constraint",
    "compile_constraint",
]

_LAZY = {"CanvasPosterior": "posterior", "TokenAutomaton": "token_automaton", "Vocabulary": "vocabulary"}


def __getattr__(name: str) -> Any:
    # numpy, numba and torch are loaded only when an automaton meets a tokenizer.
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(f"dg_sglang.grammar.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
