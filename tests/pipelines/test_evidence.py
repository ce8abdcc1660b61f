from made_documents import document_of

from dg_sglang.pipelines.evidence import Claim, Path, Traced, trace
from dg_sglang.pipelines.schema_tree import Node
from dg_sglang.pipelines.segments import segments_of

INVOICE = document_of(
    [
        "Invoice 4711          Delivery date   03.05.2024",
        "                      Invoice date    03.05.2024",
        "",
        "Bread           2      1,00      2,00",
        "Milk            1      2,00      2,00",
        "Total                            4,00",
    ],
    ["Bread again 4711"],
)


def traced(values: dict[Path, str], description: str = "") -> dict[Path, Traced]:
    claims = [Claim(path, Node(str(path[-1]), "", "text", description), value) for path, value in values.items()]
    return trace(claims, segments_of(INVOICE))


def where(found: Traced) -> tuple[int, int, str]:
    return found.places[0].page, found.places[0].line, " ".join(place.word.text for place in found.places)


def test_a_value_that_occurs_once() -> None:
    found = traced({("total",): "4,00"})[("total",)]
    assert where(found) == (1, 4, "4,00")
    assert found.occurrences == 1
    assert not found.fuzzy


def test_the_label_decides_among_several() -> None:
    assert where(traced({("invoice_date",): "03.05.2024"})[("invoice_date",)])[1] == 1
    assert where(traced({("deliveryDate",): "03.05.2024"})[("deliveryDate",)])[1] == 0
    assert traced({("x",): "03.05.2024"})[("x",)].occurrences == 2


def test_without_a_label_the_first_one_counts() -> None:
    assert where(traced({("number",): "4711"})[("number",)])[:2] == (1, 0)


def test_records_keep_together_and_take_different_words() -> None:
    found = traced(
        {
            ("items", 0, "name"): "Bread",
            ("items", 0, "price"): "1,00",
            ("items", 0, "amount"): "2,00",
            ("items", 1, "name"): "Milk",
            ("items", 1, "price"): "2,00",
            ("items", 1, "amount"): "2,00",
        }
    )
    assert [where(found[path])[1] for path in found] == [2, 2, 2, 3, 3, 3]
    places = [traced.places[0].start for traced in found.values()]
    assert len(set(places)) == len(places)


def test_a_record_of_repeated_words_lies_where_they_stand_together() -> None:
    document = document_of(["tea   2", "milk  3", "tea   3", "milk  2", "tea   2"])
    wanted = [("milk", "2"), ("tea", "3"), ("tea", "2"), ("tea", "2")]
    leaves = {("rows", i, name): text for i, row in enumerate(wanted) for name, text in zip("ab", row, strict=True)}
    claims = [Claim(path, Node(str(path[-1]), "", "text", ""), value) for path, value in leaves.items()]
    found = trace(claims, segments_of(document))
    assert [where(one)[1] for one in found.values()] == [3, 3, 2, 2, 0, 0, 4, 4]


def test_numbers_dates_and_currencies_are_found_where_they_stand_as_such() -> None:
    document = document_of(["Tel 5-5.00-99", "Ref 15.00 and 2024-05-03T", "Paid 5th of 2024-05-0312:30 RM5.00"])
    kinds = {"5.00": "number", "5": "number", "2024-05-03": "date", "RM": "currency"}
    claims = [Claim((value,), Node("x", "", kind), value) for value, kind in kinds.items()]
    found = trace(claims, segments_of(document))
    assert {value: where(found[value,])[2] for value in kinds} == {
        "5.00": "RM5.00",
        "5": "5th",
        "2024-05-03": "2024-05-0312:30",
        "RM": "RM5.00",
    }
    assert all(one.occurrences == 1 and not one.fuzzy for one in found.values())


def test_what_stands_nowhere_or_only_loosely() -> None:
    found = traced({("a",): "Butter", ("b",): "MILK", ("c",): "Bread\nagain"})
    assert found[("a",)] == Traced()
    assert found[("b",)].fuzzy
    assert where(found[("c",)]) == (2, 0, "Bread again")
