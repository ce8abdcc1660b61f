import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from frontier import ROWS, effective, interval  # noqa: E402

from dg_sglang import Engine  # noqa: E402


def test_intervals_hold_the_mean_and_shrink_with_more_data():
    few, many = interval([0.0, 1.0] * 10), interval([0.0, 1.0] * 200)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]
    assert interval([0.25] * 5) == (0.25, 0.25)


@pytest.mark.heavy
def test_rows_that_a_checkpoints_defaults_make_equal_are_one():
    engine = Engine.load("nano")
    known = {name: effective(settings, engine) for name, settings in ROWS.items()}
    window = engine.config.policy.frontier_window
    assert known[f"pieces: window {window or 'off'}"] == known["pieces"]
    assert known["pieces"] != known["strings"] != known["none"]
    assert len({*known.values()}) > 15


@pytest.mark.heavy
@pytest.mark.slow
def test_the_command_prints_a_row_each_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rows = ["none, 48 steps", "pieces: stop after 2"]
    command = [sys.executable, EXAMPLES / "frontier.py", "--datasets", "handwritten", "--documents", "2"]
    command += ["--against", rows[0], "--rows", *rows]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    assert [line.split(" | ")[:2] for line in lines[2:]] == [[f"| {name}", "2"] for name in rows]
    (kept,) = tmp_path.rglob("*.jsonl")
    entries = [json.loads(line) for line in kept.read_text().splitlines()]
    assert len(entries) == 4
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout == result.stdout
    assert len(kept.read_text().splitlines()) == 4
