"""Recorded denoising steps against transformers' own forward passes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dg_sglang.model import DiffusionModel
from dg_sglang.sampler import temperature

if TYPE_CHECKING:
    from canvas_recorder import Step

    from dg_sglang.chat import Prompt
    from dg_sglang.config import GenerationConfig


def upstream(
    path: Path, *, dtype: torch.dtype = torch.float32, device: str = "cpu", attention: str = "sdpa", **text_config: Any
) -> DiffusionModel:
    """transformers' model, with changes to its text config."""
    from transformers import AutoConfig, DiffusionGemmaForBlockDiffusion

    settings = AutoConfig.from_pretrained(path)
    for name, value in text_config.items():
        setattr(settings.text_config, name, value)
    module = DiffusionGemmaForBlockDiffusion.from_pretrained(
        path, config=settings, dtype=dtype, attn_implementation=attention
    )
    return DiffusionModel(module.to(device).eval())


def expected_logits(
    model: DiffusionModel, steps: Sequence[Step], config: GenerationConfig, prompt: Prompt, *, conditioned: bool = True
) -> list[Tensor]:
    """What transformers makes of each step's context, canvas and self-conditioning: float32 [L, V] each."""
    result = []
    before: Step | None = None
    for step in steps:
        conditioning = None
        if step.step and conditioned:
            if before is None or before.step != step.step - 1:
                raise ValueError("steps must be all of a request's, in order")
            conditioning = _scaled(before, config).to(model.device, model.dtype)[None]
        cache = model.new_cache()
        model.encode(prompt.ids, cache, images=prompt.images)
        if step.committed:
            model.encode(step.committed, cache)
        tokens = step.tokens[None].to(model.device)
        result.append(model.decode(tokens, model.stack([cache]), conditioning)[0].cpu())
        before = step
    return result


def differences(
    model: DiffusionModel, steps: Sequence[Step], config: GenerationConfig, prompt: Prompt, *, conditioned: bool = True
) -> list[float]:
    """The largest absolute difference of each step's logits from transformers'."""
    logits = expected_logits(model, steps, config, prompt, conditioned=conditioned)
    return [float((own - step.logits.cpu()).abs().max()) for own, step in zip(logits, steps, strict=True)]


def _scaled(step: Step, config: GenerationConfig) -> Tensor:
    """What transformers feeds back: the logits at the step's temperature."""
    state = SimpleNamespace(config=config, steps=step.step, generator=torch.Generator())
    return step.logits.cpu() / temperature(state)  # type: ignore[arg-type]
