"""The kernels in plain torch: slow, short, and the specification of `cpu` and `gpu`.

Same names, arguments and results; sums are float64. See `tables` for what goes in and out.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import torch

from dg_sglang.kernels.tables import Chain, Classes, ClassStatistics, Messages, RowStatistics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

_NEVER = -torch.inf


def row_statistics(logits: Tensor, temperature: Tensor, *, scaled: Tensor | None = None) -> RowStatistics:
    """Read logits [R, V] at temperature [R]; `scaled` [R, V], any dtype, gets logits / temperature if it is given."""
    x = _scaled(logits, temperature)
    if scaled is not None:
        scaled.copy_(x)
    log_norm = x.logsumexp(-1)
    log_p = x - log_norm[:, None]
    p = log_p.exp()
    entropy = -torch.where(p == 0, 0.0, p * log_p).sum(-1)
    return RowStatistics(log_norm, entropy.nan_to_num().float(), x.argmax(-1), x)


def class_statistics(
    logits: Tensor, temperature: Tensor, classes: Classes, *, scaled: Tensor | None = None
) -> tuple[RowStatistics, ClassStatistics]:
    """`row_statistics`, and the same read's sums per class."""
    rows = row_statistics(logits, temperature, scaled=scaled)
    log_p = rows.blocks - rows.log_norm[:, None]
    shape = (len(logits), classes.count)
    log_mass, best_log = (torch.full(shape, _NEVER).double() for _ in range(2))
    mean_log = torch.zeros(shape).double()
    for label in range(classes.count):
        part = log_p[:, classes.token_class == label]
        log_mass[:, label], best_log[:, label] = part.logsumexp(-1), part.amax(-1)
        weights = (part - log_mass[:, label, None]).exp().nan_to_num()
        mean_log[:, label] = torch.where(weights > 0, weights * part, 0.0).sum(-1)
    return rows, ClassStatistics(log_mass, mean_log, best_log, (rows.blocks, classes.token_class))


def draw_tokens(statistics: RowStatistics, uniform: Tensor) -> Tensor:
    """The first token whose cumulative probability exceeds uniform [R] in [0, 1): int64 [R], −1 in a row without mass.

    Inversion takes one random number a row. Other backends sum in other orders, so that a uniform number at the bound
    of two tokens may give either of them.
    """
    return _invert(statistics.blocks, uniform)


def draw_in_classes(statistics: ClassStatistics, label: Tensor, uniform: Tensor) -> Tensor:
    """`draw_tokens` within the class label [R] of each row."""
    x, token_class = statistics.blocks
    return _invert(torch.where(token_class == label[:, None], x, _NEVER), uniform)


def best_in_classes(statistics: ClassStatistics, label: Tensor) -> Tensor:
    """The first token with the largest probability within the class label [R] of each row: int64 [R], −1 for none."""
    x, token_class = statistics.blocks
    top = torch.where(token_class == label[:, None], x, _NEVER).max(-1)
    return torch.where(top.values > _NEVER, top.indices, -1)


def set_statistics(log_mass: Tensor, best_log: Tensor, chain: Chain) -> tuple[Tensor, Tensor, Tensor]:
    """Per token set: log mass, best log p, and the class that holds the best (int32), each [L, S]."""
    groups = [chain.set_classes[a:b].long() for a, b in itertools.pairwise(chain.set_start)]
    mass = torch.stack([log_mass[:, group].logsumexp(-1) for group in groups], -1)
    best = [best_log[:, group].max(-1) for group in groups]
    chosen = torch.stack([group[b.indices] for group, b in zip(groups, best, strict=True)], -1)
    return mass, torch.stack([b.values for b in best], -1), chosen.int()


def backward(weight: Tensor, chain: Chain) -> Messages:
    """Backward messages for weight [L, S], the log weight of an edge with a set at a position."""
    length, states = len(weight), len(chain.final)
    value = torch.full((length + 1, states), _NEVER).double()
    value[length, chain.final] = 0.0
    for i in range(length - 1, -1, -1):
        for s, t, e in _edges(chain, i):
            value[i, s] = torch.logaddexp(value[i, s], weight[i, e] + value[i + 1, t])
    return Messages(value, None, float(value[0, chain.start]))


def set_posteriors(weight: Tensor, messages: Messages, chain: Chain) -> Tensor:
    """The probability that a position takes an edge with a set, by forward × backward: float64 [L, S]."""
    forward = torch.full_like(messages.value, _NEVER)
    forward[0, chain.start] = 0.0
    posterior = torch.zeros_like(weight)
    for i in range(len(weight)):
        for s, t, e in _edges(chain, i):
            step = forward[i, s] + weight[i, e]
            forward[i + 1, t] = torch.logaddexp(forward[i + 1, t], step)
            posterior[i, e] += (step + messages.value[i + 1, t] - messages.log_z).exp()
    return posterior


