"""The benchmark commands run, and find nothing invalid accepted in a part of their data."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DATA = Path(os.environ.get("DG_SGLANG_DATA", HERE.parents[2] / "shared" / "data"))


@pytest.mark.parametrize(
    ("script", "data", "only"),
    [
        ("maskbench.py", "maskbench_dev.jsonl.gz", "Synthesized---draft2019_09_nonvalid_a"),
        ("jsts.py", "jsts_draft2020-12.jsonl.gz", "unevaluated"),
    ],
)
@pytest.mark.parametrize("world", [[], ["--closed"]])
def test_nothing_invalid_is_accepted(script, data, only, world):
    if not (DATA / data).is_file():
        pytest.skip(f"no {data}; set DG_SGLANG_DATA to its folder")
    command = [sys.executable, HERE / script, "--data", DATA, "--only", only, *world]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    accepted, of = re.search(r"invalid instances accepted +(\d+) of +(\d+)", result.stdout).groups()
    assert int(accepted) == 0
    assert int(of) > 0


@pytest.mark.slow
@pytest.mark.parametrize("world", [[], ["--open"]])
def test_draws_of_real_schemas_are_valid_and_close_in_budget(world, tmp_path):
    if not (DATA / "maskbench_dev.jsonl.gz").is_file():
        pytest.skip("no maskbench_dev.jsonl.gz; set DG_SGLANG_DATA to its folder")
    out = tmp_path / "results.jsonl"
    command = [sys.executable, HERE / "soundness.py", "--data", DATA, "--schemas", "4", "--draws", "100", *world]
    result = subprocess.run([*command, "--out", out], capture_output=True, text=True, check=True)
    assert "draws 400," in result.stdout
    assert "invalid 0, not closed in budget 0" in result.stdout
    again = subprocess.run([*command, "--out", out], capture_output=True, text=True, check=True)
    assert again.stdout == result.stdout  # read back, not drawn again
