"""Score extraction and print one row for each data set and way to answer.

    python examples/evaluate.py                                  # everything (--limit 10 for a quick look)
    python examples/evaluate.py sroie zugferd --ways pieces causal
    python examples/evaluate.py handwritten --ways pieces --settings '{"policy": {"stop_after": 4}}' --json

Ways to answer: "none" without grammar; "strings" with the grammar of the schema, values are any strings; "pieces"
denoised, values are pieces of the document, typed where the schema is; "causal" the same left to right; "auto", as nano
extracts by default, both, and null where they differ and the causal mode isn't sure. The data sets are described in
`cases.py`; zugferd and sroie lie in the folder that --data or DG_SGLANG_DATA names.

Value F1 is that of `dg_sglang.pipelines.evaluation`, the mean over documents; a failed document scores 0. "relaxed"
ignores case and punctuation, which SROIE's truth changes. "boxes" is the F1 of the boxes of plain fields, against the
words that mean the true value, where the document holds them. A step is a forward pass of the decoder (of the encoder
for "causal", of both for "auto").
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from cases import DATASETS, NANO, Case

from dg_sglang import Engine
from dg_sglang.errors import DgError, ExtractionError
from dg_sglang.grammar import JsonSchema
from dg_sglang.pipelines import ExtractionResult, extract
from dg_sglang.pipelines.evaluation import Score, grounded_leaves, null_cells, score_fields
from dg_sglang.pipelines.grounding import score_grounding
from dg_sglang.pipelines.normalise import conventions_of
from dg_sglang.pipelines.reading import to_json_value
from dg_sglang.pipelines.schema_tree import schema_tree
from dg_sglang.pipelines.segments import segments_of

DATA = Path(os.environ.get("DG_SGLANG_DATA", Path(__file__).resolve().parents[1].parent / "shared" / "data"))
SYNTHETIC = 60
WAYS: dict[str, dict[str, Any]] = {
    "none": {"constrained": False},
    "strings": {"free": True, "mode": "diffusion"},
    "pieces": {"mode": "diffusion"},
    "causal": {"mode": "causal"},
    "auto": {"mode": "auto"},
}
FIGURES = {
    "value F1": "F1",
    "value F1, plain fields": "plain",
    "value F1, rows": "rows",
    "value F1, relaxed": "relaxed",
    "valid": "valid",
    "grounded": "grounded",
    "box F1": "boxes",
    "null correct": "null",
    "fully right": "all right",
    "steps per document": "steps",
    "canvases per document": "canvases",
    "seconds per document": "s",
}
"""Figures of a summary, and the columns they stand in."""


@dataclass(frozen=True)
class Outcome:
    """How one document went."""

    name: str
    plain: float | None
    rows: float | None
    overall: float
    relaxed: float
    valid: bool
    right: bool
    grounded: tuple[int, int]
    boxes: Score
    nulls: tuple[int, int]
    seconds: float
    canvases: int
    steps: int
    error: str | None


class FreeStrings:
    """An engine under whose grammar stated values are any strings, to measure what pieces of the document add."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def generate_batch(self, requests: Sequence[dict[str, Any]]) -> Any:
        """As the engine's."""
        freed = [
            request | {"constraint": JsonSchema(_without_sources(request["constraint"].schema))} for request in requests
        ]
        return self._engine.generate_batch(freed)


