"""The kernels in plain torch: slow, short, and the specification of `cpu` and `gpu`.

Same names, arguments and results; sums are float64. See `tables` for what goes in and out.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import torch

from dg_sglang.kernels.tables import Chain, Classes, ClassStatistics, Messages, RowStatistics, Sets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    """`row_statistics` of all rows, and the same read's sums per class of the canvases'."""
    rows = row_statistics(logits, temperature, scaled=scaled)
    shape = (classes.length, classes.count)
    log_mass, best_log = (torch.full(shape, _NEVER).double() for _ in range(2))
    mean_log = torch.zeros(shape).double()
    for k, (low, high) in enumerate(itertools.pairwise(classes.column.tolist())):
        own = slice(int(classes.row[k]), int(classes.row[k]) + classes.length)
        log_p = rows.blocks[own] - rows.log_norm[own, None]
        token_class = classes.token_class[classes.table[k]]
        for label in range(low, high):
            part = log_p[:, token_class == label - low]
            log_mass[:, label], best_log[:, label] = part.logsumexp(-1), part.amax(-1)
            weights = (part - log_mass[:, label, None]).exp().nan_to_num()
            mean_log[:, label] = torch.where(weights > 0, weights * part, 0.0).sum(-1)
    return rows, ClassStatistics(log_mass, mean_log, best_log, (rows.blocks, classes))


def draw_tokens(statistics: RowStatistics, rows: Tensor, uniform: Tensor) -> Tensor:
    """Of some rows [n] the first token whose cumulative probability exceeds uniform [n] in [0, 1): int64 [n].

    −1 in a row without mass. Inversion takes one random number a row. Other backends sum in other orders, so that a
    uniform number at the bound of two tokens may give either of them.
    """
    return _invert(statistics.blocks[rows], uniform)


def draw_in_classes(statistics: ClassStatistics, label: Tensor, uniform: Tensor) -> Tensor:
    """`draw_tokens` of every canvas's rows, within the class label [K, L] of each; −1 where that is −1."""
    x = _within(statistics, label)
    return _invert(x, uniform.flatten()).view(label.shape)


def best_in_classes(statistics: ClassStatistics, label: Tensor) -> Tensor:
    """The first token with the largest probability within the class label [K, L] of each row: int64 [K, L].

    −1 where the label is −1 or p is 0.
    """
    top = _within(statistics, label).max(-1)
    return torch.where(top.values > _NEVER, top.indices, -1).view(label.shape)


def set_statistics(sums: ClassStatistics, sets: Sets) -> tuple[Tensor, Tensor, Tensor]:
    """Per token set: log mass, best log p, and the class that holds the best (int32), each [L, N]."""
    groups = [sets.classes[a:b].long() for a, b in itertools.pairwise(sets.start)]
    mass = torch.stack([sums.log_mass[:, group].logsumexp(-1) for group in groups], -1)
    best = [sums.best_log[:, group].max(-1) for group in groups]
    chosen = torch.stack([group[b.indices] for group, b in zip(groups, best, strict=True)], -1)
    return mass, torch.stack([b.values for b in best], -1), chosen.int()


def backward(weight: Tensor, chain: Chain) -> Messages:
    """Backward messages for weight [L, N], the log weight of an edge with a set at a position."""
    length, states = len(weight), len(chain.final)
    value = torch.full((length + 1, states), _NEVER).double()
    value[length, chain.final] = 0.0
    for i in range(length - 1, -1, -1):
        for s, t, e in _edges(chain, i):
            value[i, s] = torch.logaddexp(value[i, s], weight[i, e] + value[i + 1, t])
    return Messages(value, torch.full((len(chain.start), length), torch.nan), value[0, chain.start])


def set_posteriors(weight: Tensor, messages: Messages, chain: Chain, chosen: Sequence[int]) -> Tensor:
    """The probability that a position takes an edge with a set, by forward × backward: float64 [L, N].

    All 0 for a canvas without a valid path, and for canvases that aren't `chosen`.
    """
    forward = torch.full_like(messages.value, _NEVER)
    forward[0, chain.start] = 0.0
    wanted = torch.full_like(messages.log_z, _NEVER)
    wanted[list(chosen)] = messages.log_z[list(chosen)]
    log_z = wanted.repeat_interleave(chain.sets.diff())
    posterior = torch.zeros_like(weight)
    for i in range(len(weight)):
        for s, t, e in _edges(chain, i):
            step = forward[i, s] + weight[i, e]
            forward[i + 1, t] = torch.logaddexp(forward[i + 1, t], step)
            if log_z[e] > _NEVER:
                posterior[i, e] += (step + messages.value[i + 1, t] - log_z[e]).exp()
    return posterior


def draw_path(
    uniform: Tensor, weight: Tensor, messages: Messages, log_mass: Tensor, chain: Chain, sets: Sets
) -> Tensor:
    """The token classes of one exact joint draw per canvas: int64 [K, L], −1 for a canvas without a valid path.

    uniform: float64 [K, L, 2] in [0, 1); the first chooses among the state's edges, the second among the set's classes.
    """
    label = torch.full(uniform.shape[:2], -1)
    for k, state in enumerate(chain.start.tolist()):
        for i in range(len(weight)) if messages.log_z[k] > _NEVER else ():
            edges = [(t, e) for s, t, e in _edges(chain, i) if s == state]
            values = torch.stack([weight[i, e] + messages.value[i + 1, t] for t, e in edges])
            state, number = edges[int(_invert(values[None], uniform[k, i, :1]))]
            members = sets.classes[sets.start[number] : sets.start[number + 1]].long()
            label[k, i] = members[_invert(log_mass[i, members][None], uniform[k, i, 1:])]
    return label


