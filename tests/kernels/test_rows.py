"""Row and class operations of both implementations against the specification."""

import pytest
import torch
from kernel_cases import assert_close, assert_distributed, random_classes, random_logits

from dg_sglang.kernels import cpu, reference

HOT_AND_COLD = torch.tensor([0.05, 0.7, 2.0])


def both(backend, logits, temperature, classes):
    """Rows and class statistics of the implementation and of the specification; scaled logits are compared here."""
    scaled = [torch.empty(logits.shape) for _ in range(2)]
    results = [
        module.class_statistics(logits, temperature, classes, scaled=out)
        for module, out in zip((backend, reference), scaled, strict=True)
    ]
    torch.testing.assert_close(scaled[0], scaled[1], rtol=0, atol=0)
    return results


def assert_statistics(backend, logits, temperature, classes):
    (rows, sums), (expected_rows, expected) = both(backend, logits, temperature, classes)
    assert_close(rows.log_norm, expected_rows.log_norm)
    assert_close(rows.entropy, expected_rows.entropy)
    assert torch.equal(rows.best, expected_rows.best)
    assert_close(sums.log_mass, expected.log_mass)
    assert_close(sums.mean_log, expected.mean_log)
    assert_close(sums.best_log, expected.best_log)
    alone = backend.row_statistics(logits, temperature)
    assert_close(alone.log_norm, expected_rows.log_norm)
    assert_close(alone.entropy, expected_rows.entropy)
    for label in range(classes.count):
        labels = torch.full((len(logits),), label)
        assert torch.equal(backend.best_in_classes(sums, labels), reference.best_in_classes(expected, labels))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("spread", [0.01, 3.0, 80.0])
@pytest.mark.parametrize(("width", "count"), [(1, 1), (63, 4), (200, 9), (130, 1)])
def test_statistics(backend, dtype, spread, width, count):
    """Extreme temperatures, ties, −inf, and widths that no block divides."""
    for holes in (0.0, 0.6):
        logits = random_logits(width, 3, width, spread=spread, holes=holes, dtype=dtype)
        logits[:, 0] = 0.0
        assert_statistics(backend, logits, HOT_AND_COLD, random_classes(count, width, count))


@pytest.mark.parametrize(("width", "count"), [(4096, 3), (9001, 40), (20_000, 400)])
def test_statistics_of_large_vocabularies(width, count):
    assert_statistics(cpu, random_logits(1, 3, width, spread=30.0), HOT_AND_COLD, random_classes(2, width, count))


def test_a_dominant_class_far_below_the_rest(backend):
    """Its sum must not be what is left of a sum that it doesn't reach in float32."""
    logits = random_logits(4, 2, 150, spread=1.0)
    label = torch.zeros(150, dtype=torch.int16)
    label[::7] = 1
    logits[:, ::7] += 500.0
    assert_statistics(backend, logits, torch.ones(2), cpu.classes(label, 2))


@pytest.mark.parametrize("share", [0.4, 0.9])
@pytest.mark.parametrize("raised", [0.0, 6.0, 500.0])
def test_a_class_is_the_rest_of_a_block_or_listed(share, raised):
    """With most of the vocabulary, or less; others hold a block's maximum, tie with it, most of its mass, or all."""
    width = 10_000
    inside = torch.rand(width, generator=torch.Generator().manual_seed(0)) < share
    label = torch.where(inside, 2, torch.arange(width) % 4 - 1).short()
    label[inside.logical_not() & (label == 2)] = -1
    logits = random_logits(12, 3, width, spread=2.0)
    logits[:, ~inside] += raised
    logits[1] = logits[1].round()
    classes = cpu.classes(label, 3)
    assert classes.dominant == (2 if share > 0.5 else -1)
    assert len(classes.outside) == (~inside).sum() * (share > 0.5)
    assert_statistics(cpu, logits, HOT_AND_COLD, classes)
    (_, sums), (_, expected) = both(cpu, logits, HOT_AND_COLD, classes)
    uniform = torch.rand(3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for number in range(3):
        drawn = cpu.draw_in_classes(sums, torch.full((3,), number), uniform)
        assert torch.equal(drawn, reference.draw_in_classes(expected, torch.full((3,), number), uniform))


def test_many_classes(backend):
    """More than int16 holds, one token each."""
    width = 2**15 + 10 if backend is cpu else 100
    classes = cpu.classes(torch.arange(width, dtype=torch.int32), width)
    logits = random_logits(5, 1, width)
    _, sums = backend.class_statistics(logits, torch.ones(1), classes)
    assert_close(sums.log_mass, logits.double().log_softmax(-1))


def test_no_rows(backend):
    rows, sums = backend.class_statistics(torch.empty(0, 70), torch.empty(0), random_classes(0, 70, 3))
    assert rows.best.shape == (0,) and sums.log_mass.shape == (0, 3)
    uniform, label = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.int64)
    assert backend.draw_tokens(rows, uniform).shape == (0,)
    assert backend.draw_in_classes(sums, label, uniform).shape == backend.best_in_classes(sums, label).shape == (0,)
    arguments = (torch.empty(0, 70), torch.empty(0), rows.log_norm, None, None, torch.ones(70, 5))
    assert backend.soft_embedding(*arguments).shape == (0, 5)


