"""The GPU table of `kernel_speed`: bytes moved, time, and the share of the bandwidth that a plain copy reaches.

Next to each kernel stands what would do the same: torch eager, torch.compile, and FlashInfer where it is installed.
"""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch
from vocabularies import Tokens

from dg_sglang.grammar import CanvasPosterior, TokenAutomaton
from dg_sglang.grammar.step_posterior import StepPosterior

CANVAS, BUDGET, HIDDEN = 256, 1024, 2816
"""HIDDEN: DiffusionGemma 26B's embedding width."""
EMBEDDING = torch.bfloat16
NO_FLASHINFER = "FlashInfer is not installed, so its line is missing: pip install flashinfer-python"


def milliseconds(step: Callable[[], Any], rounds: int) -> float:
    """The median time of a call between two events, after three calls to warm up."""
    for _ in range(3):
        step()
    spent = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        step()
        end.record()
        end.synchronize()
        spent.append(start.elapsed_time(end))
    return statistics.median(spent)


def ceiling(rounds: int) -> float:
    """Bytes a millisecond of a copy of 2 GiB, read and written."""
    source = torch.empty(2**31, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.nbytes / milliseconds(lambda: target.copy_(source), rounds)


def eager(logits: torch.Tensor, heat: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What `row_statistics` and `draw_tokens` give, in torch."""
    log_p = (logits.float() / heat[:, None]).log_softmax(-1)
    p = log_p.exp()
    race = p / torch.empty_like(p).exponential_()
    return -(p * log_p).sum(-1), p.argmax(-1), race.argmax(-1)


def rows_table(logits: torch.Tensor, automaton: TokenAutomaton) -> dict[str, tuple[float, Callable[[], Any]]]:
    """Per line: bytes that have to be moved, and the call."""
    from dg_sglang.kernels import cpu, gpu, join

    (count, width), device = logits.shape, logits.device
    heat = torch.full((count,), 0.8, device=device)
    uniform = torch.rand(count, dtype=torch.float64, device=device)
    scaled = torch.empty_like(logits)
    labels = automaton.labels()
    table, canvases = cpu.classes(torch.from_numpy(labels.token_class), labels.classes), count // CANVAS
    classes = join.classes([table] * canvases, range(0, count, CANVAS), CANVAS).to(device)
    rows, sums = gpu.class_statistics(logits, heat, classes)
    label = (classes.column[:-1, None] + max(table.dominant, 0)).expand(-1, CANVAS)
    tilt = torch.zeros(CANVAS, classes.count, device=device, dtype=torch.float64)
    places, everyone = torch.arange(count, device=device), range(canvases)
    chosen = uniform.view(canvases, CANVAS)
    embedding = torch.randn(width, HIDDEN, device=device, dtype=EMBEDDING)
    read, listed = logits.nbytes, count * len(table.tokens) * logits.element_size()
    compiled = torch.compile(eager)
    lines: dict[str, tuple[float, Callable[[], Any]]] = {
        "row statistics": (read, lambda: gpu.row_statistics(logits, heat)),
        "  + draw": (read, lambda: gpu.draw_tokens(gpu.row_statistics(logits, heat), places, uniform)),
        "  + scaled logits written": (2 * read, lambda: gpu.row_statistics(logits, heat, scaled=scaled)),
        "  torch eager": (read, lambda: eager(logits, heat)),
        "  torch.compile": (read, lambda: compiled(logits, heat)),
        "row and class statistics": (read + listed, lambda: gpu.class_statistics(logits, heat, classes)),
        "draw in the dominant class": (0, lambda: gpu.draw_in_classes(sums, label, chosen)),
        "best in the dominant class": (0, lambda: gpu.best_in_classes(sums, label)),
        "tilted logits written": (
            2 * read,
            lambda: gpu.tilted_logits(logits, heat, tilt, classes, everyone, lowest=-1e4, floor=-3e4, out=scaled),
        ),
        "soft embedding": (
            read + embedding.nbytes,
            lambda: gpu.soft_embedding(logits, rows.log_norm, embedding),
        ),
        "  softmax and matmul": (
            read + embedding.nbytes,
            lambda: torch.softmax(logits.float() / heat[:, None], -1).to(EMBEDDING) @ embedding,
        ),
    }
    if importlib.util.find_spec("flashinfer") is not None:
        from flashinfer import sampling

        lines["  FlashInfer softmax + sampling"] = (
            read,
            lambda: sampling.sampling_from_probs(sampling.softmax(logits.float(), heat)),
        )
    return lines


def grammar_table(logits: torch.Tensor, automaton: TokenAutomaton) -> dict[str, tuple[float, Callable[[], Any]]]:
    """The work of constrained canvases, piece by piece, all canvases in each call."""
    canvases = {
        row: CanvasPosterior(automaton, CANVAS, start=automaton.start, remaining=BUDGET - CANVAS)
        for row in range(len(logits) // CANVAS)
    }
    batch, heat = logits.view(len(canvases), CANVAS, -1), torch.ones(len(canvases), CANVAS, device=logits.device)
    generators = [torch.Generator(logits.device).manual_seed(row) for row in canvases]

    def step() -> StepPosterior:
        return StepPosterior(canvases, batch, heat)

    read = step()
    return {
        "class and set statistics": (0, step),
        "  + messages, log Z": (0, lambda: step().log_z),
        "joint draw": (0, lambda: read.draw(generators)),
        "joint mode": (0, read.mode),
        "class statistics … tilted entropies": (0, lambda: step().entropy(range(len(canvases)))),
    }


def measure_gpu(tokens: Tokens, automaton: TokenAutomaton, batches: Sequence[int], rounds: int) -> None:
    """Print the table of one vocabulary."""
    top = ceiling(rounds)
    print(f"\n{tokens.name} on {torch.cuda.get_device_name()}: a copy moves {top / 1e9:.2f} TB/s")
    for batch in batches:
        logits = torch.randn(batch * CANVAS, tokens.size, device="cuda") * 3
        table = rows_table(logits, automaton) | grammar_table(logits, automaton)
        print(f"{f'logits [{batch}, {CANVAS}, {tokens.size:,}]':<36}{'MiB':>9}{'ms':>9}{'of copy':>9}")
        for name, (moved, step) in table.items():
            spent = milliseconds(step, rounds)
            share = f"{moved / spent / top:.0%}" if moved else ""
            print(f"{name:<36}{moved / 2**20:>9.0f}{spent:>9.3f}{share:>9}")
        del logits, table
    if importlib.util.find_spec("flashinfer") is None:
        print(NO_FLASHINFER)
