"""Which pieces of the document a stated field may be: those of its kind that its bounds, pattern and format allow."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from dg_sglang.errors import EmptyLanguageError, GrammarError
from dg_sglang.grammar import JsonSchema, VerbatimSource, compile_constraint
from dg_sglang.pipelines.canvas_schema import SOURCE, SPAN_KINDS, piece_kind, text_schema
from dg_sglang.pipelines.normalise import Conventions, normalise, pieces
from dg_sglang.pipelines.schema_tree import Node
from dg_sglang.pipelines.segments import Segment

_TESTS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
    "multipleOf": lambda value, factor: value % factor == 0,
}


@dataclass(frozen=True)
class Pieces:
    """A document as the grammar sees it.

    Attributes:
        source: its stretches, and its spans by kind.
        kinds: the kinds (see `piece_kind`) of which the document has any piece. A field of another kind is null.
    """

    source: VerbatimSource
    kinds: frozenset[str]


def pieces_for(nodes: Iterable[Node], text: str, segments: Sequence[Segment], conventions: Conventions) -> Pieces:
    """The pieces for these fields. A number that the document leaves open (1.234) stays: reading it then says so."""
    spans = {kind: pieces(text, kind) for kind in SPAN_KINDS}
    leaves = [leaf for node in nodes for leaf in node.leaves()]
    for leaf in leaves:
        if leaf.kind == "number" and (kind := piece_kind(leaf)) not in spans:
            spans[kind] = [piece for piece in spans["number"] if _allowed(leaf, piece, conventions)]
    source = VerbatimSource([segment.text for segment in segments], spans)
    texts = [leaf for leaf in leaves if leaf.kind == "text" and leaf.checks]
    possible = frozenset(found for leaf in texts if (found := _text_kind(leaf, source)))
    return Pieces(source, possible | frozenset(kind for kind, known in spans.items() if known))


def _text_kind(leaf: Node, source: VerbatimSource) -> str | None:
    """The kind of a text with a pattern or format: None if no piece fits, "text" if only validation can decide."""
    try:
        compile_constraint(JsonSchema(text_schema(leaf), sources={SOURCE: source}))
    except EmptyLanguageError:
        return None
    except GrammarError:  # a pattern with backreferences, or one too large
        return f"unchecked {piece_kind(leaf)}"
    return piece_kind(leaf)


def _allowed(leaf: Node, piece: str, conventions: Conventions) -> bool:
    try:
        value = normalise(piece, "number", conventions)
    except ValueError:
        return True
    if not isinstance(value, Decimal) or (leaf.number_type == "integer" and value != value.to_integral_value()):
        return False
    return all(_TESTS[word](value, Decimal(str(bound))) for word, bound in leaf.checks.items())
