"""Measure a checkpoint on generated documents that training never drew: fields right by kind, steps, seconds.

python evaluate.py --count 100                                   # all three modes
python evaluate.py --mode verbatim --policy accept=raw --policy stop_after=3
python evaluate.py --sweep                                       # accuracy against steps for several policies
"""

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from export import CHECKPOINT
from generator import RUNS, Example, make_example
from pools import load_pools

from dg_sglang import Engine
from dg_sglang.grammar import JsonSchema, VerbatimSource
from dg_sglang.pipelines.normalise import pieces
from dg_sglang.pipelines.prompt import Field

MODES = ("plain", "grammar", "verbatim")
SPAN_KINDS = ("date", "number", "currency")
POLICIES: tuple[dict[str, Any], ...] = (
    {"accept": "tilted", "condition": "tilted", "stop_after": 6},
    {"accept": "tilted", "stop_after": 4, "entropy_bound": 0.3, "tail": "unscored"},
    {"accept": "tilted", "stop_after": 8},
    {"stop_after": 6},
    {},
    {"frontier_window": 2},
    {"frontier_window": 2, "flatten": 0.5},
    {"frontier_window": 2, "tail": "unscored"},
)


@dataclass
class Score:
    """Counts over leaves (and whole rows) by kind, and the cost."""

    right: Counter[str] = field(default_factory=Counter)
    asked: Counter[str] = field(default_factory=Counter)
    documents: int = 0
    valid: int = 0
    perfect: int = 0
    steps: int = 0
    canvases: int = 0
    seconds: float = 0.0

    def count(self, kind: str, right: bool) -> None:
        """Count one leaf."""
        self.asked[kind] += 1
        self.right[kind] += right

    def line(self) -> str:
        """The figures in one line."""
        leaves = [kind for kind in self.asked if kind != "rows"]
        share = sum(self.right[kind] for kind in leaves) / sum(self.asked[kind] for kind in leaves)
        kinds = "  ".join(
            f"{kind} {self.right[kind] / count:.2f} ({count})" for kind, count in sorted(self.asked.items())
        )
        return (
            f"leaves right {share:.3f}  valid {self.valid / self.documents:.2f}  "
            f"all right {self.perfect / self.documents:.2f}  "
            f"steps/canvas {self.steps / self.canvases:.1f}  canvases/doc {self.canvases / self.documents:.1f}  "
            f"seconds/doc {self.seconds / self.documents:.2f}\n    {kinds}"
        )


def answer_schema(fields: Sequence[Field], verbatim: bool, available: Sequence[str]) -> dict[str, Any]:
    """JSON Schema of the answer; stated leaves are pieces of the document, or any string."""
    properties = {child.name: _leaf_schema(child, verbatim, available) for child in fields}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _leaf_schema(asked: Field, verbatim: bool, available: Sequence[str]) -> dict[str, Any]:
    if asked.kind == "list":
        return {"type": "array", "items": _leaf_schema(asked.children[0], verbatim, available), "maxItems": 20}
    if asked.kind == "object":
        return answer_schema(asked.children, verbatim, available)
    if asked.kind == "boolean":
        return {"type": "boolean"}
    if asked.kind == "choice":
        return {"enum": list(asked.choices)}
    if asked.kind in SPAN_KINDS and verbatim and asked.kind not in available:
        return {"type": "null"}
    stated: dict[str, Any] = {"type": "string", "minLength": 1}
    if verbatim:
        kind = {"kind": asked.kind} if asked.kind in SPAN_KINDS else {}
        stated = {"type": "string", "x-verbatim": {"source": "document", **kind}}
    return {"anyOf": [stated, {"type": "null"}]}


def constraint_for(example: Example, mode: str) -> JsonSchema | None:
    """The constraint of a mode."""
    if mode == "plain":
        return None
    text = example.document.text
    spans = {kind: pieces(text, kind) for kind in SPAN_KINDS}
    available = [kind for kind in SPAN_KINDS if spans[kind]]
    schema = answer_schema(example.fields, mode == "verbatim", available)
    return JsonSchema(schema, sources={"document": VerbatimSource(text, spans)})


def leaves(fields: Sequence[Field], truth: Mapping[str, Any], answer: Any) -> Iterator[tuple[str, bool]]:
    """(kind, right) for each leaf; lists give one leaf a cell of the true rows, and "rows" for whole lists."""
    answer = answer if isinstance(answer, dict) else {}
    for asked in fields:
        true, given = truth[asked.name], answer.get(asked.name, "")
        if asked.kind == "object":
            yield from leaves(asked.children, true, given)
        elif asked.kind == "list":
            given = given if isinstance(given, list) else []
            yield "rows", given == true
            for i, row in enumerate(true):
                cells = leaves(asked.children[0].children, row, given[i] if i < len(given) else None)
                yield from (("cell", right) for _, right in cells)
        else:
            yield ("null" if true is None else asked.kind), given == true


def evaluate(
    engine: Engine, examples: Sequence[Example], mode: str, policy: Mapping[str, Any], batch: int = 8
) -> Score:
    """Scores of one mode and policy."""
    score = Score()
    started = time.perf_counter()
    for at in range(0, len(examples), batch):
        chunk = examples[at : at + batch]
        requests = [
            {"prompt": e.prompt, "constraint": constraint_for(e, mode), "max_new_tokens": 512, "seed": 1} for e in chunk
        ]
        results = engine.generate_batch(
            [request | ({"policy": dict(policy)} if policy else {}) for request in requests]
        )
        for example, result in zip(chunk, results, strict=True):
            try:
                answer = json.loads(result.text)
                score.valid += 1
            except json.JSONDecodeError:
                answer = None
            outcomes = list(leaves(example.fields, example.value, answer))
            for kind, right in outcomes:
                score.count(kind, right)
            score.perfect += all(right for _, right in outcomes)
            score.documents += 1
            score.steps += result.usage.denoising_steps
            score.canvases += result.usage.canvases
    score.seconds = time.perf_counter() - started
    return score


def main() -> None:
    """Evaluate a checkpoint on held-out generated documents."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--runs", type=Path, default=RUNS, help="folder of the pools")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=20_000)
    parser.add_argument("--mode", choices=MODES, action="append", help="default: all")
    parser.add_argument("--policy", action="append", default=[], metavar="NAME=VALUE", help="change the policy")
    parser.add_argument("--sweep", action="store_true", help="compare changes to the policy, verbatim mode")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    pools = load_pools(options.runs / "pools.json")
    engine = Engine.load(options.checkpoint)
    examples = [make_example(rng, pools, 2, held_out=True) for _ in range(options.count)]
    examples = [e for e in examples if len(engine.tokenizer(e.prompt)["input_ids"]) < 1000]
    print(f"{len(examples)} documents, kinds {dict(Counter(e.document.kind for e in examples))}")
    policy = dict(_setting(text) for text in options.policy)
    runs = (
        [("verbatim", entry) for entry in POLICIES] if options.sweep else [(m, policy) for m in options.mode or MODES]
    )
    for mode, entry in runs:
        print(
            f"{mode} {json.dumps(entry) if entry else ''}\n    {evaluate(engine, examples, mode, entry).line()}",
            flush=True,
        )


def _setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


if __name__ == "__main__":
    main()
