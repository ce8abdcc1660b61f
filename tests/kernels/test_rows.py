"""Row and class operations of both implementations against the specification."""

import pytest
import torch
from kernel_cases import assert_close, assert_distributed, one_canvas, random_classes, random_logits

from dg_sglang.kernels import cpu, join, reference
from dg_sglang.kernels.tables import Classes

HOT_AND_COLD = torch.tensor([0.05, 0.7, 2.0])


def uniforms(seed, *shape):
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def both(backend, logits, temperature, classes):
    """Rows and class statistics of the implementation and of the specification; scaled logits are compared here.

    classes: `Classes`, or the table of a single canvas of all rows.
    """
    if not isinstance(classes, Classes):
        classes = one_canvas(classes, len(logits))
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
        labels = torch.full((1, len(logits)), label)
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
    uniform = uniforms(1, 1, 3)
    for number in range(3):
        drawn = cpu.draw_in_classes(sums, torch.full((1, 3), number), uniform)
        assert torch.equal(drawn, reference.draw_in_classes(expected, torch.full((1, 3), number), uniform))


def test_many_classes(backend):
    """More than int16 holds, one token each."""
    width = 2**15 + 10 if backend is cpu else 100
    classes = cpu.classes(torch.arange(width, dtype=torch.int32), width)
    logits = random_logits(5, 1, width)
    _, sums = backend.class_statistics(logits, torch.ones(1), one_canvas(classes, 1))
    assert_close(sums.log_mass, logits.double().log_softmax(-1))


def test_no_rows(backend):
    for classes in (one_canvas(random_classes(0, 70, 3), 0), join.classes([], [], 0)):
        rows, sums = backend.class_statistics(torch.empty(0, 70), torch.empty(0), classes)
        assert rows.best.shape == (0,) and sums.log_mass.shape == (0, classes.count)
        label = torch.empty(len(classes.row), 0, dtype=torch.int64)
        drawn = backend.draw_in_classes(sums, label, torch.empty(label.shape, dtype=torch.float64))
        assert drawn.shape == backend.best_in_classes(sums, label).shape == label.shape
    assert backend.draw_tokens(rows, torch.arange(0), uniforms(0, 0)).shape == (0,)
    assert backend.soft_embedding(torch.empty(0, 70), rows.log_norm, torch.ones(70, 5)).shape == (0, 5)


def test_impossible_rows_and_broken_ones(backend):
    logits = torch.zeros(4, 80)
    logits[0] = -torch.inf
    logits[1, 70], logits[2, 3], logits[3, 5] = torch.nan, torch.inf, -torch.nan
    rows, sums = backend.class_statistics(logits, torch.ones(4), one_canvas(random_classes(0, 80, 3), 4))
    assert rows.log_norm[0] == -torch.inf and rows.entropy[0] == 0.0
    assert not rows.log_norm.isfinite().any()
    assert (sums.log_mass[0] == -torch.inf).logical_or(sums.log_mass[0].isnan()).all()
    assert backend.draw_tokens(rows, torch.tensor([0]), torch.tensor([0.5]).double())[0] == -1
    label = torch.tensor([[0, -1, -1, -1]])
    assert backend.draw_in_classes(sums, label, torch.full((1, 4), 0.5).double()).tolist() == [[-1] * 4]
    assert backend.best_in_classes(sums, label).tolist() == [[-1] * 4]


def mixed(length):
    """Five canvases of `length` rows: two share a table, one has wide labels, some no dominant class, one is free."""
    width = 150
    wide = cpu.classes(torch.arange(width, dtype=torch.int32) % 40, 40)
    most = torch.zeros(width, dtype=torch.int16)
    most[::9], most[4::9] = 1, -1
    tables = [random_classes(6, width, 5), cpu.classes(most, 2), wide, random_classes(6, width, 5)]
    tables[3] = tables[0]
    rows = [0, length, 3 * length, 4 * length]
    return random_logits(6, 5 * length, width), tables, rows


def test_canvases_in_one_call_agree_with_the_specification(backend):
    length = 3
    logits, tables, rows = mixed(length)
    assert {table.dominant >= 0 for table in tables} == {True, False}
    classes, heat = join.classes(tables, rows, length), torch.linspace(0.3, 1.5, len(logits))
    assert classes.token_class.shape[0] == 3
    (_, sums), (_, expected) = both(backend, logits, heat, classes)
    for statistic in ("log_mass", "mean_log", "best_log"):
        assert_close(getattr(sums, statistic), getattr(expected, statistic))
    label = classes.of(torch.randint(0, 150, (4, length), generator=torch.Generator().manual_seed(2)))
    assert (label < 0).any() and (label >= 0).any()
    assert torch.equal(backend.best_in_classes(sums, label), reference.best_in_classes(expected, label))
    uniform = uniforms(3, 4, length)
    assert torch.equal(
        backend.draw_in_classes(sums, label, uniform), reference.draw_in_classes(expected, label, uniform)
    )