def best_path(score: Tensor, set_class: Tensor, chain: Chain) -> Tensor:
    """The classes of each canvas's best path: int64 [K, L], −1 without a valid path (Viterbi 1967).

    score: [L, N], the largest log p of a set; set_class: int32 [L, N], the class that holds it.
    """
    value = torch.full((len(score) + 1, len(chain.final)), _NEVER).double()
    value[-1, chain.final] = 0.0
    choice: list[dict[int, tuple[int, int]]] = [{} for _ in score]
    for i in range(len(score) - 1, -1, -1):
        for s, t, e in _edges(chain, i):
            total = score[i, e] + value[i + 1, t]
            if total > value[i, s]:
                value[i, s], choice[i][s] = total, (t, e)
    label = torch.full((len(chain.start), len(score)), -1)
    for k, state in enumerate(chain.start.tolist()):
        for i in range(len(score)) if value[0, state] > _NEVER else ():
            state, number = choice[i][state]
            label[k, i] = set_class[i, number]
    return label


def tilted_statistics(posterior: Tensor, set_mass: Tensor, sums: ClassStatistics, sets: Sets) -> tuple[Tensor, Tensor]:
    """log q − log p per class, the log of Σ over the sets that hold it of posterior / mass: float64 [L, C].

    And the entropies of q, float32 [K, L], nats: −Σ over classes of q · (mean log p + tilt).
    """
    ratio = torch.where(posterior > 0, posterior.log() - set_mass, _NEVER)
    tilt = torch.full_like(sums.log_mass, _NEVER)
    for number, (a, b) in enumerate(itertools.pairwise(sets.start)):
        members = sets.classes[a:b].long()
        tilt[:, members] = torch.logaddexp(tilt[:, members], ratio[:, number, None])
    log_q = sums.log_mass + tilt
    terms = torch.where(log_q > _NEVER, -log_q.exp() * (sums.mean_log + tilt), 0.0)
    entropy = [terms[:, a:b].sum(1) for a, b in itertools.pairwise(sets.column)]
    return tilt, torch.stack(entropy).clamp(min=0.0).float()


def tilted_logits(
    logits: Tensor, temperature: Tensor, tilt: Tensor, classes: Classes, chosen: Sequence[int],
    *, lowest: float, floor: float, out: Tensor,
) -> None:  # fmt: skip
    """Scaled logits + tilt [L, C], at least `floor`, of the canvases `chosen` into their rows of out [R, V].

    `lowest` stands for a smaller tilt, and for that of tokens in no class.
    """
    for k in chosen:
        own = slice(int(classes.row[k]), int(classes.row[k]) + classes.length)
        table = tilt[:, classes.column[k] : classes.column[k + 1]].clamp(min=lowest)
        table = torch.cat([table, table.new_full((len(table), 1), lowest)], 1)
        x = _scaled(logits[own], temperature[own]) + table[:, classes.token_class[classes.table[k]].long()]
        out[own] = x.clamp(min=floor).to(out.dtype)


def soft_embedding(logits: Tensor, log_norm: Tensor, embedding: Tensor) -> Tensor:
    """Σ p · embedding [V, H], with p = exp(logits [R, V] − log_norm [R]): float32 [R, H].

    The self-conditioning signal before its scale and norm. Where the vocabulary is divided, logits and embedding are of
    a part, log_norm of the whole.
    """
    return ((logits.double() - log_norm[:, None]).exp() @ embedding.double()).float()


def _scaled(logits: Tensor, temperature: Tensor) -> Tensor:
    """As every backend reads them: divided in float32, as upstream's temperature schedule does."""
    return (logits.float() / temperature.float()[:, None]).double()


def _invert(log_weight: Tensor, uniform: Tensor) -> Tensor:
    weight = (log_weight.double() - log_weight.amax(-1, keepdim=True)).exp().nan_to_num()
    running = weight.cumsum(-1)
    over = (running > uniform[:, None] * running[:, -1:]) & (weight > 0)
    return torch.where(over.any(-1), over.int().argmax(-1), -1)


def _within(statistics: ClassStatistics, label: Tensor) -> Tensor:
    """Scaled logits [K · L, V], −inf outside the classes label [K, L]."""
    x, classes = statistics.blocks
    rows = (classes.row[:, None] + torch.arange(classes.length)).flatten()
    own = torch.where(label < 0, -2, label - classes.column[:-1, None])
    token_class = classes.token_class[classes.table].repeat_interleave(classes.length, 0)
    return torch.where(token_class == own.flatten()[:, None], x[rows], _NEVER)


def _edges(chain: Chain, position: int) -> Iterator[tuple[int, int, int]]:
    """Source, target and set of the edges that may be taken at a position."""
    for k, (first, end) in enumerate(itertools.pairwise(chain.states.tolist())):
        for source in range(first, end):
            for edge in range(int(chain.edge_start[source]), int(chain.edge_start[source + 1])):
                number = int(chain.edge_set[edge])
                if position < chain.limit[k] or number >= chain.tail[k]:
                    yield source, int(chain.target[edge]), number
