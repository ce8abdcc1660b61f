"""One command for a machine with a GPU: does the server compute what transformers does, and how fast is it?

python tests/benchmarks/gpu_check.py [--model google/diffusiongemma-26B-A4B-it] [--device cuda] [--dtype bfloat16]

Prints one table: how far the logits are from transformers', with its own other attention for scale; the step time with
and without a grammar; tokens per second. The server and transformers run one after the other, so the
model need fit the GPU only once. With --model tiny (random weights) or nano it is a smoke test.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace, RawTextHelpFormatter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from os import environ
from pathlib import Path
from typing import Any
from unittest.mock import patch

import requests
import torch

sys.path.append(str(Path(__file__).parents[1] / "support"))
from canvas_recorder import Step, installed, recorded
from tiny_checkpoint import make_tiny_checkpoint
from upstream_parity import expected_logits, upstream

from dg_sglang import checkpoint
from dg_sglang.chat import Prompt
from dg_sglang.config import checkpoint_config
from dg_sglang.launch import Server

TIMEOUT = 1200.0
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 60},
        "born": {"type": "string", "format": "date"},
        "works": {"type": "array", "items": {"type": "string", "maxLength": 60}, "minItems": 3, "maxItems": 12},
    },
    "required": ["name", "born", "works"],
}
QUESTION = "Name, date of birth and works of Ada Lovelace, as JSON."
PROMPTS = (48, 700, 1600)
"""Tokens of the prompts that parity is measured on: within, around and beyond the sliding window of 1024."""


def ask(url: str, body: dict[str, Any]) -> dict[str, Any]:
    response = requests.post(f"{url}/generate", json=body, timeout=TIMEOUT)
    if response.status_code != 200:
        raise RuntimeError(f"{response.status_code}: {response.text}")
    answer: dict[str, Any] = response.json()
    return answer


def prompt_of(length: int, vocabulary: int) -> list[int]:
    generator = torch.Generator().manual_seed(length)
    return torch.randint(vocabulary // 8, vocabulary // 2, (length,), generator=generator).tolist()


def record(options: Namespace, folder: Path, vocabulary: int, limit: int) -> dict[tuple[int, ...], list[Step]]:
    """Three steps of two canvases for each prompt, in one mixed batch."""
    prompts = [prompt_of(min(length, limit), vocabulary) for length in PROMPTS]
    parameters = {
        "max_new_tokens": options.canvas + 1,
        "ignore_eos": True,
        "custom_params": {"max_denoising_steps": 3, "confidence_threshold": 0.0},
    }
    with patch.dict(environ, installed(folder)), serving(options) as url, ThreadPoolExecutor(len(prompts)) as threads:
        bodies = [{"input_ids": prompt, "sampling_params": parameters} for prompt in prompts]
        list(threads.map(lambda body: ask(url, body), bodies))
    steps = recorded(folder)  # SGLang's own warm-up among them
    return {tuple(prompt): [step for step in steps if step.prompt == prompt] for prompt in prompts}


@contextmanager
def serving(options: Namespace) -> Iterator[str]:
    """A server's URL; its log is shown if anything fails."""
    log = options.scratch / "server.log"
    with (
        log.open("wb") as output,
        Server(options.path, device=options.device, dtype=options.dtype, port=0, log=output) as server,
    ):
        try:
            server.wait_ready(TIMEOUT)
            yield server.url
        except BaseException:
            print(log.read_text(errors="replace")[-8000:], file=sys.stderr)
            raise


def parity(options: Namespace, recorded_steps: Mapping[tuple[int, ...], Sequence[Step]]) -> None:
    """The table's first part."""
    defaults = checkpoint_config(options.path, checkpoint.inspect(options.path).generation)
    config = defaults.replace({"max_denoising_steps": 3})
    logits = {"server": [step.logits.float().cpu() for steps in recorded_steps.values() for step in steps]}
    for attention in ("sdpa", "eager"):
        model = upstream(options.path, dtype=getattr(torch, options.dtype), device=options.device, attention=attention)
        logits[attention] = [
            one.float()
            for prompt, steps in recorded_steps.items()
            for one in expected_logits(model, steps, config, Prompt(list(prompt)))
        ]
        del model
        if options.device == "cuda":
            torch.cuda.empty_cache()
    for name, own in (("server", logits["server"]), ("transformers (eager)", logits["eager"])):
        pairs = list(zip(own, logits["sdpa"], strict=True))
        apart = [(one - other).abs() for one, other in pairs]
        agree = statistics.mean(float((one.argmax(-1) == other.argmax(-1)).float().mean()) for one, other in pairs)
        print(
            f"logits, {name} against transformers (sdpa): largest {max(float(d.max()) for d in apart):.2e}, "
            f"mean {statistics.mean(float(d.mean()) for d in apart):.2e}, same argmax {agree:.4f}   "
            f"({len(apart)} steps)"
        )


def speed(options: Namespace) -> None:
    """The table's second part: medians over rounds in which the kinds take turns."""
    fixed = {"max_denoising_steps": options.steps}
    kinds: dict[str, dict[str, Any]] = {
        "free": {"ignore_eos": True, "custom_params": fixed | {"confidence_threshold": 0.0}},
        "json_schema": {"json_schema": json.dumps(SCHEMA), "custom_params": fixed},
        "free, own settings": {},
        "json_schema, own settings": {"json_schema": json.dumps(SCHEMA)},
    }
    with serving(options) as url:
        for concurrency in (1, 8):
            figures: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
            for index in range(options.rounds + 1):
                for kind, parameters in kinds.items():
                    figure = _batch(url, concurrency, index, options.canvas, parameters)
                    if index:  # the first round compiles
                        figures[kind].append(figure)
            for kind, values in figures.items():
                step, rate = (statistics.median(column) for column in zip(*values, strict=True))
                print(f"{kind:<26} {concurrency} at a time: {1000 * step:8.2f} ms a step   {rate:8.0f} tokens/s")


def _batch(url: str, concurrency: int, seed: int, canvas: int, parameters: dict[str, Any]) -> tuple[float, float]:
    """Seconds a step of the slowest request, and tokens per second of all."""

    def one(number: int) -> tuple[int, int]:
        settings = {"max_new_tokens": max(2 * canvas, 256), "sampling_seed": 1000 * seed + number, **parameters}
        about = ask(url, {"text": QUESTION, "sampling_params": settings})["meta_info"]
        steps = dict(zip(about["canvas_index"], about["canvas_steps"], strict=True))
        return sum(steps.values()), about["completion_tokens"]

    started = time.perf_counter()
    with ThreadPoolExecutor(concurrency) as threads:
        answers = list(threads.map(one, range(concurrency)))
    seconds = time.perf_counter() - started
    return seconds / max(steps for steps, _ in answers), sum(tokens for _, tokens in answers) / seconds


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawTextHelpFormatter)
    parser.add_argument("--model", default="google/diffusiongemma-26B-A4B-it", help="a checkpoint, nano, or tiny")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=48, help="denoising steps a canvas where they are fixed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        options.scratch = folder = Path(scratch)
        if options.model == "tiny":
            options.path = make_tiny_checkpoint(folder / "tiny")
        else:
            options.path = checkpoint.resolve(options.model)
        config = checkpoint.inspect(options.path).config
        options.canvas = config["canvas_length"]
        text = config["text_config"]
        limit = text["max_position_embeddings"] - 3 * options.canvas
        hardware = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
        print(f"{options.model}, {options.dtype}, {hardware}")
        parity(options, record(options, folder / "record", text["vocab_size"], limit))
        speed(options)


if __name__ == "__main__":
    main()
