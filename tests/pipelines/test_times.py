from datetime import UTC, datetime, time, timedelta, timezone

import pytest

from dg_sglang.pipelines.times import find_datetimes, find_times, read_datetime, read_time


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("open 9:05 to 17:30", ["9:05", "17:30"]),
        ("at 10:22:07 and 23:59:59.5", ["10:22:07", "23:59:59.5"]),
        ("at 3:45 PM, 3 p.m. or 11am", ["3:45 PM", "3 p.m.", "11am"]),
        ("um 14.30 Uhr, à 14h30", ["14.30", "14h30"]),
        ("14.30 EUR, 25:00, 10:77, 1:2, 12:34:567, v1:30, 192.168:10", []),
    ],
)
def test_times_are_found(text: str, pieces: list[str]) -> None:
    assert [text[start:end] for start, end in find_times(text)] == pieces


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("9:05", time(9, 5)),
        ("10:22:07", time(10, 22, 7)),
        ("10:22:07.25", time(10, 22, 7, 250_000)),
        ("12:15 AM", time(0, 15)),
        ("12 pm", time(12)),
        ("3:45 p.m.", time(15, 45)),
        ("14h30", time(14, 30)),
        ("14.30 Uhr", time(14, 30)),
    ],
)
def test_times_are_read(raw: str, value: time) -> None:
    assert read_time(raw) == value


@pytest.mark.parametrize("raw", ["", "noon", "25:00", "13:00 PM", "0 am", "14.30", "9:05 to 10:00"])
def test_what_is_no_time_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="not a time of day"):
        read_time(raw)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("14.03.2025 10:22", datetime(2025, 3, 14, 10, 22)),
        ("14.03.2025, 10:22:05", datetime(2025, 3, 14, 10, 22, 5)),
        ("14 March 2025 at 3:45 PM", datetime(2025, 3, 14, 15, 45)),
        ("14. März 2025 um 9:05", datetime(2025, 3, 14, 9, 5)),
        ("2025-03-14T10:22:05Z", datetime(2025, 3, 14, 10, 22, 5, tzinfo=UTC)),
        ("2025-03-14T10:22:05+02:00", datetime(2025, 3, 14, 10, 22, 5, tzinfo=timezone(timedelta(hours=2)))),
        ("2025-03-14 10:22 -0330", datetime(2025, 3, 14, 10, 22, tzinfo=timezone(-timedelta(hours=3, minutes=30)))),
        ("2025-03-14 - 10:22", datetime(2025, 3, 14, 10, 22)),
    ],
)
def test_dates_with_times(raw: str, value: datetime) -> None:
    assert read_datetime(raw) == value
    text = f"printed: {raw} by till 3"
    assert [text[start:end] for start, end in find_datetimes(text)] == [raw]


def test_a_date_alone_has_no_time() -> None:
    assert list(find_datetimes("14.03.2025 for 2 guests, 15.03.2025")) == []
    with pytest.raises(ValueError, match="not a date with a time"):
        read_datetime("14.03.2025")


def test_an_open_order_is_refused_or_settled() -> None:
    with pytest.raises(ValueError, match="nothing in the document decides"):
        read_datetime("03/04/2024 10:00")
    assert read_datetime("03/04/2024 10:00", "month_first") == datetime(2024, 3, 4, 10)
