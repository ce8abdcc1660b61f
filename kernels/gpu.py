"""The kernels on CUDA: `reference`'s functions, in Triton.

Float64 appears only where a row has one number. Results agree with the specification to float32 precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton

from dg_sglang.kernels import triton_chain, triton_rows
from dg_sglang.kernels.rows import BLOCK
from dg_sglang.kernels.tables import Chain, Classes, ClassStatistics, Messages, RowStatistics

if TYPE_CHECKING:
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
    rows, sums = _read(logits, temperature, classes, scaled)
    top, total, mean, *_ = sums
    logits, temperature = rows.blocks[:2]
    if len(logits):
        labels = classes.token_class[classes.tokens.long()]
        triton_rows.class_statistics[(len(logits),)](
            logits, temperature, classes.tokens, labels, top, total, mean,
            logits.shape[1], len(labels), classes.count, BLOCK=_LISTED,
        )  # fmt: skip
    norm = rows.log_norm[:, None]
    best_log = top.double() - norm
    mean_log = torch.where(total > 0, mean.double() - norm, 0.0)
    return rows, ClassStatistics(best_log + total.double().log(), mean_log, best_log, (*rows.blocks[:2], classes, sums))


def draw_tokens(statistics: RowStatistics, uniform: Tensor) -> Tensor:
    """See `reference.draw_tokens`."""
    logits, temperature, top, total = statistics.blocks
    drawn = torch.empty(len(logits), dtype=torch.int64, device=logits.device)
    if len(logits):
        triton_rows.draw_tokens[(len(logits),)](
            logits, temperature, top, total, uniform, drawn, logits.shape[1], top.shape[1],
            BLOCK=BLOCK, BLOCKS=_power(top.shape[1]),
        )  # fmt: skip
    return drawn


def draw_in_classes(statistics: ClassStatistics, label: Tensor, uniform: Tensor) -> Tensor:
    """See `reference.draw_in_classes`."""
    return _pick_in_classes(statistics, label, uniform)


def best_in_classes(statistics: ClassStatistics, label: Tensor) -> Tensor:
    """See `reference.best_in_classes`."""
    return _pick_in_classes(statistics, label, None)


def set_statistics(log_mass: Tensor, best_log: Tensor, chain: Chain) -> tuple[Tensor, Tensor, Tensor]:
    """See `reference.set_statistics`."""
    return _group_sums(log_mass, best_log, chain.set_start, chain.set_classes)


def backward(weight: Tensor, chain: Chain) -> Messages:
    """See `reference.backward`. Messages are logs."""
    values, peak = _float32(weight)
    message, shift, _ = _walk(values, chain, (chain.target, chain.edge_set, chain.edge_start), chain.final)
    log_z = message[0, chain.start].double() + shift.double().sum() + peak.sum()
    return Messages(message, None, float(log_z))


def set_posteriors(weight: Tensor, messages: Messages, chain: Chain) -> Tensor:
    """See `reference.set_posteriors`."""
    values, _ = _float32(weight)
    source = torch.repeat_interleave(chain.edge_start.diff())
    order = torch.sort(chain.target, stable=True).indices
    bounds = _bounds(chain.target[order], len(chain.final))
    begin = torch.zeros_like(chain.final)
    begin[chain.start] = True
    edges = (source[order].int(), chain.edge_set[order], bounds)
    forward, _, _ = _walk(values, chain, edges, begin, forward=True)
    order = torch.sort(chain.edge_set, stable=True).indices
    bounds = _bounds(chain.edge_set[order], weight.shape[1])
    out = torch.empty_like(values)
    triton_chain.set_weights[(len(weight), triton.cdiv(weight.shape[1], _LANES))](
        values, source[order].int(), chain.target[order], bounds, forward, messages.value, out,
        len(chain.final), weight.shape[1], chain.limit, chain.tail, BLOCK=_LANES,
    )  # fmt: skip
    return out.double().softmax(-1)


def draw_path(uniform: Tensor, weight: Tensor, messages: Messages, log_mass: Tensor, chain: Chain) -> Tensor:
    """See `reference.draw_path`."""
    values, _ = _float32(weight)
    label = torch.empty(len(weight), dtype=torch.int64, device=weight.device)
    triton_chain.draw_path[(1,)](
        uniform.contiguous(), values, messages.value, log_mass.float(), chain.target, chain.edge_set, chain.edge_start,
        chain.set_start, chain.set_classes, label, len(weight), len(chain.final), weight.shape[1], log_mass.shape[1],
        chain.start, chain.limit, chain.tail,
        EDGES=_power(int(chain.edge_start.diff().max())), MEMBERS=_power(int(chain.set_start.diff().max())),
    )  # fmt: skip
    return label


def best_path(score: Tensor, chain: Chain) -> Tensor:
    """See `reference.best_path`."""
    values, _ = _float32(score)
    edges = (chain.target, chain.edge_set, chain.edge_start)
    _, _, pointer = _walk(values, chain, edges, chain.final, maximum=True)
    path = torch.empty(len(score), dtype=torch.int32, device=score.device)
    triton_chain.best_path[(1,)](pointer, chain.target, chain.edge_set, path, len(score), len(chain.final), chain.start)
    return path


def class_tilt(posterior: Tensor, set_mass: Tensor, chain: Chain, count: int) -> Tensor:
    """See `reference.class_tilt`."""
    ratio = torch.where(posterior > 0, posterior.log() - set_mass, -torch.inf)
    number = torch.repeat_interleave(chain.set_start.diff())
    order = torch.sort(chain.set_classes, stable=True).indices
    return _group_sums(ratio, None, _bounds(chain.set_classes[order], count), number[order])[0]


def tilted_logits(
    logits: Tensor, temperature: Tensor, tilt: Tensor, classes: Classes, *, floor: float, out: Tensor
) -> None:
    """See `reference.tilted_logits`."""
    _tilt_rows(logits, temperature, None, tilt, classes, floor, out)


def tilted_probabilities(
    logits: Tensor, temperature: Tensor, log_norm: Tensor, tilt: Tensor | None, classes: Classes | None, *, out: Tensor
) -> None:
    """See `reference.tilted_probabilities`."""
    _tilt_rows(logits, temperature, log_norm, tilt, classes, 0.0, out)


def soft_embedding(
    logits: Tensor,
    temperature: Tensor,
    log_norm: Tensor,
    tilt: Tensor | None,
    classes: Classes | None,
    embedding: Tensor,
) -> Tensor:
    """See `reference.soft_embedding`. Products in the embedding's dtype, sums in float32."""
    rows, (width, hidden) = len(logits), embedding.shape
    share = triton.cdiv(triton.cdiv(width, _SHARES), _TILE["TOKENS"]) * _TILE["TOKENS"]
    shares = triton.cdiv(width, share)
    out = logits.new_empty(shares, rows, hidden, dtype=torch.float32)
    grid = (triton.cdiv(rows, _TILE["ROWS"]), triton.cdiv(hidden, _TILE["COLUMNS"]), shares)
    if rows:
        triton_rows.soft_embedding[grid](
            logits.contiguous(), temperature.float().contiguous(), log_norm, *_tilting(tilt, classes, logits),
            embedding.contiguous(), out, rows, width, hidden, 0 if classes is None else classes.count, share,
            TILT=tilt is not None, **_TILE,
        )  # fmt: skip
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
    labels, number = (best, 0) if classes is None else (classes.token_class, classes.count)
    sums = tuple(logits.new_empty(3, count, number, dtype=torch.float32))
    if count:
        triton_rows.row_statistics[(count,)](
            logits, temperature, logits if scaled is None else scaled, log_norm, entropy, best, top, total,
            labels, -1 if classes is None else classes.dominant, own_top, own_total, *sums,
            width, blocks, number, WRITE=scaled is not None, CLASSES=classes is not None, BLOCK=BLOCK,
        )  # fmt: skip
    rows = RowStatistics(log_norm, entropy, best, (logits, temperature, top, total))
    return rows, (*sums, own_top, own_total)


