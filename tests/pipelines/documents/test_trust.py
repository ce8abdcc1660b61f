import pytest

from dg_sglang.pipelines.document import Word
from dg_sglang.pipelines.documents.trust import is_suspicious, judge

BOX = (0.0, 0.0, 1.0, 1.0)


def words(text: str) -> list[Word]:
    return [Word(part, BOX) for part in text.split()]


@pytest.mark.parametrize(
    "text",
    [
        "Invoice 4711 for office supplies, payable within thirty days to the account below",
        "Wszczęto postępowanie w sprawie zamówienia, które zostanie dostarczone przed końcem miesiąca",
        "Čtvrtek: smlouva o dodávce zboží mezi prodávajícím a kupujícím podle českého práva",
        "4711 0815 9,50 12,00 13,50 100,00 200,00 300,00 1.234,50",
        "חשבונית מספר סכום לתשלום תאריך שם הלקוח כתובת למשלוח",
        "株式会社東京 請求書 合計金額 消費税 振込先 銀行口座 支払期限",
        "short",
    ],
)
def test_real_texts_are_believed(text: str) -> None:
    assert not is_suspicious(text)


@pytest.mark.parametrize(
    "text",
    [
        "\ufffd\ufffd\ufffd Invoice \ufffd\ufffd 4711 \ufffd\ufffd\ufffd total",
        "\ue001\ue002\ue003\ue004 \ue005\ue006\ue007\ue008 " * 4,
        "Lqyrlfh qxpehu vxssolhv sdbdeoh zlwklq wkluwb gdbv wr wkh dffrxqw ehorz zlwkrxw ghgxfwlrq",
    ],
)
def test_garbled_texts_are_not(text: str) -> None:
    assert is_suspicious(text)


@pytest.mark.parametrize(
    ("layer", "seen", "verdict"),
    [
        ("Invoice 4711 total 9.50", "lnvoice 4711 Total 9.50", "layer"),
        ("Credit note nothing due", "Invoice 4711 total 9.50", "lies"),
        ("Invoice 4711", "Invoice 4711 from Muster with many more words on the page", "incomplete"),
        ("Invoice 4711 total 9.50", "Invoice", "lies"),
        ("חשבונית מספר סכום", "nonsense that OCR makes of it", "layer"),
        ("Invoice4711 total9.50", "Invoice 4711 total 9.50", "layer"),
    ],
)
def test_a_layer_against_what_is_seen(layer: str, seen: str, verdict: str) -> None:
    assert judge(words(layer), words(seen)) == verdict
