"""Compare settings on generated documents that training never drew: leaves right by kind, steps, seconds.

python sweep.py                                              # the policies below, and causal mode
python sweep.py --settings '{"policy": {"stop_after": 4}}'   # one of your own
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

SPAN_KINDS = ("date", "number", "currency")
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"mode": "causal"},
    {"policy": {"stop_after": 4}},
    {"policy": {"frontier_window": 1}},
    {"policy": {"frontier_window": 2}},
    {"policy": {"frontier_window": 8}},
    {"policy": {"frontier_threshold": 0.3}},
    {"policy": {"entropy_bound": 0.3}},
    {"policy": {"accept": "tilted"}},
    {"policy": {"accept": "tilted", "condition": "tilted"}},
    {"policy": {"flatten": 0.5}},
    {"policy": {"tail": "unscored"}},
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


def answer_schema(fields: Sequence[Field], available: Sequence[str]) -> dict[str, Any]:
    """JSON Schema of the answer; stated leaves are pieces of the document."""
    properties = {child.name: _leaf_schema(child, available) for child in fields}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _leaf_schema(asked: Field, available: Sequence[str]) -> dict[str, Any]:
    if asked.kind == "list":
        return {"type": "array", "items": _leaf_schema(asked.children[0], available), "maxItems": 20}
    if asked.kind == "object":
        return answer_schema(asked.children, available)
    if asked.kind == "boolean":
        return {"type": "boolean"}
    if asked.kind == "choice":
        return {"enum": list(asked.choices)}
    if asked.kind in SPAN_KINDS and asked.kind not in available:
        return {"type": "null"}
    kind = {"kind": asked.kind} if asked.kind in SPAN_KINDS else {}
    return {"anyOf": [{"type": "string", "x-verbatim": {"source": "document", **kind}}, {"type": "null"}]}


def constraint_for(example: Example) -> JsonSchema:
    """The constraint of an example's answer."""
    text = example.document.text
    spans = {kind: pieces(text, kind) for kind in SPAN_KINDS}
    schema = answer_schema(example.fields, [kind for kind in SPAN_KINDS if spans[kind]])
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


def evaluate(engine: Engine, examples: Sequence[Example], settings: Mapping[str, Any], batch: int = 8) -> Score:
    """Scores under some settings."""
    score = Score()
    started = time.perf_counter()
    for at in range(0, len(examples), batch):
        chunk = examples[at : at + batch]
        requests = [{"prompt": e.prompt, "constraint": constraint_for(e), "max_new_tokens": 512} for e in chunk]
        results = engine.generate_batch([request | {"seed": 1} | settings for request in requests])
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
    """Compare settings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--runs", type=Path, default=RUNS, help="folder of the pools")
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--seed", type=int, default=50_000)
    parser.add_argument("--settings", type=json.loads, action="append", help="generation settings as JSON")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    pools = load_pools(options.runs / "pools.json")
    engine = Engine.load(options.checkpoint)
    examples = [make_example(rng, pools, 2, held_out=True) for _ in range(options.count)]
    print(f"{len(examples)} documents, kinds {dict(Counter(e.document.kind for e in examples))}")
    for settings in options.settings or SETTINGS:
        print(f"{json.dumps(settings)}\n    {evaluate(engine, examples, settings).line()}", flush=True)


if __name__ == "__main__":
    main()
