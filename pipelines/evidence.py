"""Where each value stands in the document.

A value that occurs several times is traced to one place, chosen so: in a list's records, the occurrence nearest to the
record's words that occur only once, or where its words stand closest together, and not one that an earlier record took;
elsewhere, the occurrence that words of the field's name or description precede most closely, in its line or (with less
weight) the line above; then the first one. `occurrences` says how many there are.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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
    known: dict[tuple[str, str], _Found] = {}
    found = {claim.path: _occurrences(claim, segments, known) for claim in claims}
    for record in _records(claims):
        spots = [found[claim.path].places for claim in record]
        anchors = [places[0][0] for places in spots if len(places) == 1]
        in_list = any(isinstance(part, int) for part in record[0].path)
        if in_list and not anchors and (stated := [found[claim.path] for claim in record if found[claim.path].places]):
            anchors.append(_most_together(stated, taken))
        for claim in record:
            candidates = found[claim.path].places
            if not candidates:
                traced[claim.path] = Traced()
                continue
            if in_list:
                chosen = min(candidates, key=lambda places: _record_cost(places, anchors, taken))
                taken.update(place.start for place in chosen)
                anchors.append(chosen[0])
            else:
                chosen = max(candidates, key=lambda places: _label_weight(claim.node, places[0], document))
            traced[claim.path] = Traced(chosen, len(candidates), found[claim.path].fuzzy)
    return traced


def _records(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Claims that belong to one record of a list, or to none, in order."""
    records: dict[Path, list[Claim]] = {}
    for claim in claims:
        records.setdefault(record_of(claim.path), []).append(claim)
    return list(records.values())


def record_of(path: Path) -> Path:
    """The innermost record of a list that holds a leaf; () outside of lists."""
    return path[: max((index + 1 for index, part in enumerate(path) if isinstance(part, int)), default=0)]


@dataclass(frozen=True)
class _Found:
    """The words of each occurrence in reading order, and whether only a loose match was found."""

    places: list[tuple[Place, ...]]
    fuzzy: bool = False

    @cached_property
    def heights(self) -> list[float]:
        """Where they stand, see `_height`, in order."""
        return sorted(_height(places[0]) for places in self.places)

    def distance(self, height: float) -> float:
        """From there to the nearest of them."""
        index = bisect_left(self.heights, height)
        return min(abs(height - other) for other in self.heights[max(0, index - 1) : index + 1])


def _occurrences(claim: Claim, segments: Sequence[Segment], known: dict[tuple[str, str], _Found]) -> _Found:
    """Where a claim's words stand; `known` keeps what was found for the same words."""
    piece = " ".join(claim.verbatim.split())
    # Dates, numbers and currencies may touch a clock time, a unit or one another: 5.00 in RM5.00 but not in 15.00.
    kind = claim.node.kind
    if (kind, piece) in known:
        return known[kind, piece]
    ways: list[tuple[bool, Callable[[Segment], Iterator[tuple[Place, ...]]]]] = [
        (False, lambda segment: segment.find_kind(piece, kind)),
        (False, lambda segment: segment.find(piece)),
        (False, lambda segment: segment.find(piece, inside_words=True) if kind in FINDERS else iter(())),
        (True, lambda segment: segment.find_loosely(piece)),
    ]
    found = _Found([])
    for fuzzy, find in ways:
        places_of: dict[tuple[int, ...], tuple[Place, ...]] = {}
        for segment in segments:
            for places in find(segment):
                places_of.setdefault(tuple(place.start for place in places), places)
        if places_of:
            found = _Found([places for _, places in sorted(places_of.items())], fuzzy)
            break
    known[kind, piece] = found
    return found


def _most_together(record: Sequence[_Found], taken: set[int]) -> Place:
    """Where to look for a record all of whose words occur several times: where most of them stand side by side."""
    rarest = min(record, key=lambda found: len(found.places))

    def cost(first: Place) -> tuple[bool, float, int]:
        height = _height(first)
        return first.start in taken, sum(found.distance(height) for found in record), first.start

    return min((places[0] for places in rarest.places), key=cost)


def _record_cost(places: Sequence[Place], anchors: Sequence[Place], taken: set[int]) -> tuple[bool, float, int]:
    first = places[0]
    distance = min((_distance(first, anchor) for anchor in anchors), default=0.0)
    return first.start in taken, distance, first.start


def _distance(one: Place, other: Place) -> float:
    return abs(_height(one) - _height(other))


def _height(place: Place) -> float:
    """In points down the document; another page is further than any."""
    return place.page * 1e6 + place.word.box[3]


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
