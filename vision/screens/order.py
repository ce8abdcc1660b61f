"""Reading order, and what lies in what."""

from __future__ import annotations

from collections.abc import Sequence

from dg_sglang.vision.geometry.boxes import area, inside
from dg_sglang.vision.screens.model import Element

_HOLDERS = ("box", "table", "image")


def in_order(elements: Sequence[Element]) -> list[Element]:
    """The elements in reading order, each after the one that it lies in, with `parent` set."""
    parents: dict[int, int | None] = {}
    for index, element in enumerate(elements):
        holders = [
            other
            for other, holder in enumerate(elements)
            if holder.role in _HOLDERS and other != index and _holds(holder, element)
        ]
        parents[index] = min(holders, key=lambda other: area(elements[other].box), default=None)
    ordered: list[Element] = []

    def place(parent: int | None, position: int | None) -> None:
        for index in _sorted([index for index in parents if parents[index] == parent], elements):
            ordered.append(elements[index].model_copy(update={"parent": position}))
            place(index, len(ordered) - 1)

    place(None, None)
    return ordered


def _holds(holder: Element, element: Element) -> bool:
    if holder.role == "table" and element.role != "cell":
        return False
    x, y = (element.box[0] + element.box[2]) / 2, (element.box[1] + element.box[3]) / 2
    return inside((x, y, x, y), holder.box, 0.0) and area(holder.box) > area(element.box)


def _sorted(indices: Sequence[int], elements: Sequence[Element]) -> list[int]:
    """Cut along empty bands, across first and then down, until nothing can be cut (recursive XY cut)."""
    for axis in (1, 0):
        parts = _cut(indices, elements, axis)
        if len(parts) > 1:
            return [index for part in parts for index in _sorted(part, elements)]
    return sorted(indices, key=lambda index: (elements[index].box[1], elements[index].box[0]))


def _cut(indices: Sequence[int], elements: Sequence[Element], axis: int) -> list[list[int]]:
    """Groups whose boxes, shrunk a little, don't overlap along an axis (0 across, 1 down)."""
    parts: list[list[int]] = []
    end = float("-inf")
    for index in sorted(indices, key=lambda index: elements[index].box[axis]):
        low, high = elements[index].box[axis], elements[index].box[axis + 2]
        slack = 0.15 * (high - low)
        if low + slack >= end:
            parts.append([index])
        else:
            parts[-1].append(index)
        end = max(end, high - slack)
    return parts
