"""`--url`: extract, batch and the extraction API let a running server answer, and give what the engine gives."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

import requests
from made_documents import make_pdf
from sglang_client import TIMEOUT, Client, checked

from dg_sglang import Engine
from dg_sglang.cli import main
from dg_sglang.pipelines import extract

SCHEMA = {
    "type": "object",
    "properties": {"number": {"type": ["string", "null"]}, "total": {"type": ["number", "null"]}},
    "required": ["number", "total"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two documents and the schema."""
    folder = tmp_path_factory.mktemp("documents")
    for number, total in ((4711, "12.50 EUR"), (4712, "99.00 EUR")):
        make_pdf(folder / f"{number}.pdf", [[(72, 72, f"Invoice {number}"), (72, 100, f"Total {total}")]])
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    return folder


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, dict[str, Any]]:
    """What the engine in this process extracts from each document."""
    engine = Engine.load("nano", device="cpu", dtype="float32")
    results = {path.name: extract(path, SCHEMA, engine=engine, seed=1).to_json() for path in folder.glob("*.pdf")}
    return json.loads(json.dumps(results))


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


def test_extract_gives_the_same_values_and_evidence(
    nano: Client, folder: Path, expected: dict[str, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    document = folder / "4711.pdf"
    assert run("extract", document, "--schema", folder / "schema.json", "--url", nano.url, "--seed", 1, "--json") == 0
    answer, here = json.loads(capsys.readouterr().out), expected["4711.pdf"]
    assert answer["value"] == here["value"]
    assert answer["evidence"].keys() == here["evidence"].keys()
    for name, evidence in answer["evidence"].items():
        # Server and engine add in different orders, so that a confidence may differ in its last digits.
        assert evidence == here["evidence"][name] | {"confidence": evidence["confidence"]}
        assert evidence["confidence"] == pytest.approx(here["evidence"][name]["confidence"], abs=1e-4)


def test_batch_gives_a_row_for_each_document(
    nano: Client, folder: Path, expected: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    out = tmp_path / "rows.jsonl"
    options = ("--schema", folder / "schema.json", "--out", out, "--url", nano.url, "--workers", 2, "--seed", 1)
    assert run("batch", *folder.glob("*.pdf"), *options) == 0
    rows = {Path(row["source"]).name: row for row in map(json.loads, out.read_text().splitlines())}
    assert {name: row["value"] for name, row in rows.items()} == {name: one["value"] for name, one in expected.items()}


@pytest.fixture(scope="module")
def api(nano: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of `dg-sglang api`."""
    command = [sys.executable, "-m", "dg_sglang", "api", "--url", nano.url, "--port", "0", "--workers", "2"]
    command += ["--data", str(tmp_path_factory.mktemp("jobs"))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = next((line for line in process.stderr if line.startswith("http")), None)
        drain = ThreadPoolExecutor(1).submit(process.stderr.read)
        try:
            assert address is not None, "it ended before it said where it listens"
            yield address.strip().removesuffix("/docs")
        finally:
            process.terminate()
            drain.result()


def test_the_api_answers_from_the_server(api: str, folder: Path, expected: dict[str, dict[str, Any]]) -> None:
    def ask(name: str) -> dict[str, Any]:
        form = {"schema": json.dumps(SCHEMA), "seed": "1"}
        with (folder / name).open("rb") as file:
            return checked(requests.post(f"{api}/v1/extract", files={"file": file}, data=form, timeout=TIMEOUT))

    with ThreadPoolExecutor(2) as threads:
        answers = dict(zip(expected, threads.map(ask, expected), strict=True))
    assert {name: answer["value"] for name, answer in answers.items()} == {
        name: one["value"] for name, one in expected.items()
    }


def test_without_a_server_all_of_them_say_so(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nobody = "http://127.0.0.1:1"
    schema = ("--schema", folder / "schema.json")
    assert run("extract", folder / "4711.pdf", *schema, "--url", nobody) != 0
    assert "no server answers" in capsys.readouterr().err
    assert run("batch", folder / "4711.pdf", *schema, "--url", nobody, "--out", tmp_path / "rows.jsonl") != 0
    assert "no server answers" in capsys.readouterr().err
