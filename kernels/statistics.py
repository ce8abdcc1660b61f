"""Compiled steps between class statistics and the chain, and from the chain back to tilted rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.float32 import EXP_FLOOR, exp, load

TINY = 1e-280


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
    ratio, total = np.empty(sets), np.empty(classes)
    for i in range(length):
        peak = -np.inf
        for number in range(sets):
            ratio[number] = -np.inf
            if set_posterior[i, number] > 0.0:
                ratio[number] = np.log(set_posterior[i, number]) - set_mass[i, number]
                peak = max(peak, ratio[number])
        total[:] = 0.0
        for number in range(sets):
            if ratio[number] > -np.inf:
                part = np.exp(ratio[number] - peak)
                for position in range(set_start[number], set_start[number + 1]):
                    total[set_classes[position]] += part
        for label in range(classes):
            if total[label] > TINY:
                tilt[i, label] = peak + np.log(total[label])
        for number in range(sets):  # what lies too far below the peak for a linear sum
            if ratio[number] > -np.inf:
                for position in range(set_start[number], set_start[number + 1]):
                    label = set_classes[position]
                    if total[label] <= TINY:
                        tilt[i, label] = np.logaddexp(tilt[i, label], ratio[number])
    return tilt


@njit(cache=True)
def tilted_logits(rows, temperature, tilt, token_class, floor, out):
    """Scaled logits + tilt [R, classes + 1] (the last column for tokens in no class), not below floor, into out."""
    low = np.float32(floor)
    for i in range(rows.shape[0]):
        row, table, target = rows[i], tilt[i], out[i]
        for j in range(target.size):
            value = load(row[j]) / temperature[i] + table[token_class[j]]
            target[j] = value if value > low else low


@njit(cache=True)
def probabilities(rows, temperature, log_norm, low, out):
    """exp(scaled logits − log_norm) of the columns from low on."""
    for i in range(rows.shape[0]):
        row, norm, target = rows[i, low : low + out.shape[1]], np.float32(log_norm[i]), out[i]
        for j in range(target.size):
            target[j] = _probability(load(row[j]) / temperature[i] - norm)


@njit(cache=True)
def tilted_probabilities(rows, temperature, log_norm, tilt, token_class, low, out):
    """The same, times exp(tilt)."""
    labels = token_class[low : low + out.shape[1]]
    for i in range(rows.shape[0]):
        row, norm, table, target = rows[i, low : low + out.shape[1]], np.float32(log_norm[i]), tilt[i], out[i]
        for j in range(target.size):
            target[j] = _probability(load(row[j]) / temperature[i] - norm + table[labels[j]])


@njit(cache=True)
def _probability(log_p):
    return exp(log_p) if log_p > EXP_FLOOR else np.float32(0.0)
