"""On a local Ray of this machine."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from first_words import FirstWords
from made_documents import make_pdf

from dg_sglang.errors import UnsupportedSchemaError
from dg_sglang.pipelines.ray import extract_dataset

pytestmark = [pytest.mark.slow, pytest.mark.heavy]
SCHEMA = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    support = str(Path(__file__).parents[1] / "support")
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        runtime_env={"env_vars": {"PYTHONPATH": support}},
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        make_pdf(tmp_path / f"{number}.pdf", [[(72, 72, f"N{number} Invoice")]])
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-")
    return tmp_path


def test_paths_and_bytes(ray: Any, folder: Path) -> None:
    paths = [{"path": str(path), "customer": path.stem} for path in sorted(folder.iterdir())]
    given = extract_dataset(ray.data.from_items(paths), SCHEMA, engine=FirstWords, num_cpus=1)
    read = extract_dataset(
        ray.data.read_binary_files(str(folder), include_paths=True), SCHEMA, engine=FirstWords, num_cpus=1
    )
    for dataset in (given, read):
        rows = {Path(row["source"]).name: row for row in dataset.take_all()}
        assert {name: json.loads(row["value"]) for name, row in rows.items()} == {
            "0.pdf": {"number": "N0"},
            "1.pdf": {"number": "N1"},
            "2.pdf": {"number": "N2"},
            "bad.pdf": None,
        }
        assert {name: row["error_category"] for name, row in rows.items() if row["error_category"]} == {
            "bad.pdf": "damaged"
        }
        assert json.loads(rows["0.pdf"]["evidence"])["number"]["page"] == 1
        assert "bytes" not in rows["0.pdf"]
    assert {row["customer"] for row in given.take_all()} == {"0", "1", "2", "bad"}


def test_the_schema_is_checked_at_once(ray: Any) -> None:
    with pytest.raises(UnsupportedSchemaError):
        extract_dataset(ray.data.from_items([{"path": "a.pdf"}]), {"type": "string"})


def test_importing_the_module_needs_no_ray() -> None:
    code = "import sys, dg_sglang.pipelines.ray; print('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
