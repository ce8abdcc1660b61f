"""The compiled kernels against the plain torch ones."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.kernels import chain, reference, statistics

CLASSES, WIDTH, LENGTH = 5, 23, 4
SET_START = np.array([0, 1, 3, 5, 6, 8], np.int64)
SET_CLASSES = np.array([0, 1, 2, 0, 4, 3, 3, 4], np.int32)


def close(left, right):
    np.testing.assert_allclose(np.asarray(left, np.float64), np.asarray(right, np.float64), rtol=1e-9, atol=1e-9)


def random_logits(seed, spread, holes):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(LENGTH, WIDTH, generator=generator) * spread
    logits[torch.rand(LENGTH, WIDTH, generator=generator) < holes] = -torch.inf
    logits[:, 0] = 0.0
    return logits


@given(st.integers(0, 1000), st.sampled_from([0.1, 3.0, 80.0]), st.sampled_from([0.0, 0.7]))
@settings(max_examples=60, deadline=None)
def test_statistics(seed, spread, holes):
    logits = random_logits(seed, spread, holes)
    token_class = np.arange(WIDTH, dtype=np.int32) % (CLASSES + 1) - 1  # every sixth token belongs to no class
    compiled = statistics.class_statistics(logits.numpy(), token_class, CLASSES)
    plain = reference.class_statistics(logits, torch.from_numpy(token_class), CLASSES)
    for left, right in zip(compiled, plain, strict=True):
        close(left, right)
    sets = statistics.set_statistics(compiled[0], compiled[2], SET_START, SET_CLASSES)
    expected = reference.set_statistics(plain[0], plain[2], torch.from_numpy(SET_START), torch.from_numpy(SET_CLASSES))
    close(sets[0], expected[0])
    close(sets[1], expected[1])
    rows = np.arange(LENGTH)[:, None]
    close(compiled[2][rows, sets[2]], sets[1])  # ties may choose another class of the same value
    posterior = np.random.default_rng(seed).dirichlet(np.ones(5), LENGTH)
    posterior[sets[0] == -np.inf] = 0.0
    tilt = statistics.class_tilt(posterior, sets[0], SET_START, SET_CLASSES, CLASSES)
    close(
        tilt,
        reference.class_tilt(
            torch.from_numpy(posterior),
            expected[0],
            torch.from_numpy(SET_START),
            torch.from_numpy(SET_CLASSES),
            CLASSES,
        ),
    )


def random_graph(seed, states=6, sets=5, edges=14):
    generator = np.random.default_rng(seed)
    pairs = np.unique(generator.integers(0, states, (edges, 2)), axis=0)
    source, target = pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)
    edge_set = generator.integers(0, sets, len(pairs)).astype(np.int32)
    edge_start = np.searchsorted(source, np.arange(states + 1)).astype(np.int64)
    final = generator.random(states) < 0.5
    weight = np.log(generator.random((LENGTH, sets))) * generator.choice([1.0, 50.0])
    return source, target, edge_set, edge_start, final, weight


@given(st.integers(0, 3000), st.integers(0, LENGTH))
@settings(max_examples=120, deadline=None)
def test_chain(seed, limit):
    source, target, edge_set, edge_start, final, weight = random_graph(seed)
    edges, tail = (target, edge_set, edge_start), 3
    active = chain.active_states(*edges, 0, final, LENGTH, limit, tail)
    tensors = [torch.from_numpy(x) for x in (weight, source, target, edge_set, final)]
    plain = reference.backward_log(*tensors, limit, tail)
    if active[0][-1] == 0:
        assert plain[0, 0] == -torch.inf
        return
    logs = chain.backward_log(weight, *edges, *active, final, limit, tail)
    close(logs[0, 0], plain[0, 0])
    message, scale, _ = chain.backward(weight, *edges, *active, final, limit, tail)
    close(scale + np.log(message[0, 0]), plain[0, 0])
    widest = int(np.diff(edge_start).max())
    expected = reference.set_posteriors(*tensors, 0, limit, tail)
    for values, in_logs in ((message, False), (logs, True)):
        posterior = chain.set_posteriors(weight, values, in_logs, *edges, *active, 0, limit, tail, widest)
        close(posterior, expected)
        close(posterior.sum(1), np.ones(LENGTH))
    path = chain.best_path(weight, *edges, *active, final, 0, limit, tail)
    close(weight[np.arange(LENGTH), path].sum(), reference.best_path(*tensors, 0, limit, tail)[0])


def test_active_states_lie_on_complete_paths():
    # 0 → 1 → 2 (final), and 0 → 3, a dead end
    target, edge_set = np.array([1, 3, 2], np.int32), np.zeros(3, np.int32)
    edge_start = np.array([0, 2, 3, 3, 3], np.int64)
    final = np.array([False, False, True, False])
    bounds, active = chain.active_states(target, edge_set, edge_start, 0, final, 2, 2, 9)
    assert [active[a:b].tolist() for a, b in itertools.pairwise(bounds)] == [[0], [1], [2]]
    bounds, _ = chain.active_states(target, edge_set, edge_start, 0, final, 1, 1, 9)
    assert bounds[-1] == 0


@pytest.mark.parametrize("dead", [0, 3])
def test_a_class_of_impossible_tokens(dead):
    logits = torch.zeros(1, 6)
    token_class = np.array([0, 0, 1, 1, 2, -1], np.int32)
    logits[0, token_class == dead] = -torch.inf
    log_mass, mean_log, best_log, best = statistics.class_statistics(logits.numpy(), token_class, 3)
    assert np.isfinite(mean_log).all()
    assert (log_mass[0] == -np.inf).tolist() == [dead == label for label in range(3)]
    assert (best[0] == -1).tolist() == (best_log[0] == -np.inf).tolist() == [dead == label for label in range(3)]
