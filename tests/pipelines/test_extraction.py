import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from made_documents import document_of, make_pdf
from pydantic import BaseModel, Field, field_validator

from dg_sglang import Engine
from dg_sglang.errors import DocumentError, ExtractionError, UnsupportedSchemaError
from dg_sglang.pipelines import Evidence, ExtractionResult, extract

DOCUMENT = document_of(["Rechnung 4711", "", "vom 03.05.2024", "", "2 Stk.     1.234,50 €"])


class Row(BaseModel):
    name: str
    price: Decimal | None = None


class Bill(BaseModel):
    number: str
    date: dt.date | None = None
    total: Decimal
    status: Literal["open", "paid"]
    rows: list[Row] = []


def leaves(tree: Any) -> list[Evidence]:
    if isinstance(tree, Evidence):
        return [tree]
    return [leaf for branch in (tree.values() if isinstance(tree, dict) else tree) for leaf in leaves(branch)]


@pytest.mark.parametrize("seed", range(3))
def test_a_random_model_still_gives_a_valid_and_grounded_value(engine: Engine, seed: int) -> None:
    result = extract(DOCUMENT, Bill, engine=engine, seed=seed)
    assert isinstance(result.value, Bill)
    assert result.evidence.keys() == Bill.model_fields.keys()
    assert len(result.evidence["rows"]) == len(result.value.rows)
    found = leaves(result.evidence)
    assert all(leaf.match in ("exact", "normalised") for leaf in found if leaf.verbatim is not None)
    assert all(leaf.confidence is not None and 0 <= leaf.confidence <= 1 for leaf in found)
    number = result.evidence["number"]
    assert number.verbatim == result.value.number
    assert number.page == 1
    assert number.boxes
    assert result.usage.canvases >= 2
    assert result.usage.denoising_steps > 0


def test_the_same_seed_gives_the_same_result(engine: Engine) -> None:
    first, second = (extract(DOCUMENT, Bill, engine=engine, seed=5) for _ in range(2))
    assert first.value == second.value
    assert first.raw == second.raw


def test_the_mode_auto_asks_both_and_says_where_they_differ(engine: Engine) -> None:
    class Note(BaseModel):
        number: str | None = None
        day: str | None = None
        pieces: str | None = None
        sum: str | None = None

    doubted = 0
    for seed in range(3):
        causal, denoised = (extract(DOCUMENT, Note, engine=engine, seed=seed, mode=m) for m in ("causal", "diffusion"))
        result = extract(DOCUMENT, Note, engine=engine, seed=seed, mode="auto")
        as_default = extract(DOCUMENT, Note, engine=engine, seed=seed, config=engine.config.replace({"mode": "auto"}))
        assert as_default.raw == result.raw
        assert result.usage.denoising_steps == causal.usage.denoising_steps + denoised.usage.denoising_steps
        for name, value in causal.raw.items():
            differs = result.raw[name] != value
            assert not differs or (result.raw[name] is None and value != denoised.raw[name])
            assert differs == any(one.startswith(f"{name} is null: left to right") for one in result.warnings)
            doubted += differs
    assert doubted


def test_a_json_schema_gives_a_validated_dict(engine: Engine) -> None:
    schema = {
        "type": "object",
        "properties": {"date": {"type": "string", "format": "date"}, "price": {"type": "number", "minimum": 0}},
        "required": ["date", "price"],
    }
    result = extract(DOCUMENT, schema, engine=engine, seed=1)
    assert result.value["date"] == "2024-05-03"
    assert result.value["price"] >= 0
    assert result.evidence["date"].match == "normalised"


def test_files_are_read_and_results_are_json(engine: Engine, tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "bill.pdf", [[(72, 72, "Rechnung 4711"), (72, 100, "9,50 EUR")]])
    messages: list[str] = []
    result = extract(path, Bill, engine=engine, seed=1, progress=messages.append)
    data = json.loads(json.dumps(result.to_json()))
    assert data["document"] == {
        "name": "bill.pdf",
        "pages": [{"number": 1, "width": 595.0, "height": 842.0, "source": "text"}],
        "attachments": [],
    }
    assert data["value"].keys() == data["evidence"].keys() == Bill.model_fields.keys()
    assert len(data["evidence"]["number"]["boxes"][0]) == 4
    assert data["usage"]["canvases"] == result.usage.canvases
    assert messages == ["extracting 5 fields in 4 groups"]


def test_what_the_document_lacks_but_the_schema_requires_fails_by_name(engine: Engine) -> None:
    class Dated(BaseModel):
        date: dt.date
        number: str

    with pytest.raises(ExtractionError, match=r"made\.pdf: date: the schema requires it") as caught:
        extract(document_of(["no day is named here"]), Dated, engine=engine, seed=1)
    (failure,) = caught.value.failures
    assert (failure.field, failure.raw) == ("date", None)
    assert isinstance(caught.value.partial, ExtractionResult)
    assert caught.value.partial.value is None
    assert caught.value.partial.data.keys() == {"number"}


