"""A plugin for SGLang's processes that writes down every denoising step, and every run of the vision tower, for
comparison with transformers.

`installed` makes what `importlib.metadata` needs to find it; the records are files in the folder that RECORD names.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

RECORD = "DG_SGLANG_TEST_RECORD"


@dataclass(frozen=True)
class Step:
    """One canvas in one denoising step: `tokens` [L] were read, `logits` [L, V] came out, in a batch of `rows`."""

    prompt: list[int]
    committed: list[int]
    step: int
    rows: int
    tokens: torch.Tensor
    logits: torch.Tensor


@dataclass(frozen=True)
class Look:
    """One run of the vision tower: each picture's pixels and positions in patches, and the soft tokens of all."""

    pixels: list[torch.Tensor]
    positions: list[torch.Tensor]
    features: torch.Tensor


def installed(folder: Path) -> dict[str, str]:
    """Environment variables of a server that loads the recorder; its steps go to `folder`."""
    about = folder / "canvas_recorder-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: canvas-recorder\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[sglang.srt.plugins]\ncanvas_recorder = canvas_recorder:register\n")
    folders = [str(folder), str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(folders), RECORD: str(folder)}


def recorded(folder: Path) -> list[Step]:
    """All steps so far, in order."""
    return [Step(**torch.load(path)) for path in sorted(folder.glob("*.pt"))]


def looks(folder: Path) -> list[Look]:
    """All runs of the vision tower so far, in order."""
    return [Look(**torch.load(path)) for path in sorted((folder / "looks").glob("*.pt"))]


def register() -> None:
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register("dg_sglang.plugin.algorithm.CanvasRenoise._denoise", record, HookType.BEFORE)
    tower = "sglang.srt.models.gemma4_diffusion.DiffusionGemmaForBlockDiffusion.get_image_feature"
    HookRegistry.register(tower, record_look, HookType.AROUND)


def record(algorithm: Any, logits: torch.Tensor, states: list[Any], rows: list[int]) -> None:
    for row, state in zip(rows, states, strict=True):
        sequence = state["served"].sequence
        step = {
            "prompt": sequence.job.prompt.ids,
            "committed": list(sequence.committed),
            "step": sequence.canvas.steps,
            "rows": len(logits),
            "tokens": sequence.canvas.tokens[0].clone(),
            "logits": logits[row].clone(),
        }
        _save(step, Path(os.environ[RECORD]))


def record_look(original: Any, model: Any, items: list[Any]) -> torch.Tensor:
    features: torch.Tensor = original(model, items)
    look = {
        "pixels": [torch.as_tensor(item.feature).clone() for item in items],
        "positions": [torch.as_tensor(item.image_position_ids).clone() for item in items],
        "features": features.clone(),
    }
    _save(look, Path(os.environ[RECORD]) / "looks")
    return features


def _save(record: dict[str, Any], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    count = len(list(folder.glob("*.pt")))
    torch.save(record, folder / f"{count:06}.tmp")
    (folder / f"{count:06}.tmp").rename(folder / f"{count:06}.pt")
