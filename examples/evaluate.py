"""Score extraction on real documents: `python examples/evaluate.py zugferd` or `… sroie`.

zugferd: 35 German and French e-invoices, truth from their embedded XML (which the model never sees). sroie: 24
receipt scans. Both lie in the folder that --data or DG_SGLANG_DATA names. The scores are those of
`dg_sglang.pipelines.evaluation`: value F1, mean over documents, a failed document scores 0. Where a zugferd truth has
no line items (the XML's profile doesn't carry them), they are not scored. SROIE's dates are read day first. "relaxed"
ignores case and punctuation, which SROIE's truth changes.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from dg_sglang import Engine
from dg_sglang.errors import DgError, ExtractionError
from dg_sglang.pipelines import Document, ExtractionResult, Invoice, Receipt, extract, load_document
from dg_sglang.pipelines.dates import read_date
from dg_sglang.pipelines.document import Line, Page, Word
from dg_sglang.pipelines.evaluation import Score, grounded_leaves, null_cells, score_fields
from dg_sglang.pipelines.numbers import read_number

DATA = Path(os.environ.get("DG_SGLANG_DATA", Path(__file__).resolve().parents[1].parent / "shared" / "data"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dg-sglang" / "documents"
CACHE_VERSION = 2
"""To be raised whenever reading a document changes."""


@dataclass(frozen=True)
class Case:
    """One document and what it should give."""

    path: Path
    truth: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How one document went."""

    file: str
    header: float
    records: float | None
    overall: float
    relaxed: float
    valid: bool
    right: bool
    grounded: tuple[int, int]
    nulls: tuple[int, int]
    seconds: float
    canvases: int
    steps: int
    error: str | None


def zugferd(folder: Path) -> Iterator[Case]:
    """The invoices; line items only where the truth has some."""
    for entry in json.loads((folder / "truth.json").read_text(encoding="utf-8")):
        truth = entry["truth"]
        yield Case(folder / entry["file"], truth if truth["line_items"] else truth | {"line_items": None})


def sroie(folder: Path) -> Iterator[Case]:
    """The receipts, with dates in ISO form and totals as numbers."""
    for entry in json.loads((folder / "truth.json").read_text(encoding="utf-8")):
        truth: dict[str, Any] = {name: text or None for name, text in entry["truth"].items()}
        if truth["date"]:
            truth["date"] = read_date(truth["date"], "day_first").isoformat()
        if truth["total"]:
            truth["total"] = float(read_number(truth["total"], "."))
        yield Case(folder / entry["file"], truth)


