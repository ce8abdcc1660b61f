from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_checkpoint import make_tiny_checkpoint

from dg_sglang.pipelines import Limits
from dg_sglang.pipelines.engines import EngineSpec

pytest.importorskip("fastapi", reason="the API needs FastAPI: pip install 'dg-sglang[api]'")
pymupdf = pytest.importorskip("pymupdf", reason="the API's documents need PyMuPDF: pip install 'dg-sglang[documents]'")


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model: what it answers means nothing, but must be valid all the same."""
    folder: Path = tmp_path_factory.mktemp("api") / "checkpoint"
    make_tiny_checkpoint(folder, canvas_length=48, max_denoising_steps=3)
    return folder


@pytest.fixture(scope="session")
def extractor(checkpoint: Path) -> Iterator[Any]:
    from dg_sglang.api.extractor import PooledExtractor

    engine = EngineSpec(str(checkpoint))
    with PooledExtractor(engine, workers=1, timeout=300, limits=Limits(max_pages=5), threads=1) as made:
        yield made


@pytest.fixture(scope="session")
def pdf() -> bytes:
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((72, 72), "Invoice RE-17 of 3 May 2024")
        page.insert_text((72, 100), "Total 12.50 EUR")
        return bytes(document.tobytes())


@pytest.fixture
def client(extractor: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Makes a client of a running API; settings are `ApiSettings`'."""
    from contextlib import ExitStack

    from fastapi.testclient import TestClient

    from dg_sglang.api.app import create_app
    from dg_sglang.api.settings import ApiSettings

    with ExitStack() as stack:

        def make(**settings: Any) -> TestClient:
            settings = {"folder": tmp_path / "jobs"} | settings
            app = create_app(ApiSettings(**settings), extractor, model="tiny")
            return stack.enter_context(TestClient(app))

        yield make
