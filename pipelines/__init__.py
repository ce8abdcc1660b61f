"""Documents to typed, evidenced data. Names load on first use, so that importing this package costs nothing."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dg_sglang.pipelines.batch.run import BatchSummary, extract_many
    from dg_sglang.pipelines.document import Document, Limits, load_document
    from dg_sglang.pipelines.evidence import Evidence
    from dg_sglang.pipelines.extraction import ExtractionResult, extract
    from dg_sglang.pipelines.paging import PageExtraction, extract_pages
    from dg_sglang.pipelines.schemas import Invoice, Receipt, resolve_schema

__all__ = [
    "BatchSummary",
    "Document",
    "Evidence",
    "ExtractionResult",
    "Invoice",
    "Limits",
    "PageExtraction",
    "Receipt",
    "extract",
    "extract_many",
    "extract_pages",
    "load_document",
    "resolve_schema",
]

_MODULES = {
    "BatchSummary": "batch.run",
    "Document": "document",
    "Limits": "document",
    "load_document": "document",
    "Evidence": "evidence",
    "ExtractionResult": "extraction",
    "extract": "extraction",
    "extract_many": "batch.run",
    "PageExtraction": "paging",
    "extract_pages": "paging",
    "Invoice": "schemas",
    "Receipt": "schemas",
    "resolve_schema": "schemas",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