def draw_path(uniform: Tensor, weight: Tensor, messages: Messages, log_mass: Tensor, chain: Chain) -> Tensor:
    """The token classes of one exact joint draw: int64 [L].

    uniform: float64 [L, 2] in [0, 1); the first chooses among the state's edges, the second among the set's classes.
    """
    state, label = chain.start, []
    for i in range(len(weight)):
        edges = [(t, e) for s, t, e in _edges(chain, i) if s == state]
        values = torch.stack([weight[i, e] + messages.value[i + 1, t] for t, e in edges])
        state, number = edges[int(_invert(values[None], uniform[i, :1]))]
        members = chain.set_classes[chain.set_start[number] : chain.set_start[number + 1]].long()
        label.append(members[_invert(log_mass[i, members][None], uniform[i, 1:])])
    return torch.cat(label)


def best_path(score: Tensor, chain: Chain) -> Tensor:
    """The sets of the best path: int32 [L]. score: [L, S], the largest log p of a set (Viterbi 1967)."""
    value = torch.full((len(score) + 1, len(chain.final)), _NEVER).double()
    value[-1, chain.final] = 0.0
    choice: list[dict[int, tuple[int, int]]] = [{} for _ in score]
    for i in range(len(score) - 1, -1, -1):
        for s, t, e in _edges(chain, i):
            total = score[i, e] + value[i + 1, t]
            if total > value[i, s]:
                value[i, s], choice[i][s] = total, (t, e)
    path, state = [], chain.start
    for step in choice:
        state, number = step[state]
        path.append(number)
    return torch.tensor(path, dtype=torch.int32)


def class_tilt(posterior: Tensor, set_mass: Tensor, chain: Chain, count: int) -> Tensor:
    """log q − log p per class, the log of Σ over the sets that hold it of posterior / mass: float64 [L, C]."""
    ratio = torch.where(posterior > 0, posterior.log() - set_mass, _NEVER)
    tilt = torch.full((len(ratio), count), _NEVER).double()
    for number, (a, b) in enumerate(itertools.pairwise(chain.set_start)):
        members = chain.set_classes[a:b].long()
        tilt[:, members] = torch.logaddexp(tilt[:, members], ratio[:, number, None])
    return tilt


def tilted_logits(
    logits: Tensor, temperature: Tensor, tilt: Tensor, classes: Classes, *, floor: float, out: Tensor
) -> None:
    """Scaled logits + tilt [R, C + 1] (the last column for tokens in no class), at least `floor`, into out [R, V]."""
    out.copy_((_scaled(logits, temperature) + tilt.double()[:, classes.token_class.long()]).clamp(min=floor))


def tilted_probabilities(
    logits: Tensor, temperature: Tensor, log_norm: Tensor, tilt: Tensor | None, classes: Classes | None, *, out: Tensor
) -> None:
    """q = p · exp(tilt), or p without a tilt, into out [R, V] of any dtype; tilt [R, C + 1] as in `tilted_logits`."""
    log_q = _scaled(logits, temperature) - log_norm[:, None]
    if tilt is not None and classes is not None:
        log_q += tilt.double()[:, classes.token_class.long()]
    out.copy_(log_q.exp())


def soft_embedding(
    logits: Tensor,
    temperature: Tensor,
    log_norm: Tensor,
    tilt: Tensor | None,
    classes: Classes | None,
    embedding: Tensor,
) -> Tensor:
    """Σ q · embedding [V, H]: float32 [R, H]. The self-conditioning signal before its scale and norm."""
    q = torch.empty(logits.shape, dtype=torch.float64)
    tilted_probabilities(logits, temperature, log_norm, tilt, classes, out=q)
    return (q @ embedding.double()).float()


def _scaled(logits: Tensor, temperature: Tensor) -> Tensor:
    """As every backend reads them: divided in float32, as upstream's temperature schedule does."""
    return (logits.float() / temperature.float()[:, None]).double()


def _invert(log_weight: Tensor, uniform: Tensor) -> Tensor:
    weight = (log_weight.double() - log_weight.amax(-1, keepdim=True)).exp().nan_to_num()
    running = weight.cumsum(-1)
    over = (running > uniform[:, None] * running[:, -1:]) & (weight > 0)
    return torch.where(over.any(-1), over.int().argmax(-1), -1)


def _edges(chain: Chain, position: int) -> Iterator[tuple[int, int, int]]:
    """Source, target and set of the edges that may be taken at a position."""
    for source, (low, high) in enumerate(itertools.pairwise(chain.edge_start.tolist())):
        for edge in range(low, high):
            number = int(chain.edge_set[edge])
            if position < chain.limit or number >= chain.tail:
                yield source, int(chain.target[edge]), number
