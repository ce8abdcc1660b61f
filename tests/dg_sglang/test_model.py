import torch

from dg_sglang import Engine


def test_a_stacked_row_sees_what_it_sees_alone(engine: Engine) -> None:
    """Ragged contexts, shorter and longer than the sliding window, some with a second encoded canvas."""
    model = engine._model
    generator = torch.Generator().manual_seed(0)
    canvas = torch.randint(0, model.vocab_size, (4, model.canvas_length), generator=generator)
    conditioning = torch.randn(4, model.canvas_length, model.vocab_size, generator=generator)
    caches = [model.new_cache() for _ in range(4)]
    for cache, lengths in zip(caches, ([5], [40], [23], [24, 16]), strict=True):
        for length in lengths:
            model.encode(torch.randint(0, model.vocab_size, (length,), generator=generator).tolist(), cache)
    together = model.decode(canvas, model.stack(caches), conditioning)
    for row, cache in enumerate(caches):
        one = slice(row, row + 1)
        alone = model.decode(canvas[one], model.stack([cache]), conditioning[one])
        torch.testing.assert_close(together[one], alone, atol=2e-4, rtol=0)


def test_rows_without_conditioning_are_in_their_first_step(engine: Engine) -> None:
    model = engine._model
    caches = [model.new_cache() for _ in range(2)]
    for cache in caches:
        model.encode([4, 5, 6], cache)
    canvas = torch.arange(model.canvas_length).repeat(2, 1)
    conditioning = torch.randn(2, model.canvas_length, model.vocab_size)
    context = model.stack(caches)
    mixed = model.decode(canvas, context, conditioning, torch.tensor([True, False]))
    torch.testing.assert_close(mixed[1], model.decode(canvas, context, None)[1])
    torch.testing.assert_close(mixed[0], model.decode(canvas, context, conditioning)[0])


def test_equally_long_rows_need_no_mask(engine: Engine) -> None:
    model = engine._model
    caches = [model.new_cache() for _ in range(2)]
    for cache in caches:
        model.encode(list(range(10)), cache)
    assert set(model.stack(caches).mask.values()) == {None}
    assert model.stack(caches).positions[1].tolist() == list(range(10, 10 + model.canvas_length))