def test_impossible_rows_and_broken_ones(backend):
    logits = torch.zeros(4, 80)
    logits[0] = -torch.inf
    logits[1, 70], logits[2, 3], logits[3, 5] = torch.nan, torch.inf, -torch.nan
    rows, sums = backend.class_statistics(logits, torch.ones(4), random_classes(0, 80, 3))
    assert rows.log_norm[0] == -torch.inf and rows.entropy[0] == 0.0
    assert not rows.log_norm.isfinite().any()
    assert (sums.log_mass[0] == -torch.inf).logical_or(sums.log_mass[0].isnan()).all()
    assert backend.draw_tokens(rows, torch.full((4,), 0.5, dtype=torch.float64))[0] == -1


def test_rows_are_the_same_in_any_batch(backend):
    logits, classes = random_logits(6, 5, 150), random_classes(6, 150, 5)
    heat = torch.linspace(0.3, 1.5, 5)
    rows, sums = backend.class_statistics(logits, heat, classes)
    uniform = torch.rand(5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    drawn = backend.draw_tokens(rows, uniform)
    again = backend.draw_tokens(backend.row_statistics(logits, heat), uniform)
    assert torch.equal(drawn, again)
    for row in range(5):
        part = slice(row, row + 1)
        one, one_sums = backend.class_statistics(logits[part], heat[part], classes)
        assert torch.equal(one.log_norm, rows.log_norm[part]) and torch.equal(one.entropy, rows.entropy[part])
        assert torch.equal(one_sums.log_mass, sums.log_mass[part])
        assert torch.equal(backend.draw_tokens(one, uniform[part]), drawn[part])


def test_draws_invert_the_distribution(backend):
    """The same uniform numbers give the specification's tokens, in rows and in classes."""
    logits, classes = random_logits(7, 40, 170, spread=2.0, holes=0.3), random_classes(7, 170, 4)
    (rows, sums), (expected_rows, expected) = both(backend, logits, torch.full((40,), 0.9), classes)
    generator = torch.Generator().manual_seed(1)
    uniform = torch.rand(40, dtype=torch.float64, generator=generator)
    assert torch.equal(backend.draw_tokens(rows, uniform), reference.draw_tokens(expected_rows, uniform))
    label = torch.randint(0, 4, (40,), generator=generator)
    drawn = backend.draw_in_classes(sums, label, uniform)
    assert torch.equal(drawn, reference.draw_in_classes(expected, label, uniform))
    assert (classes.token_class[drawn] == label)[drawn >= 0].all()


@pytest.mark.parametrize("end", [0.0, 1.0 - 2**-53])
def test_the_ends_of_the_unit_interval(backend, end):
    logits = random_logits(8, 3, 130, holes=0.5)
    logits[:, [0, 129]] = -torch.inf
    rows = backend.row_statistics(logits, torch.ones(3))
    drawn = backend.draw_tokens(rows, torch.full((3,), end, dtype=torch.float64))
    possible = [row.isfinite().nonzero()[0 if end == 0 else -1, 0] for row in logits]
    assert drawn.tolist() == possible


def test_results_repeat_bit_for_bit(backend):
    logits, classes = random_logits(13, 4, 170, holes=0.2), random_classes(13, 170, 5)
    runs = []
    for _ in range(2):
        rows, sums = backend.class_statistics(logits, torch.full((4,), 0.7), classes)
        uniform = torch.rand(4, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
        drawn = backend.draw_in_classes(sums, torch.arange(4), uniform)
        runs.append((rows.log_norm, rows.entropy, sums.log_mass, backend.draw_tokens(rows, uniform), drawn))
    assert all(map(torch.equal, *runs))


@pytest.mark.parametrize("chosen", [None, 0, 1])
def test_draws_have_their_distribution(chosen):
    """Chi-square over one row repeated: all tokens, the dominant class (in two blocks), a listed one."""
    width, draws = 5000, 60_000
    logits = random_logits(9, 1, width, spread=1.5)
    label = torch.arange(width) // 4000
    uniform = torch.rand(draws, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    rows, sums = cpu.class_statistics(logits, torch.tensor([0.6]), cpu.classes(label.short(), 2))
    scaled = logits[0].double() / 0.6
    if chosen is None:
        drawn = [cpu.draw_tokens(rows, uniform[i : i + 1]) for i in range(draws)]
    else:
        scaled = torch.where(label == chosen, scaled, -torch.inf)
        drawn = [cpu.draw_in_classes(sums, torch.tensor([chosen]), uniform[i : i + 1]) for i in range(draws)]
    assert_distributed(torch.cat(drawn), scaled.softmax(-1))


def test_draws_in_triton_have_their_distribution():
    """In the interpreter, where a batch of equal rows is one launch."""
    from dg_sglang.kernels import gpu

    draws, width = 1500, 40
    logits = random_logits(14, 1, width, spread=1.0).expand(draws, width)
    uniform = torch.rand(draws, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    rows = gpu.row_statistics(logits, torch.ones(draws))
    assert_distributed(gpu.draw_tokens(rows, uniform), logits[0].double().softmax(-1))


@pytest.mark.parametrize("out", [torch.float32, torch.bfloat16, torch.float16])
def test_tilted_rows(backend, out):
    logits, classes = random_logits(10, 3, 150, spread=20.0), random_classes(10, 150, 6)
    tilt = torch.randn(3, 7, generator=torch.Generator().manual_seed(3))
    tilt[:, 6] = -1e4
    norm = reference.row_statistics(logits, HOT_AND_COLD).log_norm
    for name, arguments in (
        ("tilted_logits", {"tilt": tilt, "classes": classes, "floor": -3e4}),
        ("tilted_probabilities", {"log_norm": norm, "tilt": tilt, "classes": classes}),
        ("tilted_probabilities", {"log_norm": norm, "tilt": None, "classes": None}),
    ):
        results = [torch.empty(logits.shape, dtype=out) for _ in range(2)]
        for module, result in zip((backend, reference), results, strict=True):
            getattr(module, name)(logits, HOT_AND_COLD, out=result, **arguments)
        assert_close(*results, tolerance={torch.float32: 2e-5}.get(out, 8e-3))


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])  # the interpreter multiplies no bfloat16
def test_soft_embedding(backend, dtype, tilted):
    logits, classes = random_logits(11, 3, 150), random_classes(11, 150, 6)
    generator = torch.Generator().manual_seed(4)
    tilt = torch.randn(3, 7, generator=generator) if tilted else None
    embedding = torch.randn(150, 20, generator=generator).to(dtype)
    norm = reference.row_statistics(logits, HOT_AND_COLD).log_norm
    arguments = (logits, HOT_AND_COLD, norm, tilt, classes if tilted else None, embedding)
    tolerance = 2e-3 if dtype == torch.float16 else 3e-5
    assert_close(backend.soft_embedding(*arguments), reference.soft_embedding(*arguments), tolerance)


def test_soft_embedding_in_bfloat16():
    """On a CPU exact products of bfloat16; rounding q as well, as the Triton kernel must, costs half a per cent."""
    logits = random_logits(15, 4, 9000)
    embedding = torch.randn(9000, 24, generator=torch.Generator().manual_seed(6)).bfloat16()
    heat = torch.full((4,), 0.7)
    norm = reference.row_statistics(logits, heat).log_norm
    expected = reference.soft_embedding(logits, heat, norm, None, None, embedding)
    assert_close(cpu.soft_embedding(logits, heat, norm, None, None, embedding), expected)
    q = torch.empty(logits.shape, dtype=torch.bfloat16)
    reference.tilted_probabilities(logits, heat, norm, None, None, out=q)
    emulated = q.float() @ embedding.float()
    assert (emulated - expected).abs().max() < 5e-3 * expected.abs().max()
