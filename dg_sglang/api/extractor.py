"""The pipeline behind the API: worker processes, so that a document that hangs or kills one costs only itself."""

import queue
from pathlib import Path
from typing import Any, Self

from dg_sglang.api.uploads import target_of
from dg_sglang.errors import BatchError
from dg_sglang.pipelines.batch.pool import Attempt, Pool
from dg_sglang.pipelines.batch.rows import failure_row
from dg_sglang.pipelines.document import Limits
from dg_sglang.pipelines.engines import EngineSpec
from dg_sglang.pipelines.schema_tree import schema_tree


class PooledExtractor:
    """Extracts in `workers` processes, each with an engine of its own. To be used in a `with` statement.

    Args:
        engine: what each process loads. workers: how many. threads: of each; None shares the cores.
        timeout: seconds for one document. limits: of one document.
    """

    def __init__(
        self, engine: EngineSpec, *, workers: int, timeout: float | None, limits: Limits, threads: int | None = None
    ) -> None:
        self.workers = workers
        job = {"engine": engine, "schema": None, "extraction": {"limits": limits}}
        self._pools = [
            Pool(job, workers=1, timeout=timeout, retries=0, threads=threads, fatal=frozenset()) for _ in range(workers)
        ]
        self._free: queue.SimpleQueue[Pool] = queue.SimpleQueue()
        for pool in self._pools:
            self._free.put(pool)

    def __enter__(self) -> Self:
        """Start the processes."""
        for pool in self._pools:
            pool.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End them at once."""
        for pool in self._pools:
            pool.close()

    def check(self, schema: Any) -> dict[str, Any]:
        """The leaves of a schema. Raises GrammarError."""
        names = ("pointer", "name", "kind", "stated", "nullable")
        return {"fields": [{name: getattr(leaf, name) for name in names} for leaf in schema_tree(schema).leaves()]}

    def extract(self, path: Path, request: dict[str, Any]) -> dict[str, Any]:
        """A document's row; its messages name the document as the client does."""
        names = ("seed", "password", "date_order", "decimal_mark")
        extraction = {name: request[name] for name in names} | request["settings"]
        attempt = Attempt(str(path), differing={"schema": target_of(request["schema"]), "extraction": extraction})
        pool = self._free.get()
        try:
            _, row = next(pool.run(iter([attempt])))
        except BatchError as error:
            row = failure_row(str(path), "server", str(error))
        finally:
            self._free.put(pool)
        if row["error"]:
            row["error"]["message"] = row["error"]["message"].replace(str(path), path.name)
        return row
