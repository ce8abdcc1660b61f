"""The kernels on a CPU: `reference`'s functions, compiled by numba.

Logits are float32 or bfloat16; others are converted first. One row at a time is scaled in the cache, so that no
[R, V] copy is made but the one that the caller asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from dg_sglang.kernels import chain as chains
from dg_sglang.kernels import picks, rows, statistics
from dg_sglang.kernels.tables import Chain, Classes, ClassStatistics, Messages, RowStatistics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from torch import Tensor

LINEAR_RANGE = 640.0
"""The log of what scaled float64 messages can hold without loss, with a margin for sums."""

DEVICE = torch.device("cpu")

_EMBEDDING_COLUMNS = 8192


def classes(token_class: Tensor, count: int) -> Classes:
    """List the tokens of all classes but the dominant one."""
    labels = token_class.numpy()
    sizes = np.bincount(labels.astype(np.int64) + 1, minlength=count + 1)[1:]
    dominant = int(sizes.argmax()) if 2 * sizes.max() > len(labels) else -1
    lists = map(torch.from_numpy, rows.list_classes(labels, count, dominant))
    return Classes(token_class, count, dominant, *lists)


def row_statistics(logits: Tensor, temperature: Tensor, *, scaled: Tensor | None = None) -> RowStatistics:
    """See `reference.row_statistics`."""
    return _Read(logits, temperature, scaled).run(rows.row_statistics)


def class_statistics(
    logits: Tensor, temperature: Tensor, classes: Classes, *, scaled: Tensor | None = None
) -> tuple[RowStatistics, ClassStatistics]:
    """See `reference.class_statistics`."""
    read = _Read(logits, temperature, scaled)
    shape = (len(logits), classes.count)
    top, total, mean = np.empty(shape, np.float32), np.empty(shape), np.empty(shape)
    blocks = np.empty_like(read.block_top), np.empty_like(read.block_sum)
    labels = classes.token_class.numpy()
    tokens, outside = (part.view(np.uint32) for part in _numpy(classes.tokens, classes.outside))
    dominant = labels.dtype.type(classes.dominant)  # compared as such, it takes half the vector instructions
    tables = (labels, classes.start.numpy(), tokens, dominant)
    row = read.run(rows.row_and_class_statistics, (*tables, outside), (top, total, mean, *blocks))
    best_log = top - read.log_norm[:, None]
    with np.errstate(divide="ignore"):
        log_mass = best_log + np.log(total)
    mean_log = np.where(total > 0.0, mean - read.log_norm[:, None], 0.0)
    source = (read.data, read.temperature, *tables, top, *blocks)
    from_numpy = torch.from_numpy
    return row, ClassStatistics(from_numpy(log_mass), from_numpy(mean_log), from_numpy(best_log), source)


def draw_tokens(statistics: RowStatistics, uniform: Tensor) -> Tensor:
    """See `reference.draw_tokens`."""
    drawn: Tensor = torch.from_numpy(picks.draw_tokens(*statistics.blocks, uniform.numpy()))
    return drawn


def draw_in_classes(statistics: ClassStatistics, label: Tensor, uniform: Tensor) -> Tensor:
    """See `reference.draw_in_classes`."""
    data, temperature, *tables = statistics.blocks
    drawn: Tensor = torch.from_numpy(picks.draw_in_classes(data, temperature, label.numpy(), uniform.numpy(), *tables))
    return drawn


def best_in_classes(statistics: ClassStatistics, label: Tensor) -> Tensor:
    """See `reference.best_in_classes`."""
    data, temperature, *tables, _ = statistics.blocks
    best: Tensor = torch.from_numpy(picks.best_in_classes(data, temperature, label.numpy(), *tables))
    return best


def set_statistics(log_mass: Tensor, best_log: Tensor, chain: Chain) -> tuple[Tensor, Tensor, Tensor]:
    """See `reference.set_statistics`."""
    arrays = (log_mass, best_log, chain.set_start, chain.set_classes)
    mass, best, label = map(torch.from_numpy, statistics.set_statistics(*_numpy(*arrays)))
    return mass, best, label


def active_states(
    target: Tensor, edge_set: Tensor, edge_start: Tensor, start: int, final: Tensor, length: int, limit: int, tail: int
) -> tuple[Tensor, Tensor]:
    """`Chain.active_start` and `Chain.active`; all bounds are 0 when there is no path."""
    arrays = _numpy(target, edge_set, edge_start)
    bounds, active = map(torch.from_numpy, chains.active_states(*arrays, start, final.numpy(), length, limit, tail))
    return bounds, active


def backward(weight: Tensor, chain: Chain) -> Messages:
    """See `reference.backward`. Linear where nothing can underflow, else in logs."""
    arguments = (weight.numpy(), *_edges(chain), *_active(chain), chain.final.numpy(), chain.limit, chain.tail)
    message, divisor, scale, ceiling = chains.backward(*arguments)
    reached = message[0, chain.start]
    log_z = float(scale + np.log(reached)) if reached > 0 else -np.inf
    # Forward probabilities sum to at most 1, so what the scaled messages lost is below edges · exp(ceiling − 708).
    if log_z > ceiling - LINEAR_RANGE:
        return Messages(torch.from_numpy(message), torch.from_numpy(divisor), log_z)
    message = chains.backward_log(*arguments)
    return Messages(torch.from_numpy(message), None, float(message[0, chain.start]))


def set_posteriors(weight: Tensor, messages: Messages, chain: Chain) -> Tensor:
    """See `reference.set_posteriors`."""
    rest = (*_edges(chain), *_active(chain), chain.start, chain.limit, chain.tail)
    if messages.divisor is None:
        posterior = chains.set_posteriors_log(*_numpy(weight, messages.value), *rest)
    else:
        posterior = chains.set_posteriors(*_numpy(weight, messages.value, messages.divisor), *rest)
    result: Tensor = torch.from_numpy(posterior)
    return result


def draw_path(uniform: Tensor, weight: Tensor, messages: Messages, log_mass: Tensor, chain: Chain) -> Tensor:
    """See `reference.draw_path`."""
    label: Tensor = torch.from_numpy(
        chains.draw_path(
            uniform.numpy(), weight.numpy(), messages.value.numpy(), messages.divisor is None, *_edges(chain),
            chain.start, chain.limit, chain.tail, *_numpy(log_mass, chain.set_start, chain.set_classes),
        )
    )  # fmt: skip
    return label


def best_path(score: Tensor, chain: Chain) -> Tensor:
    """See `reference.best_path`."""
    path: Tensor = torch.from_numpy(
        chains.best_path(
            score.numpy(), *_edges(chain), *_active(chain), chain.final.numpy(), chain.start, chain.limit, chain.tail
        )
    )
    return path


def class_tilt(posterior: Tensor, set_mass: Tensor, chain: Chain, count: int) -> Tensor:
    """See `reference.class_tilt`."""
    tilt: Tensor = torch.from_numpy(
        statistics.class_tilt(*_numpy(posterior, set_mass, chain.set_start, chain.set_classes), count)
    )
    return tilt


def tilted_logits(
    logits: Tensor, temperature: Tensor, tilt: Tensor, classes: Classes, *, floor: float, out: Tensor
) -> None:
    """See `reference.tilted_logits`."""
    labels, table = classes.token_class.numpy(), tilt.float().numpy()
    data, heat = _bits(logits), temperature.float().numpy()
    for part, target in _targets(len(data), out):
        statistics.tilted_logits(data[part], heat[part], table[part], labels, floor, target)


def tilted_probabilities(
    logits: Tensor, temperature: Tensor, log_norm: Tensor, tilt: Tensor | None, classes: Classes | None, *, out: Tensor
) -> None:
    """See `reference.tilted_probabilities`."""
    data, heat, norm = _bits(logits), temperature.float().numpy(), log_norm.numpy()
    for part, target in _targets(len(logits), out):
        _probabilities(data[part], heat[part], norm[part], _tilting(tilt, classes, part), 0, target)


def soft_embedding(
    logits: Tensor,
    temperature: Tensor,
    log_norm: Tensor,
    tilt: Tensor | None,
    classes: Classes | None,
    embedding: Tensor,
) -> Tensor:
    """See `reference.soft_embedding`. One block of the vocabulary after the other."""
    read = _bits(logits), temperature.float().numpy(), log_norm.numpy()
    total = torch.zeros(len(logits), embedding.shape[1])
    for low in range(0, len(embedding), _EMBEDDING_COLUMNS):
        columns = embedding[low : low + _EMBEDDING_COLUMNS].float()
        weights = torch.empty(len(logits), len(columns))
        _probabilities(*read, _tilting(tilt, classes, slice(None)), low, weights.numpy())
        total.addmm_(weights, columns)
    return total


def _probabilities(
    data: NDArray[Any],
    temperature: NDArray[np.float32],
    log_norm: NDArray[np.float64],
    tilting: tuple[NDArray[np.float32], NDArray[Any]] | None,
    low: int,
    out: NDArray[np.float32],
) -> None:
    """Probabilities of the tokens low … low + out.shape[1]."""
    if tilting is None:
        statistics.probabilities(data, temperature, log_norm, low, out)
    else:
        statistics.tilted_probabilities(data, temperature, log_norm, *tilting, low, out)


def _tilting(
    tilt: Tensor | None, classes: Classes | None, part: slice
) -> tuple[NDArray[np.float32], NDArray[Any]] | None:
    return None if tilt is None or classes is None else (tilt[part].float().numpy(), classes.token_class.numpy())


class _Read:
    """Arrays that a read of the rows fills."""

    def __init__(self, logits: Tensor, temperature: Tensor, scaled: Tensor | None) -> None:
        self.data = _bits(logits)
        self.temperature: NDArray[np.float32] = temperature.float().numpy()
        self._scaled = scaled
        count = len(self.data)
        blocks = -(-self.data.shape[1] // rows.BLOCK)
        self.log_norm, self.entropy = np.empty(count), np.empty(count, np.float32)
        self.best = np.empty(count, np.int64)
        self.block_top, self.block_sum = np.empty((2, count, blocks), np.float32)

    def run(self, kernel: Any, tables: tuple[Any, ...] = (), filled: tuple[NDArray[Any], ...] = ()) -> RowStatistics:
        own = (self.log_norm, self.entropy, self.best, self.block_top, self.block_sum)
        for part, target in _targets(len(self.data), self._scaled, self.data.shape[1]):
            kernel(
                self.data[part], self.temperature[part], target, *(array[part] for array in own),
                *tables, *(array[part] for array in filled),
            )  # fmt: skip
        blocks = (self.data, self.temperature, self.block_top, self.block_sum)
        log_norm, entropy, best = map(torch.from_numpy, own[:3])
        return RowStatistics(log_norm, entropy, best, blocks)


def _targets(count: int, out: Tensor | None, width: int = 0) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Slices of rows, each with the float32 array that its results go to: `out` itself, or one row that is copied."""
    if out is None:
        yield slice(None), np.empty((1, width), np.float32)
    elif out.dtype == torch.float32 and out.is_contiguous():
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


def _numpy(*tensors: Tensor) -> tuple[NDArray[Any], ...]:
    return tuple(tensor.numpy() for tensor in tensors)


def _edges(chain: Chain) -> tuple[NDArray[Any], ...]:
    """Target, set and bounds of the edges; what serves as an index is unsigned (see `rows`)."""
    target, edge_set, edge_start = _numpy(chain.target, chain.edge_set, chain.edge_start)
    return target.view(np.uint32), edge_set.view(np.uint32), edge_start


def _active(chain: Chain) -> tuple[NDArray[Any], ...]:
    return chain.active_start.numpy(), chain.active.numpy().view(np.uint32)
