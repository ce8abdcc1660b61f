"""Jobs that survive the process: a row in SQLite and a file on disk each."""

import fcntl
import json
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dg_sglang.api.errors import problem
from dg_sglang.errors import ConfigError

_TABLE = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, status TEXT NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL,
    created REAL NOT NULL, started REAL, finished REAL, attempts INTEGER NOT NULL DEFAULT 0, result TEXT, error TEXT
)
"""
MAX_ATTEMPTS = 3
"""A job whose process died this often is not tried again: the document may be what kills it."""


@dataclass(frozen=True)
class StoredJob:
    """A row. `request` and `error` are what the API put in; the result is read separately, it can be large."""

    id: str
    status: str
    name: str
    request: dict[str, Any]
    created: float
    started: float | None
    finished: float | None
    error: dict[str, Any] | None


class JobStore:
    """All jobs of one folder. Methods may be called from any thread; each is one transaction."""

    def __init__(self, folder: Path) -> None:
        """Open or create the folder; what was running when the last process died is queued again.

        Raises:
            ConfigError: it can't be written, holds something else, or another process works on its jobs.
        """
        self.folder = folder
        self._lock = threading.Lock()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds documents, and passwords of encrypted ones
            self._owner = (folder / "owner.lock").open("ab")  # the lock ends with the process, however that ends
            fcntl.flock(self._owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._db = sqlite3.connect(folder / "jobs.sqlite", check_same_thread=False, isolation_level=None)
            self._prepare()
        except BlockingIOError:
            raise ConfigError(f"another process keeps its jobs in {folder}: name another folder") from None
        except (OSError, ValueError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"jobs can't be kept in {folder}: {reason}; name another folder") from error

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute(_TABLE)
        lost = json.dumps(problem("the process died each time that it worked on this document; see its log", "crash"))
        self._run(
            "UPDATE jobs SET status = 'failed', finished = ?, error = ? WHERE status = 'running' AND attempts >= ?",
            (time.time(), lost, MAX_ATTEMPTS),
        )
        self._run("UPDATE jobs SET status = 'queued', started = NULL WHERE status = 'running'")

    def close(self) -> None:
        """Close the database, and leave the folder to others."""
        with self._lock:
            self._db.close()
        self._owner.close()

    def reserve(self, name: str) -> tuple[str, Path]:
        """A new id, and where its document is to be written before the job is added."""
        job = secrets.token_hex(12)
        (self.folder / job).mkdir()
        return job, self.path(job, name)

    def path(self, job: str, name: str) -> Path:
        """Where a job's document lies."""
        return self.folder / job / name

    def add(self, job: str, name: str, request: Mapping[str, Any]) -> StoredJob:
        """Queue a job whose document has been written."""
        self._run(
            "INSERT INTO jobs (id, status, name, request, created) VALUES (?, 'queued', ?, ?, ?)",
            (job, name, json.dumps(request), time.time()),
        )
        return self[job]

    def __getitem__(self, job: str) -> StoredJob:
        """The job of that id. Raises KeyError."""
        rows = self._run(
            "SELECT id, status, name, request, created, started, finished, error FROM jobs WHERE id = ?", (job,)
        )
        if not rows:
            raise KeyError(job)
        job, status, name, request, created, started, finished, error = rows[0]
        return StoredJob(
            job, status, name, json.loads(request), created, started, finished, json.loads(error) if error else None
        )

    def result(self, job: str) -> dict[str, Any] | None:
        """A finished job's extraction."""
        rows = self._run("SELECT result FROM jobs WHERE id = ?", (job,))
        return json.loads(rows[0][0]) if rows and rows[0][0] else None

    def next(self) -> StoredJob | None:
        """Take the oldest queued job, which is running from now on."""
        rows = self._run(
            "UPDATE jobs SET status = 'running', started = ?, attempts = attempts + 1 WHERE id = "
            "(SELECT id FROM jobs WHERE status = 'queued' ORDER BY created LIMIT 1) RETURNING id",
            (time.time(),),
        )
        return self[rows[0][0]] if rows else None

    def finish(
        self, job: str, *, result: Mapping[str, Any] | None = None, error: Mapping[str, Any] | None = None
    ) -> None:
        """Store a job's outcome, one of the two. A job deleted meanwhile stays deleted."""
        self._run(
            "UPDATE jobs SET status = ?, finished = ?, result = ?, error = ? WHERE id = ?",
            (
                "failed" if error else "done",
                time.time(),
                None if result is None else json.dumps(result),
                None if error is None else json.dumps(error),
                job,
            ),
        )

    def delete(self, job: str) -> None:
        """Forget a job and its file."""
        self._run("DELETE FROM jobs WHERE id = ?", (job,))
        shutil.rmtree(self.folder / job, ignore_errors=True)

    def purge(self, seconds: float) -> None:
        """Delete what finished longer ago than that, and documents that never became a job."""
        before = time.time() - seconds
        for (job,) in self._run("SELECT id FROM jobs WHERE finished < ?", (before,)):
            self.delete(job)
        known = {job for (job,) in self._run("SELECT id FROM jobs")}
        for folder in self.folder.iterdir():
            if folder.is_dir() and folder.name not in known and folder.stat().st_mtime < before:
                shutil.rmtree(folder, ignore_errors=True)

    def count(self, status: str) -> int:
        """How many jobs are in that state."""
        return int(self._run("SELECT count(*) FROM jobs WHERE status = ?", (status,))[0][0])

    def _run(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(statement, values).fetchall()
