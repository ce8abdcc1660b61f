"""SGLang's forward passes against transformers', and a server's answers against the engine's, in float32."""

import base64
import io
import json
import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from canvas_recorder import Step, installed, recorded
from PIL import Image
from safetensors.torch import load_file, save_file
from sglang_client import Client, checked, serving
from tiny_checkpoint import SPECIAL_TOKENS, make_tiny_checkpoint
from upstream_parity import differences, upstream

from dg_sglang import Engine, GenerationConfig
from dg_sglang.chat import Prompt
from dg_sglang.model import DiffusionModel
from dg_sglang.request import GenerationRequest

TOLERANCE = 1e-5
LENGTHS = (9, 23, 24, 25, 40, 104, 300)
"""Prompts of these many tokens, around and far beyond the sliding window of 24."""
PICTURE = Image.frombytes("RGB", (480, 336), random.Random(0).randbytes(480 * 336 * 3))
"""70 soft tokens as it is: resizing differs between image libraries."""


class Server:
    """The recording server, and what it was asked."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self._folder = folder

    def steps(self, prompt: Sequence[int]) -> list[Step]:
        """The steps of one prompt's request (SGLang replaces image tokens by hashes beyond the vocabulary)."""
        return [step for step in recorded(self._folder) if _visible(step.prompt) == _visible(prompt)]


