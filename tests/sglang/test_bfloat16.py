"""bfloat16 on a CPU: the server rounds as transformers does, and answers stay valid."""

import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
import pytest
import torch

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from canvas_recorder import Step, installed, recorded
from server_load import SCHEMAS
from sglang_client import Client, checked, serving
from tiny_checkpoint import SPECIAL_TOKENS
from upstream_parity import expected_logits, upstream

from dg_sglang.chat import Prompt
from dg_sglang.config import checkpoint_config

pytestmark = pytest.mark.slow

LENGTHS = (9, 40, 104)
"""Prompts of these many tokens: within and beyond the sliding window of 24."""
MARGIN = 1.2
"""How much farther from float32 the server may be than transformers in bfloat16 is."""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("record")


@pytest.fixture(scope="module")
def server(tiny_path: Path, record: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with (
        patch.dict(os.environ, installed(record)),
        serving(tiny_path, tmp_path_factory.mktemp("bfloat16-server"), dtype="bfloat16") as client,
    ):
        yield client


def prompt_of(length: int) -> list[int]:
    generator = torch.Generator().manual_seed(length)
    return torch.randint(len(SPECIAL_TOKENS), 273, (length,), generator=generator).tolist()


@pytest.fixture(scope="module")
def steps(server: Client, record: Path) -> dict[int, list[Step]]:
    """Two canvases of each prompt, in one mixed batch."""

    def ask(length: int) -> None:
        parameters = {"max_new_tokens": 32, "sampling_seed": length, "ignore_eos": True}
        checked(server.post("/generate", {"input_ids": prompt_of(length), "sampling_params": parameters}))

    with ThreadPoolExecutor(len(LENGTHS)) as threads:
        list(threads.map(ask, LENGTHS))
    every = recorded(record)
    return {length: [step for step in every if step.prompt == prompt_of(length)] for length in LENGTHS}


def errors(path: Path, steps: dict[int, list[Step]], **text_config: Any) -> tuple[float, float]:
    """The mean distance of the server's and of transformers' bfloat16 logits from float32's, step by step.

    `text_config` changes transformers' side.
    """
    config = checkpoint_config(path, json.loads((path / "generation_config.json").read_text()))
    exact, rounded = upstream(path, **text_config), upstream(path, dtype=torch.bfloat16, **text_config)
    server, transformers = [], []
    for length, own in steps.items():
        prompt = Prompt(prompt_of(length))
        logits = zip(
            own, expected_logits(exact, own, config, prompt), expected_logits(rounded, own, config, prompt), strict=True
        )
        for step, true, theirs in logits:
            server.append(float((step.logits.float() - true).abs().mean()))
            transformers.append(float((theirs.float() - true).abs().mean()))
    return sum(server) / len(server), sum(transformers) / len(transformers)


def test_logits_are_as_near_to_float32_as_transformers_are(steps: dict[int, list[Step]], tiny_path: Path) -> None:
    assert all({len(step.committed) for step in own} >= {0, 16} for own in steps.values())
    assert max(step.step for own in steps.values() for step in own) > 0  # with self-conditioning, too
    server, transformers = errors(tiny_path, steps)
    assert 0 < server <= MARGIN * transformers


def test_another_window_shows(steps: dict[int, list[Step]], tiny_path: Path) -> None:
    """The negative control."""
    server, transformers = errors(tiny_path, {104: steps[104]}, sliding_window=25)
    assert server > MARGIN * transformers


@pytest.mark.parametrize("mode", ["diffusion", "causal"])
def test_answers_are_valid(server: Client, mode: str) -> None:
    def ask(schema: dict[str, Any]) -> dict[str, Any]:
        return server.generate(json_schema=json.dumps(schema), max_new_tokens=96, custom_params={"mode": mode})

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, SCHEMAS))
    for schema, answer in zip(SCHEMAS, answers, strict=True):
        jsonschema.validate(json.loads(answer["text"]), schema)
        assert answer["meta_info"]["finish_reason"]["type"] == "stop"


def test_so_are_those_under_a_regex_and_a_grammar(server: Client) -> None:
    assert re.fullmatch("[a-c]{3}-[0-9]{2}", server.generate(regex="[a-c]{3}-[0-9]{2}", max_new_tokens=32)["text"])
    assert server.generate(ebnf='root ::= "yes" | "no"', max_new_tokens=16)["text"] in ("yes", "no")
