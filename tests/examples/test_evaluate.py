import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from cases import Case, text_document  # noqa: E402
from evaluate import WAYS, run, summarise  # noqa: E402

from dg_sglang import Engine  # noqa: E402

DOCUMENT = text_document("bill", "Bill of Oak Ltd\nTotal   12.50")
SCHEMA = {
    "type": "object",
    "properties": {"total": {"type": "number"}},
    "required": ["total"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def engine():
    return Engine.load("nano")


@pytest.mark.parametrize("way", ["pieces", "causal"])
def test_the_only_number_is_right(engine, way):
    outcome = run(Case("bill", DOCUMENT, SCHEMA, {"total": 12.5}), engine, 0, **WAYS[way])
    assert (outcome.overall, outcome.valid, outcome.right, outcome.grounded) == (1.0, True, True, (1, 1))
    assert outcome.steps > 0


def test_words_are_scored_as_they_are_written(engine):
    outcome = run(Case("bill", DOCUMENT, SCHEMA, {"total": "12.50"}, raw=True), engine, 0)
    assert outcome.right


def test_strings_need_not_stand_in_the_document(engine):
    schema = SCHEMA | {"properties": {"total": {"type": ["string", "null"]}}}
    outcome = run(Case("bill", DOCUMENT, schema, {"total": None}), engine, 0, **WAYS["strings"])
    assert outcome.valid


def test_a_failure_scores_nothing(engine):
    schema = SCHEMA | {"properties": {"total": {"type": "number", "minimum": 100}}}
    outcome = run(Case("bill", DOCUMENT, schema, {"total": 12.5}), engine, 0)
    assert (outcome.overall, outcome.valid) == (0.0, False)
    assert "total" in outcome.error
    summary = summarise([outcome])
    assert (summary["value F1"], summary["valid"], summary["value F1, rows"]) == (0, 0, None)
    assert asdict(outcome)["steps"] > 0


def test_names_what_it_does_not_know():
    command = [sys.executable, EXAMPLES / "evaluate.py", "sroy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unknown data set sroy; there are synthetic, handwritten, zugferd, sroie" in done.stderr
