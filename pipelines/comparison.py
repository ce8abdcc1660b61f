"""Predictions in files against the truth in files: `dg-sglang evaluate PRED GOLD`.

Both are JSON (a list of records) or JSONL. A record names its document as `source`, `file`, `name` or `id`, and holds
the fields as `value` or `truth`, or beside the name. A batch's rows are predictions as they are. A record of the truth
may hold `boxes`: {"total": [[page, x0, y0, x1, y1], …], "items[0].amount": …} in PDF points from the top left corner.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from dg_sglang.errors import InputError
from dg_sglang.pipelines.evaluation import Kind, PlacedBox, Score, null_cells, score_boxes, score_fields, score_kinds
from dg_sglang.pipelines.reading import path_name

_NAMES = ("source", "file", "name", "id")
_VALUES = ("value", "truth")
_LEAF = frozenset({"match", "verbatim", "page", "boxes"})


@dataclass(frozen=True)
class Record:
    """One document's fields; `value` is None where it failed."""

    name: str
    value: Mapping[str, Any] | None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    boxes: Mapping[str, Sequence[PlacedBox]] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """Scores of all documents of the truth; a failed or missing one scores 0.

    Attributes:
        documents, failed, missing, surplus: how many the truth has; of them without a value, and without a prediction;
            predictions that the truth doesn't know (not scored).
        value_f1: mean over documents. by_kind: over the cells of all documents together, those of failed ones too.
        grounded: share of the copied leaves that stand in the document; None without evidence.
        null_correct: share of the truth's null fields that are null; None where it has none.
        fully_right: share of documents without any wrong or missed cell.
        box_f1: over all fields with gold boxes; None where there are none.
        usage: means per document of what the predictions' usage holds.
    """

    documents: int
    failed: int
    missing: int
    surplus: int
    value_f1: float
    by_kind: Mapping[Kind, float]
    grounded: float | None
    null_correct: float | None
    fully_right: float
    box_f1: float | None
    usage: Mapping[str, float]


def compare_files(predicted: str | Path, gold: str | Path) -> Comparison:
    """Score one file against another. Raises InputError that names the file, the record and what is wrong."""
    return compare(read_records(Path(predicted)), read_records(Path(gold)))


def compare(predicted: Sequence[Record], gold: Sequence[Record]) -> Comparison:
    """Score predictions against the truth. Raises InputError when no document is in both."""
    if not gold:
        raise InputError("the truth holds no documents")
    answers = {record.name: record for record in predicted}
    if not answers.keys() & {truth.name for truth in gold}:
        raise InputError(
            f"no document is in both files: the predictions begin with {next(iter(answers), 'nothing')!r}, "
            f"the truth with {gold[0].name!r}"
        )
    scores, kinds = [], dict[Kind, Score]()
    boxes, leaves, nulls = Score(), (0, 0), (0, 0)
    for truth in gold:
        answer = answers.get(truth.name) or Record(truth.name, None)
        expected = truth.value or {}
        found = _with_numbers(answer.value or {}, expected)
        scores.append(score_fields(found, expected) if answer.value is not None else Score(0, 0, 1))
        for kind, score in score_kinds(found, expected).items():
            if answer.value is None and kind == "null":
                continue  # what wasn't read isn't a correct null
            kinds[kind] = kinds.get(kind, Score()) + score
        if answer.value is not None:
            nulls = _added(nulls, null_cells(found, expected))
        else:
            nulls = _added(nulls, (0, sum(value is None for value in expected.values())))
        placed = dict(_evidence_leaves(answer.evidence, ()))
        copied = [leaf for leaf in placed.values() if leaf.get("verbatim") is not None]
        leaves = _added(leaves, (sum(leaf["match"] != "none" for leaf in copied), len(copied)))
        for name, wanted in truth.boxes.items():
            boxes += score_boxes(_boxes(placed.get(name, {})), wanted)
    known = {truth.name for truth in gold}
    return Comparison(
        documents=len(gold),
        failed=sum(truth.name in answers and answers[truth.name].value is None for truth in gold),
        missing=sum(truth.name not in answers for truth in gold),
        surplus=len(answers.keys() - known),
        value_f1=mean(score.f1 for score in scores),
        by_kind={kind: score.f1 for kind, score in sorted(kinds.items())},
        grounded=_share(leaves),
        null_correct=_share(nulls),
        fully_right=mean(score.perfect for score in scores),
        box_f1=boxes.f1 if boxes.gold else None,
        usage=_usage([answers[name].usage for name in answers.keys() & known]),
    )