def _visible(prompt: Sequence[int]) -> list[int]:
    image = SPECIAL_TOKENS.index("<|image|>")
    return [image if not 0 <= token < 304 else token for token in prompt]


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny checkpoint with a quarter of its logits: they reach 30, where a float32's last bit is 2e-6."""
    folder = make_tiny_checkpoint(tmp_path_factory.mktemp("soft") / "checkpoint")
    weights = load_file(folder / "model.safetensors")
    weights["model.decoder.norm.weight"] *= 0.25
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def server(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("record")
    with (
        patch.dict(os.environ, installed(folder)),
        serving(tiny_path, tmp_path_factory.mktemp("parity-server")) as client,
    ):
        yield Server(client, folder)


@pytest.fixture(scope="module")
def engine(tiny_path: Path) -> Engine:
    return Engine.load(tiny_path, device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def config(tiny_path: Path, engine: Engine) -> GenerationConfig:
    return engine.config


def prompt_of(length: int) -> list[int]:
    generator = torch.Generator().manual_seed(length)
    return torch.randint(len(SPECIAL_TOKENS), 273, (length,), generator=generator).tolist()


@pytest.fixture(scope="module")
def mixed(server: Server) -> dict[int, list[Step]]:
    """Requests of all lengths at once, three canvases each: free ones, and some under a constraint."""

    def ask(length: int) -> None:
        parameters = {"max_new_tokens": 40, "sampling_seed": length}
        parameters |= {"regex": "[d-g]{30,39}"} if length % 2 else {"ignore_eos": True}
        checked(server.client.post("/generate", {"input_ids": prompt_of(length), "sampling_params": parameters}))

    with ThreadPoolExecutor(len(LENGTHS)) as threads:
        list(threads.map(ask, LENGTHS))
    return {length: server.steps(prompt_of(length)) for length in LENGTHS}


@pytest.fixture(scope="module")
def reference(tiny_path: Path) -> DiffusionModel:
    return upstream(tiny_path)


@pytest.mark.parametrize("length", LENGTHS)
def test_logits_in_a_mixed_batch(
    mixed: dict[int, list[Step]], reference: DiffusionModel, config: GenerationConfig, length: int
) -> None:
    """With and without self-conditioning, beyond the window, and behind committed canvases."""
    steps = mixed[length]
    assert {len(step.committed) for step in steps} >= {0, 16}
    assert {0, 1} <= {step.step for step in steps}
    assert max(differences(reference, steps, config, Prompt(prompt_of(length)))) <= TOLERANCE


def test_batches_were_mixed(mixed: dict[int, list[Step]]) -> None:
    assert max(step.rows for steps in mixed.values() for step in steps) > 2


def with_servers_pixels(prompt: Prompt, path: Path) -> Prompt:
    """The pixels as SGLang's image processor rounds them: the engine's differs by 6e-8, and the logits then by 3e-5."""
    from transformers.models.gemma4.image_processing_gemma4 import Gemma4ImageProcessor

    processed = Gemma4ImageProcessor.from_pretrained(path)(images=[PICTURE], return_tensors="pt")
    own = dict(prompt.images or {})
    assert torch.equal(processed["image_position_ids"], own["image_position_ids"])
    assert torch.allclose(processed["pixel_values"], own["pixel_values"], atol=1e-6)
    return Prompt(prompt.ids, own | {"pixel_values": processed["pixel_values"]})


def test_an_image_in_the_prompt(server: Server, reference: DiffusionModel, engine: Engine) -> None:
    data = io.BytesIO()
    PICTURE.save(data, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "what?"}]
    server.client.chat(content, seed=0, max_tokens=20, ignore_eos=True)
    request = GenerationRequest(prompt="what?", images=[PICTURE])
    prompt = with_servers_pixels(engine._chat.encode(request, 304), engine.path)
    steps = server.steps(prompt.ids)
    assert {len(step.committed) for step in steps} == {0, 16} and sum(step.step > 0 for step in steps) > 2
    assert max(differences(reference, steps, engine.config, prompt)) <= TOLERANCE
    causal = Prompt(
        prompt.ids, {**(prompt.images or {}), "mm_token_type_ids": torch.zeros(1, len(prompt.ids), dtype=int)}
    )
    assert max(differences(reference, steps, engine.config, causal)) > 1e-3  # images must see all of themselves


@pytest.mark.parametrize("width", [23, 25])
def test_another_window_shows(
    mixed: dict[int, list[Step]], tiny_path: Path, config: GenerationConfig, width: int
) -> None:
    """The negative control: off by one, as the window's anchor is easily set."""
    wrong = differences(upstream(tiny_path, sliding_window=width), mixed[104], config, Prompt(prompt_of(104)))
    assert min(wrong) > 1e-3


def test_missing_self_conditioning_shows(
    mixed: dict[int, list[Step]], reference: DiffusionModel, config: GenerationConfig
) -> None:
    steps = mixed[40]
    wrong = differences(reference, steps, config, Prompt(prompt_of(40)), conditioned=False)
    assert all((wrong[index] > 1e-3) == (step.step > 0) for index, step in enumerate(steps))


def test_a_commit_with_self_conditioning_shows(
    mixed: dict[int, list[Step]], tiny_path: Path, config: GenerationConfig
) -> None:
    """A committed canvas is encoded like a prompt; the canvas' input layer would change it, even without a signal."""
    model = upstream(tiny_path)
    decoder = model.module.model.decoder

    def conditioned(module: Any, inputs: Any, embeddings: Tensor) -> Tensor:
        return decoder.self_conditioning(embeddings, torch.zeros_like(embeddings)) if encoding else embeddings

    model.module.model.encoder.get_input_embeddings().register_forward_hook(conditioned)
    steps = [step for step in mixed[40] if step.committed and step.step == 0]
    encoding = False
    assert max(differences(model, steps, config, Prompt(prompt_of(40)))) <= TOLERANCE
    encode = model.encode

    def wrong(tokens: Sequence[int], cache: Any, **options: Any) -> Tensor:
        nonlocal encoding
        encoding = cache.get_seq_length() > 0
        try:
            return encode(tokens, cache, **options)
        finally:
            encoding = False

    model.encode = wrong  # type: ignore[method-assign]
    assert min(differences(model, steps, config, Prompt(prompt_of(40)))) > 1e-3


def test_prompt_logprobs_are_those_of_the_causal_mode(server: Server, reference: DiffusionModel) -> None:
    """Upstream throws the logits of context passes away; these come from them."""
    ids = prompt_of(104)
    body = {
        "input_ids": ids,
        "sampling_params": {"max_new_tokens": 0},
        "return_logprob": True,
        "logprob_start_len": 0,
    }
    given = checked(server.client.post("/generate", body))["meta_info"]["input_token_logprobs"]
    expected = reference.head(reference.encode(ids, reference.new_cache()))[0].log_softmax(-1)
    assert given[0][0] is None and [token for _, token, _ in given] == ids
    for position in range(1, len(ids)):
        assert given[position][0] == pytest.approx(float(expected[position - 1, ids[position]]), abs=TOLERANCE)


SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}},
    "required": ["n", "tags"],
}
OPEN, CLOSE = (SPECIAL_TOKENS.index(token) for token in ("<|channel>", "<channel|>"))


