"""The basic constraints: JSON, a regular expression, one of several texts, a piece of a text."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from dg_sglang.errors import GrammarTooLargeError, InvalidSchemaError
from dg_sglang.grammar.constraint import Constraint, checked_flag, checked_name, checked_names, checked_whitespace
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.formats import compile_format
from dg_sglang.grammar.json_schema import compile_schema
from dg_sglang.grammar.json_value import WhitespacePolicy
from dg_sglang.grammar.python_types import is_python_type, schema_of_type
from dg_sglang.grammar.regex import compile_regex
from dg_sglang.grammar.regex_syntax import pattern_text
from dg_sglang.grammar.text import check_size, shown, utf8
from dg_sglang.grammar.verbatim import VerbatimSource, compile_verbatim


@dataclass(frozen=True)
class JsonSchema(Constraint):
    """JSON texts valid under a JSON Schema.

    Args:
        schema: a JSON Schema as a dict or JSON text; or a Python type that pydantic knows (a model, a dataclass, a
            TypedDict, `list[int]`, …): its schema by alias, for validation. A function stands for its arguments.
        whitespace: "json" (one space between any two tokens; where JSON is written over several lines, a line break
            with indentation instead), "compact" (none), or None for the default of the checkpoint that generates
            ("json" outside an engine).
        sources: texts that `x-verbatim` keywords name: VerbatimSource, or just the text.
        open: whether properties that the schema doesn't declare may appear wherever it doesn't forbid them, as the
            standard says. By default the world is closed: what isn't declared isn't generated, unless the schema speaks
            about it (additionalProperties, patternProperties, unevaluatedProperties) or declares nothing at all.
        annotations: keywords and formats that aren't known here and restrict nothing. By default they are refused in
            the closed world.
    """

    has_value: ClassVar[bool] = True

    schema: Any
    whitespace: WhitespacePolicy | None = None
    sources: Mapping[str, VerbatimSource | str] = field(default_factory=dict)
    open: bool = False
    annotations: Collection[str] = ()

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        policy = checked_whitespace(whitespace if self.whitespace is None else self.whitespace)
        if not isinstance(self.sources, Mapping):
            raise InvalidSchemaError(f"sources must map names to texts, not {type(self.sources).__name__}")
        sources = {name: VerbatimSource.of(source) for name, source in self.sources.items()}
        return compile_schema(
            *(table, self.resolved(), policy, sources),
            open_world=checked_flag("open", self.open),
            annotations=checked_names("annotations", self.annotations),
        )

    def parse(self, text: str) -> Any:
        """As `Constraint.parse`: the JSON value."""
        return json.loads(text)

    def key(self, whitespace: WhitespacePolicy) -> Hashable:
        """As `Constraint.key`."""
        if self.sources:
            return super().key(whitespace)
        return (
            JsonSchema,
            self.whitespace or whitespace,
            json.dumps(self.resolved(), default=repr),
            self.open,
            frozenset(self.annotations),
        )

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
    """Texts that a regular expression (ECMA-262) matches from beginning to end.

    Args:
        pattern: the expression; a compiled `re.Pattern` becomes its text, with its flags in front: `(?i)…`.
    """

    pattern: str

    def __post_init__(self) -> None:
        """Raises InvalidSchemaError for a compiled pattern of bytes."""
        object.__setattr__(self, "pattern", pattern_text(self.pattern))

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        return compile_regex(table, self.pattern)


@dataclass(frozen=True)
class Choice(Constraint):
    """Exactly one of some texts."""

    options: Sequence[str]

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        options = self.options
        if isinstance(options, str) or not isinstance(options, Sequence | Set):
            raise InvalidSchemaError(f"Choice takes a list of texts, not {shown(options)}")
        check_size("Choice", list(options))
        if not all(isinstance(option, str) for option in options):
            raise InvalidSchemaError(f"Choice takes a list of texts, not {shown(options)}")
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
        source, words = VerbatimSource.of(self.source), checked_flag("words", self.words)
        kind, format_ = checked_name("kind", self.kind), checked_name("format", self.format)
        parts = [compile_verbatim(table, source, kind, words=words, spell=str.encode)]
        if self.pattern is not None:
            parts.append(compile_regex(table, self.pattern))
        if format_ is not None:
            parts.append(compile_format(table, format_, utf8))
        if checked_name("type", self.type) is not None:
            if self.type not in ("integer", "number"):
                raise InvalidSchemaError(f'type must be "integer", "number" or None, not {shown(self.type)}')
            parts.append(JsonSchema({"type": self.type}).expression(table, whitespace))
        return table.intersection(parts)