DATASETS: dict[str, tuple[Callable[[Path], Iterator[Case]], Any]] = {
    "zugferd": (zugferd, Invoice),
    "sroie": (sroie, Receipt),
}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=DATASETS)
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds the datasets (%(default)s)")
    parser.add_argument("--model", default="nano", help='"nano", a checkpoint folder, or a Hugging Face id')
    parser.add_argument("--grammar", choices=("both", "on", "off"), default="both")
    parser.add_argument(
        "--settings",
        type=json.loads,
        default={},
        help='generation settings as JSON, for example \'{"mode": "causal"}\' or \'{"policy": {"stop_after": 4}}\'',
    )
    parser.add_argument("--limit", type=int, help="only the first N documents")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print JSON, with every document's outcome")
    options = parser.parse_args()
    read, schema = DATASETS[options.dataset]
    folder = options.data / options.dataset
    if not (folder / "truth.json").is_file():
        parser.error(f"{folder} holds no dataset (no truth.json); name the folder with --data or DG_SGLANG_DATA")
    cases = list(read(folder))[: options.limit]
    engine = Engine.load(options.model)
    report = {}
    for name in ("on", "off") if options.grammar == "both" else (options.grammar,):
        outcomes = []
        for index, case in enumerate(cases, 1):
            outcomes.append(run(case, schema, engine, options.seed, name == "on", options.settings))
            print(f"\rgrammar {name}: {index}/{len(cases)}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        report[name] = {"summary": summarise(outcomes), "documents": [asdict(outcome) for outcome in outcomes]}
    if options.json:
        print(json.dumps({"dataset": options.dataset, "model": options.model, "grammar": report}, indent=1))
    else:
        print(table({f"grammar {name}": part["summary"] for name, part in report.items()}))


def run(case: Case, schema: Any, engine: Engine, seed: int, constrained: bool, settings: Mapping[str, Any]) -> Outcome:
    """Extract from one document and score what comes out."""
    document = read_cached(case.path)
    started = time.perf_counter()
    result: ExtractionResult | None = None
    error = None
    try:
        result = extract(document, schema, engine=engine, seed=seed, constrained=constrained, **settings)
    except DgError as problem:
        error = str(problem)
        partial = problem.partial if isinstance(problem, ExtractionError) else None
        usage = partial.usage if isinstance(partial, ExtractionResult) else None
    else:
        usage = result.usage
    seconds = time.perf_counter() - started
    value = result.to_json()["value"] if result else {}
    header = {name: truth for name, truth in case.truth.items() if name != "line_items"}
    records = {"line_items": case.truth["line_items"]} if case.truth.get("line_items") else {}
    scores = [score_fields(value, part) if result else Score(0, 0, 1) for part in (header, records, header | records)]
    relaxed = score_fields(value, header | records, relaxed=True) if result else Score(0, 0, 1)
    return Outcome(
        file=case.path.name,
        header=scores[0].f1,
        records=scores[1].f1 if records else None,
        overall=scores[2].f1,
        relaxed=relaxed.f1,
        valid=result is not None,
        right=scores[2].perfect,
        grounded=grounded_leaves(result.evidence) if result else (0, 0),
        nulls=null_cells(value, header) if result else (0, sum(truth is None for truth in header.values())),
        seconds=seconds,
        canvases=usage.canvases if usage else 0,
        steps=usage.denoising_steps if usage else 0,
        error=error,
    )


def summarise(outcomes: list[Outcome]) -> dict[str, float | int | None]:
    """Means over documents; shares of leaves are over all documents together."""
    records = [outcome.records for outcome in outcomes if outcome.records is not None]
    return {
        "documents": len(outcomes),
        "value F1": mean(outcome.overall for outcome in outcomes),
        "value F1, header fields": mean(outcome.header for outcome in outcomes),
        "value F1, line items": mean(records) if records else None,
        "value F1, relaxed": mean(outcome.relaxed for outcome in outcomes),
        "valid": mean(outcome.valid for outcome in outcomes),
        "grounded": share([outcome.grounded for outcome in outcomes]),
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


def table(columns: dict[str, dict[str, float | int | None]]) -> str:
    """One row per figure."""
    names = list(next(iter(columns.values())))
    lines = ["".ljust(26) + "".join(title.rjust(14) for title in columns)]
    for name in names:
        cells = (
            f"{'-' if column[name] is None else format(column[name], '.3g' if column[name] else 'g'):>14}"
            for column in columns.values()
        )
        lines.append(name.ljust(26) + "".join(cells))
    return "\n".join(lines)


def read_cached(path: Path) -> Document:
    """The document; what OCR read is kept between runs, by the file's content."""
    key = hashlib.sha256(path.read_bytes()).hexdigest()
    cached = CACHE / f"{key}-{CACHE_VERSION}.json"
    if cached.is_file():
        return _document(json.loads(cached.read_text(encoding="utf-8")))
    document = load_document(path)
    CACHE.mkdir(parents=True, exist_ok=True)
    cached.write_text(json.dumps(asdict(document)), encoding="utf-8")
    return document


def _document(data: dict[str, Any]) -> Document:
    pages = []
    for page in data["pages"]:
        lines = []
        for line in page["lines"]:
            words = tuple(
                Word(word["text"], tuple(word["box"]), word["confidence"], word["run"]) for word in line["words"]
            )
            lines.append(Line(words, line["text"], tuple(line["starts"]), line["space_before"]))
        pages.append(Page(page["number"], page["width"], page["height"], tuple(lines), page["source"]))
    return Document(data["name"], tuple(pages))


if __name__ == "__main__":
    main()
