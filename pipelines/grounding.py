"""Where a known value stands in a document: the truth that boxes are scored against."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from dg_sglang.pipelines.document import Place
from dg_sglang.pipelines.evaluation import PlacedBox, Score, score_boxes
from dg_sglang.pipelines.evidence import Evidence
from dg_sglang.pipelines.normalise import FINDERS, Conventions, normalise
from dg_sglang.pipelines.schema_tree import Node
from dg_sglang.pipelines.segments import Segment


def places_of(node: Node, value: Any, segments: Sequence[Segment], conventions: Conventions) -> list[tuple[Place, ...]]:
    """Every stretch of words that means `value`, a JSON value; texts may differ in case and punctuation."""
    found: dict[tuple[int, ...], tuple[Place, ...]] = {}
    for segment in segments:
        for places in _in_segment(node, value, segment, conventions):
            found.setdefault(tuple(place.start for place in places), places)
    return list(found.values())


def score_grounding(
    nodes: Sequence[Node],
    evidence: Mapping[str, Any],
    truth: Mapping[str, Any],
    segments: Sequence[Segment],
    conventions: Conventions,
) -> Score:
    """Score the boxes of a document's plain stated fields; add up over documents and take F1.

    A field's truth is the occurrence of its true value that its boxes fit best. A field whose true value the document
    doesn't hold as such (OCR misread it) is left out; boxes for a value that should be null are wrong ones.
    """
    total = Score()
    for node in nodes:
        if not node.stated or node.name not in truth:
            continue
        leaf = evidence.get(node.name)
        boxes = _boxes(leaf) if isinstance(leaf, Evidence) else []
        value = truth[node.name]
        spots = [] if value is None else places_of(node, value, segments, conventions)
        if spots:
            golds = [[(place.page, place.word.box) for place in spot] for spot in spots]
            total += max((score_boxes(boxes, gold) for gold in golds), key=lambda score: score.f1)
        elif value is None:
            total += Score(0, len(boxes), 0)
    return total


def _in_segment(node: Node, value: Any, segment: Segment, conventions: Conventions) -> Iterator[tuple[Place, ...]]:
    if node.kind not in FINDERS:
        yield from segment.find(str(value))
        yield from segment.find_loosely(str(value))
        return
    for piece in dict.fromkeys(segment.text[start:end] for start, end in FINDERS[node.kind](segment.text)):
        try:
            read = normalise(piece, node.kind, conventions)  # type: ignore[arg-type]
        except ValueError:
            continue
        if _same(read, value):
            yield from segment.find_kind(piece, node.kind)


def _same(read: Any, value: Any) -> bool:
    if isinstance(read, Decimal):
        return isinstance(value, int | float) and not isinstance(value, bool) and read == Decimal(str(value))
    return bool((read.isoformat() if isinstance(read, date) else str(read)) == value)


def _boxes(leaf: Evidence) -> list[PlacedBox]:
    return [] if leaf.page is None else [(leaf.page, box) for box in leaf.boxes]
