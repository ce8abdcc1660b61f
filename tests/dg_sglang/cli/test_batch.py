"""The command on a real, if random, checkpoint: exit codes, what is printed where, killed and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_documents import make_pdf
from tiny_checkpoint import make_tiny_checkpoint

SCHEMA = {"type": "object", "properties": {"number": {"type": ["string", "null"]}}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("batch") / "model", canvas_length=48, max_denoising_steps=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "documents").mkdir()
    for number in range(4):
        make_pdf(tmp_path / "documents" / f"{number}.pdf", [[(72, 72, f"Invoice {number}")]])
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    return tmp_path


def command(folder: Path, model: Path, *arguments: str) -> list[str]:
    schema = ("--schema", str(folder / "schema.json"), "--out", str(folder / "out.jsonl"))
    return [sys.executable, "-m", "dg_sglang", "batch", *arguments, *schema, "--model", str(model)]


def sources(folder: Path) -> list[str]:
    rows = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    return sorted(Path(row["source"]).name for row in rows)


@pytest.mark.slow
def test_killed_and_resumed_from_a_list_on_stdin(folder: Path, model: Path) -> None:
    listed = "".join(f"{path}\n" for path in sorted((folder / "documents").iterdir()))
    first = subprocess.Popen(command(folder, model, str(folder / "documents")), stderr=subprocess.DEVNULL)
    patience = time.monotonic() + 400
    while first.poll() is None and time.monotonic() < patience:
        if (folder / "out.jsonl").exists() and (folder / "out.jsonl").read_bytes():
            break
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    (folder / "documents" / "bad.pdf").write_bytes(b"%PDF-")
    listed += f"{folder / 'documents' / 'bad.pdf'}\n"
    second = subprocess.run(
        command(folder, model, "-", "--resume"), input=listed, capture_output=True, text=True, timeout=500
    )
    assert second.returncode == 3, second.stderr
    assert second.stdout == ""
    assert "5 documents: " in second.stderr
    assert "1 failed" in second.stderr
    assert "done before" in second.stderr
    assert "damaged: " in second.stderr
    assert sources(folder) == ["0.pdf", "1.pdf", "2.pdf", "3.pdf", "bad.pdf"]


def test_a_budget_of_zero_failures(folder: Path, model: Path) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-")
    arguments = [str(folder / "bad.pdf"), str(folder / "documents"), "--error-budget", "0"]
    result = subprocess.run(
        command(folder, model, *arguments), capture_output=True, text=True, timeout=500, env=os.environ
    )
    assert result.returncode == 4, result.stderr
    assert "stopped: more failed documents than the error budget of 0 allows; go on with --resume" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--error-budget", "many"], "neither a number of documents nor a share"),
        (["--error-budget", "200%"], "neither a number of documents nor a share"),
        (["--workers", "0"], "is not in the range"),
    ],
)
def test_wrong_usage(folder: Path, model: Path, arguments: list[str], message: str) -> None:
    result = subprocess.run(command(folder, model, "x.pdf", *arguments), capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert message in result.stderr
