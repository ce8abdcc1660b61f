"""One answer out of several: what windows over a long document say, joined without losing or doubling anything.

Windows overlap, so that no value is cut. A list's record that two windows read stands at one place of the page and
becomes one record; the same words at another place are another record.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dg_sglang.pipelines.document import Box
from dg_sglang.pipelines.evidence import Path, Traced
from dg_sglang.pipelines.reading import alternative, path_name
from dg_sglang.pipelines.schema_tree import Node


@dataclass(frozen=True)
class Part:
    """What one window answered, where its values stand, and how sure the model was of each leaf."""

    answer: Mapping[str, Any]
    traced: Mapping[Path, Traced]
    confidences: Mapping[Path, float]


@dataclass
class Merged:
    """The joint answer, with the places and confidences of its leaves by their new paths.

    Attributes:
        origins: for each leaf the index of the part that it was taken from, and its path there.
        conflicts: one message for each field for which two windows state different values, or one says things twice.
    """

    answer: dict[str, Any] = field(default_factory=dict)
    traced: dict[Path, Traced] = field(default_factory=dict)
    confidences: dict[Path, float] = field(default_factory=dict)
    origins: dict[Path, tuple[int, Path]] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Candidate:
    """A value of one part, with its path there."""

    part: int
    path: Path
    value: Any


_Boxes = dict[Path, frozenset[tuple[int, Box]]]


@dataclass(frozen=True)
class _Record:
    """A list's item in one window, with the boxes of those of its leaves that have places."""

    candidate: _Candidate
    boxes: _Boxes
    start: int | None
    """Where its first word stands among all words of the document."""

    def marks(self) -> list[Any]:
        """What it has one of in common with whatever it repeats: a leaf at a place, or without places all it says."""
        return list(self.boxes.items()) or [json.dumps(self.candidate.value, sort_keys=True)]

    def whole(self) -> Any:
        """All that it says, and where: a model that goes round in circles says it again, a document never does."""
        return json.dumps(self.candidate.value, sort_keys=True), frozenset(self.boxes.items())

    def repeats(self, earlier: "_Record") -> bool:
        """Whether most of the leaves that both windows found stand at the same place; judged values have none."""
        if earlier.candidate.part == self.candidate.part:
            return False
        if not earlier.boxes and not self.boxes:
            return earlier.marks() == self.marks()
        shared = earlier.boxes.keys() & self.boxes.keys()
        return 2 * sum(earlier.boxes[leaf] == self.boxes[leaf] for leaf in shared) > len(shared)


def merge(nodes: Sequence[Node], parts: Sequence[Part], order: Mapping[int, int]) -> Merged:
    """Join the windows' answers.

    Of a single field that several windows state, the value that stands in the document counts before one that doesn't,
    then the one that the model was surest of; a window that says null counts only where all do. Records of lists
    from several windows follow one another as they stand in the document.

    Args:
        nodes: the fields.
        parts: the windows' answers.
        order: the number of each word of the document in reading order, by its `id`.
    """
    merger = _Merger(parts, order)
    candidates = [_Candidate(index, (), part.answer) for index, part in enumerate(parts)]
    merger.merged.answer = merger.object(nodes, candidates, ())
    return merger.merged


