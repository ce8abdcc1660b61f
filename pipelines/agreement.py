"""Two readings of the same fields settled into one: what a value needs to stand when the modes differ.

The causal mode of the same weights is another reader: it reads left to right what the denoiser reads in both
directions. Where a field is absent, each tends to take something that resembles it, and rarely the same thing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dg_sglang.pipelines.evidence import Path
from dg_sglang.pipelines.reading import path_name
from dg_sglang.pipelines.schema_tree import Node

SURE = 0.6
"""Confidence from which a causal value stands although the denoiser's differs (`python examples/evaluate.py`)."""


@dataclass(frozen=True)
class Doubt:
    """A field that is null because the two modes differ."""

    path: Path
    causal: Any
    denoised: Any

    def __str__(self) -> str:
        other = "nothing" if self.denoised is None else repr(self.denoised)
        return f"{path_name(self.path)} is null: left to right it reads {self.causal!r}, denoised {other}"


def settle(
    nodes: Sequence[Node],
    causal: Mapping[str, Any],
    denoised: Mapping[str, Any],
    confidences: Mapping[Path, float],
    path: Path = (),
) -> tuple[dict[str, Any], list[Doubt]]:
    """The causal answer, without the stated values that the denoiser contradicts and that aren't sure.

    Only a field that may be null becomes null; lists, whose rows don't pair up by themselves, stay as they are.

    Args:
        nodes: the fields.
        causal, denoised: the two answers.
        confidences: of the causal answer's leaves.
        path: where the fields stand.
    """
    answer: dict[str, Any] = dict(causal)
    doubts: list[Doubt] = []
    for node in nodes:
        value, other = causal.get(node.name), denoised.get(node.name)
        place = (*path, node.name)
        if node.kind == "object" and isinstance(value, Mapping) and isinstance(other, Mapping):
            answer[node.name], found = settle(node.children, value, other, confidences, place)
            doubts += found
        elif node.stated and node.optional and value not in (None, other) and confidences.get(place, 1.0) < SURE:
            answer[node.name] = None
            doubts.append(Doubt(place, value, other))
    return answer, doubts
