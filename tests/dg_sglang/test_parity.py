"""With sampling="multinomial", one request gives the tokens of transformers' own `generate`, one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_checkpoint import make_tiny_checkpoint

from dg_sglang import Engine, GenerationResult
from dg_sglang.request import GenerationRequest

LONG = "a prompt that is much longer than the sliding window of twenty-four tokens, by far"


def reference(upstream: Any, engine: Engine, prompt: str, seed: int, **settings: Any) -> list[int]:
    ids = torch.tensor([engine.tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], add_generation_prompt=True, return_dict=True
    )["input_ids"]])  # fmt: skip
    torch.manual_seed(seed)
    sequences = upstream.generate(ids, **settings).sequences
    return sequences[0, ids.shape[1] :].tolist()


def assert_same(result: GenerationResult, tokens: list[int]) -> None:
    """Upstream fills with pad after the end token."""
    kept = len(result.token_ids)
    assert result.token_ids == tokens[:kept]
    assert all(token == 0 for token in tokens[kept:])
    assert (result.finish_reason == "stop") == (tokens[kept - 1] in (1, 5))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("prompt", ["hello", LONG])
def test_equal_tokens_over_several_canvases(engine: Engine, upstream: Any, prompt: str, seed: int) -> None:
    result = engine.generate(prompt, seed=seed, max_new_tokens=64, sampling="multinomial")
    assert_same(result, reference(upstream, engine, prompt, seed, max_new_tokens=64))


def test_the_sequences_have_several_canvases_and_ends(engine: Engine) -> None:
    results = [engine.generate(LONG, seed=seed, max_new_tokens=64, sampling="multinomial") for seed in range(8)]
    assert {result.finish_reason for result in results} == {"stop", "length"}
    assert max(result.usage.canvases for result in results) == 4
    assert all(result.usage.prompt_tokens > 3 * 24 for result in results)


@pytest.mark.parametrize(
    "settings",
    [
        {"stability_threshold": 0, "confidence_threshold": 1.0},
        {"stability_threshold": 1, "confidence_threshold": 3.0, "t_max": 0.3, "t_min": 0.1},
        {"stability_threshold": 2, "confidence_threshold": 3.0, "t_max": 0.2, "t_min": 0.05},
        {"max_denoising_steps": 5, "t_max": 1.5, "t_min": 0.9},
        {"max_denoising_steps": 1},
    ],
)
def test_equal_tokens_under_other_settings(engine: Engine, upstream: Any, settings: dict[str, Any]) -> None:
    for seed in range(2):
        result = engine.generate("other settings", seed=seed, **settings, sampling="multinomial")
        assert_same(result, reference(upstream, engine, "other settings", seed, **settings))


def test_early_stops_happen_in_those_settings(engine: Engine) -> None:
    result = engine.generate(
        "other settings", seed=0, stability_threshold=0, confidence_threshold=1.0, sampling="multinomial"
    )
    assert result.usage.denoising_steps < 12 * result.usage.canvases


@pytest.mark.parametrize("bound", [0.01, 3.0])
def test_equal_tokens_at_other_entropy_bounds(engine: Engine, upstream: Any, bound: float) -> None:
    from transformers.models.diffusion_gemma.generation_diffusion_gemma import EntropyBoundSamplerConfig

    expected = reference(upstream, engine, LONG, 7, sampler_config=EntropyBoundSamplerConfig(bound))
    assert_same(engine.generate(LONG, seed=7, entropy_bound=bound, sampling="multinomial"), expected)


def test_bfloat16_is_no_less_exact_than_upstream(tiny_path: Path) -> None:
    """Upstream rounds the probabilities of self-conditioning to bfloat16, the kernel doesn't: tokens may differ."""
    from transformers import DiffusionGemmaForBlockDiffusion, DynamicCache

    exact, engine = (Engine.load(tiny_path, device="cpu", dtype=dtype)._model for dtype in ("float32", "bfloat16"))
    upstream = DiffusionGemmaForBlockDiffusion.from_pretrained(tiny_path, dtype=torch.bfloat16).eval()
    generator = torch.Generator().manual_seed(0)
    prompt = torch.randint(20, 300, (40,), generator=generator).tolist()
    errors = []
    for _ in range(8):
        canvas = torch.randint(20, 300, (1, engine.canvas_length), generator=generator)
        conditioning = 4 * torch.randn(1, engine.canvas_length, engine.vocab_size, generator=generator)
        logits = []
        for model in (exact, engine):
            cache = model.new_cache()
            model.encode(prompt, cache)
            logits.append(model.decode(canvas, model.stack([cache]), conditioning))
        cache = DynamicCache(config=upstream.config.get_text_config(decoder=True))
        with torch.inference_mode():
            theirs = upstream(
                input_ids=torch.tensor([prompt]),
                decoder_input_ids=canvas,
                self_conditioning_logits=conditioning,
                **{engine._cache_argument: cache},
            ).logits
        errors.append([(one - logits[0]).abs().mean().item() for one in (logits[1], theirs)])
    ours, others = torch.tensor(errors).mean(0)
    assert 0 < ours < 1.1 * others


@pytest.mark.parametrize("bidirectional", [True, False])
def test_equal_tokens_with_images(tmp_path: Path, bidirectional: bool) -> None:
    from transformers import DiffusionGemmaForBlockDiffusion

    path = make_tiny_checkpoint(tmp_path / "tiny", bidirectional_images=bidirectional)
    engine = Engine.load(path, device="cpu")
    upstream = DiffusionGemmaForBlockDiffusion.from_pretrained(path).eval()
    random = np.random.default_rng(0)
    images = [Image.fromarray(random.integers(0, 255, (height, 70, 3), np.uint8)) for height in (40, 90)]

    # The prompt of Gemma4Processor: begin, soft tokens, end for each image, and their token types.
    prompt = engine._chat.encode(GenerationRequest(prompt="what is this?", images=images), 304)
    assert prompt.images is not None
    torch.manual_seed(3)
    tokens = upstream.generate(torch.tensor([prompt.ids]), **prompt.images).sequences[0, len(prompt.ids) :].tolist()

    result = engine.generate("what is this?", images=images, seed=3, sampling="multinomial")
    assert result.usage.canvases > 1
    assert_same(result, tokens)
    assert (
        engine.generate("what is this?", images=images[::-1], seed=3, sampling="multinomial").token_ids
        != result.token_ids
    )


def test_these_tests_can_fail(tmp_path: Path, engine: Engine) -> None:
    """One more token in the sliding window changes what follows a long prompt."""
    other = Engine.load(make_tiny_checkpoint(tmp_path / "tiny", sliding_window=25), device="cpu")
    assert engine.generate(LONG, seed=1, sampling="multinomial").token_ids != other.generate(LONG, seed=1).token_ids
    assert (
        engine.generate("hi", seed=1, max_new_tokens=16, sampling="multinomial").token_ids
        != engine.generate("ho", seed=1, sampling="multinomial").token_ids[:16]
    )
