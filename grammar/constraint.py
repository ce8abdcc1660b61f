"""The constraints people write, and the compiled `Grammar` they become."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from dg_sglang.errors import EmptyLanguageError, GrammarError, GrammarTooLargeError, InvalidSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.json_schema import compile_schema
from dg_sglang.grammar.json_value import WhitespacePolicy
from dg_sglang.grammar.regex import compile_regex
from dg_sglang.grammar.verbatim import VerbatimSource


@dataclass(frozen=True)
class JsonSchema:
    """JSON texts valid under a JSON Schema.

    Args:
        schema: a JSON Schema as a dict or JSON text, or a pydantic model class (its schema by alias, for validation).
        whitespace: "json" (between tokens one space, or a line break with indentation), "compact" (none), or None for
            the default of the checkpoint that generates ("json" outside an engine).
        sources: texts that `x-verbatim` keywords name.
        open: whether properties that the schema doesn't declare may appear wherever it doesn't forbid them, as the
            standard says. By default the world is closed: what isn't declared isn't generated, unless the schema speaks
            about it (additionalProperties, patternProperties, unevaluatedProperties) or declares nothing at all.
    """

    schema: Any
    whitespace: WhitespacePolicy | None = None
    sources: Mapping[str, VerbatimSource] = field(default_factory=dict)
    open: bool = False

    def resolved(self) -> Any:
        """The schema as plain data."""
        schema = self.schema
        if hasattr(schema, "model_json_schema"):
            try:
                return schema.model_json_schema()
            except Exception as error:  # pydantic's own errors, and whatever the model's hooks raise
                name = getattr(schema, "__name__", type(schema).__name__)
                raise InvalidSchemaError(f"{name} has no JSON Schema: {error}") from error
        if isinstance(schema, str):
            try:
                return json.loads(schema)
            except json.JSONDecodeError as error:
                raise InvalidSchemaError(f"the schema is not valid JSON: {error}") from None
            except RecursionError:
                raise GrammarTooLargeError("the schema is nested too deeply") from None
        return schema


@dataclass(frozen=True)
class Regex:
    """Texts that a regular expression matches from beginning to end."""

    pattern: str


@dataclass(frozen=True)
class Choice:
    """Exactly one of some texts."""

    options: Sequence[str]


Constraint = JsonSchema | Regex | Choice


class Grammar:
    """A compiled constraint: a language over UTF-8 bytes, before any tokenizer. Safe to share between threads."""

    def __init__(self, table: Expressions, root: Expression, *, is_json: bool) -> None:
        self.table = table
        self.root = root
        self.is_json = is_json
        self.lock = threading.Lock()

    def accepts(self, text: str) -> bool:
        """Whether `text` is a complete member of the language."""
        with self.lock:
            return self.table.after(self.root, text.encode("utf-8", "surrogatepass")).nullable


def compile_constraint(constraint: Constraint) -> Grammar:
    """Compile a constraint.

    Raises:
        UnsupportedSchemaError: it asks for something that can't be enforced.
        InvalidSchemaError: it is malformed.
        EmptyLanguageError: no text satisfies it.
        GrammarTooLargeError: it is nested too deeply.
    """
    table = Expressions()
    try:
        root = _root(table, constraint)
    except RecursionError:
        raise GrammarTooLargeError("the constraint is nested too deeply") from None
    except UnicodeEncodeError as error:
        raise InvalidSchemaError(f"{error.object!r} holds a lone surrogate, which no text can") from None
    if root is table.nothing:
        raise EmptyLanguageError(
            "no text satisfies the constraint (an empty enum, or bounds that contradict each other)"
        )
    return Grammar(table, root, is_json=isinstance(constraint, JsonSchema))


def _root(table: Expressions, constraint: Constraint) -> Expression:
    if isinstance(constraint, JsonSchema):
        whitespace = constraint.whitespace or "json"
        if whitespace not in get_args(WhitespacePolicy):
            raise GrammarError(f"whitespace must be one of {get_args(WhitespacePolicy)} or None, not {whitespace!r}")
        schema, sources = constraint.resolved(), constraint.sources
        return compile_schema(table, schema, whitespace, sources, open_world=constraint.open)
    if isinstance(constraint, Regex):
        return compile_regex(table, constraint.pattern)
    if isinstance(constraint, Choice):
        options = constraint.options
        if isinstance(options, str) or not isinstance(options, Iterable):
            raise InvalidSchemaError("Choice takes a list of texts")
        options = list(options)
        if not all(isinstance(option, str) for option in options):
            raise InvalidSchemaError("Choice takes a list of texts")
        return table.union([table.literal(option.encode()) for option in options])
    raise GrammarError(f"a constraint must be JsonSchema, Regex or Choice, not {type(constraint).__name__}")
