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

CANVAS, BUDGET, HIDDEN = 256, 1024, 2816
"""HIDDEN: DiffusionGemma 26B's embedding width."""


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
    from dg_sglang.kernels import cpu, gpu

    count, width = logits.shape
    heat = torch.full((count,), 0.8, device="cuda")
    uniform = torch.rand(count, dtype=torch.float64, device="cuda")
    scaled = torch.empty_like(logits)
    labels = automaton.labels()
    classes = cpu.classes(torch.from_numpy(labels.token_class), labels.classes).to(gpu.DEVICE)
    rows, sums = gpu.class_statistics(logits, heat, classes)
    label = torch.full((count,), max(classes.dominant, 0), device="cuda")
    tilt = torch.zeros(count, classes.count + 1, device="cuda")
    embedding = torch.randn(width, HIDDEN, device="cuda", dtype=torch.bfloat16)
    read, listed = logits.nbytes, count * len(classes.tokens) * logits.element_size()
    compiled = torch.compile(eager)
    lines: dict[str, tuple[float, Callable[[], Any]]] = {
        "row statistics": (read, lambda: gpu.row_statistics(logits, heat)),
        "  + draw": (read, lambda: gpu.draw_tokens(gpu.row_statistics(logits, heat), uniform)),
        "  + scaled logits written": (2 * read, lambda: gpu.row_statistics(logits, heat, scaled=scaled)),
        "  torch eager": (read, lambda: eager(logits, heat)),
        "  torch.compile": (read, lambda: compiled(logits, heat)),
        "row and class statistics": (read + listed, lambda: gpu.class_statistics(logits, heat, classes)),
        "draw in the dominant class": (0, lambda: gpu.draw_in_classes(sums, label, uniform)),
        "best in the dominant class": (0, lambda: gpu.best_in_classes(sums, label)),
        "tilted probabilities, bf16": (
            read + 2 * logits.numel(),
            lambda: gpu.tilted_probabilities(logits, heat, rows.log_norm, tilt, classes, out=scaled),
        ),
        "soft embedding": (
            read + embedding.nbytes,
            lambda: gpu.soft_embedding(logits, heat, rows.log_norm, tilt, classes, embedding),
        ),
        "  softmax and matmul": (
            read + embedding.nbytes,
            lambda: torch.softmax(logits.float() / heat[:, None], -1).bfloat16() @ embedding,
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
    """The work of one constrained canvas, piece by piece."""
    posterior = CanvasPosterior(automaton, CANVAS, start=automaton.start, remaining=BUDGET - CANVAS)
    generator = torch.Generator("cuda").manual_seed(0)

    def fresh(piece: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> None:
            posterior._cache.clear()
            piece()

        return run

    posterior.update(logits[:CANVAS])
    return {
        "class and set statistics": (0, lambda: posterior.update(logits[:CANVAS])),
        "messages, log Z": (0, fresh(lambda: posterior.log_z)),
        "messages + joint draw": (0, fresh(lambda: posterior.draw(generator))),
        "joint mode": (0, fresh(posterior.mode)),
        "messages + tilted entropies": (0, fresh(posterior.entropy)),
    }


def measure_gpu(tokens: Tokens, automaton: TokenAutomaton, batches: Sequence[int], rounds: int) -> None:
    """Print the table of one vocabulary."""
    top = ceiling(rounds)
    print(f"\n{tokens.name} on {torch.cuda.get_device_name()}: a copy moves {top / 1e9:.2f} TB/s")
    for batch in batches:
        logits = torch.randn(batch * CANVAS, tokens.size, device="cuda") * 3
        table = rows_table(logits, automaton)
        if batch == batches[0]:
            table |= grammar_table(logits, automaton)
        print(f"{f'logits [{batch}, {CANVAS}, {tokens.size:,}]':<34}{'MiB':>9}{'ms':>9}{'of copy':>9}")
        for name, (moved, step) in table.items():
            spent = milliseconds(step, rounds)
            share = f"{moved / spent / top:.0%}" if moved else ""
            print(f"{name:<34}{moved / 2**20:>9.0f}{spent:>9.3f}{share:>9}")
        del logits, table
    if importlib.util.find_spec("flashinfer") is None:
        print("FlashInfer is not installed: pip install flashinfer-python")
