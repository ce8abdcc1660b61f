"""The documents that `evaluate.py` scores, each with a schema and what should come out.

zugferd: 35 German and French e-invoices, truth from their embedded XML (which the model never sees). sroie: 24 receipt
scans. Both lie outside the repository. handwritten: documents and fields that no template produced, in
`nano/handwritten/`. synthetic: what `nano/generator.py` draws with names that training never drew.
"""

import hashlib
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dg_sglang.pipelines import Document, Invoice, Receipt, load_document
from dg_sglang.pipelines.dates import read_date
from dg_sglang.pipelines.document import Line, Page, Word
from dg_sglang.pipelines.numbers import read_number
from dg_sglang.pipelines.prompt import Field

NANO = Path(__file__).parent / "nano"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dg-sglang" / "documents"
CACHE_VERSION = 2
"""To be raised whenever reading a document changes."""
SYNTHETIC_SEED = 20_000
CHARACTER, LEADING = 6.0, 12.0
"""Width of a character and height of a line, in points, where a text is laid out on a page."""


@dataclass(frozen=True)
class Case:
    """One document, the schema to extract, and the value that it should give.

    `raw`: the truth holds words of the document (dates and numbers as they are written), not typed values.
    """

    name: str
    source: Path | Document
    schema: Any
    truth: dict[str, Any]
    raw: bool = False

    @property
    def document(self) -> Document:
        """The document as the pipeline reads it."""
        return self.source if isinstance(self.source, Document) else read_cached(self.source)


def zugferd(folder: Path) -> Iterator[Case]:
    """The invoices; line items only where the truth has some, since not every profile of the XML carries them."""
    for entry in json.loads((folder / "truth.json").read_text(encoding="utf-8")):
        truth = entry["truth"]
        truth = truth if truth["line_items"] else truth | {"line_items": None}
        yield Case(entry["file"], folder / entry["file"], Invoice, truth)


def sroie(folder: Path) -> Iterator[Case]:
    """The receipts, with dates (read day first) in ISO form and totals as numbers."""
    for entry in json.loads((folder / "truth.json").read_text(encoding="utf-8")):
        truth: dict[str, Any] = {name: text or None for name, text in entry["truth"].items()}
        if truth["date"]:
            truth["date"] = read_date(truth["date"], "day_first").isoformat()
        if truth["total"]:
            truth["total"] = float(read_number(truth["total"], "."))
        yield Case(entry["file"], folder / entry["file"], Receipt, truth)


def handwritten(folder: Path) -> Iterator[Case]:
    """Texts with one line a field below them: `name: kind (description) = value as JSON`; README.md has the kinds."""
    for path in sorted(folder.glob("*.txt")):
        for part in path.read_text(encoding="utf-8").split("### ")[1:]:
            name, _, rest = part.partition("\n")
            text, _, fields = rest.partition("\n---\n")
            yield _handwritten_case(name, text, fields.strip().splitlines())


def _handwritten_case(name: str, text: str, lines: list[str]) -> Case:
    properties: dict[str, Any] = {}
    truth: dict[str, Any] = {}
    for line in lines:
        declaration, value = line.split(" = ", 1)
        key, kind = declaration.split(": ", 1)
        properties[key] = _schema_of(kind)
        truth[key] = json.loads(value)
        if kind.startswith("list("):  # rows hold the cells only
            columns = list(properties[key]["items"]["properties"])
            truth[key] = [dict(zip(columns, row, strict=True)) for row in truth[key]]
    return Case(name, text_document(name, text), _object(properties), truth)


def _schema_of(kind: str) -> dict[str, Any]:
    kind, _, description = re.fullmatch(r"(\w+(?:\(.*?\))?)( \((.*)\))?", kind).group(1, 2, 3)  # type: ignore[union-attr]
    name, _, inside = kind.rstrip(")").partition("(")
    note = {"description": description} if description else {}
    if name in ("list", "object"):
        parts = (part.split(": ") for part in inside.split(", "))
        children = _object({key: _schema_of(child) for key, child in parts})
        return note | ({"type": "array", "items": children} if name == "list" else children)
    if name == "choice":
        return note | {"enum": inside.split(", ")}
    return (
        note
        | {
            "text": {"type": ["string", "null"]},
            "date": {"type": ["string", "null"], "format": "date"},
            "number": {"type": ["number", "null"]},
            "currency": {"type": ["string", "null"], "x-kind": "currency"},
            "boolean": {"type": "boolean"},
        }[name]
    )


def synthetic(count: int) -> Iterator[Case]:
    """Generated documents with names that training never drew; the truth is what the document writes."""
    sys.path.insert(0, str(NANO))  # its scripts import each other as modules
    from generator import RUNS, make_example
    from pools import load_pools

    rng, pools = random.Random(SYNTHETIC_SEED), load_pools(RUNS / "pools.json")
    for index in range(count):
        example = make_example(rng, pools, 2, held_out=True)
        schema = _object({field.name: _field_schema(field) for field in example.fields})
        name = f"{index}-{example.document.kind}"
        yield Case(name, text_document(name, example.document.text), schema, example.value, raw=True)


def _field_schema(field: Field) -> dict[str, Any]:
    note = {"description": field.description} if field.description else {}
    if field.kind == "list":
        return note | {"type": "array", "items": _field_schema(field.children[0])}
    if field.kind == "object":
        return note | _object({child.name: _field_schema(child) for child in field.children})
    if field.kind == "choice":
        return note | {"enum": list(field.choices)}
    return note | _schema_of(field.kind)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


DATASETS: dict[str, Callable[..., Iterator[Case]]] = {
    "synthetic": synthetic,
    "handwritten": handwritten,
    "zugferd": zugferd,
    "sroie": sroie,
}


def text_document(name: str, text: str) -> Document:
    """A one-page document whose text is `text`, laid out on a grid of characters."""
    lines: list[Line] = []
    blank = False
    for row, written in enumerate(text.split("\n")):
        line = written.strip()
        if not line:
            blank = bool(lines)
            continue
        indent, top = len(written) - len(written.lstrip()), row * LEADING
        words, starts = [], []
        for match in re.finditer(r"\S+", line):
            left, right = indent + match.start(), indent + match.end()
            words.append(Word(match.group(), (left * CHARACTER, top, right * CHARACTER, top + LEADING)))
            starts.append(match.start())
        lines.append(Line(tuple(words), line, tuple(starts), blank))
        blank = False
    height = LEADING * (text.count("\n") + 1)
    return Document(name, (Page(1, 120 * CHARACTER, height, tuple(lines), "text"),))


def read_cached(path: Path) -> Document:
    """The document; what OCR read is kept between runs, by the file's content."""
    key = hashlib.sha256(path.read_bytes()).hexdigest()
    cached = CACHE / f"{key}-{CACHE_VERSION}.json"
    if cached.is_file():
        return _document(json.loads(cached.read_text(encoding="utf-8")))
    document = load_document(path)
    CACHE.mkdir(parents=True, exist_ok=True)
    cached.write_text(json.dumps(asdict(document)), encoding="utf-8")
    return document


def _document(data: dict[str, Any]) -> Document:
    pages = []
    for page in data["pages"]:
        lines = []
        for line in page["lines"]:
            words = tuple(
                Word(word["text"], tuple(word["box"]), word["confidence"], word["run"]) for word in line["words"]
            )
            lines.append(Line(words, line["text"], tuple(line["starts"]), line["space_before"]))
        pages.append(Page(page["number"], page["width"], page["height"], tuple(lines), page["source"]))
    return Document(data["name"], tuple(pages))
