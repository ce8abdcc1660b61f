"""What a regular expression says, as a tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chars:
    """One code point out of `ranges`."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Sequence:
    """The parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Branch:
    """One of the options."""

    options: tuple[Node, ...]


@dataclass(frozen=True)
class Loop:
    """`body` between `low` and `high` times (None: without bound)."""

    body: Node
    low: int
    high: int | None


@dataclass(frozen=True)
class Edge:
    """The beginning (`start`) or the end of the text."""

    start: bool


@dataclass(frozen=True)
class Boundary:
    r"""A word boundary, `\b`, or (not `holds`) its opposite."""

    holds: bool


@dataclass(frozen=True)
class Look:
    """Look-ahead or look-behind; `holds` is false for the negative forms."""

    body: Node
    ahead: bool
    holds: bool


Node = Chars | Sequence | Branch | Loop | Edge | Boundary | Look
