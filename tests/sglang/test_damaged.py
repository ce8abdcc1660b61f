"""Weights that overflow: requests end with an error, the server stays."""

from collections.abc import Iterator

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from safetensors.torch import load_file, save_file
from sglang_client import Client, serving
from tiny_checkpoint import make_tiny_checkpoint

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = make_tiny_checkpoint(tmp_path_factory.mktemp("damaged") / "checkpoint")
    weights = load_file(folder / "model.safetensors")
    weights["model.decoder.norm.weight"][0] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with serving(folder, tmp_path_factory.mktemp("damaged-server"), "--skip-server-warmup") as client:
        yield client


def test_a_request_fails_and_the_next_one_too(server: Client) -> None:
    for parameters in ({}, {"regex": "yes|no"}, {"regex": "yes|no"}):
        response = server.post("/generate", {"text": "Go.", "sampling_params": {"max_new_tokens": 8} | parameters})
        assert response.status_code == 500
        assert "CheckpointError: the model's logits are not finite" in response.text
    assert "uniqueItems" in server.refusal(json_schema='{"type": "array", "uniqueItems": true}')