def _without_sources(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: _without_sources(part) for key, part in schema.items() if key != "x-verbatim"}
    return [_without_sources(part) for part in schema] if isinstance(schema, list) else schema


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", metavar="dataset", help=f"{', '.join(DATASETS)}; all without any")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS), help="ways to answer")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds zugferd and sroie (%(default)s)")
    parser.add_argument("--model", default="nano", help='"nano", a checkpoint folder, or a Hugging Face id')
    parser.add_argument(
        "--settings", type=json.loads, default={}, help="generation settings as JSON, for every way but causal"
    )
    parser.add_argument("--limit", type=int, help="only N documents of each data set, spread over it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON, with every document's outcome")
    options = parser.parse_args()
    unknown = set(options.datasets) - set(DATASETS)
    if unknown:
        parser.error(f"unknown data set {', '.join(sorted(unknown))}; there are {', '.join(DATASETS)}")
    for name in (*options.datasets, *(() if options.datasets else DATASETS)):
        if name in ("zugferd", "sroie") and not (options.data / name / "truth.json").is_file():
            parser.error(f"{options.data / name} holds no truth.json; name the folder with --data or DG_SGLANG_DATA")
    engine = Engine.load(options.model)
    report: list[dict[str, Any]] = []
    if not options.json:
        print(row(["data set", "way", *FIGURES.values()]), row(["---"] * (len(FIGURES) + 2)), sep="\n", flush=True)
    for name in options.datasets or DATASETS:
        cases = read(name, options.data, options.limit)
        for way in options.ways:
            settings = WAYS[way] | ({} if way == "causal" else options.settings)
            outcomes = []
            for index, case in enumerate(cases, 1):
                outcomes.append(run(case, engine, options.seed, **settings))
                print(f"\r{name} {way}: {index}/{len(cases)} ", end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
            summary = summarise(outcomes)
            documents = [asdict(outcome) for outcome in outcomes]
            report.append({"dataset": name, "way": way, "summary": summary, "documents": documents})
            if not options.json:
                print(
                    row([f"{name} ({len(cases)})", way, *(_shown(summary[figure]) for figure in FIGURES)]), flush=True
                )
    if options.json:
        print(json.dumps({"model": options.model, "report": report}, indent=1))


def read(name: str, data: Path, limit: int | None) -> list[Case]:
    """The cases of a data set, or `limit` of them, spread over it."""
    if name == "synthetic":
        return list(DATASETS[name](limit or SYNTHETIC))
    cases = list(DATASETS[name](NANO / "handwritten" if name == "handwritten" else data / name))
    return cases[:: -(-len(cases) // limit)] if limit else cases


def run(case: Case, engine: Engine, seed: int, free: bool = False, **settings: Any) -> Outcome:
    """Extract from one document and score what comes out."""
    document = case.document
    started = time.perf_counter()
    result: ExtractionResult | None = None
    error = None
    source: Any = FreeStrings(engine) if free else engine
    try:
        result = extract(document, case.schema, engine=source, seed=seed, **settings)
    except DgError as problem:
        error = str(problem)
        partial = problem.partial if isinstance(problem, ExtractionError) else None
        usage = partial.usage if isinstance(partial, ExtractionResult) else None
        if case.raw and isinstance(partial, ExtractionResult) and partial.raw:
            result = partial  # words of the document are scored as they are, readable or not
    else:
        usage = result.usage
    seconds = time.perf_counter() - started
    value: Mapping[str, Any] = {}
    if result:
        value = result.raw if case.raw else to_json_value(result.data)  # a model's own JSON has Decimals as strings
    plain = {name: truth for name, truth in case.truth.items() if not isinstance(truth, list)}
    rows = {name: truth for name, truth in case.truth.items() if isinstance(truth, list)}
    plain.pop("line_items", None)  # null where the truth has none
    scores = [score_fields(value, part) if result else Score(0, 0, 1) for part in (plain, rows, plain | rows)]
    relaxed = score_fields(value, plain | rows, relaxed=True) if result else Score(0, 0, 1)
    return Outcome(
        name=case.name,
        plain=scores[0].f1 if plain else None,
        rows=scores[1].f1 if rows else None,
        overall=scores[2].f1,
        relaxed=relaxed.f1,
        valid=error is None,
        right=scores[2].perfect,
        grounded=grounded_leaves(result.evidence) if result else (0, 0),
        boxes=_box_score(case, result),
        nulls=null_cells(value, plain) if result else (0, sum(truth is None for truth in plain.values())),
        seconds=seconds,
        canvases=usage.canvases if usage else 0,
        steps=usage.denoising_steps if usage else 0,
        error=error,
    )


def _box_score(case: Case, result: ExtractionResult | None) -> Score:
    """Of the plain fields' boxes; truth in the document's own words (`raw`) is not compared by meaning: no score."""
    if case.raw:
        return Score()
    document = case.document
    evidence = result.evidence if result else {}
    conventions = conventions_of(document.text)
    return score_grounding(schema_tree(case.schema).children, evidence, case.truth, segments_of(document), conventions)


def summarise(outcomes: list[Outcome]) -> dict[str, float | int | None]:
    """Means over documents; shares of leaves are over all documents together."""
    plain = [outcome.plain for outcome in outcomes if outcome.plain is not None]
    rows = [outcome.rows for outcome in outcomes if outcome.rows is not None]
    return {
        "documents": len(outcomes),
        "value F1": mean(outcome.overall for outcome in outcomes),
        "value F1, plain fields": mean(plain) if plain else None,
        "value F1, rows": mean(rows) if rows else None,
        "value F1, relaxed": mean(outcome.relaxed for outcome in outcomes),
        "valid": mean(outcome.valid for outcome in outcomes),
        "grounded": share([outcome.grounded for outcome in outcomes]),
        "box F1": sum((outcome.boxes for outcome in outcomes), Score()).f1,
        "null correct": share([outcome.nulls for outcome in outcomes]),
        "fully right": mean(outcome.right for outcome in outcomes),
        "seconds per document": mean(outcome.seconds for outcome in outcomes),
        "canvases per document": mean(outcome.canvases for outcome in outcomes),
        "steps per document": mean(outcome.steps for outcome in outcomes),
    }


def share(counts: list[tuple[int, int]]) -> float | None:
    """Right ones among all, None where there are none."""
    total = sum(count for _, count in counts)
    return sum(right for right, _ in counts) / total if total else None


def row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def _shown(figure: float | int | None) -> str:
    return "-" if figure is None else f"{figure:.3g}" if figure < 100 else f"{figure:.0f}"


if __name__ == "__main__":
    main()
