"""Extraction as a step of a Ray Data pipeline: many machines, Ray's scheduler, Ray's retries."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import ConfigError
from dg_sglang.pipelines.engines import EngineSpec, TextEngine
from dg_sglang.pipelines.schema_tree import schema_tree

if TYPE_CHECKING:
    from ray.data import Dataset

_JSON_COLUMNS = ("value", "evidence", "warnings", "usage", "document")


def extract_dataset(
    ds: "Dataset",
    schema: Any,
    *,
    model: str = "nano",
    url: str | None = None,
    engine: Callable[[], TextEngine] | None = None,
    concurrency: int | tuple[int, int] = 1,
    num_cpus: float | None = None,
    num_gpus: float | None = None,
    **extraction: Any,
) -> "Dataset":
    """Extract from each row's document. Lazy, as everything of Ray Data; a failed document is a row like any other.

    Args:
        ds: rows with a column `path`, a file that every machine can read; or, as
            `ray.data.read_binary_files(…, include_paths=True)` gives them, with `bytes` too.
        schema: a pydantic model class or a JSON Schema dict.
        model, url, engine: as for `extract_many`. Each actor loads the engine once.
        concurrency: actors, or their least and greatest number.
        num_cpus, num_gpus: that an actor takes; a model on a GPU needs num_gpus=1 (or a share of one).
        extraction: further arguments of `extract`.

    Returns:
        The rows without `bytes`, and in their place the columns of a batch's rows: `source`; `value`, `evidence`,
        `warnings`, `usage` and `document` as JSON text, so that blocks of any content fit together; `error_category`
        and `error_message`, empty for a success.

    Raises:
        GrammarError: the schema can't be extracted. ConfigError: Ray is not installed.
    """
    try:
        import ray.data  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"Ray Data needs an extra ({error}): pip install 'dg-sglang[ray]'") from error
    schema_tree(schema)
    arguments = {"schema": schema, "engine": EngineSpec(model, url, engine), "extraction": extraction}
    return ds.map(
        _Extractor, fn_constructor_kwargs=arguments, concurrency=concurrency, num_cpus=num_cpus, num_gpus=num_gpus
    )


class _Extractor:
    """One actor's engine."""

    def __init__(self, schema: Any, engine: EngineSpec, extraction: Mapping[str, Any]) -> None:
        self._schema, self._extraction = schema, extraction
        self._engine = engine.load()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in row.items() if name != "bytes"}
        return kept | _columns(self._extract(row), str(row["path"]))

    def _extract(self, row: Mapping[str, Any]) -> dict[str, Any]:
        from dg_sglang.pipelines.batch.rows import extract_row

        if "bytes" not in row:
            return extract_row(str(row["path"]), self._schema, self._engine, **self._extraction)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / Path(row["path"]).name
            copy.write_bytes(row["bytes"])
            return extract_row(str(copy), self._schema, self._engine, **self._extraction)


def _columns(result: Mapping[str, Any], source: str) -> dict[str, Any]:
    error = result["error"] or {"category": "", "message": ""}
    texts = {name: json.dumps(result[name], ensure_ascii=False) for name in _JSON_COLUMNS}
    return {"source": source, **texts, "error_category": error["category"], "error_message": error["message"]}
