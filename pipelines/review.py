"""An extraction as one self-contained page: the document's pages with a box around each value, the fields beside it."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from dg_sglang.pipelines.page_images import page_images

MAX_PAGES = 30
"""Pages without any value are shown while there are no more than this many pages; those with values always are."""


def review_html(result: Mapping[str, Any], source: str | Path, *, password: str | None = None) -> str:
    """A page for people who check an extraction. It loads nothing, so it works from the file system.

    Args:
        result: `ExtractionResult.to_json()`, or a batch's row with the same keys.
        source: the file that was read. password: of an encrypted PDF.

    Raises:
        DocumentError: the file can't be opened.
    """
    fields = list(_fields(result.get("value"), result["evidence"], ()))
    seen = {field["page"] for field in fields if field["page"]}
    pages = result["document"]["pages"]
    shown = [page for page in pages if len(pages) <= MAX_PAGES or page["number"] in seen]
    pictures = dict(page_images(source, [page["number"] for page in shown], password=password))
    data = {
        "name": result["document"]["name"],
        "omitted": len(pages) - len(shown),
        "warnings": result.get("warnings", []),
        "fields": fields,
        "pages": [
            page | {"image": _data_url(pictures[page["number"]]) if page["number"] in pictures else None}
            for page in shown
        ],
    }
    # Inside a script element only "<" could end the data; text enters the page as text nodes, never as markup.
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
    return files(__package__).joinpath("review.html").read_text("utf-8").replace("{{data}}", text)


def _fields(value: Any, evidence: Any, path: tuple[str | int, ...]) -> Iterator[dict[str, Any]]:
    """One entry a leaf, in document order of the schema."""
    if isinstance(evidence, list) or (isinstance(evidence, dict) and not _is_leaf(evidence)):
        pairs = evidence.items() if isinstance(evidence, dict) else enumerate(evidence)
        for name, branch in pairs:
            yield from _fields(_inner(value, name), branch, (*path, name))
        return
    yield {"path": list(path), "value": value} | {
        name: evidence[name] for name in ("match", "verbatim", "page", "boxes", "occurrences", "confidence")
    }


def _is_leaf(evidence: Mapping[str, Any]) -> bool:
    return isinstance(evidence.get("match"), str) and "boxes" in evidence


def _inner(value: Any, name: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(name)
    return value[name] if isinstance(value, list) and isinstance(name, int) and name < len(value) else None


def _data_url(jpeg: bytes) -> str:
    return "data:image/jpeg;base64," + b64encode(jpeg).decode("ascii")
