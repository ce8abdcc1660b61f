"""Accuracy against denoising steps: what the grammar and each setting of the sampler's policy do, one row each.

    python examples/frontier.py                                  # all rows, 100 documents: hours on a CPU
    python examples/frontier.py --rows "none" "pieces" --documents 40 --minutes 20
    python examples/frontier.py --list

Every document goes through all rows before the next one is read, so that rows are comparable whenever you stop. What
has been done is kept (one JSON line for each document and row, by the weights' hash) and not done again; without
--minutes a run goes on until all is there. F1 and steps are means over documents; intervals are 95 % bootstrap
intervals, the last column is the difference to the row that --against names, over the same documents.
"""

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from cases import DATASETS, Case
from evaluate import DATA, WAYS, Outcome, read, row, run

from dg_sglang import Engine
from dg_sglang.checkpoint import resolve
from dg_sglang.pipelines.evaluation import Score

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dg-sglang" / "frontier"
PUBLISHED = {"accept": "tilted", "condition": "tilted", "stop": "confident", "frontier_window": None}
FAST = {"accept": "tilted", "entropy_bound": 0.3, "stop_after": 4}
CHANGES: dict[str, Any] = {
    "accept tilted": {"accept": "tilted"},
    "condition tilted": {"condition": "tilted"},
    "stop confident": {"stop": "confident"},
    "all tilted, stop confident": PUBLISHED,
    **{f"stop after {n}": {"stop_after": n} for n in (2, 4, 6, 20)},
    **{f"window {n or 'off'}": {"frontier_window": n} for n in (None, 2, 4, 8)},
    **{f"bound {bound}": {"entropy_bound": bound} for bound in (0.05, 0.1, 0.3, 1.0)},
    "bound 0.3, stop after 4": {"entropy_bound": 0.3, "stop_after": 4},
    "accept raw, bound 0.1, stop after 10": {"accept": "raw", "entropy_bound": 0.1, "stop_after": 10},
    "accept tilted, bound 0.3, stop after 2": FAST | {"stop_after": 2},
    "accept tilted, bound 0.3, stop after 4": FAST,
    "window 8, bound 0.3, stop after 4": {"frontier_window": 8, "entropy_bound": 0.3, "stop_after": 4},
    **{f"flatten {power}": {"flatten": power} for power in (0.25, 0.5)},
    **{f"tail {tail}": {"tail": tail} for tail in ("scored", "unscored")},
    **{f"whitespace {policy}": {"whitespace": policy} for policy in ("json", "compact")},
}
ROWS: dict[str, dict[str, Any]] = {
    "none": WAYS["none"],
    "none, 48 steps": WAYS["none"] | {"max_denoising_steps": 48},
    "strings": WAYS["strings"],
    "strings: all tilted, stop confident": WAYS["strings"] | {"policy": PUBLISHED},
    "strings: accept tilted, bound 0.3, stop after 4": WAYS["strings"] | {"policy": FAST},
    "pieces": WAYS["pieces"],
    **{f"pieces: {name}": WAYS["pieces"] | {"policy": change} for name, change in CHANGES.items()},
    "causal": WAYS["causal"],
    "auto": WAYS["auto"],
}
"""The ways of `evaluate.py`; after the colon, what is changed in the checkpoint's own policy."""


@dataclass(frozen=True)
class Key:
    """What one outcome belongs to; `content` is a hash of the document and its truth."""

    settings: str
    dataset: str
    document: str
    content: str
    seed: int

    @classmethod
    def of(cls, settings: str, dataset: str, case: Case, seed: int) -> "Key":
        """The key of a case under some settings."""
        content = json.dumps([case.document.text, case.truth], sort_keys=True)
        return cls(settings, dataset, case.name, hashlib.sha256(content.encode()).hexdigest()[:16], seed)


class Outcomes:
    """The outcomes so far, on disk as they come."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[Key, Outcome] = {}
        if path.is_file():
            for text in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(text)
                found = entry["outcome"]
                self._known[Key(**entry["key"])] = Outcome(**found | {"boxes": Score(**found["boxes"])})

    def get(self, key: Key) -> Outcome | None:
        """The outcome, if it is there."""
        return self._known.get(key)

    def add(self, key: Key, outcome: Outcome) -> None:
        """Keep one."""
        self._known[key] = outcome
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"key": asdict(key), "outcome": asdict(outcome)}) + "\n")


def effective(settings: Mapping[str, Any], engine: Engine) -> str:
    """The settings with the whole policy, so that what a checkpoint's defaults make equal is done once."""
    policy = asdict(engine.config.policy.replace(settings.get("policy", {})))
    return json.dumps(dict(settings) | {"policy": policy}, sort_keys=True)


