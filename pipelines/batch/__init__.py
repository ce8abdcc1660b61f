"""Batches: many documents, worker processes, a ledger that survives a kill. Names load on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dg_sglang.pipelines.batch.inputs import find_documents
    from dg_sglang.pipelines.batch.rows import extract_row
    from dg_sglang.pipelines.batch.run import BatchSummary, extract_many

__all__ = ["BatchSummary", "extract_many", "extract_row", "find_documents"]

_MODULES = {"BatchSummary": "run", "extract_many": "run", "extract_row": "rows", "find_documents": "inputs"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
