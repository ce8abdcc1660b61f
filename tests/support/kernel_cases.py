"""Random inputs of the kernels."""

from typing import Any

import numpy as np
import torch
from scipy.stats import chisquare
from torch import Tensor

from dg_sglang.kernels import cpu
from dg_sglang.kernels.tables import Chain, Classes


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


def random_classes(seed: int, width: int, count: int, *, empty: float = 0.2) -> Classes:
    """Classes of random sizes, each with a token at least, and a share of tokens in none."""
    random = np.random.default_rng(seed)
    label = random.choice(count, width, p=random.dirichlet(np.full(count, 0.5)))
    label[random.random(width) < empty] = -1
    label[random.permutation(width)[:count]] = np.arange(count)
    return cpu.classes(torch.from_numpy(label.astype(np.int16)), count)


def random_chain(
    seed: int,
    length: int,
    *,
    states: int = 6,
    edges: int = 14,
    sets: int = 5,
    classes: int = 6,
    limit: int | None = None,
) -> Chain | None:
    """A random automaton whose state 0 starts; None if no path of this length ends in a final state."""
    random = np.random.default_rng(seed)
    pairs = np.unique(random.integers(0, states, (edges, 2)), axis=0)
    source, target = pairs[:, 0], torch.from_numpy(pairs[:, 1].astype(np.int32))
    edge_set = torch.from_numpy(random.integers(0, sets, len(pairs)).astype(np.int32))
    edge_start = torch.from_numpy(np.searchsorted(source, np.arange(states + 1)).astype(np.int64))
    members = [np.sort(random.permutation(classes)[: random.integers(1, classes + 1)]) for _ in range(sets)]
    set_start = torch.from_numpy(np.cumsum([0, *map(len, members)]).astype(np.int64))
    set_classes = torch.from_numpy(np.concatenate(members).astype(np.int16))
    final = torch.from_numpy(random.random(states) < 0.5)
    limit, tail = length if limit is None else limit, sets - 2
    active = cpu.active_states(target, edge_set, edge_start, 0, final, length, limit, tail)
    if active[0][-1] == 0:
        return None
    return Chain(target, edge_set, edge_start, set_start, set_classes, *active, final, 0, limit, tail)


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
