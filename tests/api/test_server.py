"""The API as a process of its own: under load, killed and started again, and against its own OpenAPI page."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

pytestmark = [pytest.mark.slow, pytest.mark.heavy]
SCHEMA = json.dumps({"type": "object", "properties": {"total": {"type": ["number", "null"]}}, "required": ["total"]})


class Server:
    """`dg-sglang api` in a process group of its own."""

    def __init__(self, folder: Path, checkpoint: Path, *options: str) -> None:
        command = [sys.executable, "-m", "dg_sglang", "api", "--model", str(checkpoint), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--data", str(folder), *options], stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stderr is not None
        lines = iter(self.process.stderr.readline, "")
        address = next(line for line in lines if line.startswith("http"))
        self.url = address.strip().removesuffix("/docs")
        self.drain = ThreadPoolExecutor(1).submit(self.process.stderr.read)

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def memory(self) -> int:
        """Resident bytes of the server and its workers."""
        total = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == self.process.pid or int(fields[3]) == self.process.pid:  # its group or its session
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        return total

    def send(self, pdf: bytes, path: str = "/v1/extract") -> requests.Response:
        return requests.post(
            self.url + path, files={"file": ("a.pdf", pdf)}, data={"schema": SCHEMA, "seed": "1"}, timeout=300
        )

    def get(self, path: str) -> Any:
        return requests.get(self.url + path, timeout=60).json()


@pytest.fixture
def start(tmp_path: Path, checkpoint: Path) -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def run(*options: str) -> Server:
        servers.append(Server(tmp_path / "data", checkpoint, *options))
        return servers[-1]

    yield run
    for server in servers:
        if server.process.poll() is None:
            server.kill()


def test_under_load_it_sends_away_what_it_cannot_do_and_stays_small(start: Callable[..., Server], pdf: bytes) -> None:
    server = start("--max-waiting", "4")
    assert server.send(pdf).status_code == 200
    with ThreadPoolExecutor(16) as pool:
        first = list(pool.map(lambda _: server.send(pdf), range(40)))
        before = server.memory()
        second = list(pool.map(lambda _: server.send(pdf), range(40)))
    answers = [answer.status_code for answer in first + second]
    assert set(answers) == {200, 429}
    busy = next(answer for answer in first if answer.status_code == 429)
    assert int(busy.headers["retry-after"]) > 0
    assert len({answer.text for answer in first + second if answer.status_code == 200 and answer.json()["value"]}) <= 80
    assert server.memory() - before < 100e6
    assert server.get("/healthz")["waiting"] == 0


def test_a_killed_job_goes_on_after_the_next_start(start: Callable[..., Server], pdf: bytes) -> None:
    server = start()
    jobs = [server.send(pdf, "/v1/jobs").json()["id"] for _ in range(4)]
    while server.get(f"/v1/jobs/{jobs[0]}")["status"] == "queued":
        time.sleep(0.02)
    server.kill()
    server = start()
    deadline = time.monotonic() + 300
    while any(server.get(f"/v1/jobs/{job}")["status"] in ("queued", "running") for job in jobs):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    values = [server.get(f"/v1/jobs/{job}/result")["value"] for job in jobs]
    assert values == [server.send(pdf).json()["value"]] * 4


def test_a_document_over_its_time_costs_only_itself(start: Callable[..., Server], pdf: bytes) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    with pymupdf.open() as document:
        for _ in range(60):
            page = document.new_page()
            for row in range(60):
                page.insert_text((72, 20 + 12 * row), f"row {row} of many with 12.50 EUR and 3 May 2024")
        long = bytes(document.tobytes())
    server = start("--timeout", "1")
    slow = server.send(long)
    assert slow.status_code == 504, slow.text
    assert slow.json()["error"]["code"] == "timeout"
    assert "a.pdf" in slow.json()["error"]["message"]
    assert str(Path.cwd()) not in slow.text
    assert server.get("/healthz")["status"] == "ok"


def test_ctrl_c_ends_it_cleanly_and_a_taken_port_is_one_line(start: Callable[..., Server], checkpoint: Path) -> None:
    server = start()
    port = server.url.rpartition(":")[2]
    taken = subprocess.run(
        [sys.executable, "-m", "dg_sglang", "api", "--model", str(checkpoint), "--port", port],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert taken.returncode == 1
    assert taken.stderr.count("\n") == 1
    assert "choose another --port" in taken.stderr
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(60) in (0, 130)
    assert "Traceback" not in server.drain.result(10)


def test_every_answer_is_one_that_the_openapi_page_describes(start: Callable[..., Server], tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis isn't installed")
    server = start("--max-bytes", "200000")
    done = subprocess.run(
        [
            *(program, "run", server.url + "/openapi.json", "--max-examples", "12", "--seed", "1", "--no-color"),
            "--exclude-checks=positive_data_acceptance",  # few made-up files are documents, few texts JSON Schemas
        ],
        capture_output=True, text=True, timeout=900, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20_000:]
