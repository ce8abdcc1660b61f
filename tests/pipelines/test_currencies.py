import pytest
from hypothesis import given
from hypothesis import strategies as st

from dg_sglang.pipelines.currencies import find_currencies, read_currency


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("€", "EUR"),
        ("EUR", "EUR"),
        ("eur", "EUR"),
        ("Euro", "EUR"),
        ("£", "GBP"),
        ("RM", "MYR"),
        ("US$", "USD"),
        ("$", "USD"),
    ],
)
def test_signs_codes_and_names(raw: str, code: str) -> None:
    assert read_currency(raw) == code


def test_the_document_settles_shared_signs() -> None:
    assert read_currency("$", frozenset({"CAD", "EUR"})) == "CAD"
    assert read_currency("kr", frozenset({"NOK"})) == "NOK"
    assert read_currency("¥", frozenset({"CNY"})) == "CNY"


@pytest.mark.parametrize(("raw", "others"), [("kr", ""), ("$", "CAD AUD"), ("XYZ", "")])
def test_what_nothing_settles_is_refused(raw: str, others: str) -> None:
    with pytest.raises(ValueError, match=r"nothing in the document decides|is not a known currency"):
        read_currency(raw, frozenset(others.split()))


def test_they_are_found_but_not_inside_words() -> None:
    text = "EUR 5,00€ RM5.00 Amount(RM) USDA ARMS euro US$4"
    assert [text[start:end] for start, end in find_currencies(text)] == ["EUR", "€", "RM", "RM", "euro", "US$"]


@given(st.text())
def test_finding_never_fails(text: str) -> None:
    assert all(text[start:end] for start, end in find_currencies(text))
