"""Free text in which certain strings begin something else, or end it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.text import complement_ranges, utf8


def free_text(
    table: Expressions,
    regions: Iterable[tuple[str, Expression]] = (),
    *,
    excludes: Sequence[str] = (),
    ends: Sequence[str] = (),
    loop: bool = True,
    limit: int | None = None,
) -> Expression:
    """Free text with regions, and then one of `ends`.

    Args:
        table: where the expression is made.
        regions: (trigger, what follows it): the trigger stands in free text only where its region begins.
        excludes: what free text never contains.
        ends: free text goes up to the first of these, which is included; without any, the text just ends.
        loop: whether free text goes on after a region; otherwise one of `ends` comes right behind it.
        limit: the most characters in a stretch of free text.
    """
    regions = list(regions)
    text = table.repeat(utf8(table, complement_ranges([])), 0, limit)
    excluded = table.union(table.literal(one.encode()) for one in excludes)
    stops = [trigger for trigger, _ in regions] + [end for end in ends if end]
    stop = table.concat(table.anything, table.union([excluded, *(table.literal(one.encode()) for one in stops)]))
    too_late = table.concat(stop, table.repeat(table.byte_range(0, 255), 1))
    first = table.complement(table.union((too_late, table.concat(table.anything, excluded))))

    def up_to(stop: str) -> Expression:
        """Free text and the first stop in it, which is this one."""
        return table.intersection((table.concat(text, table.literal(stop.encode())), first))

    closed = [up_to(end) for end in ends if end]
    if not ends or "" in ends:
        closed.append(table.intersection((text, table.complement(table.concat(stop, table.anything)))))
    dispatched = table.union(table.concat(up_to(trigger), rest) for trigger, rest in regions)
    if loop:
        return table.concat(table.repeat(dispatched), table.union(closed))
    return table.union((*closed, table.concat(dispatched, one_of(table, ends))))


def one_of(table: Expressions, ends: Sequence[str]) -> Expression:
    """One of `ends`; nothing at all if there are none."""
    return table.union(table.literal(end.encode()) for end in ends) if ends else table.empty
