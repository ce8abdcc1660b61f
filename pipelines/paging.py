"""Page by page instead of the whole document: for files in which every page is a document of its own."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import EmptyDocumentError, ExtractionError, PromptTooLongError
from dg_sglang.pipelines.document import Document, Limits
from dg_sglang.pipelines.engines import TextEngine
from dg_sglang.pipelines.extraction import ExtractionResult, Progress, extract, opened
from dg_sglang.pipelines.normalise import Conventions, conventions_of
from dg_sglang.pipelines.schema_tree import schema_tree

if TYPE_CHECKING:
    from dg_sglang.pipelines.dates import DateOrder
    from dg_sglang.pipelines.numbers import DecimalMark


@dataclass(frozen=True)
class PageExtraction:
    """What one page gave: its number in the document (from 1), and either a result or the error that it ended in."""

    page: int
    result: ExtractionResult | None = None
    error: ExtractionError | EmptyDocumentError | PromptTooLongError | None = None

    def to_json(self) -> dict[str, Any]:
        """The result's JSON values under the page's number; where there is none, `error` with category and message."""
        if self.error is not None:
            return {"page": self.page, "error": {"category": self.error.category, "message": str(self.error)}}
        return {"page": self.page} | (self.result.to_json() if self.result else {})


def extract_pages(
    source: str | Path | Document,
    schema: Any,
    *,
    engine: TextEngine | None = None,
    model: str = "nano",
    password: str | None = None,
    limits: Limits | None = None,
    date_order: "DateOrder | None" = None,
    decimal_mark: "DecimalMark | None" = None,
    progress: Progress | None = None,
    **options: Any,
) -> Iterator[PageExtraction]:
    """Extract what `schema` asks for from each page alone, one page after another.

    Every page gives one PageExtraction: a page without text, with a line that is too long, or without a required
    value costs only itself.
    What is assumed about dates and decimal marks comes from the whole document.

    Args:
        source, schema, and all others: as for `extract`.

    Raises:
        As `extract`, by this call and not by the iterator, but for the errors that are a page's own.
    """
    schema_tree(schema)
    source, engine = opened(source, engine, model=model, password=password, limits=limits, progress=progress)
    conventions = conventions_of(source.text).with_(date_order=date_order, decimal_mark=decimal_mark)
    return _pages(source, schema, engine, conventions, progress, options)


def _pages(
    document: Document,
    schema: Any,
    engine: TextEngine,
    conventions: Conventions,
    progress: Progress | None,
    options: dict[str, Any],
) -> Iterator[PageExtraction]:
    for page in document.pages:
        if progress:
            progress(f"page {page.number} of {len(document.pages)}")
        if not page.lines:
            yield PageExtraction(page.number, error=EmptyDocumentError(f"{document.name}: page {page.number}: no text"))
            continue
        alone = replace(document, pages=(page,))
        try:
            result = extract(
                alone,
                schema,
                engine=engine,
                date_order=conventions.date_order,
                decimal_mark=conventions.decimal_mark,
                progress=progress,
                **options,
            )
        except (ExtractionError, PromptTooLongError) as error:
            yield PageExtraction(page.number, error=error)
        else:
            yield PageExtraction(page.number, result)