@pytest.mark.parametrize(
    "request_",
    [
        {"max_new_tokens": 40},
        {"max_new_tokens": 40, "constraint": SCHEMA},
        {"max_new_tokens": 96, "constraint": SCHEMA, "thinking": True, "fixed_tokens": {0: OPEN, 9: CLOSE}},
        {"max_new_tokens": 30, "fixed_tokens": {2: 90, 20: 91}},
        {"max_new_tokens": 40, "constraint": SCHEMA, "mode": "causal"},
        {"max_new_tokens": 40, "mode": "causal"},
        {
            "max_new_tokens": 40,
            "constraint": SCHEMA,
            "max_denoising_steps": 5,
            "t_max": 1.2,
            "policy": {"accept": "tilted", "condition": "tilted", "stop": "confident", "whitespace": "compact"},
        },
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_server_and_engine_answer_alike(server: Server, engine: Engine, request_: dict[str, Any], seed: int) -> None:
    prompt = prompt_of(30)
    own = engine.generate(input_ids=prompt, seed=seed, **request_)
    custom = {
        name: value for name, value in request_.items() if name not in ("max_new_tokens", "constraint", "thinking")
    }
    if "fixed_tokens" in custom:
        custom["fixed_tokens"] = {str(position): token for position, token in custom["fixed_tokens"].items()}
    parameters = {"max_new_tokens": request_["max_new_tokens"], "sampling_seed": seed, "custom_params": custom}
    if "constraint" in request_:
        parameters["json_schema"] = json.dumps(request_["constraint"])
    body = {"input_ids": prompt, "sampling_params": parameters, "require_reasoning": request_.get("thinking", False)}
    answer = checked(server.client.post("/generate", body))
    assert answer["output_ids"] == own.token_ids
    about = answer["meta_info"]
    assert about["token_confidence"] == pytest.approx(own.token_confidence, abs=1e-4)
    assert about["finish_reason"]["type"] == own.finish_reason


INVOICE = {
    "type": "object",
    "properties": {"number": {"type": "string", "minLength": 1, "maxLength": 12}, "currency": {"enum": ["EUR", "USD"]}},
    "required": ["number", "currency"],
}


@pytest.mark.slow
@pytest.mark.parametrize("constraint", [INVOICE, None], ids=["constrained", "free"])
def test_nano_answers_alike_through_a_server_and_in_process(nano: Client, constraint: Any) -> None:
    engine = Engine.load("nano", device="cpu", dtype="float32")
    text = "Extract number and currency as JSON.\nInvoice RE-2025-03417, 1 March 2025\nTotal: 1,234.56 EUR"
    for seed in range(2):
        own = engine.generate(text, constraint=constraint, seed=seed, max_new_tokens=160, max_denoising_steps=40)
        fields: dict[str, Any] = {"seed": seed, "max_tokens": 160, "custom_params": {"max_denoising_steps": 40}}
        if constraint:
            schema = {"name": "invoice", "schema": json.loads(json.dumps(constraint))}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        answer = nano.chat(text, **fields)["choices"][0]
        assert answer["message"]["content"] == own.text
        assert answer["finish_reason"] == own.finish_reason
