"""The kernels on CUDA: `reference`'s functions, in Triton.

Float64 appears only where a row has one number. Results agree with the specification to float32 precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton

from dg_sglang.kernels import triton_chain, triton_rows
from dg_sglang.kernels.rows import BLOCK
from dg_sglang.kernels.tables import Chain, Classes, ClassStatistics, Messages, RowStatistics, Sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

DEVICE = torch.device("cuda")

_LANES = 256  # states or groups that a program looks at together
_LISTED = 1024  # listed tokens in one segmented sum
_SHARES = 8  # programs that divide the vocabulary of a soft embedding among them
_TILE = {"ROWS": 64, "COLUMNS": 128, "TOKENS": 64}


def row_statistics(logits: Tensor, temperature: Tensor, *, scaled: Tensor | None = None) -> RowStatistics:
    """See `reference.row_statistics`."""
    return _read(logits, temperature, None, scaled)[0]


def class_statistics(
    logits: Tensor, temperature: Tensor, classes: Classes, *, scaled: Tensor | None = None
) -> tuple[RowStatistics, ClassStatistics]:
    """See `reference.class_statistics`."""
    rows, sums = _read(logits, temperature, classes if len(classes.row) else None, scaled)
    top, total, mean, *_ = sums
    logits, temperature = rows.blocks[:2]
    if top.numel():
        listed = torch.cat([classes.start[classes.first], classes.start[-1:]])
        owner = torch.repeat_interleave(listed.diff())
        triton_rows.class_statistics[(len(classes.row), classes.length)](
            logits, temperature, classes.row, classes.table, classes.column, listed, classes.tokens,
            classes.token_class[owner, classes.tokens.long()], top, total, mean,
            logits.shape[1], classes.count, BLOCK=_LISTED,
        )  # fmt: skip
    positions = classes.row + torch.arange(classes.length, device=logits.device)[:, None]
    norm = rows.log_norm[positions].repeat_interleave(classes.column.diff(), 1)
    best_log = top.double() - norm
    mean_log = torch.where(total > 0, mean.double() - norm, 0.0)
    return rows, ClassStatistics(best_log + total.double().log(), mean_log, best_log, (*rows.blocks[:2], classes, sums))


def draw_tokens(statistics: RowStatistics, rows: Tensor, uniform: Tensor) -> Tensor:
    """See `reference.draw_tokens`."""
    logits, temperature, top, total = statistics.blocks
    drawn = torch.empty(len(rows), dtype=torch.int64, device=logits.device)
    if len(rows):
        triton_rows.draw_tokens[(len(rows),)](
            logits, temperature, top, total, rows, uniform.contiguous(), drawn, logits.shape[1], top.shape[1],
            BLOCK=BLOCK, BLOCKS=_power(top.shape[1]),
        )  # fmt: skip
    return drawn


def draw_in_classes(statistics: ClassStatistics, label: Tensor, uniform: Tensor) -> Tensor:
    """See `reference.draw_in_classes`."""
    return _pick_in_classes(statistics, label, uniform)


def best_in_classes(statistics: ClassStatistics, label: Tensor) -> Tensor:
    """See `reference.best_in_classes`."""
    return _pick_in_classes(statistics, label, None)


def set_statistics(sums: ClassStatistics, sets: Sets) -> tuple[Tensor, Tensor, Tensor]:
    """See `reference.set_statistics`."""
    return _group_sums(sums.log_mass, sums.best_log, sets.start, sets.classes, sets.column, sets.bounds)


def backward(weight: Tensor, chain: Chain) -> Messages:
    """See `reference.backward`. Messages are logs."""
    values, peak = _float32(weight, chain.sets)
    message, shift, _ = _walk(values, chain, (chain.target, chain.edge_set, chain.edge_start), chain.final)
    log_z = message[0, chain.start].double() + shift.double().sum(1) + peak.sum(0)
    return Messages(message, torch.full_like(shift, torch.nan), log_z)


def set_posteriors(weight: Tensor, messages: Messages, chain: Chain, chosen: Sequence[int]) -> Tensor:
    """See `reference.set_posteriors`."""
    values, _ = _float32(weight, chain.sets)
    wanted = torch.zeros(len(chain.start), dtype=torch.int32, device=weight.device)
    wanted[list(chosen)] = 1
    source = torch.repeat_interleave(chain.edge_start.diff())
    order = torch.sort(chain.target, stable=True).indices
    bounds = _bounds(chain.target[order], len(chain.final))
    begin = torch.zeros_like(chain.final)
    begin[chain.start] = True
    edges = (source[order].int(), chain.edge_set[order], bounds)
    forward, _, _ = _walk(values, chain, edges, begin, forward=True, chosen=wanted)
    order = torch.sort(chain.edge_set, stable=True).indices
    bounds = _bounds(chain.edge_set[order], weight.shape[1])
    through, posterior = torch.empty_like(values), torch.empty_like(weight, dtype=torch.float64)
    triton_chain.set_weights[(len(weight), triton.cdiv(weight.shape[1], _LANES))](
        values, source[order].int(), chain.target[order], bounds, _owner(chain.sets), chain.limit, chain.tail,
        forward, messages.value, through, len(chain.final), weight.shape[1], BLOCK=_LANES,
    )  # fmt: skip
    triton_chain.normalise[(len(weight), len(chain.start))](
        through, chain.sets, wanted, posterior, weight.shape[1], BLOCK=_LANES
    )
    return posterior


def draw_path(
    uniform: Tensor, weight: Tensor, messages: Messages, log_mass: Tensor, chain: Chain, sets: Sets
) -> Tensor:
    """See `reference.draw_path`."""
    values, _ = _float32(weight, chain.sets)
    canvases, length = uniform.shape[:2]
    label = torch.empty(canvases, length, dtype=torch.int64, device=weight.device)
    triton_chain.draw_path[(canvases,)](
        uniform.contiguous(), values, messages.value, log_mass.float(), chain.target, chain.edge_set, chain.edge_start,
        sets.start, sets.classes, chain.start, chain.limit, chain.tail, label,
        length, len(chain.final), weight.shape[1], log_mass.shape[1],
        EDGES=_power(int(chain.edge_start.diff().max())), MEMBERS=_power(int(sets.start.diff().max())),
    )  # fmt: skip
    return torch.where(messages.log_z[:, None] > -torch.inf, label, -1)


def best_path(score: Tensor, set_class: Tensor, chain: Chain) -> Tensor:
    """See `reference.best_path`."""
    values, _ = _float32(score, chain.sets)
    edges = (chain.target, chain.edge_set, chain.edge_start)
    message, _, pointer = _walk(values, chain, edges, chain.final, maximum=True)
    label = torch.empty(len(chain.start), len(score), dtype=torch.int64, device=score.device)
    triton_chain.best_path[(len(chain.start),)](
        pointer, chain.target, chain.edge_set, set_class, chain.start, label,
        len(score), len(chain.final), score.shape[1],
    )  # fmt: skip
    return torch.where(message[0, chain.start][:, None] > -torch.inf, label, -1)


def tilted_statistics(posterior: Tensor, set_mass: Tensor, sums: ClassStatistics, sets: Sets) -> tuple[Tensor, Tensor]:
    """See `reference.tilted_statistics`."""
    length, count = sums.log_mass.shape
    ratio = torch.where(posterior > 0, posterior.log() - set_mass, -torch.inf)
    number = torch.repeat_interleave(sets.start.diff())
    order = torch.sort(sets.classes, stable=True).indices
    members = _bounds(sets.classes[order], count)
    tilt = _group_sums(ratio, None, members, number[order], sets.bounds, sets.column)[0]
    entropy = torch.empty(len(sets.bounds) - 1, length, dtype=torch.float32, device=tilt.device)
    triton_chain.entropies[(length, len(entropy))](
        sums.log_mass.float(), sums.mean_log.float(), tilt.float(), sets.column, entropy, count, BLOCK=_LANES
    )
    return tilt, entropy


def tilted_logits(
    logits: Tensor, temperature: Tensor, tilt: Tensor, classes: Classes, chosen: Sequence[int],
    *, lowest: float, floor: float, out: Tensor,
) -> None:  # fmt: skip
    """See `reference.tilted_logits`. `out` is contiguous."""
    width, canvases = logits.shape[1], torch.tensor(list(chosen), dtype=torch.int64, device=logits.device)
    if len(canvases):
        triton_rows.tilt_rows[(len(canvases) * classes.length, triton.cdiv(width, BLOCK))](
            logits.contiguous(), temperature.float().contiguous(), classes.row, tilt.float(), classes.token_class,
            classes.table, classes.column, canvases, lowest, floor, out, width, classes.length, classes.count,
            BLOCK=BLOCK,
        )  # fmt: skip


def soft_embedding(logits: Tensor, log_norm: Tensor, embedding: Tensor) -> Tensor:
    """See `reference.soft_embedding`. Products in the embedding's dtype, sums in float32."""
    rows, (width, hidden) = len(logits), embedding.shape
    share = triton.cdiv(triton.cdiv(width, _SHARES), _TILE["TOKENS"]) * _TILE["TOKENS"]
    shares = triton.cdiv(width, share)
    out = logits.new_empty(shares, rows, hidden, dtype=torch.float32)
    grid = (triton.cdiv(rows, _TILE["ROWS"]), triton.cdiv(hidden, _TILE["COLUMNS"]), shares)
    if rows:
        logits = logits if logits.stride(1) == 1 else logits.contiguous()
        triton_rows.soft_embedding[grid](
            logits, log_norm, embedding.contiguous(), out, rows, width, hidden, logits.stride(0), share, **_TILE
        )
    return out.sum(0)


