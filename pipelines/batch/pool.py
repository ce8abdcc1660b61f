"""Worker processes that may die or hang: each has one document at a time, and only that one is lost."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from multiprocessing.connection import Pipe, wait
from typing import Any

from dg_sglang.errors import BatchError, ConfigError
from dg_sglang.pipelines.batch.rows import FATAL, TRANSIENT, failure_row

MAX_FAILED_STARTS = 3
"""Workers that may die in a row before one has loaded the engine."""


@dataclass
class Attempt:
    """A document, the hash of its content, what differs from the job for it (`schema`, `extraction`), tries so far."""

    source: str
    content: str = ""
    differing: Mapping[str, Any] = field(default_factory=dict)
    tries: int = 0


class Pool:
    """A number of workers, started when there is something to do.

    Args:
        job: what every worker needs: `engine` (an EngineSpec), `schema` and `extraction` (arguments of `extract`).
        workers: how many processes.
        threads: of each process; None shares the CPU's cores among them, or takes OMP_NUM_THREADS where it is set.
        timeout: seconds that one attempt at a document may take; then its worker is killed. None: no limit.
        retries: further attempts after an error that may be transient (see `rows.TRANSIENT`).
        fatal: categories of errors that end everything, because every other document would meet them.

    Raises:
        ConfigError: the schema or the engine's maker can't be sent to another process.
    """

    def __init__(
        self,
        job: Mapping[str, Any],
        *,
        workers: int,
        timeout: float | None,
        retries: int,
        threads: int | None = None,
        fatal: frozenset[str] = FATAL,
    ) -> None:
        self._workers: list[_Worker] = []
        self._count, self._retries = workers, retries
        self._timeout = inf if timeout is None else timeout
        self._failed_starts = 0
        self._fatal = fatal
        threads = threads or int(os.environ.get("OMP_NUM_THREADS") or max(1, len(os.sched_getaffinity(0)) // workers))
        self._task = pickle.dumps({"path": sys.path, "job": _pickled(job), "threads": threads})

    def run(self, attempts: Iterator[Attempt]) -> Iterator[tuple[Attempt, dict[str, Any]]]:
        """Yield each document with its row, as they are finished. `attempts` is drawn from as workers become free.

        Raises:
            BatchError: a worker can't load the engine, or the settings are wrong.
        """
        again: deque[Attempt] = deque()
        while True:
            while (worker := self._free()) and (
                attempt := next(attempts, None) or (again.popleft() if again else None)
            ):
                worker.take(attempt)
            busy = [worker for worker in self._workers if worker.attempt]
            if not busy:
                return
            for attempt, row in self._events(busy):
                category = row["error"] and row["error"]["category"]
                if category in self._fatal:
                    raise BatchError(row["error"]["message"])
                if category == "start" or (category in TRANSIENT and attempt.tries <= self._retries):
                    again.append(attempt)
                    continue
                if category:
                    row["error"]["attempts"] = attempt.tries
                yield attempt, row

    def start(self) -> None:
        """Start a worker ahead of the first document."""
        self._free()

    def close(self) -> None:
        """Kill all workers."""
        while self._workers:
            self._workers.pop().kill()

    def _free(self) -> "_Worker | None":
        for worker in self._workers:
            if not worker.attempt:
                return worker
        if len(self._workers) < self._count:
            self._workers.append(_Worker(self._task))
            return self._workers[-1]
        return None

    def _events(self, busy: "list[_Worker]") -> Iterator[tuple[Attempt, dict[str, Any]]]:
        """Wait until something happens; yield the documents that are finished, one way or another."""
        deadline = min(worker.started for worker in busy) + self._timeout
        heard = wait([one.connection for one in busy], None if deadline == inf else max(0, deadline - time.monotonic()))
        for worker in busy:
            if worker.connection in heard:
                row = self._listen(worker)
            elif time.monotonic() >= worker.started + self._timeout:
                self._drop(worker)
                row = failure_row(
                    worker.source, "timeout", f"{worker.source}: not done after {self._timeout:g} seconds"
                )
            else:
                row = None
            if row is not None and worker.attempt:
                attempt, worker.attempt = worker.attempt, None
                yield attempt, row

    def _listen(self, worker: "_Worker") -> dict[str, Any] | None:
        """The row that a worker sends, or that its death amounts to; None for its first sign of life."""
        try:
            kind, content = json.loads(worker.connection.recv_bytes())
        except (EOFError, OSError):
            cause = worker.cause_of_death()
            self._drop(worker)
            return self._obituary(worker, cause)
        if kind == "failed":
            raise BatchError(f"a worker can't start: {content}")
        if kind == "ready":
            self._failed_starts = 0
            worker.is_ready()
            return None
        row: dict[str, Any] = content
        return row

    def _obituary(self, worker: "_Worker", cause: str) -> dict[str, Any]:
        if worker.started < inf:
            return failure_row(worker.source, "crash", f"{worker.source}: the worker process died of it ({cause})")
        self._failed_starts += 1
        if self._failed_starts == MAX_FAILED_STARTS:
            raise BatchError(f"{MAX_FAILED_STARTS} workers died while they loaded the engine ({cause})")
        if worker.attempt:
            worker.attempt.tries -= 1
        return failure_row(worker.source, "start", cause)

    def _drop(self, worker: "_Worker") -> None:
        self._workers.remove(worker)
        worker.kill()


class _Worker:
    """One process, the connection to it, and the document it has.

    `started` is when it began with the document, on the monotonic clock; infinite while it loads the engine.
    """

    def __init__(self, task: bytes) -> None:
        self.connection, theirs = Pipe()
        self.attempt: Attempt | None = None
        self.started = inf
        self._ready = False
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 (our own module)
                [sys.executable, "-m", "dg_sglang.pipelines.batch.worker", str(os.getpid()), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,  # Ctrl-C is for the batch, which ends its workers
            )
        self._send(task)

    @property
    def source(self) -> str:
        return self.attempt.source if self.attempt else ""

    def take(self, attempt: Attempt) -> None:
        """Give it a document; it must be free."""
        attempt.tries += 1
        self.attempt = attempt
        self.started = time.monotonic() if self._ready else inf
        self._send(_pickled({"source": attempt.source} | dict(attempt.differing)))

    def is_ready(self) -> None:
        """It has loaded the engine: from now on the document's time runs."""
        self._ready = True
        self.started = time.monotonic()

    def kill(self) -> None:
        """End it at once. It may have ended by itself before."""
        self.connection.close()
        self._process.kill()
        self._process.wait()

    def cause_of_death(self) -> str:
        """The signal or the exit code in words."""
        code = self._process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def _send(self, data: bytes) -> None:
        with suppress(OSError):  # it is dead: its connection's end says so
            self.connection.send_bytes(data)


def _pickled(job: Mapping[str, Any]) -> bytes:
    """By value where a class lives in a script or a notebook, which another process can't import."""
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(job)
    except Exception as error:  # whatever the user's objects raise
        raise ConfigError(
            f"the schema or the settings can't be sent to worker processes ({error}); define the class at the "
            "top level of a module"
        ) from error
    return data
