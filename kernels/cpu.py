"""The kernels on a CPU: `reference`'s functions, compiled by numba.

Logits are float32 or bfloat16; others are converted first. One row at a time is scaled in the cache, so that no
[R, V] copy is made but the one that the caller asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dg_sglang.kernels import chain as chains
from dg_sglang.kernels import join, picks, rows, statistics
from dg_sglang.kernels.tables import Chain, Classes, ClassStatistics, ClassTable, Messages, RowStatistics, Sets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

LINEAR_RANGE = 640.0
"""The log of what scaled float64 messages can hold without loss, with a margin for sums."""

DEVICE = torch.device("cpu")

_EMBEDDING_COLUMNS = 8192


def classes(token_class: Tensor, count: int) -> ClassTable:
    """List the tokens of all classes but the dominant one."""
    labels = token_class.numpy()
    sizes = np.bincount(labels.astype(np.int64) + 1, minlength=count + 1)[1:]
    dominant = int(sizes.argmax()) if 2 * sizes.max() > len(labels) else -1
    lists = map(torch.from_numpy, rows.list_classes(labels, count, dominant))
    return ClassTable(token_class, count, dominant, *lists)


def row_statistics(logits: Tensor, temperature: Tensor, *, scaled: Tensor | None = None) -> RowStatistics:
    """See `reference.row_statistics`."""
    return class_statistics(logits, temperature, join.classes([], [], 0), scaled=scaled)[0]


def class_statistics(
    logits: Tensor, temperature: Tensor, classes: Classes, *, scaled: Tensor | None = None
) -> tuple[RowStatistics, ClassStatistics]:
    """See `reference.class_statistics`."""
    data, heat = _bits(logits), _floats(temperature)
    count, width = data.shape
    blocks, length, canvases = -(-width // rows.BLOCK), classes.length, len(classes.row)
    log_norm, entropy, best = np.empty(count), np.empty(count, np.float32), np.empty(count, np.int64)
    block_top, block_sum = np.empty((2, count, blocks), np.float32)
    canvas, position = np.full(count, -1), np.zeros(count, np.int64)
    for k, row in enumerate(classes.row.tolist()):
        canvas[row : row + length], position[row : row + length] = k, np.arange(length)
    shape = length, classes.count
    (top, base), (total, mean) = np.empty((2, *shape), np.float32), np.empty((2, *shape))
    dominant_top, dominant_sum = np.empty((2, canvases, length, blocks), np.float32)
    tables, sums = _class_tables(classes), (top, base, total, mean, dominant_top, dominant_sum)
    for part, target in _targets(count, scaled, width):
        filled = (array[part] for array in (log_norm, entropy, best, block_top, block_sum))
        rows.row_statistics(data[part], heat[part], target, *filled, canvas[part], position[part], tables, sums)
    norm = np.repeat(_by_position(log_norm, classes), np.diff(classes.column.numpy()), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        best_log = top - norm
        log_mass = base - norm + np.log(total)
    mean_log = np.where(total > 0.0, mean - norm, 0.0)
    source = data, heat, classes, top, dominant_top, dominant_sum
    own, of_classes = _tensors(log_norm, entropy, best), _tensors(log_mass, mean_log, best_log)
    return RowStatistics(*own, (data, heat, block_top, block_sum)), ClassStatistics(*of_classes, source)


def draw_tokens(statistics: RowStatistics, rows: Tensor, uniform: Tensor) -> Tensor:
    """See `reference.draw_tokens`."""
    drawn: Tensor = torch.from_numpy(picks.draw_tokens(*statistics.blocks, *_numpy(rows, uniform)))
    return drawn


def draw_in_classes(statistics: ClassStatistics, label: Tensor, uniform: Tensor) -> Tensor:
    """See `reference.draw_in_classes`."""
    data, heat, classes, top, *dominant = statistics.blocks
    arguments = classes.row.numpy(), label.numpy(), uniform.numpy(), _class_tables(classes)
    drawn: Tensor = torch.from_numpy(picks.draw_in_classes(data, heat, *arguments, top, *dominant))
    return drawn


def best_in_classes(statistics: ClassStatistics, label: Tensor) -> Tensor:
    """See `reference.best_in_classes`."""
    data, heat, classes, top, dominant_top, _ = statistics.blocks
    arguments = classes.row.numpy(), label.numpy(), _class_tables(classes)
    best: Tensor = torch.from_numpy(picks.best_in_classes(data, heat, *arguments, top, dominant_top))
    return best


def set_statistics(sums: ClassStatistics, sets: Sets) -> tuple[Tensor, Tensor, Tensor]:
    """See `reference.set_statistics`."""
    return _tensors(*statistics.set_statistics(*_numpy(sums.log_mass, sums.best_log), *_sets(sets)))


def active_states(
    target: Tensor, edge_set: Tensor, edge_start: Tensor, start: int, final: Tensor, length: int, limit: int, tail: int
) -> tuple[Tensor, Tensor]:
    """`Chain.active_start` of one canvas and `Chain.active`; all bounds are 0 when there is no path."""
    arrays = _numpy(target, edge_set, edge_start)
    bounds, active = map(torch.from_numpy, chains.active_states(*arrays, start, final.numpy(), length, limit, tail))
    return bounds[None], active


def backward(weight: Tensor, chain: Chain) -> Messages:
    """See `reference.backward`. Linear where nothing can underflow, else in logs."""
    ends = _numpy(chain.final, chain.start, chain.limit, chain.tail, chain.states, chain.sets)
    return Messages(*_tensors(*chains.backward(weight.numpy(), *_edges(chain), *_active(chain), *ends, LINEAR_RANGE)))


def set_posteriors(weight: Tensor, messages: Messages, chain: Chain, chosen: Sequence[int]) -> Tensor:
    """See `reference.set_posteriors`."""
    read = np.array(chosen, np.int64), *_numpy(weight, messages.value, messages.divisor, messages.log_z)
    ends = _numpy(chain.start, chain.limit, chain.tail, chain.sets)
    result: Tensor = torch.from_numpy(chains.set_posteriors(*read, *_edges(chain), *_active(chain), *ends))
    return result


def draw_path(
    uniform: Tensor, weight: Tensor, messages: Messages, log_mass: Tensor, chain: Chain, sets: Sets
) -> Tensor:
    """See `reference.draw_path`."""
    read = _numpy(uniform, weight, messages.value, messages.divisor, messages.log_z, log_mass)
    ends = _numpy(chain.start, chain.limit, chain.tail)
    label: Tensor = torch.from_numpy(chains.draw_path(*read, *_edges(chain), *ends, *_sets(sets)[:2]))
    return label


def best_path(score: Tensor, set_class: Tensor, chain: Chain) -> Tensor:
    """See `reference.best_path`."""
    ends = _numpy(chain.final, chain.start, chain.limit, chain.tail, chain.states, chain.sets)
    arguments = *_numpy(score, set_class), *_edges(chain), *_active(chain), *ends
    path: Tensor = torch.from_numpy(chains.best_path(*arguments))
    return path


def tilted_statistics(posterior: Tensor, set_mass: Tensor, sums: ClassStatistics, sets: Sets) -> tuple[Tensor, Tensor]:
    """See `reference.tilted_statistics`."""
    read = _numpy(posterior, set_mass, sums.log_mass, sums.mean_log)
    tilt, entropy = map(torch.from_numpy, statistics.tilted_statistics(*read, *_sets(sets)))
    return tilt, entropy


def tilted_logits(
    logits: Tensor, temperature: Tensor, tilt: Tensor, classes: Classes, chosen: Sequence[int],
    *, lowest: float, floor: float, out: Tensor,
) -> None:  # fmt: skip
    """See `reference.tilted_logits`."""
    data, heat, length, column = _bits(logits), _floats(temperature), classes.length, classes.column.numpy()
    for k in chosen:
        table, own = int(classes.table[k]), slice(int(classes.row[k]), int(classes.row[k]) + length)
        outside = classes.outside[classes.outside_start[table] : classes.outside_start[table + 1]].numpy()
        tables = int(classes.dominant[table]), classes.token_class[table].numpy(), outside.view(np.uint32), column
        for part, target in _targets(length, out[own]):
            read = data[own][part], heat[own][part], tilt.numpy()[part]
            statistics.tilted_logits(*read, k, *tables, lowest, floor, target)


def soft_embedding(logits: Tensor, log_norm: Tensor, embedding: Tensor) -> Tensor:
    """See `reference.soft_embedding`. One block of the vocabulary after the other."""
    data, norm = _bits(logits), log_norm.numpy()
    total = torch.zeros(len(logits), embedding.shape[1])
    for low in range(0, len(embedding), _EMBEDDING_COLUMNS):
        columns = embedding[low : low + _EMBEDDING_COLUMNS].float()
        weights = torch.empty(len(logits), len(columns))
        statistics.probabilities(data, norm, low, weights.numpy())
        total.addmm_(weights, columns)
    return total


def _targets(count: int, out: Tensor | None, width: int = 0) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Slices of rows, each with the float32 array that its results go to: `out` itself, or one row that is copied."""
    if out is None:
        yield slice(None), np.empty((1, width), np.float32)
    elif out.dtype == torch.float32 and out.is_contiguous() and out.device.type == "cpu":
        yield slice(None), out.numpy()
    else:
        scratch = torch.empty(1, out.shape[1])
        for row in range(count):
            yield slice(row, row + 1), scratch.numpy()
            out[row] = scratch[0]