def _read(
    logits: Tensor, temperature: Tensor, classes: Classes | None, scaled: Tensor | None
) -> tuple[RowStatistics, tuple[Tensor, ...]]:
    logits, temperature = logits.contiguous(), temperature.float().contiguous()
    count, width = logits.shape
    blocks = triton.cdiv(width, BLOCK)
    log_norm = logits.new_empty(count, dtype=torch.float64)
    entropy = logits.new_empty(count, dtype=torch.float32)
    best = logits.new_empty(count, dtype=torch.int64)
    top, total, own_top, own_total = logits.new_empty(4, count, blocks, dtype=torch.float32)
    shape = (0, 0) if classes is None else (classes.length, classes.count)
    sums = tuple(logits.new_empty(3, *shape, dtype=torch.float32))
    if classes is None:
        tables: tuple[Tensor, ...] = (best,) * 6
    else:
        places = classes.row[:, None] + torch.arange(classes.length, device=logits.device)
        canvas, position = best.new_full((count,), -1), best.new_zeros(count)
        canvas[places] = torch.arange(len(places), device=logits.device)[:, None]
        position[places] = torch.arange(classes.length, device=logits.device)
        tables = (canvas, position, classes.table, classes.dominant, classes.column, classes.token_class)
    if count:
        triton_rows.row_statistics[(count,)](
            logits, temperature, logits if scaled is None else scaled, log_norm, entropy, best, top, total,
            *tables, own_top, own_total, *sums,
            width, blocks, shape[1], WRITE=scaled is not None, CLASSES=classes is not None, BLOCK=BLOCK,
        )  # fmt: skip
    rows = RowStatistics(log_norm, entropy, best, (logits, temperature, top, total))
    return rows, (*sums, own_top, own_total)


