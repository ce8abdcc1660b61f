"""Compiled steps between class statistics and the chain, and from the chain back to tilted rows."""

from __future__ import annotations

import numpy as np
from numba import njit

from dg_sglang.kernels.float32 import EXP_FLOOR, exp, load

TINY = 1e-280


@njit(cache=True)
def set_statistics(log_mass, best_log, start, members, bounds, column):
    """Per position and token set: float64 [L, N] log Σ p and max log p, int32 [L, N] the class with the max."""
    shape = log_mass.shape[0], start.shape[0] - 1
    set_mass, set_best, set_class = np.empty(shape), np.empty(shape), np.empty(shape, np.int32)
    linear = np.empty(log_mass.shape[1])
    for k in range(bounds.size - 1):
        low, high = column[k], column[k + 1]
        for i in range(shape[0]):
            peak = log_mass[i, low:high].max()
            for label in range(low, high):
                linear[label] = np.exp(log_mass[i, label] - peak) if peak > -np.inf else 0.0
            for number in range(bounds[k], bounds[k + 1]):
                total = 0.0
                value = -np.inf
                chosen = members[start[number]]
                for label in members[start[number] : start[number + 1]]:
                    total += linear[label]
                    if best_log[i, label] > value:
                        value = best_log[i, label]
                        chosen = label
                if total > TINY:
                    set_mass[i, number] = peak + np.log(total)
                else:  # too far below the row's best class for a linear sum
                    set_mass[i, number] = _log_sum(log_mass[i], members[start[number] : start[number + 1]])
                set_best[i, number] = value
                set_class[i, number] = chosen
    return set_mass, set_best, set_class


@njit(cache=True)
def _log_sum(values, members):
    top = -np.inf
    for label in members:
        top = max(top, values[label])
    if top == -np.inf:
        return top
    total = 0.0
    for label in members:
        total += np.exp(values[label] - top)
    return top + np.log(total)


@njit(cache=True)
def tilted_statistics(set_posterior, set_mass, log_mass, mean_log, start, members, bounds, column):
    """log of what the constraint multiplies p by, per class: float64 [L, C], −inf where nothing valid goes.

    And the entropy of the tilted marginals, float32 [K, L]: −Σ over classes of q · (mean log p + tilt).
    set_posterior: [L, N] probability that the position takes an edge with this set.
    """
    length, sets = set_posterior.shape
    tilt = np.full(log_mass.shape, -np.inf)
    entropy = np.zeros((bounds.size - 1, length), np.float32)
    ratio, total = np.empty(sets), np.empty(log_mass.shape[1])
    for k in range(bounds.size - 1):
        low, high = column[k], column[k + 1]
        for i in range(length):
            peak = -np.inf
            for number in range(bounds[k], bounds[k + 1]):
                ratio[number] = -np.inf
                if set_posterior[i, number] > 0.0:
                    ratio[number] = np.log(set_posterior[i, number]) - set_mass[i, number]
                    peak = max(peak, ratio[number])
            total[low:high] = 0.0
            for number in range(bounds[k], bounds[k + 1]):
                if ratio[number] > -np.inf:
                    part = np.exp(ratio[number] - peak)
                    for label in members[start[number] : start[number + 1]]:
                        total[label] += part
            for label in range(low, high):
                if total[label] > TINY:
                    tilt[i, label] = peak + np.log(total[label])
            for number in range(bounds[k], bounds[k + 1]):  # what lies too far below the peak for a linear sum
                if ratio[number] > -np.inf:
                    for label in members[start[number] : start[number + 1]]:
                        if total[label] <= TINY:
                            tilt[i, label] = np.logaddexp(tilt[i, label], ratio[number])
            spread = 0.0
            for label in range(low, high):
                log_q = log_mass[i, label] + tilt[i, label]
                if log_q > -np.inf:
                    spread -= np.exp(log_q) * (mean_log[i, label] + tilt[i, label])
            entropy[k, i] = max(spread, 0.0)
    return tilt, entropy


@njit(cache=True)
def tilted_logits(rows, temperature, tilt, canvas, dominant, token_class, outside, column, lowest, floor, out):
    """Scaled logits + tilt of a canvas, not below floor, into out.

    tilt: [L, C]; `lowest` stands for what is less, and for tokens in no class. token_class, dominant and outside are of
    the canvas's table. The dominant class's tilt is added to all tokens, that of the others to themselves.
    """
    low, count = np.float32(floor), column[canvas + 1] - column[canvas]
    own = np.empty(count + 1, np.float32)
    for i in range(rows.shape[0]):
        row, target, heat = rows[i], out[i], temperature[i]
        for label in range(count):
            own[label] = max(tilt[i, column[canvas] + label], lowest)
        own[count] = lowest
        if dominant < 0:
            for j in range(target.size):
                value = load(row[j]) / heat + own[token_class[j]]
                target[j] = value if value > low else low
            continue
        added = own[dominant]
        for j in range(target.size):
            value = load(row[j]) / heat + added
            target[j] = value if value > low else low
        for j in outside:
            value = load(row[j]) / heat + own[token_class[j]]
            target[j] = value if value > low else low


@njit(cache=True)
def probabilities(rows, log_norm, low, out):
    """exp(logits − log_norm) of the columns from low on."""
    for i in range(rows.shape[0]):
        row, norm, target = rows[i, low : low + out.shape[1]], np.float32(log_norm[i]), out[i]
        for j in range(target.size):
            log_p = load(row[j]) - norm
            target[j] = exp(log_p) if log_p > EXP_FLOOR else np.float32(0.0)
