import json
from pathlib import Path
from typing import Any

import pytest

from dg_sglang.errors import InputError
from dg_sglang.pipelines.comparison import compare_files

LEAF = {"match": "exact", "verbatim": "4711", "page": 1, "boxes": [[10, 10, 30, 20]], "occurrences": 1}
USAGE = {"seconds": 2.0, "canvases": 1, "denoising_steps": 10}
ROWS: list[dict[str, Any]] = [
    {
        "source": "in/a.pdf",
        "value": {"number": "4711", "total": 9.5, "note": None},
        "evidence": {"number": LEAF, "total": LEAF | {"match": "none"}, "note": LEAF | {"verbatim": None}},
        "usage": USAGE,
        "error": None,
    },
    {"source": "in/b.pdf", "value": None, "evidence": None, "usage": None, "error": {"category": "damaged"}},
    {"source": "in/extra.pdf", "value": {"number": "1"}, "evidence": {}, "usage": None, "error": None},
]
GOLD: list[dict[str, Any]] = [
    {
        "file": "a.pdf",
        "truth": {"number": "4711", "total": 9.5, "note": None},
        "boxes": {"number": [[1, 0, 8, 90, 22]], "total": [[2, 0, 0, 9, 9]]},
    },
    {"file": "b.pdf", "truth": {"number": "4712", "total": None}},
    {"file": "c.pdf", "truth": {"number": "4713"}},
]


def files(folder: Path, predicted: str, gold: str) -> tuple[Path, Path]:
    (folder / "pred").write_text(predicted)
    (folder / "gold").write_text(gold)
    return folder / "pred", folder / "gold"


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_batch_against_the_truth(tmp_path: Path) -> None:
    scores = compare_files(*files(tmp_path, lines(ROWS), json.dumps(GOLD)))
    assert (scores.documents, scores.failed, scores.missing, scores.surplus) == (3, 1, 1, 1)
    assert scores.value_f1 == scores.fully_right == pytest.approx(1 / 3)
    assert scores.by_kind == {"null": 1, "number": 1, "text": pytest.approx(0.5)}
    assert scores.grounded == 0.5
    assert scores.null_correct == 0.5
    assert scores.box_f1 == 0.5
    assert scores.usage == {"seconds": 2, "canvases": 1, "denoising_steps": 10}


def test_the_truth_against_itself(tmp_path: Path) -> None:
    plain = [{"id": "a", "number": "4711"}, {"id": "b", "number": None}]
    scores = compare_files(*files(tmp_path, lines(plain), lines(plain)))
    assert (scores.value_f1, scores.fully_right, scores.null_correct) == (1, 1, 1)
    assert (scores.grounded, scores.box_f1, scores.usage) == (None, None, {})


@pytest.mark.parametrize(
    ("predicted", "gold", "problem"),
    [
        ("{", lines(GOLD), "pred is neither JSON nor JSONL"),
        (lines(ROWS) + "{", lines(GOLD), "pred, line 4 is not JSON"),
        ("[1]", lines(GOLD), "pred, record 1: an object is needed, not int"),
        ('{"a": 1}', lines(GOLD), "pred, record 1 doesn't name its document"),
        (lines(ROWS + ROWS), lines(GOLD), "pred, record 4: a second one for 'a.pdf'"),
        ('{"file": "a.pdf", "value": 3}', lines(GOLD), "must be an object or null, not int"),
        (lines(ROWS), '{"file": "a.pdf", "truth": {}, "boxes": {"x": [[1, 2]]}}', "boxes must be"),
        (lines(ROWS), "[]", "the truth holds no documents"),
        (
            lines(ROWS),
            '{"file": "z.pdf", "truth": {}}',
            "no document is in both files: .*'a.pdf', the truth with 'z.pdf'",
        ),
    ],
)
def test_errors_say_what_is_wrong(predicted: str, gold: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        compare_files(*files(tmp_path, predicted, gold))


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can't be read: No such file"):
        compare_files(tmp_path / "none", tmp_path / "none")


def test_decimals_that_json_writes_as_strings_are_numbers():
    from dg_sglang.pipelines.comparison import _with_numbers

    truth = {"total": 12.5, "name": "12.50", "rows": [{"price": None}, {"price": 2}]}
    value = {"total": "12.50", "name": "12.50", "rows": [{"price": "2.00"}, {"price": "x"}]}
    assert _with_numbers(value, truth) == {"total": 12.5, "name": "12.50", "rows": [{"price": 2.0}, {"price": "x"}]}
