"""`dg-sglang serve`: starts, says where, and ends with everything it has started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

import psutil
import requests
from sglang_client import START_TIMEOUT, Client, checked

from dg_sglang.errors import CheckpointError, ConfigError, ServerError
from dg_sglang.launch import Server


@pytest.fixture
def command(tiny_path: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    arguments = ["serve", "--model", str(tiny_path), "--device", "cpu", "--dtype", "bfloat16", "--port", "0"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "dg_sglang", *arguments, "--", "--max-running-requests", "2"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_serve_prints_its_url_answers_and_ends_with_all_its_processes(
    command: subprocess.Popen[str], sent: signal.Signals
) -> None:
    assert command.stdout is not None
    url = command.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:")
    body = {"text": "Which?", "sampling_params": {"regex": "yes|no", "max_new_tokens": 8}}
    assert checked(requests.post(f"{url}/generate", json=body, timeout=300))["text"] in ("yes", "no")
    started = psutil.Process(command.pid).children(recursive=True)
    assert len(started) >= 3  # the server, its scheduler and its detokenizer
    command.send_signal(sent)
    assert command.wait(60) == 0
    _, alive = psutil.wait_procs(started, timeout=10)
    assert not alive


@pytest.mark.parametrize("ready", [True, False], ids=["ready", "starting"])
def test_a_killed_parent_takes_the_server_with_it(command: subprocess.Popen[str], ready: bool) -> None:
    assert command.stdout is not None
    parent = psutil.Process(command.pid)
    if ready:
        assert command.stdout.readline().startswith("http")
    deadline = time.monotonic() + START_TIMEOUT
    while not (started := parent.children(recursive=True)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    command.kill()
    _, alive = psutil.wait_procs(started, timeout=10 if ready else START_TIMEOUT)
    assert not alive


def test_stop_ends_a_server_that_does_not_answer_to_sigterm(tiny_path: Path, tmp_path: Path) -> None:
    """As one with a stuck request: here its main process is stopped, so that only SIGKILL is left."""
    with (tmp_path / "log").open("wb") as log, Server(tiny_path, device="cpu", port=0, log=log) as server:
        deadline = time.monotonic() + START_TIMEOUT
        main = psutil.Process(server.process.pid)
        while not main.children(recursive=True):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        started = [main, *main.children(recursive=True)]
        os.kill(server.process.pid, signal.SIGSTOP)
        server.stop(patience=1)
        _, alive = psutil.wait_procs(started, timeout=10)
        assert not alive


def test_what_will_not_do_is_said_before_anything_starts(tiny: Client, tmp_path: Path) -> None:
    taken = int(tiny.url.rsplit(":", 1)[1])
    for port, word in ((taken, "in use"), (70_000, "65535")):
        with pytest.raises(ConfigError, match=word):
            Server("nano", device="cpu", port=port)
    with pytest.raises(ConfigError, match="float32"):
        Server("nano", device="cpu", dtype="float64")
    with pytest.raises(CheckpointError, match=r"config\.json"):
        Server(tmp_path, device="cpu")


def test_a_server_that_fails_to_start_says_so(tiny_path: Path, tmp_path: Path) -> None:
    with (
        (tmp_path / "log").open("wb") as log,
        Server(tiny_path, device="cpu", port=0, log=log, arguments=("--no-such-option",)) as server,
        pytest.raises(ServerError, match="exit code 2"),
    ):
        server.wait_ready(START_TIMEOUT)
    assert "--no-such-option" in (tmp_path / "log").read_text()
