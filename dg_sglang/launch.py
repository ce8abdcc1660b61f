"""SGLang's server for a DiffusionGemma checkpoint, as a child process: its arguments, its health, its end."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from dg_sglang import checkpoint as checkpoints
from dg_sglang.errors import ConfigError, ServerError
from dg_sglang.plugin import CPU_PLATFORM, GRAMMAR_BACKEND
from dg_sglang.plugin.lifeline import VARIABLE as LIFELINE
from dg_sglang.plugin.version import check_sglang

ALGORITHM = "Gemma4Renoise"
"""The name that SGLang demands for DiffusionGemma; the plugin puts its own class under it."""
_STDERR = 2
_OWN_PORTS = range(20_000, 32_000)  # below those that Linux gives to whoever asks for any
CPU_KV_TOKENS = 65_536
"""Tokens in the key/value pool on a CPU, where SGLang would otherwise take most of the memory."""


class Server:
    """A running server; `with Server(...) as server` ends it, whatever happens.

    Attributes:
        url: where it answers.
        process: SGLang's main process, which leads a process group of its own.
    """

    def __init__(
        self,
        model: str | Path = "nano",
        *,
        device: str | None = None,
        dtype: str | None = None,
        host: str = "127.0.0.1",
        port: int = 30000,
        arguments: Sequence[str] = (),
        log: IO[bytes] | None = None,
    ) -> None:
        """Start it; `wait_ready` says when it answers.

        Args:
            model: "nano", a checkpoint folder, or a Hugging Face id.
            device: "cpu" or "cuda"; None takes CUDA where there is a GPU, else the CPU.
            dtype: None takes bfloat16 on a GPU and float32 on a CPU.
            host: the address to listen on.
            port: the port to listen on; 0 takes a free one.
            arguments: more of SGLang's arguments; they overrule the ones chosen here.
            log: where SGLang's output goes; None sends it to stderr.

        Raises:
            ConfigError: SGLang is missing or of another version, or device, dtype, host or port won't do.
            CheckpointError: the checkpoint is not there, or is no DiffusionGemma.
        """
        check_sglang()
        target = checkpoints.choose_device(device)
        kind = str(checkpoints.choose_dtype(dtype, target)).removeprefix("torch.")
        folder = checkpoints.inspect(checkpoints.resolve(model)).path
        port = _free_port(host, port)
        self.url = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104
        command = [
            *(sys.executable, "-W", "ignore::UserWarning", "-m", "sglang.launch_server"),
            *("--model-path", str(folder), "--served-model-name", str(model)),
            *("--device", target.type, "--dtype", kind, "--host", host, "--port", str(port)),
            *("--dllm-algorithm", ALGORITHM, "--grammar-backend", GRAMMAR_BACKEND),
            *("--tool-call-parser", "gemma4", "--reasoning-parser", "gemma4"),
            *("--max-running-requests", "16", "--log-level", "warning"),
        ]
        if target.type == "cpu":
            # The watchdog: a busy machine takes minutes to compile kernels for the first time.
            command += ["--max-total-tokens", str(CPU_KV_TOKENS), "--sleep-on-idle", "--watchdog-timeout", "3600"]
        self.process = subprocess.Popen(  # noqa: S603
            [*command, *arguments],
            env=_environment(os.environ, target.type),
            stdin=subprocess.PIPE,  # never written to: closed, it says that this process is gone
            stdout=_STDERR if log is None else log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the parent, which ends the group in order
        )

    def wait_ready(self, timeout: float = 600.0) -> None:
        """Return once the server answers requests.

        Raises:
            ServerError: it ended, or was not ready within `timeout` seconds.
        """
        opener = build_opener(ProxyHandler({}))
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if (code := self.process.poll()) is not None:
                raise ServerError(
                    f"the server ended with exit code {code} before it was ready: its output above says why"
                )
            with suppress(URLError, OSError), opener.open(f"{self.url}/ready", timeout=5):
                return
            time.sleep(0.25)
        raise ServerError(f"the server at {self.url} was not ready within {timeout:.0f} s: see its output above")

    def wait(self) -> int:
        """Return the exit code when the server ends by itself."""
        return self.process.wait()

    def stop(self, patience: float = 10.0) -> None:
        """End the server and all its processes: by SIGTERM, and what is left after `patience` seconds by SIGKILL.

        SGLang waits for running requests when it is asked to end, so a stuck one would keep it for ever.
        """
        try:
            if self.process.poll() is None:
                self.process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(patience)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            if self.process.stdin is not None:
                self.process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _environment(inherited: Mapping[str, str], device: str) -> dict[str, str]:
    """The server's environment variables; on a CPU, SGLang is told to take our platform."""
    environment = {name: value for name, value in inherited.items() if name != "SGLANG_USE_CPU_ENGINE"}
    environment[LIFELINE] = "1"
    environment["PYTHONSAFEPATH"] = "1"  # else the current folder would come before what is installed
    if device == "cpu":
        environment["SGLANG_PLATFORM"] = CPU_PLATFORM
        environment.setdefault("OMP_NUM_THREADS", "1")  # more threads wait for one another where cores are shared
    return environment


def _free_port(host: str, port: int) -> int:
    """`port` if nobody listens there; a free one for 0.

    A free one is not left to the system: SGLang's processes take ports from it, too, before the server takes its own.
    """
    for candidate in () if port else random.sample(_OWN_PORTS, 20):
        with suppress(OSError), socket.create_server((host, candidate)):
            return candidate
    try:
        with socket.create_server((host, port)) as probe:
            free: int = probe.getsockname()[1]
            return free
    except OverflowError as error:
        raise ConfigError(f"port {port} is not a port: they go from 1 to 65535") from error
    except OSError as error:
        raise ConfigError(
            f"can't listen on {host}:{port}: {error.strerror}; choose another --port or --host"
        ) from error