def _bits(logits: Tensor) -> NDArray[Any]:
    """Float32, or the bits of bfloat16 as uint16."""
    if logits.dtype == torch.bfloat16:
        return logits.contiguous().view(torch.uint16).numpy()
    return logits.float().contiguous().numpy()


def _tensors(*arrays: NDArray[Any]) -> tuple[Tensor, Tensor, Tensor]:
    first, second, third = map(torch.from_numpy, arrays)
    return first, second, third


def _numpy(*tensors: Tensor) -> tuple[NDArray[Any], ...]:
    return tuple(tensor.numpy() for tensor in tensors)


def _floats(temperature: Tensor) -> NDArray[np.float32]:
    return temperature.float().contiguous().numpy()


def _class_tables(classes: Classes) -> tuple[NDArray[Any], ...]:
    """What the compiled loops read of them; what serves as an index is unsigned (see `rows`).

    Without token_class, whose type varies: code compiled anew for another type may round differently.
    """
    tokens, outside, places = (part.view(np.uint32) for part in _numpy(classes.tokens, classes.outside, classes.places))
    return (
        *_numpy(classes.dominant, classes.first, classes.start), tokens, outside,
        *_numpy(classes.outside_start, classes.table, classes.column), places,
    )  # fmt: skip


def _by_position(values: NDArray[Any], classes: Classes) -> NDArray[Any]:
    """Of values [R] those of the canvases: [L, K]."""
    return values[classes.row.numpy() + np.arange(classes.length)[:, None]]


def _sets(sets: Sets) -> tuple[NDArray[Any], ...]:
    start, classes, bounds, column = _numpy(sets.start, sets.classes, sets.bounds, sets.column)
    return start, classes.view(np.uint32), bounds, column


def _edges(chain: Chain) -> tuple[NDArray[Any], ...]:
    """Target, set and bounds of the edges."""
    target, edge_set, edge_start = _numpy(chain.target, chain.edge_set, chain.edge_start)
    return target.view(np.uint32), edge_set.view(np.uint32), edge_start


def _active(chain: Chain) -> tuple[NDArray[Any], ...]:
    return chain.active_start.numpy(), chain.active.numpy().view(np.uint32)
