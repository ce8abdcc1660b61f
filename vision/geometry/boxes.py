"""Boxes, and how they lie to one another."""

from __future__ import annotations

from collections.abc import Sequence

Box = tuple[float, float, float, float]
"""(x0, y0, x1, y1) in pixels, origin at the top left corner."""


def area(box: Box) -> float:
    """Width times height."""
    return (box[2] - box[0]) * (box[3] - box[1])


def around(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds all of these, of which there is one at least."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def inside(one: Box, other: Box, slack: float = 2.0) -> bool:
    """Whether the first box lies in the second."""
    return (
        one[0] >= other[0] - slack
        and one[1] >= other[1] - slack
        and one[2] <= other[2] + slack
        and one[3] <= other[3] + slack
    )


def common(one: Box, other: Box) -> float:
    """The area that both share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if width > 0 and height > 0 else 0.0


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    shared = common(one, other)
    return shared / (area(one) + area(other) - shared) if shared else 0.0
