import json
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_checkpoint import make_tiny_checkpoint

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["receipt.png"], ["invoice.pdf", "1"]], ids=["picture", "page"])
def test_it_answers_in_its_type(tmp_path, arguments):
    if arguments[0].endswith("pdf"):
        pytest.importorskip("pymupdf", reason="drawing pages needs PyMuPDF")
    checkpoint = make_tiny_checkpoint(tmp_path / "tiny", canvas_length=64)
    command = [sys.executable, EXAMPLES / "picture.py", checkpoint, EXAMPLES / arguments[0], *arguments[1:]]
    printed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert printed["kind"] in ("receipt", "invoice", "letter", "other")
    assert list(printed) == ["kind", "date", "total", "total_box"]


@pytest.mark.heavy
@pytest.mark.slow
def test_nano_says_that_it_sees_nothing():
    command = [sys.executable, EXAMPLES / "picture.py", "nano", EXAMPLES / "receipt.png"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "not trained to read pictures" in ended.stderr
