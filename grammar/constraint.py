"""The constraints people write, and the compiled `Grammar` they become."""

from __future__ import annotations

import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, get_args

from dg_sglang.errors import (
    EmptyLanguageError,
    GrammarError,
    GrammarTooLargeError,
    InvalidSchemaError,
    UnsupportedSchemaError,
)
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.formats import compile_format
from dg_sglang.grammar.json_schema import compile_schema
from dg_sglang.grammar.json_value import WhitespacePolicy
from dg_sglang.grammar.python_types import enumerated_texts, is_python_type, schema_of_type
from dg_sglang.grammar.regex import compile_regex
from dg_sglang.grammar.text import utf8
from dg_sglang.grammar.verbatim import VerbatimSource, compile_verbatim


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


@dataclass(frozen=True)
class JsonSchema(Constraint):
    """JSON texts valid under a JSON Schema.

    Args:
        schema: a JSON Schema as a dict or JSON text; or a Python type that pydantic knows (a model, a dataclass, a
            TypedDict, `list[int]`, …): its schema by alias, for validation. A function stands for its arguments.
        whitespace: "json" (between tokens one space, or a line break with indentation), "compact" (none), or None for
            the default of the checkpoint that generates ("json" outside an engine).
        sources: texts that `x-verbatim` keywords name: VerbatimSource, or just the text.
        open: whether properties that the schema doesn't declare may appear wherever it doesn't forbid them, as the
            standard says. By default the world is closed: what isn't declared isn't generated, unless the schema speaks
            about it (additionalProperties, patternProperties, unevaluatedProperties) or declares nothing at all.
    """

    has_value: ClassVar[bool] = True

    schema: Any
    whitespace: WhitespacePolicy | None = None
    sources: Mapping[str, VerbatimSource | str] = field(default_factory=dict)
    open: bool = False

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        policy = _checked_whitespace(self.whitespace or whitespace)
        if not isinstance(self.sources, Mapping):
            raise InvalidSchemaError(f"sources must map names to texts, not {type(self.sources).__name__}")
        sources = {name: VerbatimSource.of(source) for name, source in self.sources.items()}
        return compile_schema(table, self.resolved(), policy, sources, open_world=self.open)

    def parse(self, text: str) -> Any:
        """As `Constraint.parse`: the JSON value."""
        return json.loads(text)

    def key(self, whitespace: WhitespacePolicy) -> Hashable:
        """As `Constraint.key`."""
        if self.sources:
            return super().key(whitespace)
        return JsonSchema, self.whitespace or whitespace, json.dumps(self.resolved(), default=repr), self.open

    def resolved(self) -> Any:
        """The schema as plain data."""
        schema = self.schema
        if isinstance(schema, str):
            try:
                return json.loads(schema)
            except ValueError as error:  # also integers of more digits than Python reads
                raise InvalidSchemaError(f"the schema is not valid JSON: {error}") from None
            except RecursionError:
                raise GrammarTooLargeError("the schema is nested too deeply") from None
        return schema_of_type(schema) if is_python_type(schema) else schema


@dataclass(frozen=True)
class JsonObject(Constraint):
    """Any JSON object: the OpenAI API's `{"type": "json_object"}`. `whitespace` is as in JsonSchema."""

    has_value: ClassVar[bool] = True

    whitespace: WhitespacePolicy | None = None

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        return JsonSchema({"type": "object"}, self.whitespace).expression(table, whitespace)

    def parse(self, text: str) -> Any:
        """As `Constraint.parse`: the JSON value."""
        return json.loads(text)


@dataclass(frozen=True)
class Regex(Constraint):
    """Texts that a regular expression (ECMA-262) matches from beginning to end."""

    pattern: str

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        return compile_regex(table, self.pattern)


