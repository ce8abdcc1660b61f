"""SGLang's server on a CPU: one for each checkpoint and test session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from sglang_client import TIMEOUT, Client, serving
from tiny_checkpoint import make_tiny_checkpoint

from dg_sglang.remote import SGLangEngine


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "checkpoint")


@pytest.fixture(scope="session")
def tiny(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Random weights: what it answers means nothing, but must be valid all the same."""
    with serving(tiny_path, tmp_path_factory.mktemp("tiny-server")) as client:
        yield client


@pytest.fixture(scope="session")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The bundled checkpoint."""
    with serving("nano", tmp_path_factory.mktemp("nano-server")) as client:
        yield client


@pytest.fixture(scope="session")
def tiny_engine(tiny: Client) -> SGLangEngine:
    return SGLangEngine(tiny.url, timeout=TIMEOUT)


@pytest.fixture(scope="session")
def nano_engine(nano: Client) -> SGLangEngine:
    return SGLangEngine(nano.url, timeout=TIMEOUT)
