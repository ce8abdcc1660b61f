"""How fast the grammar is, side by side with other engines and with the sampler, in one run.

python tests/benchmarks/speed.py [--vocabulary gemma|nano] [--limit N] [--open] [--data FOLDER]

Compile is cold: from the schema to the first mask, for us to the posterior of the first canvas. Step is one
denoising step with and without a constraint, on the same logits. All times are CPU milliseconds of
one thread, taken in turn, so that other work on the machine falls on all alike.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from suite import DATA, rows

sys.path.append(str(Path(__file__).parents[1] / "support"))
from engines import LLGuidance, OutlinesCore, RefusedError, XGrammar
from vocabularies import VOCABULARIES, Tokens

from dg_sglang.canvas import CanvasState
from dg_sglang.config import GenerationConfig, Policy
from dg_sglang.errors import GrammarError
from dg_sglang.grammar import CanvasPosterior, JsonSchema, TokenAutomaton, compile_constraint
from dg_sglang.sampler import denoise_step

CANVAS, BUDGET = 256, 1024
NULLABLE = {"type": ["string", "null"]}
DATE = {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
PARTY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "address": NULLABLE, "vat_id": NULLABLE},
    "required": ["name", "address", "vat_id"],
    "additionalProperties": False,
}
LINE = {
    "type": "object",
    "properties": {
        "description": {"type": "string"},
        "quantity": {"type": ["number", "null"]},
        "unit_price": {"type": ["number", "null"]},
        "amount": {"type": "number"},
    },
    "required": ["description", "quantity", "unit_price", "amount"],
    "additionalProperties": False,
}
INVOICE = {
    "type": "object",
    "properties": {
        "number": {"type": "string"},
        "issue_date": DATE,
        "due_date": DATE,
        "currency": {"enum": ["EUR", "USD", "GBP", "CHF"]},
        "seller": PARTY,
        "buyer": PARTY,
        "net_total": {"type": ["number", "null"]},
        "tax_total": {"type": ["number", "null"]},
        "grand_total": {"type": "number"},
        "line_items": {"type": "array", "items": LINE},
    },
    "required": ["number", "issue_date", "due_date", "currency", "seller", "buyer", "grand_total", "line_items"],
    "additionalProperties": False,
}


class Ours:
    """This package."""

    name = "dg-sglang"

    def __init__(self, tokens: Tokens) -> None:
        self.vocabulary = tokens.vocabulary
        self.special = {"end_token_ids": tokens.end_token_ids, "pad_token_id": tokens.pad_token_id}

    def schema(self, schema: Any, *, open_world: bool) -> TokenAutomaton:
        """The token automaton of a JSON Schema."""
        try:
            return TokenAutomaton(
                compile_constraint(JsonSchema(schema, open=open_world)), self.vocabulary, **self.special
            )
        except GrammarError as error:
            raise RefusedError(str(error)) from None

    def first_mask(self, automaton: TokenAutomaton) -> None:
        """The states that the first canvas can be in."""
        try:
            CanvasPosterior(automaton, CANVAS, start=automaton.start, remaining=BUDGET - CANVAS)
        except GrammarError as error:  # the shortest answer is longer than the budget
            raise RefusedError(str(error)) from None


def clock(run: Callable[[], Any]) -> tuple[float, Any]:
    """CPU milliseconds, and what `run` returned."""
    begin = time.process_time()
    result = run()
    return (time.process_time() - begin) * 1000, result


def compile_once(engine: Any, schema: Any, open_world: bool) -> float | None:
    """CPU milliseconds from the schema to the first mask; None where the engine refuses the schema."""

    def run() -> None:
        engine.first_mask(engine.schema(schema, open_world=open_world))

    try:
        return clock(run)[0]
    except RefusedError:
        return None


def percentile(values: Sequence[float], share: int) -> float:
    """The value at `share` per cent; NaN where there is none."""
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)] if values else float("nan")


def line(label: str, cells: Sequence[str], goal: str = "") -> None:
    """One row of the table."""
    print(f"{label:44}" + "".join(f"{cell:>16}" for cell in cells) + (f"   goal {goal}" if goal else ""), flush=True)


def compile_times(engines: Sequence[Any], tokens: Tokens, options: argparse.Namespace) -> None:
    """The invoice schema again and again, then the schemas of MaskBench once each."""
    times: dict[str, list[float]] = {engine.name: [] for engine in engines}
    for _ in range(options.repeats):
        for engine in engines:
            spent = compile_once(engine, INVOICE, options.open)
            if spent is not None:
                times[engine.name].append(spent)
    slow = OutlinesCore(tokens)
    once = compile_once(slow, INVOICE, options.open)
    names = [engine.name for engine in engines]
    line(f"compile, {tokens.name} ({tokens.size:,} tokens), CPU ms", [*names, slow.name])
    ours = percentile(times[names[0]], 50)
    cells = [f"{percentile(times[name], 50):.1f}" for name in names] + ["refused" if once is None else f"{once:.0f}"]
    line(f"  invoice schema, median of {options.repeats}", cells, "20")
    ratios = [f"x {percentile(times[name], 50) / ours:.2f}" for name in names]
    line("    against ours", [*ratios, "" if once is None else f"x {once / ours:.0f}"])
    path = options.data / "maskbench_dev.jsonl.gz"
    if not path.is_file():
        print(f"  (no {path}: --data names its folder)")
        return
    found = list(rows(path))
    chosen = found[:: max(1, len(found) // options.limit)][: options.limit]
    taken: dict[str, dict[str, float]] = {name: {} for name in names}
    for row in chosen:
        for engine in engines:
            spent = compile_once(engine, row["schema"], options.open)
            if spent is not None:
                taken[engine.name][row["name"]] = spent
    for share, goal in ((50, "15"), (90, ""), (99, "300"), (100, "")):
        cells = [f"{percentile(list(taken[name].values()), share):.1f}" for name in names]
        line(f"  {len(chosen)} MaskBench schemas, p{share}", cells, goal)
    shared = set.intersection(*(set(part) for part in taken.values()))
    totals = [sum(part[name] for name in shared) for part in taken.values()]
    line(f"    sum over the {len(shared)} that all compile", [f"{total:.0f}" for total in totals])
    line("    against ours", [f"x {total / totals[0]:.2f}" for total in totals])
    line("  refused", [str(len(chosen) - len(part)) for part in taken.values()])


def sizes(tokens: Tokens, options: argparse.Namespace) -> None:
    """What the tables of the compiled schemas take."""
    engine = Ours(tokens)
    path = options.data / "maskbench_dev.jsonl.gz"
    found = list(rows(path)) if path.is_file() else []
    bytes_ = []
    for row in found[:: max(1, len(found) // options.limit)][: options.limit]:
        try:
            automaton = engine.schema(row["schema"], open_world=options.open)
            engine.first_mask(automaton)
        except RefusedError:
            continue
        bytes_.append(automaton.table_bytes / 2**20)
    automaton = engine.schema(INVOICE, open_world=options.open)
    engine.first_mask(automaton)
    line(f"tables, {tokens.name}, MiB", ["dg-sglang"])
    line("  invoice schema", [f"{automaton.table_bytes / 2**20:.2f}"])
    for share, goal in ((50, "1"), (99, "")):
        line(f"  {len(bytes_)} MaskBench schemas, p{share}", [f"{percentile(bytes_, share):.2f}"], goal)


def step_times(tokens: Tokens, options: argparse.Namespace) -> None:
    """One denoising step with a constraint beside one without, on the same logits; and the posterior piece by piece."""
    automaton = Ours(tokens).schema(INVOICE, open_world=options.open)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, CANVAS, tokens.size, generator=generator) * 3
    posterior = CanvasPosterior(automaton, CANVAS, start=automaton.start, remaining=BUDGET - CANVAS)
    policies = {"none": None, "raw": Policy(), "tilted": Policy(accept="tilted", condition="tilted")}
    pieces: Mapping[str, Callable[[], Any]] = {
        "row, class and set statistics": lambda: posterior.update(logits[0]),
        "messages, log Z": lambda: posterior.log_z,
        "joint draw": lambda: posterior.draw(generator),
        "joint mode": posterior.mode,
        "entropy of the tilted marginals": posterior.entropy,
        "tilted logits": posterior.tilted_logits,
    }
    spent: dict[str, list[float]] = {name: [] for name in (*policies, *pieces)}
    for _ in range(options.repeats + 1):
        for name, policy in policies.items():
            config = GenerationConfig() if policy is None else GenerationConfig(policy=policy)
            bound = None if policy is None else posterior
            state = CanvasState(config, generator, length=CANVAS, vocab_size=tokens.size, posterior=bound)
            spent[name].append(clock(lambda state=state: denoise_step(logits, [state]))[0])
        for name, piece in pieces.items():
            spent[name].append(clock(piece)[0])
    middle = {name: percentile(times[1:], 50) for name, times in spent.items()}  # the first one warms up
    plain = middle["none"]
    line(f"step, {tokens.name}, canvas [{CANVAS}, {tokens.size:,}], CPU ms", ["median", "of the first"])
    line("  without a constraint", [f"{plain:.1f}", ""])
    for name, label in (("raw", "all read the raw marginals"), ("tilted", "all read the tilted ones")):
        added = [constrained - free for constrained, free in zip(spent[name][1:], spent["none"][1:], strict=True)]
        line(f"  with one, {label}", [f"{middle[name]:.1f}", f"{middle[name] / plain:.1%}"])
        line("    more", [f"{percentile(added, 50):.1f}", f"{percentile(added, 50) / plain:.2%}"], "3 %")
    line("  the posterior alone", [])
    for name in pieces:
        line(f"    {name}", [f"{middle[name]:.2f}", f"{middle[name] / plain:.2%}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", choices=VOCABULARIES, action="append", help="default: both")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with maskbench_dev.jsonl.gz (%(default)s)")
    parser.add_argument("--limit", type=int, default=200, help="how many of MaskBench's schemas (%(default)s)")
    parser.add_argument("--repeats", type=int, default=9, help="of the invoice schema and of the step (%(default)s)")
    parser.add_argument("--open", action="store_true", help="open world (default: closed, as for generation)")
    parser.add_argument("--only", choices=("compile", "tables", "step"), action="append", help="default: all three")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.vocabulary or VOCABULARIES:
        tokens = VOCABULARIES[name]()
        _ = tokens.vocabulary.trie
        parts = options.only or ("compile", "tables", "step")
        if "compile" in parts:
            engines = [Ours(tokens), XGrammar(tokens), LLGuidance(tokens)]
            for engine in engines:  # kernels are compiled once per machine, and libraries loaded
                compile_once(engine, {"type": "object", "properties": {"a": {"type": "string"}}}, options.open)
            compile_times(engines, tokens, options)
        if "tables" in parts:
            sizes(tokens, options)
        if "step" in parts:
            step_times(tokens, options)


if __name__ == "__main__":
    main()
