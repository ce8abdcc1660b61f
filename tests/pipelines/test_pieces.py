from typing import Any

import pytest
from made_documents import document_of

from dg_sglang.pipelines.canvas_schema import piece_kind
from dg_sglang.pipelines.normalise import Conventions
from dg_sglang.pipelines.pieces import Pieces, pieces_for
from dg_sglang.pipelines.schema_tree import Node, schema_tree
from dg_sglang.pipelines.segments import segments_of

DOCUMENT = document_of(["Invoice RE-4711 from info@muster.de", "", "3 pens 1.234,50 and 0,75 or 1.234"])


def made(field: dict[str, Any], conventions: Conventions | None = None) -> tuple[Node, Pieces]:
    node = schema_tree({"type": "object", "properties": {"a": field}}).children[0]
    segments = segments_of(DOCUMENT)
    return node, pieces_for([node], DOCUMENT.text, segments, conventions or Conventions(decimal_mark=","))


@pytest.mark.parametrize(
    ("field", "allowed"),
    [
        ({"type": "number", "minimum": 1}, ["4711", "3", "1.234,50", "1.234"]),
        ({"type": "number", "exclusiveMinimum": 3, "maximum": 1234}, ["1.234"]),
        ({"type": "number", "exclusiveMaximum": 3}, ["0,75"]),
        ({"type": "number", "multipleOf": 0.5}, ["4711", "3", "1.234,50", "1.234"]),
        ({"type": "integer"}, ["4711", "3", "1.234"]),
        ({"type": "number", "minimum": 10_000}, []),
    ],
)
def test_numbers_within_their_bounds(field: dict[str, Any], allowed: list[str]) -> None:
    node, pieces = made(field)
    kind = piece_kind(node)
    assert list(pieces.source.spans[kind]) == allowed
    assert (kind in pieces.kinds) == bool(allowed)


def test_ambiguous_numbers_stay_for_the_reader_to_refuse() -> None:
    node, pieces = made({"type": "number", "minimum": 1000}, Conventions())
    assert "1.234" in pieces.source.spans[piece_kind(node)]


@pytest.mark.parametrize(
    ("checks", "kinds"),
    [
        ({"pattern": "^RE-"}, {"text of /properties/a"}),
        ({"format": "email"}, {"text of /properties/a"}),
        ({"pattern": "^XX"}, set()),
        ({"format": "ipv4"}, set()),
        ({"pattern": r"(\w)\1"}, {"unchecked text of /properties/a"}),
    ],
)
def test_texts_by_pattern_and_format(checks: dict[str, str], kinds: set[str]) -> None:
    _, pieces = made({"type": "string"} | checks)
    assert {kind for kind in pieces.kinds if "text" in kind} == kinds
