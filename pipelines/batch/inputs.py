"""Which documents a batch reads: files, folders, glob patterns, or an iterator of them."""

import glob
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from dg_sglang.errors import BatchError

SUFFIXES = frozenset(
    [
        *(".pdf", ".docx", ".html", ".htm", ".txt", ".md"),
        *(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".gif", ".bmp", ".jp2", ".avif", ".heic", ".heif"),
    ]
)
"""Files of a folder that count as documents. A file named by itself is always one."""


def find_documents(inputs: Iterable[str | Path]) -> Iterator[Path]:
    """Yield each document once, in the order given, a folder's files sorted.

    A folder stands for the documents in and below it, hidden ones left out; a name with `*`, `?` or `[` that is no
    file, for what it matches. A file that doesn't exist is yielded too: the batch reports it.

    Raises:
        BatchError: a folder without documents, or a pattern that matches nothing.
    """
    seen: set[str] = set()
    for name in inputs:
        for path in _documents(Path(name)):
            if str(path) not in seen:
                seen.add(str(path))
                yield path


def content_hash(path: Path) -> str:
    """SHA-256 of the file's bytes, in hex; empty where it can't be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _documents(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(one for one in path.rglob("*") if _is_document(one, path))
        if not found:
            raise BatchError(
                f"{path}: no documents in this folder (known by their suffixes: {' '.join(sorted(SUFFIXES))})"
            )
        return found
    if not path.exists() and glob.has_magic(str(path)):
        found = sorted(Path(one) for one in glob.glob(str(path), recursive=True))  # noqa: PTH207 (absolute patterns)
        if not found:
            raise BatchError(f"{path}: no file matches this pattern")
        return [document for one in found for document in (_documents(one) if one.is_dir() else [one])]
    return [path]


def _is_document(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.suffix.lower() in SUFFIXES and not hidden and path.is_file()