@dataclass(frozen=True)
class Choice(Constraint):
    """Exactly one of some texts."""

    options: Sequence[str]

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        if isinstance(self.options, str) or not isinstance(self.options, Iterable):
            raise InvalidSchemaError("Choice takes a list of texts")
        options = list(self.options)
        if not all(isinstance(option, str) for option in options):
            raise InvalidSchemaError("Choice takes a list of texts")
        return table.union([table.literal(option.encode()) for option in options])

    def key(self, whitespace: WhitespacePolicy) -> Hashable:
        """As `Constraint.key`."""
        return Choice, tuple(self.options)


@dataclass(frozen=True)
class Verbatim(Constraint):
    """A piece of a given text.

    Args:
        source: the text, several texts, or a VerbatimSource.
        kind: only the source's spans of this kind.
        words: whether a piece begins and ends at word boundaries.
        pattern: a regular expression (ECMA-262) that the piece matches from beginning to end.
        format: a format of JSON Schema that the piece has, for example "date".
        type: "integer" or "number": the piece is one, as JSON writes it.
    """

    source: VerbatimSource | str | Sequence[str]
    kind: str | None = None
    words: bool = True
    pattern: str | None = None
    format: str | None = None
    type: Literal["integer", "number"] | None = None

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        source = VerbatimSource.of(self.source)
        parts = [compile_verbatim(table, source, self.kind, words=self.words, spell=str.encode)]
        if self.pattern is not None:
            parts.append(compile_regex(table, self.pattern))
        if self.format is not None:
            parts.append(compile_format(table, self.format, utf8))
        if self.type is not None:
            if self.type not in ("integer", "number"):
                raise InvalidSchemaError(f'type must be "integer", "number" or None, not {self.type!r}')
            parts.append(JsonSchema({"type": self.type}).expression(table, whitespace))
        return table.intersection(parts)


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


def as_constraint(value: Any) -> Constraint:
    """What people pass as a constraint, as one.

    - a Constraint: itself;
    - a Literal or an Enum class: Choice, one of its values;
    - a compiled `re.Pattern`: Regex (flags are refused);
    - a dict, or any other Python type that pydantic knows, or a function: JsonSchema;
    - a type of the outlines package: what stands for it here.

    Raises:
        GrammarError: it is none of these.
    """
    if isinstance(value, Constraint):
        return value
    if isinstance(value, re.Pattern):
        return _regex_of_pattern(value)
    if (texts := enumerated_texts(value)) is not None:
        return Choice(texts)
    is_own = isinstance(value, type) and issubclass(value, Constraint)
    if isinstance(value, Mapping) or (is_python_type(value) and not is_own):
        return JsonSchema(value)
    what = f"the class {value.__name__}; make one" if is_own else type(value).__name__
    raise GrammarError(
        "a constraint must be one of dg_sglang.grammar (JsonSchema, Regex, Choice, …), a JSON Schema as a dict, "
        f"or a Python type, not {what}"
    )


def _regex_of_pattern(pattern: re.Pattern[Any]) -> Regex:
    flags = re.RegexFlag(pattern.flags) & ~(re.ASCII | re.UNICODE)
    if flags or isinstance(pattern.pattern, bytes):
        what = f"its flags ({flags!r})" if flags else "a pattern of bytes"
        raise UnsupportedSchemaError(f"{pattern!r}: {what} can't be enforced", pointer="", keyword="pattern")
    return Regex(pattern.pattern)


def _checked_whitespace(policy: WhitespacePolicy) -> WhitespacePolicy:
    if policy not in get_args(WhitespacePolicy):
        raise GrammarError(f"whitespace must be one of {get_args(WhitespacePolicy)} or None, not {policy!r}")
    return policy


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
    _checked_whitespace(whitespace)
    constraint = as_constraint(constraint)
    table = Expressions()
    try:
        root = constraint.expression(table, whitespace)
        empty = table.is_empty(root)
    except RecursionError:
        raise GrammarTooLargeError("the constraint is nested too deeply") from None
    except UnicodeEncodeError as error:
        raise InvalidSchemaError(f"{error.object!r} holds a lone surrogate, which no text can") from None
    if empty:
        raise EmptyLanguageError(
            "no text satisfies the constraint (an empty enum, or bounds that contradict each other)"
        )
    return Grammar(table, root, constraint.parse)