def _pick_in_classes(statistics: ClassStatistics, label: Tensor, uniform: Tensor | None) -> Tensor:
    logits, temperature, classes, (top, total, _, own_top, own_total) = statistics.blocks
    picked = torch.empty(len(logits), dtype=torch.int64, device=logits.device)
    if len(logits):
        triton_rows.pick_in_classes[(len(logits),)](
            logits, temperature, label, temperature if uniform is None else uniform.contiguous(),
            classes.token_class, classes.start, classes.tokens, classes.dominant, top, total, own_top, own_total,
            picked, logits.shape[1], own_top.shape[1], classes.count,
            DRAW=uniform is not None, BLOCK=BLOCK, BLOCKS=_power(own_top.shape[1]),
        )  # fmt: skip
    return picked


def _group_sums(
    values: Tensor, maxima: Tensor | None, bounds: Tensor, members: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    values, peak = _float32(values)
    rows, width = values.shape
    groups = len(bounds) - 1
    sums, best = values.new_empty(2, rows, groups)
    place = torch.empty(rows, groups, dtype=torch.int32, device=values.device)
    if rows:
        triton_chain.group_sums[(rows, triton.cdiv(groups, _LANES))](
            values, values if maxima is None else maxima.float(), bounds, members, sums, best, place,
            width, groups, MAXIMUM=maxima is not None, BLOCK=_LANES,
        )  # fmt: skip
    return sums.double() + peak[:, None], best.double(), place


def _walk(
    weight: Tensor, chain: Chain, edges: tuple[Tensor, ...], begin: Tensor, *, forward: bool = False,
    maximum: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    length, states = len(weight), len(chain.final)
    message = weight.new_full((length + 1, states), -torch.inf)
    message[0 if forward else length, begin] = 0.0
    shift = weight.new_empty(length)
    pointer = torch.empty(message.shape if maximum else (1,), dtype=torch.int32, device=weight.device)
    triton_chain.walk[(1,)](
        weight, *edges, chain.active_start, chain.active, message, shift, pointer,
        length, states, weight.shape[1], chain.limit, chain.tail,
        FORWARD=forward, MAXIMUM=maximum, BLOCK=_LANES,
    )  # fmt: skip
    return message, shift, pointer


def _tilt_rows(
    logits: Tensor, temperature: Tensor, log_norm: Tensor | None, tilt: Tensor | None, classes: Classes | None,
    floor: float, out: Tensor,
) -> None:  # fmt: skip
    rows, width = logits.shape
    if rows:
        triton_rows.tilt_rows[(rows, triton.cdiv(width, BLOCK))](
            logits.contiguous(), temperature.float().contiguous(), logits if log_norm is None else log_norm,
            *_tilting(tilt, classes, logits), floor, out, width, 0 if classes is None else classes.count,
            TILT=tilt is not None, PROBABILITIES=log_norm is not None, BLOCK=BLOCK,
        )  # fmt: skip


def _tilting(tilt: Tensor | None, classes: Classes | None, unused: Tensor) -> tuple[Tensor, Tensor]:
    return (unused, unused) if tilt is None or classes is None else (tilt.float().contiguous(), classes.token_class)


def _float32(values: Tensor) -> tuple[Tensor, Tensor]:
    """values less the largest of each row, which float32 holds well, and that largest value."""
    peak = values.double().amax(-1)
    peak = torch.where(peak > -torch.inf, peak, 0.0)
    return (values - peak[:, None]).float(), peak


def _bounds(labels: Tensor, count: int) -> Tensor:
    """int64 [count + 1]: where each label begins in a sorted list."""
    return torch.searchsorted(labels, torch.arange(count + 1, device=labels.device, dtype=labels.dtype))


def _power(value: int) -> int:
    return int(triton.next_power_of_2(max(value, 2)))
