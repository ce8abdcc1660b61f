"""What a constraint is, and the compiled `Grammar` that it becomes."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import fields
from typing import Any, ClassVar, get_args

from dg_sglang.errors import (
    EmptyLanguageError,
    GrammarError,
    GrammarTooLargeError,
    InvalidSchemaError,
    UnsupportedSchemaError,
)
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.json_value import WhitespacePolicy
from dg_sglang.grammar.text import shown


class Constraint(ABC):
    """What a text must satisfy. Constraints don't change once they are made.

    Attributes:
        has_value: whether `parse` makes more of a text than the text itself.
    """

    has_value: ClassVar[bool] = False

    @abstractmethod
    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """The texts that satisfy it, as UTF-8.

        Args:
            table: where the expression is made.
            whitespace: for JSON whose policy is left open.

        Raises:
            GrammarError: as `compile_constraint`.
        """

    def parse(self, text: str) -> Any:
        """A satisfying text as a value; None unless `has_value`."""
        return None

    def key(self, whitespace: WhitespacePolicy) -> Hashable:
        """Equal for constraints with the same texts, as far as is easily told. May turn out not to be hashable."""
        return type(self), whitespace, *(getattr(self, one.name) for one in fields(self))  # type: ignore[arg-type]


def nested(constraint: Constraint, table: Expressions, whitespace: WhitespacePolicy, *, pointer: str) -> Expression:
    """The expression of a constraint inside another one; its errors name the place, `pointer`.

    Raises:
        GrammarError: as `compile_constraint`.
    """
    try:
        return constraint.expression(table, whitespace)
    except UnsupportedSchemaError as error:
        message = str(error).rpartition(" (keyword")[0]
        raise UnsupportedSchemaError(message, pointer=pointer + error.pointer, keyword=error.keyword) from None
    except InvalidSchemaError as error:
        message = str(error).removesuffix(f" (at {error.pointer})")
        raise InvalidSchemaError(message, pointer=pointer + error.pointer) from None


def checked_whitespace(policy: WhitespacePolicy) -> WhitespacePolicy:
    """The policy itself. Raises GrammarError where there is no such policy."""
    if not isinstance(policy, str) or policy not in get_args(WhitespacePolicy):
        raise GrammarError(f"whitespace must be one of {get_args(WhitespacePolicy)} or None, not {shown(policy)}")
    return policy


def checked_flag(name: str, value: Any) -> bool:
    """A flag itself. Raises InvalidSchemaError where it is neither True nor False."""
    if not isinstance(value, bool):
        raise InvalidSchemaError(f"{name} must be True or False, not {shown(value)}")
    return value


def checked_name(name: str, value: Any) -> str | None:
    """An optional name itself. Raises InvalidSchemaError where it is neither a string nor None."""
    if not isinstance(value, str | None):
        raise InvalidSchemaError(f"{name} must be a name or None, not {shown(value)}")
    return value


def checked_names(name: str, value: Any) -> frozenset[str]:
    """Some names as a set. Raises InvalidSchemaError where they aren't a list, tuple or set of strings."""
    if not isinstance(value, list | tuple | set | frozenset) or not all(isinstance(one, str) for one in value):
        raise InvalidSchemaError(f"{name} must be a list of names, not {shown(value)}")
    return frozenset(value)


class Grammar:
    """A compiled constraint: a language over UTF-8 bytes, before any tokenizer. Safe to share between threads."""

    def __init__(self, table: Expressions, root: Expression, parse: Callable[[str], Any]) -> None:
        """`parse` turns a member into the value that it stands for, or None."""
        self.table = table
        self.root = root
        self.parse = parse
        self.lock = threading.Lock()

    def accepts(self, text: str | bytes) -> bool:
        """Whether `text` (bytes: as UTF-8) is a complete member of the language.

        Raises:
            GrammarError: it is neither text nor bytes.
        """
        if isinstance(text, str):
            text = text.encode("utf-8", "surrogatepass")
        elif not isinstance(text, bytes | bytearray | memoryview):
            raise GrammarError(f"a text to check must be str or bytes, not {type(text).__name__}")
        with self.lock:
            return self.table.after(self.root, bytes(text)).nullable

    def prefixes(self, text: str) -> list[int]:
        """The lengths of the beginnings of `text` that are members, shortest first."""
        lengths, state = [], self.root
        with self.lock:
            for length in range(len(text) + 1):
                if state.nullable:
                    lengths.append(length)
                if state is self.table.nothing:
                    break
                state = self.table.after(state, text[length : length + 1].encode())
        return lengths


def compile_constraint(constraint: Any, *, whitespace: WhitespacePolicy = "json") -> Grammar:
    """Compile a constraint.

    Args:
        constraint: a Constraint, or what `as_constraint` makes one of.
        whitespace: for JSON whose policy is left open.

    Raises:
        UnsupportedSchemaError: it asks for something that can't be enforced.
        InvalidSchemaError: it is malformed.
        EmptyLanguageError: no text satisfies it.
        GrammarTooLargeError: it is nested too deeply.
        GrammarError: it is no constraint.
    """
    from dg_sglang.grammar.coercion import as_constraint  # it knows every kind of constraint, and they this module

    checked_whitespace(whitespace)
    constraint = as_constraint(constraint)
    table = Expressions()
    try:
        root = constraint.expression(table, whitespace)
        empty = table.is_empty(root)
    except RecursionError:
        raise GrammarTooLargeError("the constraint is nested too deeply") from None
    except UnicodeEncodeError as error:
        raise InvalidSchemaError(f"{shown(error.object)} holds a lone surrogate, which no text can") from None
    if empty:
        raise EmptyLanguageError(
            "no text satisfies the constraint (an empty enum, or bounds that contradict each other)"
        )
    return Grammar(table, root, constraint.parse)
