from datetime import date
from decimal import Decimal

import pytest

from dg_sglang.pipelines.normalise import Conventions, conventions_of, language_of, normalise, pieces

GERMAN = "Rechnung vom 01/02/2024 für die Lieferung an der Straße, zahlbar bis zum Ende und nicht später"


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("due 25/12/2024, issued 03/04/2024", "day_first"),
        ("due 12/25/2024, issued 03/04/2024", "month_first"),
        (GERMAN, "day_first"),
        ("Total GST 6% 03/04/2024", "day_first"),
        ("Sales Tax, Springfield, IL 62704 03/04/2024", "month_first"),
        ("03/04/2024", None),
        ("12/25/2024 and 25/12/2024 of 03/04/2024", None),
    ],
)
def test_the_document_decides_the_date_order(text: str, order: str | None) -> None:
    conventions = conventions_of(text)
    assert conventions.date_order == order
    assert bool(conventions.reasons) == (order is not None)


@pytest.mark.parametrize(
    ("text", "mark"),
    [("9,50 1.234", ","), ("9.50 1.234", "."), ("1.234", None), ("9,50 9.50 1.234", None), ("5 Stk.", None)],
)
def test_the_document_decides_the_decimal_mark(text: str, mark: str | None) -> None:
    assert conventions_of(text).decimal_mark == mark


def test_values_are_typed() -> None:
    conventions = conventions_of("9,50 CAD " + GERMAN)
    assert normalise("03/04/1985", "date", conventions) == date(1985, 4, 3)
    assert normalise("1.234", "number", conventions) == Decimal(1234)
    assert normalise("$", "currency", conventions) == "CAD"
    assert normalise("1.234", "text", conventions) == "1.234"


def test_ambiguity_is_refused_and_what_the_caller_knows_settles_it() -> None:
    with pytest.raises(ValueError, match="1985-04-03 or 1985-03-04"):
        normalise("03/04/1985", "date", Conventions())
    known = Conventions().with_(date_order="month_first")
    assert normalise("03/04/1985", "date", known) == date(1985, 3, 4)


def test_pieces_are_distinct_and_collapsed() -> None:
    assert pieces("5.\u00a0März 2018, 5. März 2018 und 6.3.2018", "date") == ["5. März 2018", "6.3.2018"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "de"),
        ("le prix des articles et la livraison du client par virement avec une facture", "fr"),
        ("the price of the goods and delivery to you", "en"),
        ("het bedrag van een factuur en de levering voor de klant met btw", "nl"),
        ("4711", None),
    ],
)
def test_languages(text: str, language: str | None) -> None:
    assert language_of(text) == language
