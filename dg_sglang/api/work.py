"""Who works on what: a bounded number of documents at a time, waiting requests and stored jobs in turn."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol, Self

from dg_sglang.api.errors import body_of_row, status_of
from dg_sglang.api.metrics import Metrics
from dg_sglang.api.settings import ApiSettings
from dg_sglang.api.store import JobStore, StoredJob

_PURGE_SECONDS = 600.0


class Busy(Exception):  # noqa: N818 (the answer 429, not a fault)
    """Too much is waiting already."""


class Extractor(Protocol):
    """What the API needs of a pipeline. Both methods block and may be called from several threads."""

    workers: int

    def check(self, schema: Any) -> dict[str, Any]:
        """`SchemaCheck`'s fields. Raises GrammarError when nothing can be extracted into the schema."""

    def extract(self, path: Path, request: dict[str, Any]) -> dict[str, Any]:
        """A document's row, as `pipelines.batch` writes it; whatever goes wrong is in its `error`."""


class Desk:
    """Hands documents to the extractor, at most `extractor.workers` at a time, first come first served."""

    def __init__(self, extractor: Extractor, store: JobStore, settings: ApiSettings, metrics: Metrics) -> None:
        self.extractor, self.store, self.settings, self.metrics = extractor, store, settings, metrics
        self.waiting = 0
        self._slots = asyncio.Semaphore(extractor.workers)
        self._news = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._news.set()  # jobs of the last process
        self._loops = [asyncio.create_task(self._dispatch()), asyncio.create_task(self._purge())]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in (
            *self._loops,
            *self._running,
        ):  # running jobs stay "running" in the store: queued at the next start
            task.cancel()
        await asyncio.gather(*self._loops, *self._running, return_exceptions=True)

    @contextmanager
    def admission(self) -> Iterator[None]:
        """Hold a place among the synchronous requests. Raises Busy when all are taken."""
        if self.waiting >= self.settings.max_waiting:
            raise Busy(f"{self.waiting} requests are waiting already; try again later, or make a job of it")
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1

    def admit_job(self) -> None:
        """Raises Busy when too many jobs wait."""
        if self.store.count("queued") >= self.settings.max_jobs:
            raise Busy(f"{self.settings.max_jobs} jobs are waiting already; try again later")

    def wake(self) -> None:
        """There is a new job."""
        self._news.set()

    async def extract(self, path: Path, request: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Work on one document as soon as it is its turn: the answer's body and status."""
        async with self._slots:
            row = await self._work(path, request)
        if row["error"]:
            return body_of_row(row["error"]), status_of(row["error"]["category"])
        return _extraction(row), HTTPStatus.OK

    async def _work(self, path: Path, request: dict[str, Any]) -> dict[str, Any]:
        row = await asyncio.to_thread(self.extractor.extract, path, request)
        self.metrics.document(row)
        return row

    async def _dispatch(self) -> None:
        while True:
            await self._news.wait()
            await self._slots.acquire()
            job = self.store.next()
            if job is None:
                self._slots.release()
                self._news.clear()
                continue
            task = asyncio.create_task(self._run(job))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _run(self, job: StoredJob) -> None:
        try:
            row = await self._work(self.store.path(job.id, job.name), job.request)
            if row["error"]:
                self.store.finish(job.id, error=body_of_row(row["error"]))
            else:
                self.store.finish(job.id, result=_extraction(row))
        finally:
            self._slots.release()

    async def _purge(self) -> None:
        while True:
            with suppress(OSError):
                await asyncio.to_thread(self.store.purge, self.settings.keep_hours * 3600)
            await asyncio.sleep(_PURGE_SECONDS)


def _extraction(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("document", "value", "evidence", "warnings", "usage")}
