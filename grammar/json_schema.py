"""JSON Schema → byte expression. A keyword is enforced, or the schema is refused with keyword and JSON pointer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.array_text import ArrayTexts
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.formats import STANDARD
from dg_sglang.grammar.json_value import JsonPunctuation, WhitespacePolicy
from dg_sglang.grammar.keywords import ENFORCED
from dg_sglang.grammar.number_text import NumberTexts
from dg_sglang.grammar.object_text import ObjectTexts
from dg_sglang.grammar.rules import ALL_VALUES, Clause, ValueSet
from dg_sglang.grammar.schema_document import SchemaDocument
from dg_sglang.grammar.schema_reader import SchemaReader
from dg_sglang.grammar.string_text import StringTexts
from dg_sglang.grammar.verbatim import VerbatimSource

MAX_CLAUSES = 20_000


class SchemaCompiler:
    """One schema as texts: value sets from the reader, each written as an expression once.

    A value inside itself (a recursive $ref) becomes a reference, so there is no limit of depth.
    """

    def __init__(
        self,
        table: Expressions,
        schema: Any,
        *,
        whitespace: WhitespacePolicy = "json",
        sources: Mapping[str, VerbatimSource] | None = None,
        open_world: bool = False,
        annotations: Collection[str] = (),
    ) -> None:
        for name in annotations:
            if name in ENFORCED or name in STANDARD:
                raise InvalidSchemaError(f"annotations can't name {name!r}, which is enforced")
        self.table = table
        self.open_world = open_world
        self.json = JsonPunctuation(table, whitespace)
        self.document = SchemaDocument(schema, annotations)
        self.strings = StringTexts(table, sources or {})
        self.reader = SchemaReader(self.document, self.strings, open_world=open_world)
        self.algebra = self.reader.algebra
        integers = open_world and not self.document.is_before_draft_6
        self.numbers = NumberTexts(table, open_world=open_world, integers=integers)
        self.arrays = ArrayTexts(table, self.json, self.algebra, self.text)
        self.objects = ObjectTexts(table, self.json, self.algebra, self.text, open_world=open_world)
        self.texts: dict[Clause, Expression | None] = {}

    def compile(self) -> Expression:
        """The JSON texts that the schema allows."""
        return self.text(self.algebra.clause(self.document.root))

    def text(self, clause: Clause) -> Expression:
        """The JSON texts that a clause allows."""
        if clause not in self.texts:
            if len(self.texts) >= MAX_CLAUSES:
                message = f"the schema combines into more than {MAX_CLAUSES:,} subschemas"
                raise UnsupportedSchemaError(message, pointer=self.algebra.at[0], keyword=self.algebra.at[1])
            self.texts[clause], at = None, self.algebra.at
            self.texts[clause] = self.value(clause)
            self.algebra.at = at
        text = self.texts[clause]
        return self.table.reference(clause, lambda: self.finished(clause)) if text is None else text

    def finished(self, clause: Clause) -> Expression:
        """The text of a clause that is complete."""
        text = self.texts[clause]
        if text is None:
            raise RuntimeError("a reference was followed before its target was there")
        return text

    def value(self, clause: Clause) -> Expression:
        """The JSON texts of a clause's values."""
        values, (pointer, keyword) = self.algebra.values(clause), self.algebra.origin(clause)
        if not self.open_world:
            values = self.with_implied_type(values, pointer)
        self.algebra.at = (pointer, keyword)
        words = {None: b"null", True: b"true", False: b"false"}
        return self.table.union(
            [
                *(self.table.literal(words[constant]) for constant in values.constants),
                *(self.numbers.number(rule) for rule in values.numbers),
                *(self.json.quoted(self.strings.body(rule)) for rule in values.strings),
                *(self.arrays.array(rule) for rule in values.arrays),
                *(self.objects.object(rule) for rule in values.objects),
            ]
        )

    def with_implied_type(self, values: ValueSet, pointer: str) -> ValueSet:
        """In the closed world keywords of one type imply that type: what schemas that forget "type" mean."""
        parts = zip(values, ALL_VALUES, strict=True)
        if values == ALL_VALUES or not all(part for part in values) or values.constants != ALL_VALUES.constants:
            return values
        said = [index for index, (part, anything) in enumerate(parts) if part != anything]
        if len(said) > 1:
            message = "keywords of several types, but no type; name the type"
            raise UnsupportedSchemaError(message, pointer=pointer, keyword="type")
        return ValueSet(*(part if index in said else type(part)() for index, part in enumerate(values)))  # type: ignore[arg-type]


def compile_schema(
    table: Expressions,
    schema: Any,
    whitespace: WhitespacePolicy,
    sources: Mapping[str, VerbatimSource],
    *,
    open_world: bool = False,
    annotations: Collection[str] = (),
) -> Expression:
    """The JSON texts valid under `schema`, declared properties in order of declaration.

    open_world: whether undeclared properties may appear wherever the schema doesn't forbid them.
    annotations: keywords and formats that aren't known here and restrict nothing.
    Raises UnsupportedSchemaError for a keyword that can't be enforced, InvalidSchemaError for a malformed schema.
    """
    return SchemaCompiler(
        table, schema, whitespace=whitespace, sources=sources, open_world=open_world, annotations=annotations
    ).compile()


def explain_schema(
    schema: Any,
    sources: Mapping[str, VerbatimSource] | None = None,
    *,
    open_world: bool = False,
    annotations: Collection[str] = (),
) -> list[tuple[str, str, str]]:
    """(pointer, keyword, what is done about it) for every keyword: "enforced", "annotation…" or "not needed…".

    The last is for subschemas that nothing refers to. Raises as compile_schema.
    """
    compiler = SchemaCompiler(Expressions(), schema, sources=sources, open_world=open_world, annotations=annotations)
    compiler.compile()
    read, document = compiler.reader.report, compiler.document
    used = {pointer for pointer, _ in read}
    places = {*document.declared, *(place for pointer, place in document.places.items() if pointer in used)}
    return [
        (place.pointer, keyword, read.get((place.pointer, keyword), "not needed (nothing refers to it)"))
        for place in sorted(places, key=lambda place: place.pointer)
        for keyword in (sorted(place.value) if isinstance(place.value, Mapping) else ())
    ]