class _Merger:
    def __init__(self, parts: Sequence[Part], order: Mapping[int, int]) -> None:
        self.parts, self.order = parts, order
        self.merged = Merged()

    def object(self, nodes: Sequence[Node], candidates: Sequence[_Candidate], path: Path) -> dict[str, Any]:
        return {
            node.name: self.value(
                node,
                [_Candidate(one.part, (*one.path, node.name), one.value.get(node.name)) for one in candidates],
                (*path, node.name),
            )
            for node in nodes
            if any(node.name in one.value for one in candidates)
        }

    def value(self, node: Node, candidates: Sequence[_Candidate], path: Path) -> Any:
        if node.kind == "union":
            return self.union(node, candidates, path)
        kinds: dict[str, type] = {"object": Mapping, "list": list}
        stated = [one for one in candidates if one.value is not None and one.value != ""]
        shaped = [one for one in stated if isinstance(one.value, kinds.get(node.kind, str | int | float))]
        if not shaped:
            return self.leaf((stated or candidates)[0], path)
        if node.kind == "object":
            return self.object(node.children, shaped, path)
        if node.kind == "list":
            return self.list(node, shaped, path)
        chosen = max(shaped, key=self.weight)
        self.note_conflict(chosen, shaped, path)
        return self.leaf(chosen, path)

    def union(self, node: Node, candidates: Sequence[_Candidate], path: Path) -> Any:
        """Only windows that chose the same alternative as the first one to choose have something to join."""
        chosen = [(alternative(node, one.value), one) for one in candidates if one.value is not None]
        first = next((kind for kind, _ in chosen if kind is not None), None)
        if first is None:
            return self.leaf(candidates[0], path)
        return self.value(first, [one for kind, one in chosen if kind == first], path)

    def list(self, node: Node, candidates: Sequence[_Candidate], path: Path) -> list[Any]:
        records: list[list[_Record]] = []
        known: dict[Any, list[int]] = {}
        loops = 0
        for one in candidates:
            boxes, starts = self.places(one)
            said: set[Any] = set()
            own: list[tuple[Any, int]] = []
            for index, item in enumerate(one.value):
                found = _Record(_Candidate(one.part, (*one.path, index), item), boxes.get(index, {}), starts.get(index))
                if found.boxes and node.min_items <= 1:
                    if (whole := found.whole()) in said:
                        loops += 1
                        continue
                    said.add(whole)
                near = sorted({number for mark in found.marks() for number in known.get(mark, ())})
                same = next((number for number in near if found.repeats(records[number][-1])), len(records))
                if same == len(records):
                    records.append([])
                records[same].append(found)
                own += [(mark, same) for mark in found.marks()]
            for mark, number in own:  # afterwards: no record repeats one of its own window
                known.setdefault(mark, []).append(number)
        if loops:
            self.merged.conflicts.append(
                f"{path_name(path)}: {loops} more said the same, word for word from the same places, and were left out"
            )
        if not records:
            self.leaf(candidates[0], path)
        if len(candidates) > 1:
            records = _in_order(records)
        return [
            self.value(node.children[0], [found.candidate for found in record], (*path, index))
            for index, record in enumerate(records)
        ]

    def places(self, one: _Candidate) -> tuple[dict[Any, _Boxes], dict[Any, int]]:
        """For each item of a list that has places the boxes of its leaves, by their paths in the item; its start."""
        depth = len(one.path)
        boxes: dict[Any, _Boxes] = {}
        starts: dict[Any, int] = {}
        for path, traced in self.parts[one.part].traced.items():
            if len(path) > depth and path[:depth] == one.path and traced.places:
                index, leaf = path[depth], path[depth + 1 :]
                boxes.setdefault(index, {})[leaf] = frozenset((place.page, place.word.box) for place in traced.places)
                here = min(self.order[id(place.word)] for place in traced.places)
                starts[index] = min(here, starts.get(index, here))
        return boxes, starts

    def weight(self, one: _Candidate) -> tuple[bool, float]:
        part = self.parts[one.part]
        traced = part.traced.get(one.path)
        return bool(traced and traced.places), part.confidences.get(one.path, 0.0)

    def leaf(self, one: _Candidate, path: Path) -> Any:
        part = self.parts[one.part]
        if one.path in part.traced:
            self.merged.traced[path] = part.traced[one.path]
        if one.path in part.confidences:
            self.merged.confidences[path] = part.confidences[one.path]
        self.merged.origins[path] = (one.part, one.path)
        return one.value

    def note_conflict(self, chosen: _Candidate, candidates: Sequence[_Candidate], path: Path) -> None:
        others = {str(one.value): one for one in candidates if " ".join(str(one.value).split()) != chosen.value}
        others.pop(str(chosen.value), None)
        if others:
            said = ", ".join(f"{text!r}{self.page(one)}" for text, one in others.items())
            self.merged.conflicts.append(
                f"{path_name(path)} is {str(chosen.value)!r}{self.page(chosen)}; other parts of the document say {said}"
            )

    def page(self, one: _Candidate) -> str:
        traced = self.parts[one.part].traced.get(one.path)
        return f" (page {traced.places[0].page})" if traced and traced.places else ""


def _in_order(records: list[list[_Record]]) -> list[list[_Record]]:
    """As they stand in the document; one without a place stays behind the one that it followed."""
    starts: list[int] = []
    for first, *_ in records:
        starts.append(first.start if first.start is not None else starts[-1] if starts else -1)
    return [records[index] for index in sorted(range(len(records)), key=starts.__getitem__)]
