"""How boxes lie to one another."""

from __future__ import annotations

from dg_sglang.vision.ocr import Box


def inside(one: Box, other: Box, slack: float = 2.0) -> bool:
    """Whether the first box lies in the second."""
    return (
        one[0] >= other[0] - slack
        and one[1] >= other[1] - slack
        and one[2] <= other[2] + slack
        and one[3] <= other[3] + slack
    )


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return common / (areas - common)
