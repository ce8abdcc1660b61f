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
