import sys

import pytest

from dg_sglang.errors import ConfigError
from dg_sglang.vision.charts.model import Chart, Point, Series
from dg_sglang.vision.tables.model import Cell, Table

CHART = Chart(
    kind="grouped bar",
    series=[
        Series(name="2023", points=[Point(x="May", y=3.0), Point(x="June", y=4.0)]),
        Series(name="2024", points=[Point(x="June", y=5.0)]),
    ],
    method="geometry",
)
TABLE = Table(
    rows=2,
    columns=2,
    cells=[
        Cell(text=word, row=number // 2, column=number % 2) for number, word in enumerate(("Item", "Price", "Tea", "3"))
    ],
    method="geometry",
)


def test_charts_and_tables_become_frames() -> None:
    pytest.importorskip("pandas", reason="DataFrames need pandas")
    frame = CHART.to_dataframe()
    assert list(frame.columns) == ["x", "2023", "2024"]
    assert frame.fillna(-1).values.tolist() == [["May", 3.0, -1.0], ["June", 4.0, 5.0]]
    assert TABLE.to_dataframe().to_dict("records") == [{"Item": "Tea", "Price": "3"}]
    assert TABLE.to_dataframe(header=False).values.tolist() == [["Item", "Price"], ["Tea", "3"]]


@pytest.mark.parametrize("one", [CHART, TABLE])
def test_without_pandas_the_error_says_what_to_install(one: Chart | Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match=r"dg-sglang\[pandas\]"):
        one.to_dataframe()
