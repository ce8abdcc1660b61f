"""Compiled constraints, kept for the next request that asks for the same one."""

import dataclasses
import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from dg_sglang.config import Whitespace
from dg_sglang.grammar import Choice, Grammar, JsonSchema, Regex, TokenAutomaton, compile_constraint


class AutomatonCache:
    """The most recently used token automata of one tokenizer. Not locked: the engine's lock guards it."""

    def __init__(self, capacity: int = 32) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Hashable, tuple[Any, TokenAutomaton]] = OrderedDict()

    def get(self, constraint: Any, whitespace: Whitespace, make: Callable[[Grammar], TokenAutomaton]) -> TokenAutomaton:
        """The automaton of a constraint, compiled now if it isn't kept.

        Args:
            constraint: JsonSchema, Regex, Choice, a schema as a dict, a pydantic model class, or a Grammar.
            whitespace: for JSON schemas that leave it open.
            make: the automaton of a compiled grammar.
        """
        if isinstance(constraint, Mapping) or hasattr(constraint, "model_json_schema"):
            constraint = JsonSchema(constraint)
        if isinstance(constraint, JsonSchema) and constraint.whitespace is None:
            constraint = dataclasses.replace(constraint, whitespace=whitespace)
        try:
            key = _key(constraint)
            hash(key)
        except (TypeError, ValueError, RecursionError):  # malformed: the compiler says how
            key = "object", id(constraint)
        if key in self._entries:
            self._entries.move_to_end(key)
            return self._entries[key][1]
        automaton = make(constraint if isinstance(constraint, Grammar) else compile_constraint(constraint))
        # The constraint is kept too: an id in the key stays its own for as long as the entry lives.
        self._entries[key] = constraint, automaton
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
        return automaton


def _key(constraint: Any) -> Hashable:
    if isinstance(constraint, JsonSchema) and not constraint.sources:
        return "json", json.dumps(constraint.resolved(), default=repr), constraint.whitespace
    if isinstance(constraint, Regex):
        return "regex", constraint.pattern
    if isinstance(constraint, Choice) and not isinstance(constraint.options, str):
        return "choice", *map(repr, constraint.options)
    return "object", id(constraint)