def test_a_validator_that_objects_fails_with_the_raw_text(engine: Engine) -> None:
    class Strict(BaseModel):
        date: dt.date
        price: Decimal

        @field_validator("date", "price")
        @classmethod
        def never(cls, value: object) -> object:
            raise ValueError("nothing is good enough")

    with pytest.raises(ExtractionError, match="nothing is good enough") as caught:
        extract(DOCUMENT, Strict, engine=engine, seed=1)
    date, price = caught.value.failures
    assert (date.field, date.raw) == ("date", "03.05.2024")
    assert price.field == "price"
    assert price.raw in ("4711", "2", "1.234,50")


def test_bounds_patterns_and_formats_hold_on_the_canvas(engine: Engine) -> None:
    document = document_of(["Order 12 of RE-4711", "", "mail bob@muster.de", "", "sum 1.234,50 and 9,50"])
    schema = {
        "type": "object",
        "properties": {
            "number": {"type": "string", "pattern": "^RE-[0-9]+$"},
            "mail": {"type": "string", "format": "email"},
            "total": {"type": "number", "minimum": 100, "maximum": 2000},
            "count": {"type": "integer", "maximum": 100},
        },
        "required": ["number", "mail", "total", "count"],
    }
    for seed in range(3):
        value = extract(document, schema, engine=engine, seed=seed).value
        assert value.pop("mail") in ("bob@muster.de", "bob@muster")
        assert value == {"number": "RE-4711", "total": 1234.5, "count": 12}


def test_a_pattern_that_no_piece_fits_fails_by_name(engine: Engine) -> None:
    schema = {"type": "object", "properties": {"number": {"type": "string", "pattern": "^X"}}, "required": ["number"]}
    with pytest.raises(ExtractionError, match=r"number: the schema requires it, but it was not found") as caught:
        extract(DOCUMENT, schema, engine=engine, seed=1)
    assert caught.value.failures[0].raw is None


def test_a_field_at_fault_is_asked_for_again_alone(engine: Engine) -> None:
    class Plain(BaseModel):
        number: str
        other: str

    document = document_of(["4711 Rechnung Muster"])
    first = extract(document, Plain, engine=engine, seed=1).value

    class Checked(Plain):
        @field_validator("number")
        @classmethod
        def not_the_first(cls, value: str) -> str:
            if value == first.number:
                raise ValueError("not this one")
            return value

    result = extract(document, Checked, engine=engine, seed=1)
    assert result.value.number in document.text
    assert result.value.number != first.number
    assert result.value.other == first.other
    assert result.warnings == (f"number: Value error, not this one (the model chose {first.number!r}): asked again",)
    with pytest.raises(ExtractionError, match="not this one"):
        extract(document, Checked, engine=engine, seed=1, repairs=0)


def test_a_long_document_is_read_in_windows_to_its_end(engine: Engine) -> None:
    class Report(BaseModel):
        first: str | None = Field(pattern="^1-[0-9]+$")
        last: str | None = Field(pattern="^5-[0-9]+$")

    long = document_of(*[[f"Zeile {page}-{line} der Seite" for line in range(40)] for page in range(1, 6)])
    notes: list[str] = []
    found = set()
    for seed in range(8):
        result = extract(long, Report, engine=engine, seed=seed, progress=notes.append)
        assert result.document is long
        for name, page in (("first", 1), ("last", 5)):
            leaf = result.evidence[name]
            assert (leaf.verbatim, leaf.page) in ((getattr(result.value, name), page), (None, None))
            found.add(leaf.page)
    assert any("reading windows 1 to" in note for note in notes)
    assert {1, 5} <= found


def test_what_every_window_of_a_long_document_lacks_fails_once(engine: Engine) -> None:
    class Dated(BaseModel):
        on: dt.date

    long = document_of(*[[f"Zeile {line} der Seite" for line in range(40)] for _ in range(5)])
    with pytest.raises(ExtractionError) as caught:
        extract(long, Dated, engine=engine, seed=1)
    assert [failure.field for failure in caught.value.failures] == ["on"]


def test_without_the_grammar_a_random_model_fails(engine: Engine) -> None:
    with pytest.raises(ExtractionError, match="the answer is not JSON") as caught:
        extract(DOCUMENT, Bill, engine=engine, seed=1, constrained=False)
    assert caught.value.partial.usage.canvases > 0


def test_the_schema_is_checked_before_the_document(engine: Engine) -> None:
    with pytest.raises(UnsupportedSchemaError):
        extract("missing.pdf", {"type": "string"}, engine=engine)
    with pytest.raises(DocumentError):
        extract("missing.pdf", Bill, engine=engine)
