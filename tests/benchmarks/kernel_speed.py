"""What one denoising step costs next to transformers' own sampler step, in time and memory, in one run.

python tests/benchmarks/kernel_speed.py [--vocabulary gemma|nano ...] [--batch 1 4 8] [--rounds N] [--memory GIB]
python tests/benchmarks/kernel_speed.py --device cuda

On a CPU: transformers' `_denoising_step` without its forward pass, `denoise_step` with and without a constraint, and
the specification in torch. Times are CPU milliseconds of one thread, taken in turn, so that other work on the machine
falls on all alike; "of plain" is the share of transformers' step. `denoise_step` takes the memory of the step before,
as the engine does. Memory is what a first step needs at its peak beyond the logits; of small vocabularies the
allocator's caches hide that. Every table is a process of its own that may take --memory and no more: steps that need
more are named, with their need.
On a GPU: see `kernel_speed_gpu`.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

sys.path.append(str(Path(__file__).parents[1] / "support"))
from vocabularies import VOCABULARIES, Tokens

from dg_sglang.canvas import CanvasState
from dg_sglang.config import GenerationConfig, Policy
from dg_sglang.grammar import CanvasPosterior, JsonSchema, TokenAutomaton, compile_constraint
from dg_sglang.kernels import reference
from dg_sglang.sampler import denoise_step

CANVAS, BUDGET = 256, 1024
COPIES = {"transformers": 7, "specification": 14, "free": 1, "multinomial": 4, "constrained": 1, "tilted": 1}
"""How often a step needs the logits' size at most: for --memory. Each of ours keeps a copy, its conditioning."""
GIB = 2**30
_RUNTIME = 2.0
"""GiB for the interpreter, torch and the compilers, beside what is measured."""


def upstream_step(logits: Tensor) -> Callable[[], Any]:
    """transformers' sampler: its `_denoising_step`, whose forward pass only returns the logits."""
    from transformers.models.diffusion_gemma import generation_diffusion_gemma as upstream

    batch, length, width = logits.shape
    config = GenerationConfig()
    steps = config.max_denoising_steps
    weight = SimpleNamespace(dtype=logits.dtype)
    model = SimpleNamespace(
        config=SimpleNamespace(text_config=SimpleNamespace(vocab_size=width)),
        model=SimpleNamespace(decoder=SimpleNamespace(embed_tokens=SimpleNamespace(weight=weight))),
    )
    bound = upstream.EntropyBoundSamplerConfig(config.entropy_bound)
    sampler = upstream.EntropyBoundSampler(bound, length, width, steps)
    stopping = upstream.StableAndConfidentStoppingCriteria(config.stability_threshold, config.confidence_threshold)
    schedule = upstream.LinearTemperatureScheduleLogitsProcessor(config.t_min, config.t_max, steps)
    canvas = torch.zeros(batch, length, dtype=torch.int64)
    return lambda: upstream.DiffusionGemmaGenerationMixin._denoising_step(
        model, lambda **_: SimpleNamespace(logits=logits), canvas, canvas, None, None, None, {}, None,
        torch.zeros(batch, dtype=torch.bool), steps, sampler, upstream.LogitsProcessorList([schedule]), stopping,
    )  # fmt: skip


def specification_step(logits: Tensor) -> None:
    """The same operations by `kernels.reference`."""
    rows = logits.flatten(0, 1)
    read = reference.row_statistics(rows, torch.full((len(rows),), 0.8), scaled=torch.empty_like(rows))
    reference.draw_tokens(read, torch.arange(len(rows)), torch.rand(len(rows), dtype=torch.float64))


def own_step(
    logits: Tensor, config: GenerationConfig, automaton: TokenAutomaton | None, kept: list[Tensor] | None = None
) -> Callable[[], Any]:
    """`denoise_step` of a fresh canvas for each row, with a constraint or without; kept[0] takes its conditioning."""
    batch, length, width = logits.shape
    posteriors = [
        None
        if automaton is None
        else CanvasPosterior(automaton, length, start=automaton.start, remaining=BUDGET - length)
        for _ in range(batch)
    ]

    def step() -> None:
        states = [
            CanvasState(
                config, torch.Generator().manual_seed(row), length=length, vocab_size=width, posterior=posterior
            )
            for row, posterior in enumerate(posteriors)
        ]
        denoise_step(logits, states, out=kept[0] if kept else None)

    return step


def invoice(tokens: Tokens) -> TokenAutomaton:
    """The built-in invoice schema over a vocabulary."""
    from dg_sglang.pipelines.schemas import Invoice

    grammar = compile_constraint(JsonSchema(Invoice.model_json_schema()))
    ends = {"end_token_ids": tokens.end_token_ids, "pad_token_id": tokens.pad_token_id}
    return TokenAutomaton(grammar, tokens.vocabulary, **ends)


