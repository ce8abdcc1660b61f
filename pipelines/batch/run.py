"""Many documents in, one row each out: `extract_many`."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from dg_sglang.errors import ConfigError
from dg_sglang.pipelines.batch.inputs import content_hash, find_documents
from dg_sglang.pipelines.batch.ledger import Ledger
from dg_sglang.pipelines.batch.pool import Attempt, Pool
from dg_sglang.pipelines.batch.tables import check_format, json_line, write_rows
from dg_sglang.pipelines.engines import EngineSpec, TextEngine
from dg_sglang.pipelines.schema_tree import Node, schema_tree

MIN_FOR_SHARE = 20
"""Documents that must be done before a share of failures can stop a batch."""
_NOT_OF_THE_VALUE = ("password", "limits")
"""Arguments of `extract` that decide whether a document can be read, not what is read: they may change on resuming."""


@dataclass
class BatchSummary:
    """How a batch went.

    Attributes:
        out, ledger: the files written.
        succeeded, failed: documents of this run by outcome. reused: those that an earlier run, or another document
            with the same content, had finished.
        categories: failures of this run by the error's category.
        stopped: why the batch ended before its last document; None if it didn't.
        usage: tokens, canvases and denoising steps of this run together.
        seconds: wall-clock time.
    """

    out: str
    ledger: str
    succeeded: int = 0
    failed: int = 0
    reused: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None
    usage: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def documents(self) -> int:
        """All documents that this run dealt with."""
        return self.succeeded + self.failed + self.reused

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {"documents": self.documents} | vars(self)


Progress = Callable[[BatchSummary, Mapping[str, Any] | None], None]
"""Gets the summary so far and the row just finished; no row for a document that an earlier run finished."""


def extract_many(
    inputs: Iterable[str | Path],
    schema: Any,
    *,
    out: str | Path,
    model: str = "nano",
    url: str | None = None,
    engine: Callable[[], TextEngine] | None = None,
    workers: int = 1,
    resume: bool = False,
    retry_failed: bool = False,
    timeout: float | None = 600.0,
    retries: int = 1,
    error_budget: float | None = None,
    progress: Progress | None = None,
    **extraction: Any,
) -> BatchSummary:
    """Extract from many documents; each becomes one row of `out`, whatever happens to it.

    A finished document is committed to a ledger (`out` + ".ledger") before its row is appended to `out`: a batch that
    is killed at any moment goes on with `resume=True`, and neither loses nor repeats a document. Documents are read and
    extracted in worker processes; one that hangs or dies costs its document only.

    Args:
        inputs: files, folders, glob patterns, or any iterator of them; drawn from as workers become free.
        schema: a pydantic model class or a JSON Schema dict.
        out: a `.jsonl` file, which grows row by row, or a `.csv` or `.parquet` file, written at the end.
        model: "nano", a checkpoint folder, or a Hugging Face id; each worker loads it.
        url: of an SGLang server that answers instead.
        engine: makes the engine instead, once in each worker.
        workers: processes. They share the CPU's cores.
        resume: go on with an earlier run of the same schema and settings. Where there is none, start.
        retry_failed: on resuming, try the documents again that failed.
        timeout: seconds for one attempt at a document, without loading the engine; None: no limit.
        retries: further attempts after a crash, a timeout or an unexpected error. Damaged files aren't tried again.
        error_budget: stop after more than this many failed documents; below 1, after more than this share of those
            done (from 20 on).
        progress: called after each document.
        extraction: further arguments of `extract`: password, limits, seed, date_order, …, generation settings.

    Raises:
        ConfigError: a setting is out of range. GrammarError: the schema can't be extracted.
        BatchError: an input folder is empty, the ledger can't be used, or no worker can start.
    """
    root = schema_tree(schema)
    out = Path(out)
    _check(out, workers, timeout, retries, error_budget)
    ledger_path = out.with_name(out.name + ".ledger")
    if not resume and out.exists() and not ledger_path.exists():
        raise ConfigError(f"{out} exists: name another file, or delete it")
    job = {"engine": EngineSpec(model, url, engine), "schema": schema, "extraction": extraction}
    summary = BatchSummary(str(out), str(ledger_path))
    started = time.monotonic()
    with ExitStack() as stack:
        pool = Pool(job, workers=workers, timeout=timeout, retries=retries)
        stack.callback(pool.close)
        ledger = stack.enter_context(
            Ledger.open(ledger_path, _settings(schema, model, url, engine, extraction), resume=resume)
        )
        batch = _Batch(ledger, out, root, summary, retry_failed, progress)
        stack.callback(batch.close)
        for attempt, row in pool.run(batch.attempts(inputs)):
            batch.finish(attempt, row)
            if _over(error_budget, summary):
                summary.stopped = f"more failed documents than the error budget of {error_budget:g} allows"
                break
        summary.seconds = time.monotonic() - started
    return summary


class _Batch:
    """The documents between the inputs and the two files."""

    def __init__(
        self,
        ledger: Ledger,
        out: Path,
        root: Node,
        summary: BatchSummary,
        retry_failed: bool,
        progress: Progress | None,
    ) -> None:
        self._ledger, self._out, self._root = ledger, out, root
        self._summary, self._retry_failed, self._progress = summary, retry_failed, progress
        self._waiting: dict[str, list[str]] = {}
        """Sources by the content that a worker has."""
        self._replaced = False
        self._live: BinaryIO | None = None
        if out.suffix.lower() == ".jsonl":
            write_rows(out, ledger.rows, root)  # what a kill left half written, or not at all
            self._live = out.open("ab", buffering=0)

    def attempts(self, inputs: Iterable[str | Path]) -> Iterator[Attempt]:
        """Yield what must be computed; settle at once what is known."""
        for path in find_documents(inputs):
            source, content = str(path), content_hash(path)
            known = self._ledger.find(source)
            if known and known[0] == content and not (known[1] and self._retry_failed):
                self._summary.reused += 1
                self._report(None)
            elif content in self._waiting:
                self._waiting[content].append(source)
            elif content and (row := self._ledger.row_of_content(content)):
                self._summary.reused += 1
                self._write([source], content, row)
                self._report(row)
            else:
                if content:
                    self._waiting[content] = []
                yield Attempt(source, content)

    def finish(self, attempt: Attempt, row: Mapping[str, Any]) -> None:
        """Commit a row, for all sources with its content, then append it to the output."""
        others = self._waiting.pop(attempt.content, [])
        self._write([attempt.source, *others], attempt.content, row)
        if row["error"]:
            self._summary.failed += 1 + len(others)
            self._summary.categories[row["error"]["category"]] += 1 + len(others)
        else:
            self._summary.succeeded += 1
            self._summary.reused += len(others)
        usage = row["usage"] or {}
        names = ("prompt_tokens", "completion_tokens", "canvases", "denoising_steps")
        self._summary.usage.update({name: usage.get(name, 0) for name in names})
        self._report(row)

    def close(self) -> None:
        """Write the output's columns, and replace rows of documents that have changed since."""
        if self._live:
            self._live.close()
        if not self._live or self._replaced:
            write_rows(self._out, self._ledger.rows, self._root)

    def _write(self, sources: list[str], content: str, row: Mapping[str, Any]) -> None:
        rows = {source: _named(row, source) for source in sources}
        self._replaced |= any(self._ledger.find(source) for source in sources)
        self._ledger.put(rows, content, row["error"] and row["error"]["category"])
        if self._live:
            for one in rows.values():
                self._live.write(json_line(one))

    def _report(self, row: Mapping[str, Any] | None) -> None:
        if self._progress:
            self._progress(self._summary, row)


