"""An extraction as text: every leaf with its typed value and where the document says so."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dg_sglang.pipelines.evidence import Evidence
    from dg_sglang.pipelines.extraction import ExtractionResult

_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_WIDEST = 44  # a longer value pushes its own evidence to the right, not everybody's


def printable(text: str) -> str:
    """`text` on one line, and nothing in it that a terminal obeys: a document may hold escape sequences."""
    return "".join(
        character if unicodedata.category(character) not in ("Cc", "Cs") and character not in _BIDI_CONTROLS
        else character.encode("unicode_escape").decode()
        for character in " ".join(text.split())
    )  # fmt: skip


@dataclass(frozen=True)
class _Row:
    name: str
    value: str = ""
    kind: str = ""
    source: str = ""


def render_extraction(result: "ExtractionResult") -> str:
    """Fields as rows: name, value, type, and the evidence (page, box in PDF points from the top left, words)."""
    value = result.value
    typed = value.model_dump(by_alias=True) if hasattr(value, "model_dump") else value
    title = type(value).__name__ if hasattr(value, "model_dump") else "object"
    rows = list(_rows(typed, result.evidence, 1))
    widths = [
        min(_WIDEST, max((len(getattr(row, part)) for row in rows), default=0)) for part in ("name", "value", "kind")
    ]
    lines = [f"{title} from {printable(result.document.name)}"]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip((row.name, row.value, row.kind), widths, strict=True))
        lines.append("  ".join((*cells, row.source)).rstrip())
    lines.extend(f"warning: {printable(warning)}" for warning in result.warnings)
    usage = result.usage
    lines.append(
        f"{usage.seconds:.1f} s; canvases: {usage.canvases}, denoising steps: {usage.denoising_steps}, "
        f"tokens: {usage.completion_tokens}"
    )
    return "\n".join(lines)


def _rows(value: Any, evidence: Any, depth: int) -> Iterator[_Row]:
    pairs = evidence.items() if isinstance(evidence, dict) else enumerate(evidence)
    for name, branch in pairs:
        label = "  " * depth + (f"[{name}]" if isinstance(name, int) else printable(name))
        inner = value.get(name) if isinstance(value, dict) else value[name]
        if isinstance(branch, dict | list):
            yield _Row(label, "" if branch else "[]" if isinstance(branch, list) else "{}")
            yield from _rows(inner, branch, depth + 1)
        else:
            yield _Row(label, _text(inner), type(inner).__name__ if inner is not None else "", _source(branch))


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return printable(str(getattr(value, "value", value)))


def _source(evidence: "Evidence") -> str:
    sure = "" if evidence.confidence is None else f", p {evidence.confidence:.2f}"
    if evidence.verbatim is None:
        return f"none found{sure}"
    if evidence.page is None:
        return f"{evidence.verbatim!r} (not found in the document{sure})"
    left, top, right, bottom = zip(*evidence.boxes, strict=True)
    box = f"{min(left):.0f},{min(top):.0f}-{max(right):.0f},{max(bottom):.0f}"
    return f'page {evidence.page} [{box}] "{printable(evidence.verbatim)}" ({evidence.match}{sure})'
