"""Random inputs of the kernels."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from scipy.stats import chisquare
from torch import Tensor

from dg_sglang.kernels import cpu, join
from dg_sglang.kernels.tables import Chain, Classes, ClassTable, Sets


def random_logits(
    seed: int, rows: int, width: int, *, spread: float = 3.0, holes: float = 0.0, dtype: torch.dtype = torch.float32
) -> Tensor:
    """Normal logits [rows, width] with a share of −inf; whole numbers, so that there are ties, at spreads above 10."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, width, generator=generator) * spread
    if spread > 10:
        logits = logits.round()
    logits[torch.rand(rows, width, generator=generator) < holes] = -torch.inf
    return logits.to(dtype)


def random_classes(seed: int, width: int, count: int, *, empty: float = 0.2) -> ClassTable:
    """Classes of random sizes, each with a token at least, and a share of tokens in none."""
    random = np.random.default_rng(seed)
    label = random.choice(count, width, p=random.dirichlet(np.full(count, 0.5)))
    label[random.random(width) < empty] = -1
    label[random.permutation(width)[:count]] = np.arange(count)
    return cpu.classes(torch.from_numpy(label.astype(np.int16)), count)


def one_canvas(table: ClassTable, rows: int) -> Classes:
    """A single canvas that all rows belong to."""
    return join.classes([table], [0], rows)


def random_chain(
    seed: int,
    length: int,
    *,
    states: int = 6,
    edges: int = 14,
    sets: int = 5,
    classes: int = 6,
    limit: int | None = None,
) -> tuple[Chain, Sets] | None:
    """A random automaton whose state 0 starts; None if no path of this length ends in a final state."""
    random = np.random.default_rng(seed)
    pairs = np.unique(random.integers(0, states, (edges, 2)), axis=0)
    source, target = pairs[:, 0], torch.from_numpy(pairs[:, 1].astype(np.int32))
    edge_set = torch.from_numpy(random.integers(0, sets, len(pairs)).astype(np.int32))
    edge_start = torch.from_numpy(np.searchsorted(source, np.arange(states + 1)).astype(np.int64))
    members = [np.sort(random.permutation(classes)[: random.integers(1, classes + 1)]) for _ in range(sets)]
    final = torch.from_numpy(random.random(states) < 0.5)
    limit, tail = length if limit is None else limit, sets - 2
    active = cpu.active_states(target, edge_set, edge_start, 0, final, length, limit, tail)
    if active[0][0, -1] == 0:
        return None
    ends = map(torch.tensor, ([0], [limit], [tail], [0, states], [0, sets]))
    lists = torch.from_numpy(np.cumsum([0, *map(len, members)])), torch.from_numpy(np.concatenate(members))
    return Chain(target, edge_set, edge_start, *active, final, *ends), join.sets([lists], torch.tensor([0, classes]))


def impossible_chain(length: int) -> tuple[Chain, Sets]:
    """One state that isn't final, with an edge to itself, and one class."""
    target, edge_start = torch.zeros(1, dtype=torch.int32), torch.tensor([0, 1])
    final = torch.tensor([False])
    active = cpu.active_states(target, target, edge_start, 0, final, length, length, 0)
    ends = map(torch.tensor, ([0], [length], [0], [0, 1], [0, 1]))
    sets = join.sets([(edge_start, target)], torch.tensor([0, 1]))
    return Chain(target, target, edge_start, *active, final, *ends), sets


def side_by_side(parts: Sequence[tuple[Chain, Sets]]) -> tuple[Chain, Sets]:
    """Several canvases' tables joined."""
    column = torch.tensor([0, *accumulate(int(sets.column[-1]) for _, sets in parts)])
    lists = [(sets.start, sets.classes) for _, sets in parts]
    return join.chains([chain for chain, _ in parts]), join.sets(lists, column)


def assert_distributed(drawn: Tensor, probability: Tensor) -> None:
    """Chi-square of draws, int64 [N], under a distribution, float64 [V]; what is rarer than 5 draws is put together."""
    observed = np.bincount(drawn.numpy(), minlength=len(probability))
    expected = probability.numpy() * len(drawn)
    often = expected >= 5
    assert not observed[expected == 0].any()
    observed, expected = (np.append(counts[often], counts[~often].sum()) for counts in (observed, expected))
    keep = expected > 0
    assert chisquare(observed[keep], expected[keep]).pvalue > 1e-4


def assert_close(left: Any, right: Any, tolerance: float = 3e-5) -> None:
    """Equal up to float32 rounding, with the same infinities."""
    torch.testing.assert_close(left.double(), right.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
