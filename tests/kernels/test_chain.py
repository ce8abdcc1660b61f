"""Operations over position × state of both implementations against the specification."""

import itertools

import numpy as np
import pytest
import torch
from kernel_cases import assert_close, assert_distributed, random_chain

from dg_sglang.kernels import cpu, reference

LENGTH, CLASSES = 4, 6


def random_statistics(seed, spread=3.0, rows=LENGTH):
    """log_mass and best_log, float64 [rows, CLASSES]."""
    random = np.random.default_rng(seed)
    log_mass = torch.from_numpy(random.normal(size=(rows, CLASSES)) * spread)
    log_mass[torch.from_numpy(random.random((rows, CLASSES)) < 0.1)] = -torch.inf
    log_mass[:, 0] = 0.0
    return log_mass, log_mass - torch.from_numpy(random.random((rows, CLASSES)))


@pytest.mark.parametrize("spread", [1.0, 50.0, 900.0])
@pytest.mark.parametrize("limit", [LENGTH, 2, 0])
def test_chain(backend, limit, spread):
    """At the largest spread, linear messages would underflow; float32 holds such logs to a thousandth."""
    found, tolerance = 0, 2e-6 * max(spread, 50.0)
    for seed in range(40 if backend is cpu else 5):
        chain = random_chain(seed, LENGTH, limit=limit)
        if chain is None:
            continue
        log_mass, best_log = random_statistics(seed, spread)
        expected = reference.set_statistics(log_mass, best_log, chain)
        sets = backend.set_statistics(log_mass, best_log, chain)
        assert_close(sets[0], expected[0], tolerance)
        assert_close(sets[1], expected[1], tolerance)
        assert_close(best_log.gather(1, sets[2].long()), sets[1], tolerance)  # of equal ones, any
        weight, score = expected[:2]
        plain = reference.backward(weight, chain)
        if plain.log_z == -torch.inf:
            assert backend.backward(weight, chain).log_z == -torch.inf
            continue
        found += 1
        messages = backend.backward(weight, chain)
        assert messages.log_z == pytest.approx(plain.log_z, rel=1e-5, abs=tolerance)
        posterior = backend.set_posteriors(weight, messages, chain)
        expected_posterior = reference.set_posteriors(weight, plain, chain)
        assert_close(posterior, expected_posterior, 2 * tolerance)
        assert_close(posterior.sum(1), torch.ones(LENGTH))
        tilt = backend.class_tilt(expected_posterior, weight, chain, CLASSES)
        assert_close(tilt, reference.class_tilt(expected_posterior, weight, chain, CLASSES), tolerance)
        path, best = backend.best_path(score, chain), reference.best_path(score, chain)
        rows = torch.arange(LENGTH)
        assert_close(score[rows, path.long()].sum(), score[rows, best.long()].sum(), tolerance)
        uniform = torch.rand(LENGTH, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        labels = backend.draw_path(uniform, weight, messages, log_mass, chain)
        assert torch.equal(labels, reference.draw_path(uniform, weight, plain, log_mass, chain))
    assert found


def test_log_messages_agree_with_linear_ones(monkeypatch):
    chain, weight = random_chain(3, LENGTH), torch.randn(LENGTH, 5, dtype=torch.float64)
    assert chain is not None
    linear = cpu.backward(weight, chain)
    monkeypatch.setattr(cpu, "LINEAR_RANGE", -1e9)
    logs = cpu.backward(weight, chain)
    assert linear.divisor is not None and logs.divisor is None
    assert logs.log_z == pytest.approx(linear.log_z, abs=1e-12)
    assert_close(cpu.set_posteriors(weight, logs, chain), cpu.set_posteriors(weight, linear, chain), 1e-12)


def test_three_thousand_states(backend, monkeypatch):
    """Log Z, posteriors and the best path of a large automaton, against the compiled version in logs."""
    length, states = (12 if backend is cpu else 3), 3000
    if backend is not cpu:
        monkeypatch.setattr(backend, "_LANES", 1024)
    chain = random_chain(1, length, states=states, edges=9000, sets=40)
    assert chain is not None and len(chain.final) == states
    weight = torch.randn(length, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 5
    messages = backend.backward(weight, chain)
    monkeypatch.setattr(cpu, "LINEAR_RANGE", -1e9)
    expected = cpu.backward(weight, chain)
    assert messages.log_z == pytest.approx(expected.log_z, rel=1e-5)
    posterior = backend.set_posteriors(weight, messages, chain)
    assert_close(posterior, cpu.set_posteriors(weight, expected, chain), 1e-4)
    rows = torch.arange(length)
    paths = [module.best_path(weight, chain).long() for module in (backend, cpu)]
    assert_close(weight[rows, paths[0]].sum(), weight[rows, paths[1]].sum())


def test_results_repeat_bit_for_bit(backend):
    chain, (log_mass, best_log) = random_chain(5, LENGTH), random_statistics(5)
    assert chain is not None
    runs = []
    for _ in range(2):
        weight, *_ = backend.set_statistics(log_mass, best_log, chain)
        messages = backend.backward(weight, chain)
        runs.append((messages.log_z, backend.set_posteriors(weight, messages, chain)))
    assert runs[0][0] == runs[1][0] and torch.equal(runs[0][1], runs[1][1])


def test_joint_draws_have_their_distribution():
    """Chi-square over all canvases of three positions, whose probabilities are counted path by path."""
    length = 3
    chain, (log_mass, best_log) = random_chain(7, length), random_statistics(7, 1.0, length)
    assert chain is not None
    weight = reference.set_statistics(log_mass, best_log, chain)[0]
    probability = torch.zeros((CLASSES,) * length, dtype=torch.float64)
    paths: list[tuple[int, tuple[int, ...]]] = [(chain.start, ())]
    for i in range(length):
        paths = [
            (target, (*labels, int(label)))
            for state, labels in paths
            for source, target, number in reference._edges(chain, i)
            if source == state
            for label in chain.set_classes[chain.set_start[number] : chain.set_start[number + 1]]
        ]
    for state, labels in paths:
        if chain.final[state]:
            probability[labels] += sum(log_mass[i, label] for i, label in enumerate(labels)).exp()
    assert (probability > 0).sum() > 20
    messages = cpu.backward(weight, chain)
    assert messages.log_z == pytest.approx(float(probability.sum().log()), abs=1e-9)
    uniform = torch.rand(40_000, length, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    drawn = torch.stack([cpu.draw_path(one, weight, messages, log_mass, chain) for one in uniform])
    place = drawn @ torch.tensor([CLASSES**2, CLASSES, 1])
    assert_distributed(place, (probability / probability.sum()).flatten())


def test_active_states_lie_on_complete_paths():
    # 0 → 1 → 2 (final), and 0 → 3, a dead end
    target, edge_set = torch.tensor([1, 3, 2], dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    edge_start, final = torch.tensor([0, 2, 3, 3, 3]), torch.tensor([False, False, True, False])
    bounds, active = cpu.active_states(target, edge_set, edge_start, 0, final, 2, 2, 9)
    assert [active[a:b].tolist() for a, b in itertools.pairwise(bounds)] == [[0], [1], [2]]
    bounds, _ = cpu.active_states(target, edge_set, edge_start, 0, final, 1, 1, 9)
    assert bounds[-1] == 0
