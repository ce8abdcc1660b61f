"""Compiled constraints, kept for the next request that asks for the same one."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from dg_sglang.config import Whitespace
from dg_sglang.grammar import Grammar, TokenAutomaton, as_constraint, compile_constraint


class AutomatonCache:
    """The most recently used token automata of one tokenizer. Not locked: the engine's lock guards it."""

    def __init__(self, capacity: int = 32) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[Hashable, tuple[Any, TokenAutomaton]] = OrderedDict()

    def get(self, constraint: Any, whitespace: Whitespace, make: Callable[[Grammar], TokenAutomaton]) -> TokenAutomaton:
        """The automaton of a constraint, compiled now if it isn't kept.

        Args:
            constraint: what `as_constraint` takes, or a Grammar.
            whitespace: for JSON whose policy is left open.
            make: the automaton of a compiled grammar.
        """
        if not isinstance(constraint, Grammar):
            constraint = as_constraint(constraint)
        try:
            key = id(constraint) if isinstance(constraint, Grammar) else constraint.key(whitespace)
            hash(key)
        except (TypeError, ValueError, RecursionError):  # unhashable, or malformed: the compiler says how
            key = id(constraint)
        if key in self._entries and not self._entries[key][1].is_worn:
            self._entries.move_to_end(key)
            return self._entries[key][1]
        if isinstance(constraint, Grammar):
            automaton = make(constraint)
        else:
            automaton = make(compile_constraint(constraint, whitespace=whitespace))
        # The constraint is kept too: an id in the key stays its own for as long as the entry lives.
        self._entries[key] = constraint, automaton
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
        return automaton
