from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dg_sglang.pipelines.numbers import find_numbers, mark_shown_by, read_number

AMOUNTS = st.decimals(Decimal("-9999999.99"), Decimal("9999999.99"), places=2)
# grouping sign, decimal mark: German, English, French, Swiss
STYLES = [(".", ","), (",", "."), (" ", ","), ("\u202f", ","), ("'", "."), ("", ","), ("", ".")]


def spell(amount: Decimal, grouping: str, mark: str) -> str:
    return f"{amount:,.2f}".translate(str.maketrans({",": grouping, ".": mark}))


@pytest.mark.parametrize(("grouping", "mark"), STYLES)
@given(amount=AMOUNTS)
def test_amounts_are_read_in_every_style(grouping: str, mark: str, amount: Decimal) -> None:
    raw = spell(amount, grouping, mark)
    assert read_number(raw) == amount
    assert mark_shown_by(raw) == mark
    for around in ("{}", "{} €", "€ {}", "EUR {}", "{}€"):
        assert read_number(around.format(raw)) == amount


@given(st.integers(1, 999), st.integers(0, 999), st.sampled_from(".,"))
def test_three_digits_after_one_mark_need_the_document(whole: int, rest: int, mark: str) -> None:
    raw = f"{whole}{mark}{rest:03}"
    assert mark_shown_by(raw) is None
    assert read_number(raw, mark) == Decimal(f"{whole}.{rest:03}")
    assert read_number(raw, "." if mark == "," else ",") == whole * 1000 + rest
    with pytest.raises(ValueError, match="nothing in the document decides"):
        read_number(raw)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("0,123", "0.123"), ("1.234.567", "1234567"), ("12,34,567.00", "1234567"), ("1234.567", "1234.567"),
        ("(123.45)", "-123.45"), ("−7,90", "-7.90"), ("€-5.00", "-5"), ("-€5.00", "-5"), ("19 %", "19"), ("007", "7"),
        ("RM5.00", "5"), ("5,00-", "-5"),
        ("-5,0000", "-5"), ("2 Stk", "2"),
    ],
)  # fmt: skip
def test_usual_spellings(raw: str, value: str) -> None:
    assert read_number(raw) == Decimal(value)


@pytest.mark.parametrize("raw", ["", "€", "abc", "1.23.4", "1,2,3", "12.34.56", "1.234,567,8", "5 x 3"])
def test_what_is_no_number_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        read_number(raw)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Nougat 20 Unit(s)  4,55 €  10%  81,90 €", ["20", "4,55", "10", "81,90"]),
        ("Art. A4 PO445 INV-2024-001", ["001"]),
        ("05.03.2018 4:22 1/4", []),
        ("RM5.00 $7.10 EUR12,00", ["5.00", "7.10", "12,00"]),
        ("-0,00 2x 10kg (1.234,56)", ["-0,00", "2", "10", "(1.234,56)"]),
        ("1 234,56", ["1 234,56", "1", "234,56"]),
    ],
)
def test_numbers_are_found_where_no_code_or_date_holds_them(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in find_numbers(text)] == found


@given(st.text(alphabet=st.sampled_from("0123456789.,' -()€aRM\n"), max_size=30))
def test_what_is_found_can_be_read(text: str) -> None:
    for start, end in find_numbers(text):
        read_number(text[start:end], ".")