def _named(row: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The row of another file with the same content."""
    document = row["document"] and row["document"] | {"name": Path(source).name}
    return {**row, "source": source, "document": document}


def _settings(schema: Any, model: str, url: str | None, engine: Any, extraction: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the values, by name, as JSON."""
    if isinstance(schema, type):
        schema = {"class": schema.__qualname__, "schema": schema.model_json_schema()}  # type: ignore[attr-defined]
    made: dict[str, Any] = {"url": url} if url else {"model": model}
    if engine:
        made = {"engine": getattr(engine, "__qualname__", repr(engine))}
    return {"schema": schema, **made} | {k: v for k, v in extraction.items() if k not in _NOT_OF_THE_VALUE}


def _check(out: Path, workers: int, timeout: float | None, retries: int, error_budget: float | None) -> None:
    check_format(out)
    for name, value, least in (("workers", workers, 1), ("retries", retries, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigError(f"{name} must be an integer >= {least}, got {value!r}")
    if timeout is not None and not timeout > 0:
        raise ConfigError(f"timeout must be a number of seconds > 0 or None, got {timeout!r}")
    if error_budget is not None and not error_budget >= 0:
        raise ConfigError(f"error_budget must be a number >= 0 or None, got {error_budget!r}")
    if not os.access(out.parent, os.W_OK):
        raise ConfigError(f"{out} can't be written: no permission")


def _over(budget: float | None, summary: BatchSummary) -> bool:
    if budget is None:
        return False
    if 0 < budget < 1:
        done = summary.succeeded + summary.failed
        return done >= MIN_FOR_SHARE and summary.failed > budget * done
    return summary.failed > budget
