"""What constraints cost on an SGLang server, and what it bears: one run, one table.

python tests/benchmarks/server.py [--url URL | --model nano] [--rounds 5] [--requests 24]

Starts a server on this machine's CPU unless it is given one. Step: wall time over denoising steps of requests that take
turns, one at a time, so that other work on the machine falls on both alike. Requests per second: the same constrained
requests, 1, 4 and 8 at a time. Load: 200 mixed requests (`tests/support/server_load.py`).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from argparse import ArgumentParser, RawTextHelpFormatter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests

sys.path.append(str(Path(__file__).parents[1] / "support"))
from server_load import SCHEMAS, Load

from dg_sglang.launch import Server

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "born": {"type": "string", "format": "date"},
        "languages": {"type": "array", "items": {"enum": ["de", "en", "fr"]}, "maxItems": 3},
    },
    "required": ["name", "born", "languages"],
}
TIMEOUT = 600.0


def ask(url: str, seed: int, **parameters: Any) -> tuple[float, int]:
    """Seconds and denoising steps of one request."""
    settings = {"max_new_tokens": 128, "sampling_seed": seed, **parameters}
    body = {"text": "Who is it? Ada Lovelace, 10 December 1815.", "sampling_params": settings}
    started = time.perf_counter()
    response = requests.post(f"{url}/generate", json=body, timeout=TIMEOUT)
    seconds = time.perf_counter() - started
    response.raise_for_status()
    about = response.json()["meta_info"]
    return seconds, sum(dict(zip(about["canvas_index"], about["canvas_steps"], strict=True)).values())


def step_times(url: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds a denoising step, constrained and free, the two taking turns; the first round is not counted."""
    kinds: dict[str, dict[str, Any]] = {
        "free": {"ignore_eos": True, "custom_params": {"confidence_threshold": 0.0, "max_denoising_steps": 24}},
        "json_schema": {"json_schema": json.dumps(PERSON), "custom_params": {"max_denoising_steps": 24}},
        "regex": {"regex": "[A-Z][a-z]{1,20} [A-Z][a-z]{1,20}", "custom_params": {"max_denoising_steps": 24}},
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for index in range(rounds + 1):
        for kind, parameters in kinds.items():
            seconds, steps = ask(url, index, **parameters)
            if index:
                times[kind].append(1000 * seconds / steps)
    return times


def requests_per_second(url: str, count: int, concurrency: int) -> float:
    """Of constrained requests, by 20 schemas."""

    def one(index: int) -> None:
        ask(
            url, index, json_schema=json.dumps(SCHEMAS[index % len(SCHEMAS)]), custom_params={"max_denoising_steps": 24}
        )

    started = time.perf_counter()
    with ThreadPoolExecutor(concurrency) as threads:
        list(threads.map(one, range(count)))
    return count / (time.perf_counter() - started)


def measure(url: str, rounds: int, count: int) -> int:
    """Print everything; the exit code says whether the load went well."""
    times = step_times(url, rounds)
    free = statistics.median(times["free"])
    for kind, values in times.items():
        middle = statistics.median(values)
        span = f"{min(values):.1f} to {max(values):.1f}"
        print(f"step, {kind:<12} {middle:8.1f} ms   {middle / free:5.2f} x free   ({span})")
    for concurrency in (1, 4, 8):
        print(f"{concurrency} at a time      {requests_per_second(url, count, concurrency):8.2f} requests/s")
    load = Load(url, timeout=TIMEOUT)
    report = load.run(200)
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(report.outcomes.items()))
    print(f"load, 8 at a time  {report.seconds:8.1f} s   as they should: {kinds}; failures: {len(report.failures)}")
    print(f"key/value slots still in use: {load.used_tokens()}")
    for failure in report.failures:
        print(f"  {failure}")
    return 1 if report.failures else 0


def main() -> int:
    """Parse the command line, start a server if need be, measure."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawTextHelpFormatter)
    parser.add_argument("--url", help="a running server; default: start one")
    parser.add_argument("--model", default="nano", help="for a server that is started here")
    parser.add_argument("--rounds", type=int, default=5, help="requests of each kind for the step times")
    parser.add_argument("--requests", type=int, default=24, help="for each rate")
    options = parser.parse_args()
    if options.url:
        return measure(options.url, options.rounds, options.requests)
    with Server(options.model, port=0) as server:
        server.wait_ready()
        return measure(server.url, options.rounds, options.requests)


if __name__ == "__main__":
    sys.exit(main())
