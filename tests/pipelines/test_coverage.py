from typing import Any

import pytest
from made_documents import document_of

from dg_sglang.pipelines.coverage import ends_in_circles, unread_lines
from dg_sglang.pipelines.document import Document
from dg_sglang.pipelines.evidence import trace
from dg_sglang.pipelines.planner import stretch
from dg_sglang.pipelines.reading import claims
from dg_sglang.pipelines.schema_tree import schema_tree
from dg_sglang.pipelines.segments import segments_of

TEXT = {"type": ["string", "null"]}
ITEM = {"type": "object", "properties": {"name": TEXT, "price": TEXT, "sum": TEXT}}
NODES = schema_tree(
    {"type": "object", "properties": {"total": TEXT, "rows": {"type": "array", "items": ITEM}}}
).children
TABLE = [
    "Goods      Qty   Price    Sum",
    "nail         2    1.00   2.00",
    "bolt         3    2.00   6.00",
    "  of steel, galvanised",
    "screw        4   12.50  50.00",
    "             9          58.00",
]


def unread(document: Document, *names: str, total: str | None = None, seen: Document | None = None) -> list[int]:
    """What is left when rows of these names were read."""
    answer: dict[str, Any] = {"total": total, "rows": [{"name": name} for name in names]}
    return unread_lines(document, trace(claims(NODES, answer), segments_of(seen or document)), "rows")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("nail", "bolt", "screw"), []),
        (("nail",), [2, 4]),
        (("screw",), [1, 2]),
        (("of steel",), []),  # a line of one cell says nothing of the others
        ((), []),
    ],
)
def test_lines_set_like_a_record_are_unread(names: tuple[str, ...], expected: list[int]) -> None:
    assert unread(document_of(TABLE), *names) == expected


def test_header_total_and_wrapped_lines_are_not_set_like_a_record() -> None:
    assert unread(document_of(TABLE), "bolt") == [1, 4]


def test_a_line_that_another_field_was_read_from_is_read() -> None:
    document = document_of([*TABLE[:2], "all in       2    3.00   9.00"])
    assert unread(document, "nail") == [2]
    assert unread(document, "nail", total="9.00") == []


def test_lines_of_two_cells_count_between_records_only() -> None:
    document = document_of(["Tea    3.50", "Cake   4.50", "Milk   1.50", "Total  9.50"])
    assert unread(document, "Tea", "Milk") == [1]
    assert unread(document, "Tea") == []


def test_a_table_goes_on_over_pages_and_windows() -> None:
    document = document_of(TABLE[:3], TABLE[4:])
    assert unread(document, "nail") == [2, 3]
    window = stretch(document, 1, 4)
    assert unread(document, "nail", seen=window) == [2, 3]
    assert unread(window, "nail") == [1, 2]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("tea", "tea"), False),
        (("tea", "tea", "tea"), True),
        (("tea", "milk", "tea", "milk", "milk"), True),
        (("milk", "milk", "tea"), False),
        (("nowhere", "nowhere"), False),
        ((), False),
    ],
)
def test_a_list_that_says_more_than_there_is_goes_round_in_circles(names: tuple[str, ...], expected: bool) -> None:
    document = document_of(["tea   2", "milk  3", "tea   2"])
    answer: dict[str, Any] = {"rows": [{"name": name} for name in names]}
    assert ends_in_circles(trace(claims(NODES, answer), segments_of(document)), "rows") is expected
