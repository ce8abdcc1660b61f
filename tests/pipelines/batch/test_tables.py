import csv
import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from dg_sglang.errors import BatchError
from dg_sglang.pipelines.batch.rows import failure_row
from dg_sglang.pipelines.batch.tables import write_rows
from dg_sglang.pipelines.schema_tree import schema_tree


class Item(BaseModel):
    name: str
    price: Decimal | None = None


class Bill(BaseModel):
    number: str | None = None
    day: dt.date | None = None
    total: Decimal | None = None
    paid: bool | None = None
    seller: Item | None = None
    items: list[Item] = []


ROOT = schema_tree(Bill)


def row(source: str, bill: Bill) -> dict[str, Any]:
    value = bill.model_dump(mode="json")
    usage = {"seconds": 1.5, "canvases": 2}
    return {
        "source": source,
        "document": {},
        "value": value,
        "evidence": {},
        "warnings": [],
        "usage": usage,
        "error": None,
    }


ROWS = [
    failure_row("bad\udcff.pdf", "damaged", "bad"),
    row("empty.pdf", Bill()),
    row(
        "a.pdf",
        Bill(
            number="=1+1",
            day=dt.date(2024, 5, 3),
            total=Decimal("9.50"),
            paid=True,
            seller=Item(name="ACME, Inc"),
            items=[Item(name="x\ny", price=Decimal("1234567.125"))],
        ),
    ),
]


def test_jsonl(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", lambda: ROWS, ROOT)
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == ROWS


def test_csv(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.csv", lambda: ROWS, ROOT)
    with (tmp_path / "a.csv").open(newline="") as file:
        bad, empty, full = csv.DictReader(file)
    assert (bad["source"], bad["error_category"], bad["error_message"]) == (r"bad\udcff.pdf", "damaged", "bad")
    assert (empty["value.number"], empty["value.items"]) == ("", "[]")
    assert (full["value.day"], full["value.total"], full["value.paid"]) == ("2024-05-03", "9.50", "true")
    assert (full["value.seller.name"], full["error_category"]) == ("ACME, Inc", "")
    assert json.loads(full["value.items"]) == [{"name": "x\ny", "price": "1234567.125"}]


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_rows(tmp_path / "a.parquet", lambda: ROWS, ROOT)
    bad, empty, full = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert (bad["source"], bad["error_category"], bad["value"]) == (r"bad\udcff.pdf", "damaged", None)
    assert (empty["value"]["number"], empty["value"]["items"]) == (None, [])
    assert full["value"]["day"] == dt.date(2024, 5, 3)
    assert full["value"]["total"] == Decimal("9.50")
    assert full["value"]["items"] == [{"name": "x\ny", "price": Decimal("1234567.125")}]
    assert full["usage"] == {"seconds": 1.5, "canvases": 2}


def test_parquet_without_any_value(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_rows(tmp_path / "a.parquet", lambda: ROWS[:1], ROOT)
    assert parquet.read_table(tmp_path / "a.parquet").num_rows == 1
    write_rows(tmp_path / "none.parquet", list, ROOT)
    assert parquet.read_table(tmp_path / "none.parquet").num_rows == 0


def test_values_that_fit_no_column_leave_no_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    mixed = [row("a.pdf", Bill()) | {"value": {"x": value}} for value in ("text", [1], {"a": 1})]
    with pytest.raises(BatchError, match="write JSONL instead"):
        write_rows(tmp_path / "a.parquet", lambda: mixed, ROOT)
    assert list(tmp_path.iterdir()) == []