def test_rows_are_the_same_in_any_batch(backend):
    """Bit for bit, whatever other canvases and free rows the call has."""
    length = 3
    logits, tables, rows = mixed(length)
    heat, uniform = torch.linspace(0.3, 1.5, len(logits)), uniforms(0, len(logits))
    classes = join.classes(tables, rows, length)
    together, sums = backend.class_statistics(logits, heat, classes)
    tilt = torch.randn(sums.log_mass.shape, generator=torch.Generator().manual_seed(1)).double()
    label = torch.zeros(4, length, dtype=torch.int64) + classes.column[:-1, None]
    drawn, picked = backend.draw_tokens(together, torch.arange(15), uniform), uniforms(1, 4, length)
    in_classes, best = backend.draw_in_classes(sums, label, picked), backend.best_in_classes(sums, label)
    tilted = torch.zeros_like(logits)
    backend.tilted_logits(logits, heat, tilt, classes, [0, 1, 3], lowest=-1e4, floor=-50.0, out=tilted)
    assert not tilted[2 * length : 4 * length].any()
    for k, row in enumerate(rows):
        part, column = slice(row, row + length), slice(int(classes.column[k]), int(classes.column[k + 1]))
        own = one_canvas(tables[k], length)
        one, one_sums = backend.class_statistics(logits[part], heat[part], own)
        assert torch.equal(one.log_norm, together.log_norm[part]) and torch.equal(one.entropy, together.entropy[part])
        assert torch.equal(one_sums.log_mass, sums.log_mass[:, column])
        assert torch.equal(one_sums.mean_log, sums.mean_log[:, column])
        assert torch.equal(backend.draw_tokens(one, torch.arange(length), uniform[part]), drawn[part])
        first = torch.zeros(1, length, dtype=torch.int64)
        assert torch.equal(backend.draw_in_classes(one_sums, first, picked[k : k + 1]), in_classes[k : k + 1])
        assert torch.equal(backend.best_in_classes(one_sums, first), best[k : k + 1])
        if k != 2:
            out = torch.empty(length, 150)
            arguments = logits[part], heat[part], tilt[:, column].contiguous(), own, [0]
            backend.tilted_logits(*arguments, lowest=-1e4, floor=-50.0, out=out)
            assert torch.equal(out, tilted[part])
    part = slice(2 * length, 3 * length)
    free = backend.row_statistics(logits[part], heat[part])
    assert torch.equal(free.log_norm, together.log_norm[part]) and torch.equal(free.best, together.best[part])
    assert torch.equal(backend.draw_tokens(free, torch.arange(length), uniform[part]), drawn[part])


def test_draws_invert_the_distribution(backend):
    """The same uniform numbers give the specification's tokens, in rows and in classes."""
    logits, classes = random_logits(7, 40, 170, spread=2.0, holes=0.3), random_classes(7, 170, 4)
    (rows, sums), (expected_rows, expected) = both(backend, logits, torch.full((40,), 0.9), classes)
    uniform, some = uniforms(1, 40), torch.tensor([3, 3, 0, 39, 17])
    assert torch.equal(
        backend.draw_tokens(rows, some, uniform[some]), reference.draw_tokens(expected_rows, some, uniform[some])
    )
    label = torch.randint(0, 4, (1, 40), generator=torch.Generator().manual_seed(1))
    drawn = backend.draw_in_classes(sums, label, uniform[None])
    assert torch.equal(drawn, reference.draw_in_classes(expected, label, uniform[None]))
    assert (classes.token_class[drawn] == label)[drawn >= 0].all()


@pytest.mark.parametrize("end", [0.0, 1.0 - 2**-53])
def test_the_ends_of_the_unit_interval(backend, end):
    logits = random_logits(8, 3, 130, holes=0.5)
    logits[:, [0, 129]] = -torch.inf
    rows = backend.row_statistics(logits, torch.ones(3))
    drawn = backend.draw_tokens(rows, torch.arange(3), torch.full((3,), end, dtype=torch.float64))
    possible = [row.isfinite().nonzero()[0 if end == 0 else -1, 0] for row in logits]
    assert drawn.tolist() == possible


