"""Compiled row statistics: what the posterior needs to know of [L, V] logits, in two reads of each row."""

from __future__ import annotations

import numpy as np
from numba import njit

TINY = 1e-280


@njit(cache=True)
def class_statistics(logits, token_class, classes):
    """Per position and token class, under p = softmax(logits), in nats.

    logits: float32 [L, V]; token_class: int32 [V], −1 for tokens outside every class.
    Returns float64 [L, classes] log_mass (log Σ p), mean_log (the class's own mean of log p), best_log (max log p),
    and int32 [L, classes] best (its token). A class whose logits are all −inf has log_mass −inf.
    """
    length, width = logits.shape
    log_mass = np.empty((length, classes))
    mean_log = np.empty((length, classes))
    best_log = np.empty((length, classes))
    best = np.empty((length, classes), np.int32)
    top = np.empty(classes + 1)
    total = np.empty(classes + 1)
    moment = np.empty(classes + 1)
    for i in range(length):
        top[:] = -np.inf
        total[:] = 0.0
        moment[:] = 0.0
        best[i] = -1
        for token in range(width):
            label = token_class[token]
            value = logits[i, token]
            if label < 0:
                if value > top[classes]:
                    top[classes] = value
            elif value > top[label]:
                top[label] = value
                best[i, label] = token
        for token in range(width):
            label = token_class[token]
            if label < 0:
                label = classes
            value = logits[i, token]
            if value > -np.inf:
                weight = np.exp(value - top[label])
                total[label] += weight
                moment[label] += weight * value
        peak = top.max()
        norm = 0.0
        for label in range(classes + 1):
            if total[label] > 0.0:
                norm += total[label] * np.exp(top[label] - peak)
        log_norm = peak + np.log(norm)
        for label in range(classes):
            if total[label] > 0.0:
                log_mass[i, label] = top[label] + np.log(total[label]) - log_norm
                mean_log[i, label] = moment[label] / total[label] - log_norm
                best_log[i, label] = top[label] - log_norm
            else:
                log_mass[i, label] = -np.inf
                mean_log[i, label] = 0.0
                best_log[i, label] = -np.inf
    return log_mass, mean_log, best_log, best


@njit(cache=True)
def set_statistics(log_mass, best_log, set_start, set_classes):
    """Per position and token set: float64 [L, sets] log Σ p and max log p, int32 [L, sets] the class with the max."""
    length = log_mass.shape[0]
    sets = set_start.shape[0] - 1
    set_mass = np.empty((length, sets))
    set_best = np.empty((length, sets))
    set_class = np.empty((length, sets), np.int32)
    linear = np.empty(log_mass.shape[1])
    for i in range(length):
        peak = log_mass[i].max()
        for label in range(linear.shape[0]):
            linear[label] = np.exp(log_mass[i, label] - peak) if peak > -np.inf else 0.0
        for number in range(sets):
            total = 0.0
            value = -np.inf
            chosen = set_classes[set_start[number]]
            for position in range(set_start[number], set_start[number + 1]):
                label = set_classes[position]
                total += linear[label]
                if best_log[i, label] > value:
                    value = best_log[i, label]
                    chosen = label
            if total > TINY:
                set_mass[i, number] = peak + np.log(total)
            else:  # too far below the row's best class for a linear sum
                set_mass[i, number] = _log_sum(log_mass[i], set_classes, set_start[number], set_start[number + 1])
            set_best[i, number] = value
            set_class[i, number] = chosen
    return set_mass, set_best, set_class


@njit(cache=True)
def _log_sum(values, members, first, last):
    top = -np.inf
    for position in range(first, last):
        top = max(top, values[members[position]])
    if top == -np.inf:
        return top
    total = 0.0
    for position in range(first, last):
        total += np.exp(values[members[position]] - top)
    return top + np.log(total)


@njit(cache=True)
def class_tilt(set_posterior, set_mass, set_start, set_classes, classes):
    """log of what the constraint multiplies p by, per class: float64 [L, classes], −inf where nothing valid goes.

    set_posterior: [L, sets] probability that the position takes an edge with this set.
    """
    length, sets = set_posterior.shape
    tilt = np.full((length, classes), -np.inf)
    total = np.empty(classes)
    for i in range(length):
        for number in range(sets):
            if set_posterior[i, number] > 0.0:
                value = np.log(set_posterior[i, number]) - set_mass[i, number]
                for position in range(set_start[number], set_start[number + 1]):
                    label = set_classes[position]
                    if value > tilt[i, label]:
                        tilt[i, label] = value
        total[:] = 0.0
        for number in range(sets):
            if set_posterior[i, number] > 0.0:
                value = np.log(set_posterior[i, number]) - set_mass[i, number]
                for position in range(set_start[number], set_start[number + 1]):
                    label = set_classes[position]
                    total[label] += np.exp(value - tilt[i, label])
        for label in range(classes):
            if total[label] > 0.0:
                tilt[i, label] += np.log(total[label])
    return tilt
