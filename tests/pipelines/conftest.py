from pathlib import Path

import pytest
from tiny_checkpoint import make_tiny_checkpoint

from dg_sglang import Engine


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """A random model: what it answers means nothing, but must be valid all the same."""
    folder: Path = tmp_path_factory.mktemp("pipelines") / "checkpoint"
    return Engine.load(make_tiny_checkpoint(folder, canvas_length=48, max_denoising_steps=3), device="cpu")