def interval(values: Sequence[float], draws: int = 2000) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean (Efron 1979)."""
    data = np.asarray(values, float)
    chosen = np.random.default_rng(0).integers(len(data), size=(draws, len(data)))
    low, high = np.percentile(data[chosen].mean(1), (2.5, 97.5))
    return float(low), float(high)


def documents(names: Sequence[str], data: Path, count: int) -> Iterator[tuple[str, Case]]:
    """`count` cases, taken in turn from the data sets."""
    sets = [[(name, case) for case in read(name, data, None if name != "synthetic" else count)] for name in names]
    turns = (one for turn in zip_longest(*sets) for one in turn if one is not None)
    for _, one in zip(range(count), turns, strict=False):
        yield one


def table(found: Mapping[str, Mapping[tuple[str, str], Outcome]], against: str) -> Iterator[str]:
    """Markdown: a row per way."""
    head = ("row", "documents", "F1", "95 %", "valid", "grounded", "steps", "seconds", f"F1 minus {against!r}, 95 %")
    yield row(head)
    yield row(["---"] * len(head))
    base = found.get(against, {})
    for name, outcomes in found.items():
        if not outcomes:
            continue
        values = list(outcomes.values())
        scores = [one.overall for one in values]
        grounded = np.sum([one.grounded for one in values], axis=0)
        both = [key for key in outcomes if key in base]
        gain = "-"
        if both and name != against:
            gains = [outcomes[key].overall - base[key].overall for key in both]
            gain = f"{np.mean(gains):+.3f} ({interval(gains)[0]:+.3f} to {interval(gains)[1]:+.3f})"
        low, high = interval(scores)
        cells = [name, str(len(values)), f"{np.mean(scores):.3f}", f"{low:.3f} to {high:.3f}"]
        cells += [f"{np.mean([one.valid for one in values]):.0%}"]
        cells += [f"{grounded[0] / grounded[1]:.0%}" if grounded[1] else "-"]
        cells += [
            f"{np.mean([one.steps for one in values]):.1f}",
            f"{np.mean([one.seconds for one in values]):.2f}",
            gain,
        ]
        yield row(cells)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), metavar="ROW")
    parser.add_argument("--list", action="store_true", help="list the rows")
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS))
    parser.add_argument("--documents", type=int, default=100, help="how many (%(default)s)")
    parser.add_argument("--minutes", type=float, help="stop after so many")
    parser.add_argument("--against", choices=ROWS, default="none", metavar="ROW", help="what to compare with")
    parser.add_argument("--data", type=Path, default=DATA, help="folder that holds zugferd and sroie (%(default)s)")
    parser.add_argument("--model", default="nano", help='"nano", a checkpoint folder, or a Hugging Face id')
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name:40} {json.dumps(settings)}" for name, settings in ROWS.items()))
        return
    weights = hashlib.sha256()
    for part in sorted(resolve(options.model).glob("*.safetensors")):
        weights.update(part.read_bytes())
    kept = Outcomes(CACHE / f"{weights.hexdigest()[:16]}.jsonl")
    engine = Engine.load(options.model)
    found: dict[str, dict[tuple[str, str], Outcome]] = {name: {} for name in options.rows}
    started = time.monotonic()
    try:
        for index, (dataset, case) in enumerate(documents(options.datasets, options.data, options.documents), 1):
            for name in options.rows:
                key = Key.of(effective(ROWS[name], engine), dataset, case, options.seed)
                outcome = kept.get(key)
                if outcome is None:
                    if options.minutes is not None and time.monotonic() - started > options.minutes * 60:
                        raise KeyboardInterrupt
                    outcome = run(case, engine, options.seed, **ROWS[name])
                    kept.add(key, outcome)
                found[name][dataset, case.name] = outcome
            print(f"\r{index}/{options.documents} ", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped; the table is of what is there", file=sys.stderr)
    print(file=sys.stderr)
    print("\n".join(table(found, options.against)))


if __name__ == "__main__":
    main()
