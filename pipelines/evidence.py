"""Where each value stands in the document.

A value that occurs several times is traced to one place, chosen so: in a list's records, the occurrence nearest to the
record's words that occur only once, and not one that an earlier record took; elsewhere, the occurrence that words of
the field's name or description precede most closely, in its line or (with less weight) the line above; then the first
one. `occurrences` says how many there are.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dg_sglang.pipelines.document import Box, Place
from dg_sglang.pipelines.normalise import FINDERS
from dg_sglang.pipelines.schema_tree import Node
from dg_sglang.pipelines.segments import Segment

Match = Literal["exact", "normalised", "fuzzy", "none"]
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Evidence:
    """Where one leaf's value comes from.

    Attributes:
        match: "exact": the value is these words; "normalised": it was computed from them (dates, amounts, currencies);
            "fuzzy": they agree but for case and punctuation; "none": not stated in the document (null, or judged).
        verbatim: the words, as the model copied them; None where the value is null.
        page: from 1. boxes: one per word, (x0, y0, x1, y1) in PDF points, origin top left.
        occurrences: how often the words stand in the document.
        confidence: the smallest probability among the tokens of the leaf, null included; None if it has none of its
            own.
    """

    match: Match
    verbatim: str | None = None
    page: int | None = None
    boxes: tuple[Box, ...] = ()
    occurrences: int = 0
    confidence: float | None = None


@dataclass(frozen=True)
class Claim:
    """A leaf that is to be traced: its path in the answer, its node, and the words that the model copied."""

    path: Path
    node: Node
    verbatim: str


@dataclass(frozen=True)
class Traced:
    """The words that a claim was traced to; none if it stands nowhere."""

    places: tuple[Place, ...] = ()
    occurrences: int = 0
    fuzzy: bool = False


def trace(claims: Sequence[Claim], segments: Sequence[Segment]) -> dict[Path, Traced]:
    """Trace every claim to one place of the document. See the module's text for the choice among several."""
    traced: dict[Path, Traced] = {}
    taken: set[int] = set()
    document = list({place.start: place for segment in segments for place in segment.places}.values())
    document.sort(key=lambda place: place.start)
    found = {claim.path: _occurrences(claim, segments) for claim in claims}
    for record in _records(claims):
        spots = {claim.path: found[claim.path][0] for claim in record}
        anchors = [places[0][0] for places in spots.values() if len(places) == 1]
        in_list = any(isinstance(part, int) for part in record[0].path)
        for claim in record:
            candidates, fuzzy = found[claim.path]
            if not candidates:
                traced[claim.path] = Traced()
                continue
            if in_list:
                chosen = min(candidates, key=lambda places: _record_cost(places, anchors, taken))
                taken.update(place.start for place in chosen)
                anchors.append(chosen[0])
            else:
                chosen = max(candidates, key=lambda places: _label_weight(claim.node, places[0], document))
            traced[claim.path] = Traced(chosen, len(candidates), fuzzy)
    return traced


def _records(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Claims that belong to one record of a list, or to none, in order."""
    records: dict[Path, list[Claim]] = {}
    for claim in claims:
        index = max((i for i, part in enumerate(claim.path) if isinstance(part, int)), default=-1)
        records.setdefault(claim.path[: index + 1], []).append(claim)
    return list(records.values())


def _occurrences(claim: Claim, segments: Sequence[Segment]) -> tuple[list[tuple[Place, ...]], bool]:
    """The words of each occurrence in reading order, and whether only a loose match was found."""
    piece = " ".join(claim.verbatim.split())
    # Dates, numbers and currencies may touch a clock time, a unit or one another: 5.00 in RM5.00 but not in 15.00.
    kind = claim.node.kind
    ways: list[tuple[bool, Callable[[Segment], Iterator[tuple[Place, ...]]]]] = [
        (False, lambda segment: segment.find_kind(piece, kind)),
        (False, lambda segment: segment.find(piece)),
        (False, lambda segment: segment.find(piece, inside_words=True) if kind in FINDERS else iter(())),
        (True, lambda segment: segment.find_loosely(piece)),
    ]
    for fuzzy, find in ways:
        found: dict[tuple[int, ...], tuple[Place, ...]] = {}
        for segment in segments:
            for places in find(segment):
                found.setdefault(tuple(place.start for place in places), places)
        if found:
            return [places for _, places in sorted(found.items())], fuzzy
    return [], False


def _record_cost(places: Sequence[Place], anchors: Sequence[Place], taken: set[int]) -> tuple[bool, float, int]:
    first = places[0]
    distance = min((_distance(first, anchor) for anchor in anchors), default=0.0)
    return first.start in taken, distance, first.start


def _distance(one: Place, other: Place) -> float:
    """In points down the page; another page is further than any."""
    return abs(one.page - other.page) * 1e6 + abs(one.word.box[3] - other.word.box[3])


def _label_weight(node: Node, first: Place, places: Sequence[Place]) -> float:
    """Words of the field's name and description before `first`: 1, 1/2, 1/3, … by distance, 1/10 in the line above."""
    wanted = _words(f"{node.name} {node.description}")
    near = [place for place in places if place.page == first.page and place.start < first.start]
    line = [place for place in near if place.line == first.line]
    above = [place for place in near if place.line == first.line - 1]
    weight = sum(1 / distance for distance, place in enumerate(reversed(line), 1) if wanted & _words(place.word.text))
    return weight + sum(0.1 for place in above if wanted & _words(place.word.text))


def _words(text: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)
    return {word for word in re.findall(r"[^\W\d_]+", spaced.casefold()) if len(word) > 1}
