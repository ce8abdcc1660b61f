"""Train nano on generated documents: two processes on two cores, or one process.

    torchrun --nproc-per-node 2 train.py --minutes 100        # goes on from runs/last.pt if it is there

Loss = decoder cross-entropy over noisy canvases (uniform diffusion, self-conditioning on half of them) + 0.5 x the
encoder's causal loss on the answer + 0.1 x its causal loss on a fifth of the prompt (which teaches copying).
Matrices are trained by Muon (Jordan et al. 2024), the rest by AdamW; documents grow from short forms to full ones.
"""

import argparse
import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
import torch.distributed as dist
from data import MAX_TOKENS, Batch, Tokens, collate, corrupt, corrupt_behind, corrupt_evenly, draw_tokens
from generator import RUNS
from model import Nano, NanoConfig
from optimizer import Muon
from pools import Pools, load_pools
from tokenizers import Tokenizer
from torch import Tensor

PAD_WEIGHT = 0.15
CANVASES = 6
EVALUATION_NOISE = (0.3, 0.6, 1.0)


def curriculum(progress: float) -> tuple[tuple[float, float, float], int]:
    """Chances of the generator's levels 0, 1, 2 and the longest example in tokens, at a share of the time budget."""
    if progress < 0.08:
        return (1, 0, 0), 240
    if progress < 0.18:
        return (0.5, 0.5, 0), 360
    if progress < 0.55:
        return (0.15, 0.4, 0.45), 520
    if progress < 0.75:
        return (0.07, 0.23, 0.7), 900
    return (0.04, 0.16, 0.8), MAX_TOKENS


def learning_rate(progress: float, step: int) -> float:
    """Share of the peak rate: short warm-up, constant, linear cooldown over the last 35 % of the time."""
    return min(1.0, (step + 1) / 60) * min(1.0, max(0.02, (1 - progress) / 0.35))