def read_records(path: Path) -> list[Record]:
    """The records of a JSON or JSONL file. Raises InputError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text") from error
    records: dict[str, Record] = {}
    for number, data in enumerate(_objects(path, text), 1):
        record = _record(data, f"{path}, record {number}")
        if record.name in records:
            raise InputError(f"{path}, record {number}: a second one for {record.name!r}")
        records[record.name] = record
    return list(records.values())


def _objects(path: Path, text: str) -> list[Any]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as whole:
        data = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                if line.strip():
                    data.append(json.loads(line))
            except json.JSONDecodeError as error:
                if number == 1:  # no JSONL either
                    raise InputError(f"{path} is neither JSON nor JSONL: {whole}") from error
                raise InputError(f"{path}, line {number} is not JSON: {error}") from error
    return data if isinstance(data, list) else [data]


def _record(data: Any, where: str) -> Record:
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: an object is needed, not {type(data).__name__}")
    key = next((name for name in _NAMES if isinstance(data.get(name), str)), None)
    if key is None:
        raise InputError(f"{where} doesn't name its document: give it {', '.join(_NAMES[:-1])} or {_NAMES[-1]}")
    held = next((data[name] for name in _VALUES if name in data), {k: v for k, v in data.items() if k != key})
    if held is not None and not isinstance(held, Mapping):
        raise InputError(f"{where}: its value must be an object or null, not {type(held).__name__}")
    evidence, usage, boxes = (data.get(name) or {} for name in ("evidence", "usage", "boxes"))
    try:
        placed = {name: [_placed(box) for box in several] for name, several in boxes.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{where}: boxes must be {{field: [[page, x0, y0, x1, y1], …]}} ({error})") from error
    return Record(Path(data[key]).name, held, evidence, placed, usage)


def _placed(box: Sequence[float]) -> PlacedBox:
    page, x0, y0, x1, y1 = box
    return int(page), (float(x0), float(y0), float(x1), float(y1))


def _evidence_leaves(tree: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(tree, list):
        for index, branch in enumerate(tree):
            yield from _evidence_leaves(branch, (*path, index))
    elif isinstance(tree, Mapping):
        if tree.keys() >= _LEAF and isinstance(tree["match"], str):
            yield path_name(path), tree
            return
        for name, branch in tree.items():
            yield from _evidence_leaves(branch, (*path, name))


def _boxes(leaf: Mapping[str, Any]) -> list[PlacedBox]:
    return [_placed((leaf["page"], *box)) for box in leaf.get("boxes") or ()]


def _added(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _share(counts: tuple[int, int]) -> float | None:
    return counts[0] / counts[1] if counts[1] else None


def _usage(usages: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    names = ("seconds", "canvases", "denoising_steps")
    known = [usage for usage in usages if all(name in usage for name in names)]
    return {name: mean(usage[name] for usage in known) for name in names} if known else {}


def _with_numbers(value: Any, truth: Any) -> Any:
    """A prediction whose decimals are numbers where the truth has numbers: pydantic's JSON writes them as strings."""
    if isinstance(value, Mapping) and isinstance(truth, Mapping):
        return {name: _with_numbers(one, truth.get(name)) for name, one in value.items()}
    if isinstance(value, list) and isinstance(truth, list):
        known: dict[str, Any] = {}
        for record in truth:
            if isinstance(record, Mapping):
                known |= {name: one for name, one in record.items() if one is not None}
        template: Any = known or (truth[0] if truth else None)
        return [_with_numbers(one, template) for one in value]
    is_number = isinstance(truth, int | float) and not isinstance(truth, bool)
    if is_number and isinstance(value, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value):
        return float(value)
    return value
