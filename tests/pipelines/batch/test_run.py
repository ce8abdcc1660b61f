"""Batches end to end, on an engine that answers at once: what a user gets, whatever documents and workers do."""

import csv
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from first_words import FirstWords
from made_documents import make_pdf

from dg_sglang.errors import BatchError, ConfigError, UnsupportedSchemaError
from dg_sglang.pipelines import BatchSummary, extract_many

SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": "string"}, "total": {"type": ["number", "null"]}},
    "required": ["number"],
}


def pdf(path: Path, text: str) -> Path:
    return make_pdf(path, [[(72, 72, text)]])


def run(inputs: Any, out: Path, **options: Any) -> BatchSummary:
    return extract_many(inputs, SCHEMA, out=out, engine=FirstWords, **options)


def rows(out: Path) -> dict[str, dict[str, Any]]:
    """By file name; each only once."""
    read = [json.loads(line) for line in out.read_text().splitlines()]
    named = {Path(row["source"]).name: row for row in read}
    assert len(named) == len(read)
    return named


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    return folder


def test_each_document_becomes_one_row(folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        pdf(folder / f"{name}.pdf", f"{name.upper()}1 Invoice")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nonsense")
    (folder / "copy.pdf").write_bytes((folder / "a.pdf").read_bytes())
    seen: list[Any] = []
    summary = run([folder], tmp_path / "out.jsonl", workers=2, progress=lambda _, row: seen.append(row))
    found = rows(tmp_path / "out.jsonl")
    assert {name: row["value"] and row["value"]["number"] for name, row in found.items()} == {
        "a.pdf": "A1",
        "b.pdf": "B1",
        "c.pdf": "C1",
        "broken.pdf": None,
        "copy.pdf": "A1",
    }
    assert found["copy.pdf"]["document"]["name"] == "copy.pdf"
    assert found["broken.pdf"]["error"]["category"] == "damaged"
    assert found["broken.pdf"]["error"]["attempts"] == 1
    assert found["a.pdf"]["error"] is None
    assert found["a.pdf"]["evidence"]["number"]["page"] == 1
    assert found["a.pdf"]["usage"]["canvases"] == 1
    assert (summary.documents, summary.succeeded, summary.failed, summary.reused) == (5, 3, 1, 1)
    assert summary.categories == {"damaged": 1}
    assert summary.usage["canvases"] == 3
    assert len(seen) >= 4
    assert json.loads(json.dumps(summary.to_json()))["documents"] == 5


def test_a_worker_that_dies_hangs_or_stumbles_costs_its_document_only(folder: Path, tmp_path: Path) -> None:
    pdf(folder / "crash.pdf", "1 CRASH")
    pdf(folder / "bug.pdf", "3 BUG")
    pdf(folder / "once.pdf", f"4 ONCE {tmp_path / 'marker'}")
    pdf(folder / "good.pdf", "5 good")
    summary = run([folder], tmp_path / "out.jsonl", retries=1)
    found = rows(tmp_path / "out.jsonl")
    errors = {
        name: row["error"] and (row["error"]["category"], row["error"]["attempts"]) for name, row in found.items()
    }
    assert errors == {
        "crash.pdf": ("crash", 2),
        "bug.pdf": ("unexpected", 2),
        "once.pdf": None,
        "good.pdf": None,
    }
    assert "SIGSEGV" in found["crash.pdf"]["error"]["message"]
    assert "ZeroDivisionError" in found["bug.pdf"]["error"]["message"]
    assert summary.failed == 2


def test_a_document_that_hangs_is_given_up(folder: Path, tmp_path: Path) -> None:
    pdf(folder / "hang.pdf", "2 HANG")
    pdf(folder / "last.pdf", "3 good")
    run([folder], tmp_path / "out.jsonl", timeout=20, retries=0)
    found = rows(tmp_path / "out.jsonl")
    assert found["hang.pdf"]["error"] == {
        "category": "timeout",
        "message": f"{folder / 'hang.pdf'}: not done after 20 seconds",
        "attempts": 1,
    }
    assert found["last.pdf"]["error"] is None


def test_resuming_computes_only_what_is_new_or_changed(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    pdf(folder / "a.pdf", "A1 Invoice")
    (folder / "bad.pdf").write_bytes(b"%PDF-")
    run([folder], out)
    pdf(folder / "a.pdf", "A2 Invoice")
    pdf(folder / "b.pdf", "B1 Invoice")
    with out.open("ab") as file:
        file.write(b'{"source": "half of a li')
    summary = run([folder], out, resume=True)
    assert {name: row["value"] and row["value"]["number"] for name, row in rows(out).items()} == {
        "a.pdf": "A2",
        "b.pdf": "B1",
        "bad.pdf": None,
    }
    assert (summary.succeeded, summary.failed, summary.reused) == (2, 0, 1)
    again = run([folder], out, resume=True, retry_failed=True)
    assert (again.succeeded, again.failed, again.reused) == (0, 1, 2)
    assert len(rows(out)) == 3
    out.unlink()
    run([folder], out, resume=True)
    assert len(rows(out)) == 3


def test_an_earlier_batch_is_neither_overwritten_nor_mixed(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    pdf(folder / "a.pdf", "A1")
    run([folder], out, seed=1)
    with pytest.raises(BatchError, match="holds an earlier batch"):
        run([folder], out, seed=1)
    with pytest.raises(BatchError, match="holds a batch with another seed"):
        run([folder], out, seed=2, resume=True)
    with pytest.raises(BatchError, match="another schema"):
        extract_many([folder], SCHEMA | {"required": []}, out=out, engine=FirstWords, seed=1, resume=True)
    (tmp_path / "other.jsonl").write_text("mine\n")
    with pytest.raises(ConfigError, match="exists: name another file"):
        run([folder], tmp_path / "other.jsonl")
    (tmp_path / "third.jsonl.ledger").write_text("not a database, but long enough to be read as one" * 100)
    with pytest.raises(BatchError, match="is not a ledger"):
        run([folder], tmp_path / "third.jsonl", resume=True)
    assert (tmp_path / "other.jsonl").read_text() == "mine\n"


def test_the_error_budget_stops_the_batch(folder: Path, tmp_path: Path) -> None:
    for number in range(6):
        (folder / f"{number}.pdf").write_bytes(b"%PDF-" + bytes([number]))
    summary = run([folder], tmp_path / "out.jsonl", error_budget=2)
    assert summary.stopped
    assert summary.failed == len(rows(tmp_path / "out.jsonl")) == 3
    resumed = run([folder], tmp_path / "out.jsonl", resume=True)
    assert (resumed.failed, resumed.reused) == (3, 3)


def test_a_wrong_setting_or_engine_ends_the_batch_at_once(folder: Path, tmp_path: Path) -> None:
    pdf(folder / "a.pdf", "A1")
    with pytest.raises(BatchError, match=r"a worker can't start: .*nowhere"):
        extract_many([folder], SCHEMA, out=tmp_path / "a.jsonl", model=str(tmp_path / "nowhere"))
    with pytest.raises(UnsupportedSchemaError):
        extract_many([folder], {"type": "string"}, out=tmp_path / "a.jsonl", engine=FirstWords)
    for wrong, message in (
        ({"workers": 0}, "workers must be"),
        ({"timeout": 0}, "timeout must be"),
        ({"retries": -1}, "retries must be"),
        ({"error_budget": -1}, "error_budget must be"),
        ({"out": tmp_path / "a.xlsx"}, r"ends in \.jsonl, \.csv, \.parquet"),
        ({"out": tmp_path / "none" / "a.csv"}, "existing folder"),
    ):
        with pytest.raises(ConfigError, match=message):
            run([folder], **({"out": tmp_path / "b.jsonl"} | wrong))  # type: ignore[arg-type]


def test_tables(folder: Path, tmp_path: Path) -> None:
    pdf(folder / "a.pdf", "A1 Invoice")
    (folder / "bad.pdf").write_bytes(b"%PDF-")
    run([folder], tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert first["value.number"] == "A1"
    assert (second["error_category"], second["value.number"]) == ("damaged", "")


def test_a_class_of_a_script_needs_no_guard(folder: Path, tmp_path: Path) -> None:
    pdf(folder / "a.pdf", "A1 Invoice")
    script = tmp_path / "script.py"
    support = Path(__file__).parents[2] / "support"
    script.write_text(
        f"import sys; sys.path.append({str(support)!r})\n"
        "from first_words import FirstWords\nfrom pydantic import BaseModel, field_validator\n"
        "from dg_sglang.pipelines import extract_many\n"
        "class Bill(BaseModel):\n    number: str\n"
        "    @field_validator('number')\n    @classmethod\n    def lower(cls, value): return value.lower()\n"
        f"out = {str(tmp_path / 'out.jsonl')!r}\n"
        f"print(extract_many([{str(folder)!r}], Bill, out=out, engine=FirstWords).succeeded)\n"
    )
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert result.stdout == "1\n", result.stderr
    assert rows(tmp_path / "out.jsonl")["a.pdf"]["value"] == {"number": "a1"}


# --- killed at any moment ---------------------------------------------------------------------------------------------

KILLS = 20
LONG = 300


def sixty_documents(folder: Path) -> dict[str, str | None]:
    """Made documents, and the error's category that each should end with."""
    expected: dict[str, str | None] = {}
    for number in range(50):
        expected[pdf(folder / f"{number:02}.pdf", f"N{number} Invoice").name] = None
    good = (folder / "00.pdf").read_bytes()
    for number in range(4):
        (folder / f"cut{number}.pdf").write_bytes(good[: 200 + 100 * number])
        expected[f"cut{number}.pdf"] = "damaged"
    make_pdf(folder / "locked.pdf", [[(72, 72, "L1")]], encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret")
    make_pdf(folder / "long.pdf", [[(72, 72, f"Page{page} of many")] for page in range(LONG)])
    _png_bomb(folder / "bomb.png")
    (folder / "empty.pdf").touch()
    (folder / "strange.pdf").write_bytes(b"MZ\x00\x01\x02 a program\x00" * 100)
    pdf(folder / "crash.pdf", "1 CRASH")
    more = {"locked.pdf": "encrypted", "long.pdf": None, "bomb.png": "limit", "empty.pdf": "empty"}
    return expected | more | {"strange.pdf": "unsupported", "crash.pdf": "crash"}


def _png_bomb(path: Path) -> None:
    """A few kilobytes that claim to be a picture of 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(2**20))))


@pytest.mark.slow
def test_twenty_kills_lose_and_repeat_nothing(folder: Path, tmp_path: Path) -> None:
    expected = sixty_documents(folder)
    assert len(expected) == 60
    out, script = tmp_path / "out.jsonl", tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path.append({str(Path(__file__).parents[2] / 'support')!r})\n"
        "from first_words import FirstWords\nfrom dg_sglang.pipelines import extract_many\n"
        f"extract_many([{str(folder)!r}], {SCHEMA!r}, out={str(out)!r}, engine=FirstWords, workers=2, resume=True)\n"
    )
    environment = os.environ | {"FIRST_WORDS_SECONDS": "0.2", "OMP_NUM_THREADS": "1"}
    rng = random.Random(7)
    kept: dict[str, Any] = {}
    for _ in range(KILLS):
        process = subprocess.Popen([sys.executable, script], env=environment, stderr=subprocess.DEVNULL)
        lines = len(out.read_bytes().splitlines()) if out.exists() else 0
        wanted, patience = lines + rng.randrange(4), time.monotonic() + 60
        while process.poll() is None and time.monotonic() < patience:
            if out.exists() and len(out.read_bytes().splitlines()) >= wanted:
                break
            time.sleep(0.02)
        time.sleep(rng.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        written = {row["source"]: row for row in map(json.loads, out.read_text().splitlines())} if out.exists() else {}
        assert kept.items() <= written.items()
        kept = written
    assert 0 < len(kept) < 60
    result = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    found = rows(out)
    assert {name: row["error"] and row["error"]["category"] for name, row in found.items()} == expected
    assert Counter(bool(row["value"]) for row in found.values()) == {True: 51, False: 9}
    assert found["07.pdf"]["value"]["number"] == "N7"
    assert len(found["long.pdf"]["document"]["pages"]) == LONG
