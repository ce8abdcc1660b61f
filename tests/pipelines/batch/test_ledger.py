import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dg_sglang.errors import BatchError
from dg_sglang.pipelines.batch.ledger import Ledger


def opened(path: Path, *, resume: bool = True, **settings: Any) -> Ledger:
    return Ledger.open(path, settings, resume=resume)


def test_rows_come_back_as_they_were_put(tmp_path: Path) -> None:
    strange = "a\udcff\n.pdf"
    with opened(tmp_path / "l", model="nano") as ledger:
        ledger.put({"b.pdf": {"value": "ü"}, strange: {"value": 2}}, "hash", None)
        ledger.put({"c.pdf": {"value": None}}, "other", "damaged")
        ledger.put({"b.pdf": {"value": "new"}}, "newer", None)
        assert ledger.find("b.pdf") == ("newer", None)
        assert ledger.find(strange) == ("hash", None)
        assert ledger.find("c.pdf") == ("other", "damaged")
        assert ledger.find("d.pdf") is None
        assert ledger.row_of_content("hash") == {"value": 2}
        assert ledger.row_of_content("other") is None
    with opened(tmp_path / "l", model="nano") as ledger:
        assert [row["value"] for row in ledger.rows()] == ["new", 2, None]


def test_one_batch_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path / "l"), pytest.raises(BatchError, match="another batch is using it"):
        opened(tmp_path / "l")
    opened(tmp_path / "l").close()


def test_other_settings_are_named(tmp_path: Path) -> None:
    opened(tmp_path / "l", seed=1, model="nano").close()
    with pytest.raises(BatchError, match="another seed, another steps"):
        opened(tmp_path / "l", seed=2, model="nano", steps=3)
    with pytest.raises(BatchError, match="earlier batch"):
        opened(tmp_path / "l", resume=False, seed=1, model="nano")


def test_what_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(BatchError, match="not a ledger of this version"):
        opened(tmp_path / "other")
    with pytest.raises(BatchError, match="can't be used"):
        opened(tmp_path / "no" / "folder")
