"""Operations over position × state of both implementations against the specification."""

import itertools

import numpy as np
import pytest
import torch
from kernel_cases import assert_close, assert_distributed, impossible_chain, random_chain, side_by_side

from dg_sglang.kernels import cpu, reference
from dg_sglang.kernels.tables import ClassStatistics

LENGTH, CLASSES = 4, 6


def random_statistics(seed, spread=3.0, rows=LENGTH, classes=CLASSES):
    """float64 [rows, classes]."""
    random = np.random.default_rng(seed)
    log_mass = torch.from_numpy(random.normal(size=(rows, classes)) * spread)
    log_mass[torch.from_numpy(random.random((rows, classes)) < 0.1)] = -torch.inf
    log_mass[:, 0] = 0.0
    best_log = log_mass - torch.from_numpy(random.random((rows, classes)))
    return ClassStatistics(log_mass, best_log.clamp(min=-1e30) - 1.0, best_log, None)


def uniforms(seed, *shape):
    return torch.rand(*shape, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def assert_agrees(backend, chain, sets, sums, tolerance):
    """Every operation against the specification. Returns the log Z of the canvases."""
    length, canvases = len(sums.log_mass), len(chain.start)
    expected = reference.set_statistics(sums, sets)
    found = backend.set_statistics(sums, sets)
    assert_close(found[0], expected[0], tolerance)
    assert_close(found[1], expected[1], tolerance)
    assert_close(sums.best_log.gather(1, found[2].long()), found[1], tolerance)  # of equal ones, any
    weight, score, holder = expected
    plain, messages = reference.backward(weight, chain), backend.backward(weight, chain)
    assert_close(messages.log_z, plain.log_z, max(1e-5, tolerance))
    everyone = range(canvases)
    posterior = backend.set_posteriors(weight, messages, chain, everyone)
    expected_posterior = reference.set_posteriors(weight, plain, chain, everyone)
    assert_close(posterior, expected_posterior, 2 * tolerance)
    possible = (plain.log_z > -torch.inf).double()
    totals = torch.stack([part.sum(1) for part in posterior.split(sets.bounds.diff().tolist(), 1)], 1)
    assert_close(totals, possible.expand(length, -1))
    assert not backend.set_posteriors(weight, messages, chain, []).any()
    tilts = [module.tilted_statistics(expected_posterior, weight, sums, sets) for module in (backend, reference)]
    assert_close(tilts[0][0], tilts[1][0], tolerance)
    assert_close(tilts[0][1], tilts[1][1], 20 * tolerance)
    paths = [module.best_path(score, holder, chain) for module in (backend, reference)]
    worth = [best_log_of(path, sums) for path in paths]  # of equal paths, any
    assert_close(worth[0], worth[1], tolerance)
    uniform = uniforms(length, canvases, length)
    labels = backend.draw_path(uniform, weight, messages, sums.log_mass, chain, sets)
    assert torch.equal(labels, reference.draw_path(uniform, weight, plain, sums.log_mass, chain, sets))
    assert ((labels >= 0).all(1) == possible.bool()).all()
    return plain.log_z


def best_log_of(labels, sums):
    """Of labels [K, L] the sum of their best log p, 0 where there is no path: float64 [K]."""
    return torch.where(labels < 0, 0.0, sums.best_log.T.gather(0, labels.clamp(min=0))).sum(1)


@pytest.mark.parametrize("spread", [1.0, 50.0, 900.0])
@pytest.mark.parametrize("limit", [LENGTH, 2, 0])
def test_chain(backend, limit, spread):
    """At the largest spread, linear messages would underflow; float32 holds such logs to a thousandth."""
    found, tolerance = 0, 2e-6 * max(spread, 50.0)
    for seed in range(40 if backend is cpu else 5):
        case = random_chain(seed, LENGTH, limit=limit)
        if case is not None:
            found += assert_agrees(backend, *case, random_statistics(seed, spread), tolerance) > -torch.inf
    assert found


def mixed():
    """Automata of 6, 1 and 20 states, one without an answer, one that is not to be begun, with limits of their own."""
    parts = [
        random_chain(3, LENGTH),
        random_chain(0, LENGTH, states=1, edges=1, sets=2, classes=1),
        impossible_chain(LENGTH),
        random_chain(1, LENGTH, states=20, edges=60, sets=9, classes=11, limit=2),
    ]
    assert all(part is not None for part in parts)
    return parts


@pytest.mark.parametrize("spread", [2.0, 900.0])
def test_different_automata_in_one_call(backend, spread):
    chain, sets = side_by_side(mixed())
    sums = random_statistics(11, spread, classes=int(sets.column[-1]))
    log_z = assert_agrees(backend, chain, sets, sums, 2e-6 * max(spread, 50.0))
    assert (log_z == -torch.inf).tolist() == [False, False, True, False]


@pytest.mark.parametrize("spread", [2.0, 900.0])
def test_a_canvas_does_not_see_the_others(backend, spread):
    """Bit for bit what it gives alone, also where another one's messages have to be logs."""
    parts = mixed()
    chain, sets = side_by_side(parts)
    sums = random_statistics(11, spread, classes=int(sets.column[-1]))
    sums.log_mass[:, sets.column[0] : sets.column[1]] *= 1e-3  # linear messages will do for the first one
    together = results(backend, chain, sets, sums)
    for k, (alone, own) in enumerate(parts):
        column = slice(int(sets.column[k]), int(sets.column[k + 1]))
        part = ClassStatistics(
            *(x[:, column].contiguous() for x in (sums.log_mass, sums.mean_log, sums.best_log)), None
        )
        single = results(backend, alone, own, part)
        mine = slice(int(sets.bounds[k]), int(sets.bounds[k + 1]))
        assert torch.equal(single["log_z"], together["log_z"][k : k + 1])
        assert torch.equal(single["weight"], together["weight"][:, mine])
        assert torch.equal(single["posterior"], together["posterior"][:, mine])
        assert torch.equal(single["tilt"], together["tilt"][:, column])
        assert torch.equal(single["entropy"], together["entropy"][k : k + 1])
        for path in ("best", "drawn"):
            expected = together[path][k]
            assert torch.equal(single[path][0], torch.where(expected < 0, expected, expected - column.start))


def results(backend, chain, sets, sums):
    """Everything of every canvas; a canvas's random numbers depend on its number of states."""
    weight, score, holder = backend.set_statistics(sums, sets)
    messages = backend.backward(weight, chain)
    posterior = backend.set_posteriors(weight, messages, chain, range(len(chain.start)))
    tilt, entropy = backend.tilted_statistics(posterior, weight, sums, sets)
    uniform = torch.cat([uniforms(int(states), 1, len(weight)) for states in chain.states.diff()])
    return {
        "weight": weight, "log_z": messages.log_z, "posterior": posterior, "tilt": tilt, "entropy": entropy,
        "best": backend.best_path(score, holder, chain),
        "drawn": backend.draw_path(uniform, weight, messages, sums.log_mass, chain, sets),
    }  # fmt: skip


def test_log_messages_agree_with_linear_ones(monkeypatch):
    chain, _ = random_chain(3, LENGTH)
    weight = torch.randn(LENGTH, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    linear = cpu.backward(weight, chain)
    monkeypatch.setattr(cpu, "LINEAR_RANGE", -1e9)
    logs = cpu.backward(weight, chain)
    assert linear.divisor.isfinite().all() and logs.divisor.isnan().all()
    assert_close(logs.log_z, linear.log_z, 1e-12)
    posteriors = [cpu.set_posteriors(weight, messages, chain, [0]) for messages in (logs, linear)]
    assert_close(*posteriors, 1e-12)


def test_three_thousand_states_beside_one(backend, monkeypatch):
    """Log Z, posteriors, best path and draw of a large automaton and a tiny one, against the CPU's in logs."""
    length, states = (12 if backend is cpu else 3), 3000
    if backend is not cpu:
        monkeypatch.setattr(backend, "_LANES", 1024)
    parts = [
        random_chain(1, length, states=states, edges=9000, sets=40),
        random_chain(0, length, states=1, edges=1, sets=2, classes=1),
    ]
    chain, sets = side_by_side(parts)
    assert chain.states.diff().tolist() == [states, 1]
    sums = random_statistics(2, 5.0, length, int(sets.column[-1]))
    sums.log_mass[:, -1] = 0.0  # the only class of the second one
    weight, score, holder = backend.set_statistics(sums, sets)
    messages = backend.backward(weight, chain)
    monkeypatch.setattr(cpu, "LINEAR_RANGE", -1e9)
    expected = cpu.backward(weight, chain)
    assert expected.log_z.isfinite().all()
    assert_close(messages.log_z, expected.log_z, 1e-5)
    posterior = backend.set_posteriors(weight, messages, chain, [0, 1])
    assert_close(posterior, cpu.set_posteriors(weight, expected, chain, [0, 1]), 1e-4)
    paths = [best_log_of(module.best_path(score, holder, chain), sums) for module in (backend, cpu)]
    assert_close(*paths)
    uniform = uniforms(0, 2, length)
    drawn = backend.draw_path(uniform, weight, messages, sums.log_mass, chain, sets)
    assert torch.equal(drawn, cpu.draw_path(uniform, weight, expected, sums.log_mass, chain, sets))


def test_results_repeat_bit_for_bit(backend):
    chain, sets = side_by_side(mixed())
    sums = random_statistics(5, classes=int(sets.column[-1]))
    first, second = (results(backend, chain, sets, sums) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_joint_draws_have_their_distribution(backend):
    """Chi-square over all canvases of a few positions, whose probabilities are counted path by path.

    Triton's interpreter is slow, so it draws less often.
    """
    length, draws, seed = (3, 40_000, 7) if backend is cpu else (2, 400, 11)
    chain, sets = random_chain(seed, length)
    sums = random_statistics(7, 1.0, length)
    weight = reference.set_statistics(sums, sets)[0]
    probability = torch.zeros((CLASSES,) * length, dtype=torch.float64)
    paths: list[tuple[int, tuple[int, ...]]] = [(int(chain.start), ())]
    for i in range(length):
        paths = [
            (target, (*labels, int(label)))
            for state, labels in paths
            for source, target, number in reference._edges(chain, i)
            if source == state
            for label in sets.classes[sets.start[number] : sets.start[number + 1]]
        ]
    for state, labels in paths:
        if chain.final[state]:
            probability[labels] += sum(sums.log_mass[i, label] for i, label in enumerate(labels)).exp()
    assert (probability > 0).sum() > 8 * (length - 1)
    assert_close(backend.backward(weight, chain).log_z[0], probability.sum().log(), 1e-6)
    many = 40
    chains, copies = side_by_side([(chain, sets)] * many)
    weights, masses = weight.repeat(1, many), sums.log_mass.repeat(1, many)
    messages = backend.backward(weights, chains)
    drawn = [
        backend.draw_path(uniform, weights, messages, masses, chains, copies) - copies.column[:-1, None]
        for uniform in uniforms(8, draws // many, many, length)
    ]
    place = torch.cat(drawn) @ torch.tensor([CLASSES**i for i in reversed(range(length))])
    assert_distributed(place, (probability / probability.sum()).flatten())


def test_active_states_lie_on_complete_paths():
    # 0 → 1 → 2 (final), and 0 → 3, a dead end
    target, edge_set = torch.tensor([1, 3, 2], dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    edge_start, final = torch.tensor([0, 2, 3, 3, 3]), torch.tensor([False, False, True, False])
    bounds, active = cpu.active_states(target, edge_set, edge_start, 0, final, 2, 2, 9)
    assert [active[a:b].tolist() for a, b in itertools.pairwise(bounds[0])] == [[0], [1], [2]]
    bounds, _ = cpu.active_states(target, edge_set, edge_start, 0, final, 1, 1, 9)
    assert bounds[0, -1] == 0
