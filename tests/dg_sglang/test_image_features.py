"""Soft tokens: as many, where and what the upstream processor and tower make them, computed once for each picture."""

from pathlib import Path
from typing import Any

import pytest
import torch
from odd_pictures import SIZES, noise
from PIL import Image
from tiny_checkpoint import SPECIAL_TOKENS

from dg_sglang import Engine
from dg_sglang.image_features import ImageFeatures
from dg_sglang.request import GenerationRequest

BEGIN, SOFT, END = (SPECIAL_TOKENS.index(token) for token in ("<|image>", "<|image|>", "<image|>"))
BUDGETS = (70, 140, 280, 560, 1120)


def upstream_processor(budget: int) -> Any:
    """transformers' Gemma 4 processor of images, as it is without a checkpoint."""
    from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil

    return Gemma4ImageProcessorPil(max_soft_tokens=budget)


def upstream_count(image: Image.Image, budget: int) -> int:
    return int(upstream_processor(budget)(images=[image])["num_soft_tokens_per_image"][0])


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_soft_tokens_are_upstreams_in_number_place_and_value(engine: Engine, size: tuple[int, int]) -> None:
    image = noise(*size)
    prompt = engine._chat.encode(GenerationRequest(prompt="what?", images=[image]), 304)
    made = upstream_processor(70)(images=[image], return_tensors="pt")
    count = int(made["num_soft_tokens_per_image"][0])
    start = prompt.ids.index(BEGIN)
    assert prompt.ids[start : start + count + 2] == [BEGIN, *[SOFT] * count, END]
    assert prompt.ids.count(SOFT) == count
    assert prompt.images is not None
    encoder = engine._model.module.model.encoder
    with torch.inference_mode():
        tower = encoder.get_image_features(
            made["pixel_values"], made["image_position_ids"], return_dict=True
        ).pooler_output
        embedded = engine._model.images.embed(torch.tensor([prompt.ids]), prompt.images)[0]
        made = upstream_processor(70)(images=[noise(*size, seed=1)], return_tensors="pt")
        other = encoder.get_image_features(made["pixel_values"], made["image_position_ids"], return_dict=True)
    assert tower.shape[0] == count
    assert torch.allclose(embedded[start + 1 : start + 1 + count], tower, atol=1e-5, rtol=0)
    assert (tower - other.pooler_output).abs().max() > 1e-3, "another picture must show"
    text = encoder.get_input_embeddings()(torch.tensor(prompt.ids[:start]))
    assert torch.equal(embedded[:start], text)


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_budget_is_kept(tiny_path: Path, tmp_path: Path, budget: int) -> None:
    import json
    import shutil

    from dg_sglang import checkpoint as checkpoints

    folder = shutil.copytree(tiny_path, tmp_path / "copy")
    settings = json.loads((folder / "processor_config.json").read_text())
    settings["image_processor"]["max_soft_tokens"] = budget
    (folder / "processor_config.json").write_text(json.dumps(settings))
    processor: Any = checkpoints.load_image_processor(checkpoints.inspect(folder))
    for size in (*SIZES[::4], (1, 5000), (5000, 1)):
        image = noise(*size)
        count = int(processor(images=[image])["num_soft_tokens_per_image"][0])
        assert count == upstream_count(image, budget) <= budget


def test_a_picture_seen_before_is_not_computed_again(tiny_path: Path) -> None:
    engine = Engine.load(tiny_path, device="cpu")
    passes = []
    engine._model.module.model.encoder.vision_tower.register_forward_hook(lambda *_: passes.append(1))
    one, other = noise(60, 40), noise(60, 40, seed=1)
    settings = {"seed": 1, "max_new_tokens": 8}
    first = engine.generate("what?", images=[one], **settings)
    assert len(passes) == 1
    assert engine.generate("what?", images=[one.copy()], **settings).token_ids == first.token_ids
    engine.generate("where?", images=[one], **settings)
    assert len(passes) == 1
    engine.generate("both?", images=[other, one, other], **settings)
    assert len(passes) == 2, "only the new one, once"
    assert engine._model.images.computed == 2


def test_the_order_of_pictures_is_kept(engine: Engine) -> None:
    one, other = noise(60, 40), noise(200, 40, seed=1)
    alone = [_soft(engine, [image]) for image in (one, other)]
    together = _soft(engine, [other, one, other])
    assert torch.allclose(together, torch.cat([alone[1], alone[0], alone[1]]), atol=1e-5)


def _soft(engine: Engine, images: list[Image.Image]) -> torch.Tensor:
    prompt = engine._chat.encode(GenerationRequest(prompt="what?", images=images), 304)
    assert prompt.images is not None
    ids = torch.tensor([prompt.ids])
    with torch.inference_mode():
        return engine._model.images.embed(ids, prompt.images)[ids == SOFT]


def test_the_cache_is_bounded(engine: Engine) -> None:
    encoder = engine._model.module.model.encoder
    pooling = engine._model.module.config.vision_config.pooling_kernel_size
    prompts = [
        engine._chat.encode(GenerationRequest(prompt="?", images=[noise(60, 40, seed)]), 304) for seed in range(4)
    ]
    size = 48 * 4 * prompts[0].ids.count(SOFT)
    features = ImageFeatures(encoder, pooling, max_bytes=2 * size)
    with torch.inference_mode():
        for seed, computed in ((0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 4)):  # 1 was used longest ago
            features.embed(torch.tensor([prompts[seed].ids]), prompts[seed].images or {})
            assert features.computed == computed
