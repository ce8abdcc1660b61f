"""Other modes of the server: canvases of a batch that stay together until the last one is done, and two ranks."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from sglang_client import Client, checked, serving

from dg_sglang import Engine

pytestmark = pytest.mark.slow

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 10}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}},
    "required": ["n", "tags"],
}
REQUESTS: list[dict[str, Any]] = [
    {"seed": 0, "max_new_tokens": 40, "max_denoising_steps": 12},
    {"seed": 1, "max_new_tokens": 40, "max_denoising_steps": 12, "constraint": SCHEMA},
    {"seed": 2, "max_new_tokens": 20, "max_denoising_steps": 3},
    {"seed": 3, "max_new_tokens": 60, "max_denoising_steps": 20, "constraint": SCHEMA},
    {"seed": 4, "max_new_tokens": 12, "constraint": {"enum": ["yes", "no"]}, "mode": "causal"},
]


@pytest.fixture(scope="module", params=[("--no-dllm-fdfo",), ("--tp-size", "2")], ids=["synchronous", "two ranks"])
def server(
    request: pytest.FixtureRequest, tiny_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    with serving(tiny_path, tmp_path_factory.mktemp("mode"), *request.param) as client:
        yield client


def test_answers_are_the_engines(server: Client, tiny_path: Path) -> None:
    """All at once, so that rows end at different steps.

    Each of two ranks computes a part of all logits from its own draws: a single token drawn apart would change them.
    """
    engine = Engine.load(tiny_path, device="cpu", dtype="float32")
    prompt = engine.tokenizer("the quick brown fox", add_special_tokens=True)["input_ids"]

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        own = dict(request)
        parameters = {"sampling_seed": own.pop("seed"), "max_new_tokens": own.pop("max_new_tokens")}
        if constraint := own.pop("constraint", None):
            parameters["json_schema"] = json.dumps(constraint)
        body = {"input_ids": prompt, "sampling_params": parameters | {"custom_params": own}}
        return checked(server.post("/generate", body))

    with ThreadPoolExecutor(len(REQUESTS)) as threads:
        answers = list(threads.map(ask, REQUESTS))
    for request, answer in zip(REQUESTS, answers, strict=True):
        expected = engine.generate(input_ids=prompt, **request)
        assert answer["output_ids"] == expected.token_ids
        assert answer["meta_info"]["finish_reason"]["type"] == expected.finish_reason


def test_a_refusal_hangs_nothing(server: Client) -> None:
    assert "uniqueItems" in server.refusal(json_schema='{"type": "array", "uniqueItems": true}')
    assert server.generate(regex="yes|no", max_new_tokens=8)["text"] in ("yes", "no")