class Examples:
    """Endless batches of about `budget` encoded tokens; drawn in groups and sorted by length to save padding."""

    def __init__(self, seed: int, tokenizer: Tokenizer, pools: Pools, config: NanoConfig, budget: int) -> None:
        self.rng = random.Random(seed)
        self.tokenizer, self.pools, self.config, self.budget = tokenizer, pools, config, budget

    def batches(self, progress: float) -> Iterator[Batch]:
        """One group of batches at a point of the curriculum."""
        rng = self.rng
        weights, longest = curriculum(progress)
        budget = int(self.budget * min(1.0, 0.4 + 1.6 * progress))  # copying is found in many small steps
        drawn: list[Tokens] = []
        while sum(len(tokens) for tokens in drawn) < 10 * budget:
            level = rng.choices((0, 1, 2), weights)[0]
            drawn.append(draw_tokens(rng, self.tokenizer, self.pools, level, longest))
        drawn.sort(key=lambda tokens: (len(tokens) // 64, len(tokens.answer)))
        groups: list[list[Tokens]] = [[]]
        for tokens in drawn:
            if len(groups[-1]) > 1 and max(map(len, [*groups[-1], tokens])) * (len(groups[-1]) + 1) > budget:
                groups.append([])
            groups[-1].append(tokens)
        if len(groups[-1]) == 1 < len(groups):
            groups[-2] += groups.pop()  # a batch of one would be compiled apart
        rng.shuffle(groups)
        full_length = 0.15 if progress < 0.6 else 0.3
        for group in groups:
            yield collate(rng, group, CANVASES, self.config.canvas_length, shorten=rng.random() >= full_length)


def held_out(tokenizer: Tokenizer, pools: Pools, config: NanoConfig, count: int = 24) -> dict[str, Batch]:
    """Fixed batches of short and of full documents from the held-out pools."""
    rng = random.Random(4242)
    return {
        name: collate(
            rng,
            [draw_tokens(rng, tokenizer, pools, level, 640, held_out=True) for _ in range(count)],
            1,
            config.canvas_length,
            False,
        )
        for name, level in (("short", 0), ("full", 2))
    }


@torch.compiler.set_stance("force_eager")  # its few batches are not worth compiling for
@torch.no_grad()
def evaluate(model: Nano, batches: dict[str, Batch]) -> dict[str, float]:
    """Accuracy of value tokens in noisy canvases by noise level (one forward), and of causal answer tokens."""
    scores = {}
    for name, batch in batches.items():
        hidden, cache = model.encode(batch.ids)
        right = model.logits(hidden[:, :-1]).argmax(-1) == batch.ids[:, 1:]
        scores[f"{name} causal"] = right[batch.answer_next[:, :-1]].float().mean().item()
        for level in EVALUATION_NOISE:
            state = corrupt_evenly(batch, model.config.vocab_size, torch.Generator().manual_seed(1), level)
            logits = model.logits(model.decode(state.canvas, cache, batch.context))
            judged = batch.is_value & state.noisy
            scores[f"{name} noise {level}"] = (logits.argmax(-1) == batch.target)[judged].float().mean().item()
        state = corrupt_behind(batch, model.config.vocab_size, torch.Generator().manual_seed(1))
        logits = model.logits(model.decode(state.canvas, cache, batch.context))
        scores[f"{name} next four"] = (logits.argmax(-1) == batch.target)[state.weight > 0].float().mean().item()
    return {name: round(score, 3) for name, score in scores.items()}


def losses(model: Nano, batch: Batch, generator: torch.Generator, conditioned: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Decoder loss, causal loss on the answer, causal loss on a sample of the prompt."""
    hidden, cache = model.encode(batch.ids)
    following = batch.ids[:, 1:]
    answer = batch.answer_next[:, :-1]
    sampled = (torch.rand(following.shape, generator=generator) < 0.2) & (following != 0) & ~answer
    both = answer | sampled
    causal = model.token_losses(hidden[:, :-1][both], following[both])
    is_answer = answer[both]
    state = corrupt(batch, model.config.vocab_size, generator)
    conditioning = None
    if conditioned:
        conditioning = _first_guess(
            model, batch, state.canvas, [(key.detach(), value.detach()) for key, value in cache]
        )
    hidden = model.decode(state.canvas, cache, batch.context, conditioning)
    weight = (batch.is_text.float() * (1 - PAD_WEIGHT) + PAD_WEIGHT) * state.weight
    tokenwise = model.token_losses(hidden.flatten(0, 1), batch.target.flatten()).view_as(weight)
    return (tokenwise * weight).sum() / weight.sum(), causal[is_answer].mean(), causal[~is_answer].mean()


@torch.no_grad()
def _first_guess(model: Nano, batch: Batch, canvas: Tensor, cache: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Self-conditioning as at inference: a first forward's expected embeddings, for half of each example's canvases."""
    rows, count = batch.ids.shape[0], batch.canvases_per_example
    grouped = canvas.view(rows, count, -1)
    half = count // 2
    context = batch.context.view(rows, count)[:, :half].reshape(-1)
    guess = model.expected_embedding(
        model.logits(model.decode(grouped[:, :half].reshape(rows * half, -1), cache, context))
    )
    conditioning = guess.new_zeros(rows, count, *guess.shape[1:])
    conditioning[:, :half] = guess.view(rows, half, *guess.shape[1:])
    return conditioning.view(rows * count, *guess.shape[1:])


def average_gradients(model: Nano, processes: int) -> None:
    """Mean gradient over all processes, in one message."""
    parameters = [parameter for parameter in model.parameters() if parameter.grad is not None]
    flat = torch.cat([parameter.grad.flatten() for parameter in parameters if parameter.grad is not None])
    dist.all_reduce(flat)
    flat /= processes
    for parameter, part in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        parameter.grad = part.view_as(parameter)


def main() -> None:
    """Train within a time budget."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, default=100, help="time budget over all resumed runs")
    parser.add_argument("--tokens", type=int, default=2400, help="encoded tokens a batch and process")
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--adam-lr", type=float, default=4e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save-every", type=float, default=4, help="minutes between evaluations and checkpoint files")
    parser.add_argument("--runs", type=Path, default=RUNS, help="folder of pools, tokenizer, weights and log")
    parser.add_argument("--no-compile", action="store_true", help="for machines without a C++ compiler")
    options = parser.parse_args()
    rank, processes = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.set_num_threads(1)
    if processes > 1:
        dist.init_process_group("gloo")
    out = options.runs / "last.pt"
    tokenizer = Tokenizer.from_file(str(options.runs / "tokenizer.json"))
    pools = load_pools(options.runs / "pools.json")
    config = NanoConfig(vocab_size=tokenizer.get_vocab_size())
    torch.manual_seed(options.seed)
    model = Nano(config)
    muon = Muon([p for name, p in model.named_parameters() if p.ndim >= 2 and "embed" not in name])
    rest = [p for name, p in model.named_parameters() if p.ndim < 2 or "embed" in name]
    adam = torch.optim.AdamW(
        [
            {"params": [p for p in rest if p.ndim >= 2], "weight_decay": 0.01},
            {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
        eps=1e-10,
    )
    step, elapsed = 0, 0.0
    if out.exists():
        saved = torch.load(out)
        model.load_state_dict(saved["model"])
        muon.load_state_dict(saved["muon"])
        adam.load_state_dict(saved["adam"])
        step, elapsed = saved["step"], saved["seconds"]
    if not options.no_compile:
        model.fuse()
    start = time.monotonic() - elapsed
    examples = Examples(options.seed + 1000 * rank + 7 + step, tokenizer, pools, config, options.tokens)
    generator = torch.Generator().manual_seed(options.seed + 77 + rank + step)
    batches = held_out(tokenizer, pools, config) if rank == 0 else {}
    log = Log(rank == 0, out.with_suffix(".jsonl"), start, processes)
    budget, next_save = options.minutes * 60, elapsed + options.save_every * 60
    progress = 0.0
    while progress < 1:
        for batch in examples.batches(progress):
            state = torch.tensor([time.monotonic() - start])
            if processes > 1:
                dist.broadcast(state, 0)  # one clock, so that both processes see the same rate and stop together
            seconds = state.item()
            progress = seconds / budget
            if progress >= 1:
                break
            decoder, answer, prompt = losses(model, batch, generator, conditioned=progress >= 0.25)
            model.zero_grad()
            (decoder + 0.5 * answer + 0.1 * prompt).backward()
            if processes > 1:
                average_gradients(model, processes)
            rate = learning_rate(progress, step)
            torch.nn.utils.clip_grad_norm_(rest, 1.0)
            for group in adam.param_groups:
                group["lr"] = options.adam_lr * rate
            adam.step()
            muon.step(options.muon_lr * rate)
            step += 1
            log.step(step, batch, (decoder.item(), answer.item(), prompt.item()), rate)
            if rank == 0 and seconds > next_save:
                next_save = seconds + options.save_every * 60
                log.scores(step, evaluate(model, batches))
                save(out, model, muon, adam, step, time.monotonic() - start)
    if rank == 0:
        log.scores(step, evaluate(model, batches))
        save(out, model, muon, adam, step, time.monotonic() - start)
    if processes > 1:
        dist.barrier()
        dist.destroy_process_group()


def save(path: Path, model: Nano, muon: Muon, adam: torch.optim.AdamW, step: int, seconds: float) -> None:
    """Write everything a later run needs to go on, atomically."""
    state = {"model": model.state_dict(), "muon": muon.state_dict(), "adam": adam.state_dict()}
    partial = path.with_suffix(".partial")
    torch.save({**state, "config": asdict(model.config), "step": step, "seconds": seconds}, partial)
    partial.replace(path)


class Log:
    """One line every 25 steps on stdout, and the held-out scores as JSON lines beside the checkpoint."""

    def __init__(self, active: bool, path: Path, start: float, processes: int) -> None:
        self.active, self.path, self.start, self.processes = active, path, start, processes
        self.sums, self.tokens, self.since = [0.0, 0.0, 0.0], 0, time.monotonic()

    def step(self, step: int, batch: Batch, values: tuple[float, float, float], rate: float) -> None:
        """Collect one step."""
        self.sums = [total + value for total, value in zip(self.sums, values, strict=True)]
        self.tokens += batch.ids.numel() + batch.target.numel()
        if step % 25 or not self.active:
            return
        now = time.monotonic()
        decoder, answer, prompt = (total / 25 for total in self.sums)
        speed = self.tokens * self.processes / (now - self.since)
        print(
            f"{(now - self.start) / 60:6.1f} min  step {step}  decoder {decoder:.3f}  answer {answer:.3f}  "
            f"prompt {prompt:.3f}  {speed:.0f} tokens/s  rate {rate:.2f}",
            flush=True,
        )
        self.sums, self.tokens, self.since = [0.0, 0.0, 0.0], 0, now

    def scores(self, step: int, scores: dict[str, float]) -> None:
        """Print and append held-out scores."""
        line = json.dumps({"minutes": round((time.monotonic() - self.start) / 60, 1), "step": step, **scores})
        print(line, flush=True)
        with self.path.open("a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
