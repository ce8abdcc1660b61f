"""The Triton kernels compile for GPUs that aren't here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "support" / "compile_kernels.py"


@pytest.mark.slow
@pytest.mark.parametrize("capability", [90, 100])
def test_kernels_compile_ahead_of_time(capability, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(capability)],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    binaries = [line.split() for line in done.stdout.splitlines()]
    assert len({name for name, _ in binaries}) == 13
    assert all(int(size) > 1000 for _, size in binaries)
