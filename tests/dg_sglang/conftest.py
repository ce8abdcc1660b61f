"""The tiny random checkpoint, loaded by our engine and by transformers."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_checkpoint import make_tiny_checkpoint

from dg_sglang import Engine


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "checkpoint")


@pytest.fixture(scope="session")
def engine(tiny_path: Path) -> Engine:
    return Engine.load(tiny_path, device="cpu")


@pytest.fixture(scope="session")
def upstream(tiny_path: Path) -> Any:
    from transformers import DiffusionGemmaForBlockDiffusion

    return DiffusionGemmaForBlockDiffusion.from_pretrained(tiny_path).eval()
