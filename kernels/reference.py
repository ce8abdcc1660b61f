"""The kernels in plain torch: slow, short, and the specification of `statistics` and `chain`.

Same names, arguments and results as the compiled functions, on float64 tensors.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

_NEVER = -torch.inf


def class_statistics(logits: Tensor, token_class: Tensor, classes: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """log_mass, mean_log, best_log [L, classes] and best (token ids) of p = softmax(logits [L, V])."""
    log_p = logits.double().log_softmax(-1)
    shape = (log_p.shape[0], classes)
    log_mass, mean_log, best_log = (
        torch.full(shape, _NEVER).double(),
        torch.zeros(shape).double(),
        torch.full(shape, _NEVER).double(),
    )
    best = torch.full(shape, -1)
    for label in range(classes):
        members = (token_class == label).nonzero()[:, 0]
        part = log_p[:, members]
        log_mass[:, label] = part.logsumexp(-1)
        best_log[:, label], index = part.max(-1)
        best[:, label] = members[index]
        weights = (part - log_mass[:, label, None]).exp().nan_to_num()
        mean_log[:, label] = torch.where(weights > 0, weights * part, 0.0).sum(-1)
    best[best_log == _NEVER] = -1
    return log_mass, mean_log, best_log, best


def set_statistics(
    log_mass: Tensor, best_log: Tensor, set_start: Tensor, set_classes: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Per token set: log mass, best log p, and the class that holds the best, each [L, sets]."""
    groups = [set_classes[a:b].long() for a, b in itertools.pairwise(set_start)]
    mass = torch.stack([log_mass[:, group].logsumexp(-1) for group in groups], -1)
    best = [best_log[:, group].max(-1) for group in groups]
    chosen = torch.stack([group[b.indices] for group, b in zip(groups, best, strict=True)], -1)
    return mass, torch.stack([b.values for b in best], -1), chosen


def class_tilt(set_posterior: Tensor, set_mass: Tensor, set_start: Tensor, set_classes: Tensor, classes: int) -> Tensor:
    """log Σ over the sets that hold the class of posterior / mass: [L, classes]."""
    ratio = torch.where(set_posterior > 0, set_posterior.log() - set_mass, _NEVER)
    tilt = torch.full((ratio.shape[0], classes), _NEVER).double()
    for number, (a, b) in enumerate(itertools.pairwise(set_start)):
        members = set_classes[a:b].long()
        tilt[:, members] = torch.logaddexp(tilt[:, members], ratio[:, number, None])
    return tilt


def backward_log(
    weight: Tensor, source: Tensor, target: Tensor, edge_set: Tensor, final: Tensor, limit: int, tail: int
) -> Tensor:
    """log of the weight of all ways from a state at a position to a final state at L: [L + 1, states]."""
    length = weight.shape[0]
    message = torch.full((length + 1, final.shape[0]), _NEVER).double()
    message[length, final] = 0.0
    for i in range(length - 1, -1, -1):
        for s, t, e in zip(source.tolist(), target.tolist(), edge_set.tolist(), strict=True):
            if i < limit or e >= tail:
                message[i, s] = torch.logaddexp(message[i, s], weight[i, e] + message[i + 1, t])
    return message


def set_posteriors(
    weight: Tensor, source: Tensor, target: Tensor, edge_set: Tensor, final: Tensor, start: int, limit: int, tail: int
) -> Tensor:
    """The probability that a position takes an edge with a set, by forward × backward: [L, sets]."""
    back = backward_log(weight, source, target, edge_set, final, limit, tail)
    forward = torch.full_like(back, _NEVER)
    forward[0, start] = 0.0
    posterior = torch.zeros_like(weight)
    for i in range(weight.shape[0]):
        for s, t, e in zip(source.tolist(), target.tolist(), edge_set.tolist(), strict=True):
            if i < limit or e >= tail:
                step = forward[i, s] + weight[i, e]
                forward[i + 1, t] = torch.logaddexp(forward[i + 1, t], step)
                posterior[i, e] += (step + back[i + 1, t] - back[0, start]).exp()
    return posterior


def best_path(
    score: Tensor, source: Tensor, target: Tensor, edge_set: Tensor, final: Tensor, start: int, limit: int, tail: int
) -> tuple[float, list[int]]:
    """Score and edge sets of the best path (max-product)."""
    length = score.shape[0]
    best: list[dict[int, tuple[float, list[int]]]] = [{} for _ in range(length + 1)]
    best[length] = {state: (0.0, []) for state in final.nonzero()[:, 0].tolist()}
    for i in range(length - 1, -1, -1):
        for s, t, e in zip(source.tolist(), target.tolist(), edge_set.tolist(), strict=True):
            if t in best[i + 1] and (i < limit or e >= tail):
                value = best[i + 1][t][0] + float(score[i, e])
                if s not in best[i] or value > best[i][s][0]:
                    best[i][s] = (value, [e, *best[i + 1][t][1]])
    return best[0][start]
