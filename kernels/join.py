"""Tables of several constraints laid side by side, so that one launch serves a batch of canvases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import torch
from torch import Tensor

from dg_sglang.kernels.tables import Chain, Classes, ClassTable, Sets


def classes(tables: Sequence[ClassTable], rows: Sequence[int], length: int) -> Classes:
    """The classes of canvases of `length` rows that begin at `rows`, each under its constraint's table."""
    distinct = list({id(table): table for table in tables}.values()) or [_NO_CLASSES]
    number = {id(table): index for index, table in enumerate(distinct)}
    tokens, outside = (_bounds(len(getattr(table, name)) for table in distinct) for name in ("tokens", "outside"))
    starts = [table.start + int(low) for table, low in zip(distinct, tokens, strict=False)]
    return Classes(
        token_class=torch.stack(_promoted([table.token_class for table in distinct])),
        dominant=torch.tensor([table.dominant for table in distinct]),
        first=_bounds(map(len, starts))[:-1],
        start=torch.cat(starts),
        tokens=torch.cat([table.tokens for table in distinct]),
        outside=torch.cat([table.outside for table in distinct]),
        outside_start=outside,
        places=torch.cat([table.places for table in distinct]),
        table=torch.tensor([number[id(table)] for table in tables], dtype=torch.int64),
        row=torch.tensor(rows, dtype=torch.int64),
        column=_bounds(table.count for table in tables),
        length=length,
    )


def sets(parts: Sequence[tuple[Tensor, Tensor]], column: Tensor) -> Sets:
    """Each canvas's (start, classes) with its own numbering; column as in `Classes`."""
    members = _bounds(len(labels) for _, labels in parts)
    return Sets(
        start=torch.cat([*(start[:-1] + low for (start, _), low in zip(parts, members, strict=False)), members[-1:]]),
        classes=_shifted([labels for _, labels in parts], column),
        bounds=_bounds(len(start) - 1 for start, _ in parts),
        column=column,
    )


def chains(parts: Sequence[Chain]) -> Chain:
    """Chains of the same length, each with its own numbering of states and sets."""
    states, bounds = (_bounds(int(getattr(part, name)[-1]) for part in parts) for name in ("states", "sets"))
    edges, active = (_bounds(len(getattr(part, name)) for part in parts) for name in ("target", "active"))
    return Chain(
        target=_shifted([part.target for part in parts], states),
        edge_set=_shifted([part.edge_set for part in parts], bounds),
        edge_start=torch.cat(
            [*(part.edge_start[:-1] + low for part, low in zip(parts, edges, strict=False)), edges[-1:]]
        ),
        active_start=torch.cat([part.active_start + low for part, low in zip(parts, active, strict=False)]),
        active=_shifted([part.active for part in parts], states),
        final=torch.cat([part.final for part in parts]),
        start=torch.cat([part.start for part in parts]) + states[:-1],
        limit=torch.cat([part.limit for part in parts]),
        tail=torch.cat([part.tail for part in parts]) + bounds[:-1],
        states=states,
        sets=bounds,
    )


_NO_CLASSES = ClassTable(
    torch.zeros(0, dtype=torch.int16), 0, -1, torch.zeros(1, dtype=torch.int64), *torch.zeros(3, 0, dtype=torch.int32)
)


def _bounds(sizes: Iterable[int]) -> Tensor:
    """int64 [n + 1]: where each of n parts of these sizes begins, and the end."""
    return torch.tensor([0, *accumulate(sizes)], dtype=torch.int64)


def _shifted(parts: Sequence[Tensor], offsets: Tensor) -> Tensor:
    """Numbers of each part, int32, plus its offset."""
    shifted = (part.int() + int(low) for part, low in zip(parts, offsets, strict=False))
    return torch.cat([torch.zeros(0, dtype=torch.int32), *shifted])


def _promoted(parts: list[Tensor]) -> list[Tensor]:
    """All of the same dtype: the widest."""
    kind = torch.int16 if all(part.dtype == torch.int16 for part in parts) else torch.int32
    return [part.to(kind) for part in parts]