def test_results_repeat_bit_for_bit(backend):
    logits, classes = random_logits(13, 4, 150), one_canvas(random_classes(13, 150, 4), 4)
    runs = []
    for _ in range(2):
        rows, sums = backend.class_statistics(logits, torch.full((4,), 0.7), classes)
        uniform = uniforms(5, 1, 4)
        drawn = backend.draw_in_classes(sums, torch.arange(4)[None], uniform)
        tokens = backend.draw_tokens(rows, torch.arange(4), uniform[0])
        runs.append((rows.log_norm, rows.entropy, sums.log_mass, tokens, drawn))
    assert all(map(torch.equal, *runs))


@pytest.mark.parametrize("chosen", [None, 0, 1])
def test_draws_have_their_distribution(backend, chosen):
    """Chi-square over one row: all tokens, the dominant class (in several blocks), a listed one.

    Triton's interpreter is slow, so it draws less often from fewer tokens; its blocks have 64.
    """
    width, draws = (5000, 60_000) if backend is cpu else (150, 1500)
    logits = random_logits(9, 1, width, spread=1.5 if backend is cpu else 1.0)
    label = (torch.arange(width) >= width * 4 // 5).short()
    uniform, heat = uniforms(2, draws), 0.6
    table = cpu.classes(label, 2)
    assert table.dominant == 0
    scaled = logits[0].double() / heat
    if chosen is None:
        rows = backend.row_statistics(logits, torch.tensor([heat]))
        drawn = backend.draw_tokens(rows, torch.zeros(draws, dtype=torch.int64), uniform)
    else:
        scaled = torch.where(label == chosen, scaled, -torch.inf)
        many = logits.expand(min(draws, 1500), -1)  # as many rows of one canvas as memory likes, again and again
        _, sums = backend.class_statistics(many, torch.full((len(many),), heat), one_canvas(table, len(many)))
        labels = torch.full((1, len(many)), chosen)
        parts = [backend.draw_in_classes(sums, labels, part[None])[0] for part in uniform.split(len(many))]
        drawn = torch.cat(parts)
    assert_distributed(drawn, scaled.softmax(-1))


@pytest.mark.parametrize("out", [torch.float32, torch.bfloat16, torch.float16])
def test_tilted_rows(backend, out):
    """Of the first and the last of three canvases; the rows of the second stay as they are."""
    logits, table = random_logits(10, 9, 150, spread=20.0), random_classes(10, 150, 6)
    heat, classes = HOT_AND_COLD.repeat(3), join.classes([table] * 3, [0, 3, 6], 3)
    tilt = torch.randn(3, 18, generator=torch.Generator().manual_seed(3)).double()
    tilt[1, 2] = -torch.inf
    results = [torch.zeros(logits.shape, dtype=out) for _ in range(2)]
    for module, result in zip((backend, reference), results, strict=True):
        module.tilted_logits(logits, heat, tilt, classes, [0, 2], lowest=-1e4, floor=-3e4, out=result)
    assert_close(*results, tolerance={torch.float32: 2e-5}.get(out, 8e-3))
    assert not results[0][3:6].any() and results[0][:3].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])  # the interpreter multiplies no bfloat16
def test_soft_embedding(backend, dtype):
    logits = random_logits(11, 3, 150)
    embedding = torch.randn(150, 20, generator=torch.Generator().manual_seed(4)).to(dtype)
    norm = reference.row_statistics(logits, torch.ones(3)).log_norm
    expected = reference.soft_embedding(logits, norm, embedding)
    tolerance = 2e-3 if dtype == torch.float16 else 3e-5
    assert_close(backend.soft_embedding(logits, norm, embedding), expected, tolerance)
    parts = [backend.soft_embedding(logits[:, own], norm, embedding[own]) for own in (slice(0, 70), slice(70, 150))]
    assert_close(parts[0] + parts[1], expected, tolerance)


def test_soft_embedding_in_bfloat16():
    """On a CPU exact products of bfloat16; rounding p as well, as the Triton kernel must, costs half a per cent."""
    logits = random_logits(15, 4, 9000) / 0.7
    embedding = torch.randn(9000, 24, generator=torch.Generator().manual_seed(6)).bfloat16()
    norm = reference.row_statistics(logits, torch.ones(4)).log_norm
    expected = reference.soft_embedding(logits, norm, embedding)
    assert_close(cpu.soft_embedding(logits, norm, embedding), expected)
    p = (logits - norm[:, None]).exp().bfloat16()
    emulated = p.float() @ embedding.float()
    assert (emulated - expected).abs().max() < 5e-3 * expected.abs().max()