def _pick_in_classes(statistics: ClassStatistics, label: Tensor, uniform: Tensor | None) -> Tensor:
    logits, temperature, classes, (top, total, _, own_top, own_total) = statistics.blocks
    picked = torch.empty_like(label)
    if label.numel():
        triton_rows.pick_in_classes[tuple(label.shape)](
            logits, temperature, classes.row, label.contiguous(),
            temperature if uniform is None else uniform.contiguous(),
            classes.token_class, classes.dominant, classes.first, classes.start, classes.tokens, classes.table,
            classes.column, top, total, own_top, own_total, picked, logits.shape[1], own_top.shape[1], classes.count,
            DRAW=uniform is not None, BLOCK=BLOCK, BLOCKS=_power(own_top.shape[1]),
        )  # fmt: skip
    return picked


def _group_sums(
    values: Tensor, maxima: Tensor | None, bounds: Tensor, members: Tensor, columns: Tensor, groups: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """columns, groups: bounds of each canvas's columns and groups."""
    values, peak = _float32(values, columns)
    rows, width = values.shape
    count = len(bounds) - 1
    sums, best = values.new_empty(2, rows, count)
    place = torch.empty(rows, count, dtype=torch.int32, device=values.device)
    if rows:
        triton_chain.group_sums[(rows, triton.cdiv(count, _LANES))](
            values, values if maxima is None else maxima.float(), bounds, members, sums, best, place,
            width, count, MAXIMUM=maxima is not None, BLOCK=_LANES,
        )  # fmt: skip
    return sums.double() + peak[:, _owner(groups)], best.double(), place


def _walk(
    weight: Tensor, chain: Chain, edges: tuple[Tensor, ...], begin: Tensor, *, forward: bool = False,
    maximum: bool = False, chosen: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    length, states, canvases = len(weight), len(chain.final), len(chain.start)
    message = weight.new_full((length + 1, states), -torch.inf)
    message[0 if forward else length, begin] = 0.0
    shift = weight.new_empty(canvases, length)
    pointer = torch.empty(message.shape if maximum else (1,), dtype=torch.int32, device=weight.device)
    if maximum:
        pointer.fill_(-1)
    if chosen is None:
        chosen = torch.ones(canvases, dtype=torch.int32, device=weight.device)
    triton_chain.walk[(canvases,)](
        weight, *edges, chain.active_start, chain.active, chain.limit, chain.tail, chosen, message, shift, pointer,
        length, states, weight.shape[1], FORWARD=forward, MAXIMUM=maximum, BLOCK=_LANES,
    )  # fmt: skip
    return message, shift, pointer


def _owner(bounds: Tensor) -> Tensor:
    """int64: the canvas of each column."""
    return torch.repeat_interleave(bounds.diff())


def _float32(values: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor]:
    """values less the largest of each row and canvas, which float32 holds well, and these: float64 [L, K]."""
    owner = _owner(bounds)
    peak = values.new_full((len(values), len(bounds) - 1), -torch.inf, dtype=torch.float64)
    peak.scatter_reduce_(1, owner.expand(values.shape), values.double(), "amax")
    peak = torch.where(peak > -torch.inf, peak, 0.0)
    return (values - peak[:, owner]).float(), peak


def _bounds(labels: Tensor, count: int) -> Tensor:
    """int64 [count + 1]: where each label begins in a sorted list."""
    return torch.searchsorted(labels, torch.arange(count + 1, device=labels.device, dtype=labels.dtype))


def _power(value: int) -> int:
    return int(triton.next_power_of_2(max(value, 2)))
