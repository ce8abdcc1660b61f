from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dg_sglang.pipelines.dates import find_dates, order_shown_by, read_date

DAYS = st.dates(date(1970, 1, 1), date(2068, 12, 31))
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}
UNAMBIGUOUS = (
    "{d:%Y-%m-%d}", "{d:%Y/%m/%d}", "{d:%Y%m%d}", "{d:%d.%m.%Y}", "{d.day}.{d.month}.{d:%Y}", "{d:%d. %m. %Y}",
    "{d:%d.%m.%y}",
    "{d:%d-%b-%Y}", "{d:%d %b %y}", "{d.day}. {de} {d.year}", "{d.day} {fr} {d.year}", "{d.day} de {es} de {d.year}",
    "{d.day} {it} {d.year}", "{d.day} {nl} {d.year}", "{en} {d.day}, {d.year}", "{d.day}th of {en}, {d.year}",
    "{d:%b} {d.day} {d.year}",
)  # fmt: skip


def spell(form: str, day: date) -> str:
    return form.format(d=day, **{language: names.split()[day.month - 1] for language, names in MONTHS.items()})


@pytest.mark.parametrize("form", UNAMBIGUOUS)
@given(day=DAYS)
def test_every_notation_is_read_and_found(form: str, day: date) -> None:
    raw = spell(form, day)
    assert read_date(raw) == day
    text = f"Datum: {raw}\nx"
    assert [text[start:end] for start, end in find_dates(text)] == [raw]


@given(day=DAYS, separator=st.sampled_from("/-"))
def test_numeric_dates_are_read_in_the_given_order_or_refused(day: date, separator: str) -> None:
    raw = day.strftime(f"%d{separator}%m{separator}%Y")
    assert read_date(raw, "day_first") == day
    if day.day > 12:
        assert read_date(raw) == day
        assert order_shown_by(raw) == "day_first"
    elif day.day == day.month:
        assert read_date(raw) == day
    else:
        assert order_shown_by(raw) is None
        assert read_date(raw, "month_first") == date(day.year, day.day, day.month)
        with pytest.raises(ValueError, match="nothing in the document decides"):
            read_date(raw)


def test_us_dates_give_their_order_away() -> None:
    assert order_shown_by("12/25/2024") == "month_first"
    assert read_date("12/25/2024") == date(2024, 12, 25)


@pytest.mark.parametrize(
    "raw", ["", "31.02.2024", "32/01/2024", "00-00-2000", "1.2.3.2018", "March", "2024", "13/13/2024"]
)
def test_what_is_no_date_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="is not a date"):
        read_date(raw)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("vom 01.03.2018 bis 04.04.2018.", ["01.03.2018", "04.04.2018"]),
        ("30.09.13-12.10.13", ["30.09.13", "12.10.13"]),
        ("10/10/2017 4:22:12 PM", ["10/10/2017"]),
        ("05-03-201819:02:50", ["05-03-2018"]),
        ("IP 192.168.10.12, Tel 03-7832 6929, v1.2.3", []),
        ("IBAN DE02 6009 0100 0412 7785 03, Nr. 120180305", []),
        ("Fällig: 5.\u00a0März 2018", ["5.\u00a0März 2018"]),
    ],
)
def test_dates_are_found_among_other_numbers(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in find_dates(text)] == found


@given(st.text())
def test_finding_never_fails_and_finds_only_dates(text: str) -> None:
    for start, end in find_dates(text):
        assert read_date(text[start:end], "day_first")