def cpu_milliseconds(step: Callable[[], Any]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    step()
    return (time.process_time() - start) * 1e3


def available() -> int:
    """Bytes of memory that the system can give."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def peak_bytes(step: Callable[[], Any]) -> int:
    """How far one call raises the resident memory, by Linux's high-water mark."""

    def resident(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

    Path("/proc/self/clear_refs").write_text("5")  # the mark starts again from here
    before = resident("VmRSS")
    step()
    return resident("VmHWM") - before


def measure(tokens: Tokens, batch: int, rounds: int, memory: float) -> None:
    """Print the table of one vocabulary and batch."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, CANVAS, tokens.size, generator=generator) * 3
    size = logits.nbytes
    automaton = invoice(tokens)
    tilted = GenerationConfig(policy=Policy(accept="tilted"))
    kept: list[Tensor] = []
    steps: dict[str, Callable[[], Any]] = {
        "transformers": upstream_step(logits),
        "specification": lambda: specification_step(logits),
        "free": own_step(logits, GenerationConfig(), None, kept),
        "multinomial": own_step(logits, GenerationConfig(sampling="multinomial"), None, kept),
        "constrained": own_step(logits, GenerationConfig(), automaton, kept),
        "tilted": own_step(logits, tilted, automaton, kept),
    }
    need = {name: size * (2 + COPIES[name]) / GIB for name in steps}  # with the logits and the kept conditioning
    steps = {name: step for name, step in steps.items() if need[name] < memory}
    peaks = {name: peak_bytes(step) for name, step in steps.items()}  # of first steps; also compiles the kernels
    kept.append(torch.empty_like(logits))
    spent: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            spent[name].append(cpu_milliseconds(step))
    print(
        f"\n{tokens.name}: logits [{batch}, {CANVAS}, {tokens.size:,}] float32, {size / GIB:.2f} GiB; {rounds} rounds"
    )
    plain = statistics.median(spent["transformers"]) if "transformers" in spent else None
    print(f"{'step':<34}{'CPU ms':>10}{'x free':>8}{'of plain':>10}{'peak GiB':>10}{'x free':>8}")
    titles = {
        "transformers": "transformers' sampler step",
        "specification": "the specification in torch",
        "free": "denoise_step, free",
        "multinomial": 'free, sampling="multinomial"',
        "constrained": "constrained (invoice schema)",
        "tilted": "constrained, tilted statistics",
    }
    for name, title in titles.items():
        if name not in steps:
            print(f"{title:<34}{'—':>10}  does not fit: needs {need[name]:.0f} GiB of {memory:g}")
            continue
        ratios = [value / free for value, free in zip(spent[name], spent["free"], strict=True)]
        memory_ratio = f"{peaks[name] / peaks['free']:.2f}" if peaks["free"] > size / 2 else "—"
        share = f"{statistics.median(spent[name]) / plain:.1%}" if plain else "—"
        print(
            f"{title:<34}{statistics.median(spent[name]):>10.1f}{statistics.median(ratios):>8.2f}{share:>10}"
            f"{peaks[name] / GIB:>10.2f}{memory_ratio:>8}"
        )
    for name in (name for name in ("constrained", "tilted") if name in steps):
        added = [value - free for value, free in zip(spent[name], spent["free"], strict=True)]
        of_free = statistics.median(x / free for x, free in zip(added, spent["free"], strict=True))
        of_plain = f", {statistics.median(added) / plain:.2%} of the plain step" if plain else ""
        goal = " (goal 3%)" if name == "constrained" else ""
        spare = statistics.median(added)
        print(f"the constraint adds, {name}: {spare:.1f} ms, {of_free:.1%} of a free step{goal}{of_plain}")
    if plain:
        faster = plain / statistics.median(spent["free"])
        share = (
            f", {peaks['free'] / peaks['transformers']:.0%} of its peak (goal 25%)" if peaks["free"] > size / 2 else ""
        )
        print(f"free: {faster:.0f} times as fast as transformers' (goal 3){share}")
    print(f"tables of the schema: {automaton.table_bytes / 2**20:.2f} MiB, {automaton.states} states", flush=True)


def limited(name: str, batch: int, rounds: int, memory: float) -> None:
    """`measure` in a process that may not take more memory, so that nothing else on the machine suffers."""
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_DATA, (int((memory + _RUNTIME) * GIB),) * 2)
    measure(VOCABULARIES[name](), batch, rounds, memory)


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--vocabulary", choices=list(VOCABULARIES), nargs="+", default=["nano", "gemma"])
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", type=float, help="GiB that logits and step may take; default: 9/10 of what is free")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("--device cuda: torch finds no CUDA device here")
    for name in options.vocabulary:
        if options.device == "cuda":
            from kernel_speed_gpu import measure_gpu

            tokens = VOCABULARIES[name]()
            measure_gpu(tokens, invoice(tokens), options.batch, options.rounds)
            continue
        for batch in options.batch:
            memory = options.memory or 0.9 * available() / GIB
            process = get_context("spawn").Process(target=limited, args=(name, batch, options.rounds, memory))
            process.start()
            process.join()
            if process.exitcode:
                sys.exit(f"{name}, batch {batch}: the process ended with {process.exitcode}")


if __name__ == "__main__":
    main()
