import pytest

from dg_sglang.pipelines.document import Word
from dg_sglang.pipelines.documents.direction import in_reading_order


@pytest.mark.parametrize(
    ("seen", "read"),
    [
        ("Invoice 4711 total", "Invoice 4711 total"),
        ("4711 מספר חשבונית", "חשבונית מספר 4711"),
        ("שלום Total Ltd 9.50 סכום", "סכום 9.50 Total Ltd שלום"),
        ("שלום Total 12 Ltd סכום מספר", "מספר סכום Total 12 Ltd שלום"),
        ("the words שלום עולם mean hello", "the words עולם שלום mean hello"),
        ("فاتورة 12 34 رقم", "رقم 34 12 فاتورة"),
    ],
)
def test_words_from_left_to_right_become_logical(seen: str, read: str) -> None:
    words = [Word(text, (10.0 * i, 0, 10.0 * i + 9, 10)) for i, text in enumerate(seen.split())]
    assert " ".join(word.text for word in in_reading_order(words)) == read
