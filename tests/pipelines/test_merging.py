from dataclasses import replace
from typing import Any

from made_documents import document_of

from dg_sglang.pipelines.document import Document
from dg_sglang.pipelines.evidence import Path, trace
from dg_sglang.pipelines.merging import Merged, Part, merge
from dg_sglang.pipelines.reading import claims
from dg_sglang.pipelines.schema_tree import schema_tree
from dg_sglang.pipelines.segments import segments_of

TEXT = {"type": ["string", "null"]}
ITEM = {"type": "object", "properties": {"name": TEXT, "amount": TEXT, "unit": TEXT}}
SCHEMA = {
    "type": "object",
    "properties": {
        "number": TEXT,
        "seller": {"type": ["object", "null"], "properties": {"name": TEXT, "city": TEXT}},
        "paid": {"type": ["boolean", "null"]},
        "tags": {"type": "array", "items": {"enum": ["new", "old"]}},
        "rows": {"type": "array", "items": ITEM},
    },
}
NODES = schema_tree(SCHEMA).children


def part(document: Document, answer: dict[str, Any], confidences: dict[Path, float] | None = None) -> Part:
    return Part(answer, trace(claims(NODES, answer), segments_of(document)), confidences or {})


def rows(*names: str) -> dict[str, Any]:
    return {"rows": [{"name": name} for name in names]}


def lines_of(document: Document, start: int, end: int) -> Document:
    (page,) = document.pages
    return replace(document, pages=(replace(page, lines=page.lines[start:end]),))


def merged(*parts: Part) -> Merged:
    words = {
        (place.page, place.word.box[1], place.word.box[0]): place.word
        for part in parts
        for traced in part.traced.values()
        for place in traced.places
    }
    return merge(NODES, parts, {id(words[where]): index for index, where in enumerate(sorted(words))})


def test_one_part_stays_as_it_is() -> None:
    answer = {
        "number": "R-1",
        "seller": {"name": "Oak", "city": None},
        "paid": True,
        "tags": [],
        "rows": [{"name": "nail", "amount": "2", "unit": None}],
    }
    one = part(
        document_of(["R-1  Oak", "nail  2"]), answer, {("number",): 0.5, ("seller", "city"): 0.4, ("tags",): 0.3}
    )
    joint = merged(one)
    assert joint.answer == answer
    assert joint.traced == one.traced
    assert joint.confidences == one.confidences
    assert joint.origins[("rows", 0, "name")] == (0, ("rows", 0, "name"))
    assert joint.conflicts == []


def test_null_loses_against_a_value() -> None:
    first = part(document_of(["nothing"]), {"number": None, "seller": None, "paid": None})
    second = part(document_of(["R-1  Oak"]), {"number": "R-1", "seller": {"name": "Oak", "city": None}, "paid": False})
    assert merged(first, second).answer == {
        "number": "R-1",
        "seller": {"name": "Oak", "city": None},
        "paid": False,
    }
    assert merged(first, first).answer == {"number": None, "seller": None, "paid": None}


def test_objects_are_joined_field_by_field() -> None:
    first = part(document_of(["Oak"]), {"seller": {"name": "Oak", "city": None}})
    second = part(document_of(["Bonn"]), {"seller": {"name": None, "city": "Bonn"}})
    joint = merged(first, second)
    assert joint.answer == {"seller": {"name": "Oak", "city": "Bonn"}}
    assert joint.origins[("seller", "city")] == (1, ("seller", "city"))
    assert joint.conflicts == []


def test_a_stated_value_counts_before_a_surer_one_that_stands_nowhere() -> None:
    first = part(document_of(["R-1"]), {"number": "R-1"}, {("number",): 0.2})
    second = part(document_of(["R-2"]), {"number": "R-9"}, {("number",): 0.9})
    joint = merged(first, second)
    assert joint.answer == {"number": "R-1"}
    assert joint.conflicts == ["number is 'R-1' (page 1); other parts of the document say 'R-9'"]


def test_of_two_stated_values_the_surer_one_counts_and_the_other_is_told() -> None:
    first = part(document_of(["R-1"]), {"number": "R-1"}, {("number",): 0.2})
    second = part(document_of([], ["R-2"]), {"number": "R-2"}, {("number",): 0.9})
    joint = merged(first, second)
    assert joint.answer == {"number": "R-2"}
    assert joint.confidences == {("number",): 0.9}
    assert joint.conflicts == ["number is 'R-2' (page 2); other parts of the document say 'R-1' (page 1)"]


def test_overlap_is_one_record_and_a_real_repeat_is_two() -> None:
    document = document_of(["bolt", "nail", "nail", "screw", "nail"])
    first, second = lines_of(document, 0, 3), lines_of(document, 1, 5)
    joint = merged(part(first, rows("bolt", "nail", "nail")), part(second, rows("nail", "nail", "screw", "nail")))
    assert [row["name"] for row in joint.answer["rows"]] == ["bolt", "nail", "nail", "screw", "nail"]
    assert joint.origins[("rows", 4, "name")] == (1, ("rows", 3, "name"))


def test_a_record_cut_by_a_window_is_made_whole() -> None:
    document = document_of(["bolt  12  box", "nail  40", "bag"])
    first, second = lines_of(document, 0, 2), lines_of(document, 1, 3)
    cut = {"rows": [{"name": "bolt", "amount": "12", "unit": "box"}, {"name": "nail", "amount": "40", "unit": None}]}
    whole = {"rows": [{"name": "nail", "amount": "40", "unit": "bag"}]}
    assert merged(part(first, cut), part(second, whole)).answer["rows"] == [
        {"name": "bolt", "amount": "12", "unit": "box"},
        {"name": "nail", "amount": "40", "unit": "bag"},
    ]


def test_records_that_share_a_heading_are_not_the_same() -> None:
    document = document_of(["EUR", "bolt  12", "nail  40"])
    first = part(document, {"rows": [{"name": "bolt", "amount": "12", "unit": "EUR"}]})
    second = part(document, {"rows": [{"name": "nail", "amount": "40", "unit": "EUR"}]})
    assert [row["name"] for row in merged(first, second).answer["rows"]] == ["bolt", "nail"]


def test_a_model_that_goes_round_in_circles_is_cut_short() -> None:
    document = document_of(["bolt  12", "nail  40"])
    bolt, nail = {"name": "bolt", "amount": "12", "unit": None}, {"name": "nail", "amount": "40", "unit": None}
    joint = merged(part(document, {"rows": [bolt, nail, nail, nail]}))
    assert joint.answer["rows"] == [bolt, nail]
    assert joint.conflicts == ["rows: 2 more said the same, word for word from the same places, and were left out"]
    twice = document_of(["nail  40", "nail  40"])
    assert merged(part(twice, {"rows": [nail, nail]})).answer["rows"] == [nail, nail]


def test_judged_records_that_are_equal_count_once() -> None:
    document = document_of(["anything"])
    joint = merged(part(document, {"tags": ["new"]}), part(document, {"tags": ["new", "old"]}))
    assert joint.answer == {"tags": ["new", "old"]}


def test_values_of_the_wrong_shape_are_left_for_reading_to_refuse() -> None:
    document = document_of(["anything"])
    wrong = {"number": ["R-1"], "seller": "Oak", "rows": {"name": "nail"}}
    assert merged(part(document, wrong)).answer == wrong
    right = {"number": "anything", "seller": None, "rows": []}
    assert merged(part(document, wrong), part(document, right)).answer == {
        "number": "anything",
        "seller": "Oak",
        "rows": [],
    }


def test_thousands_of_records_in_many_windows_are_joined() -> None:
    names = [f"part{index}" for index in range(3000)]
    document = document_of(names)
    windows = [(start, min(start + 60, 3000)) for start in range(0, 3000, 50)]
    joint = merged(*(part(lines_of(document, start, end), rows(*names[start:end])) for start, end in windows))
    assert [row["name"] for row in joint.answer["rows"]] == names


def test_records_that_a_second_reading_found_stand_where_the_document_has_them() -> None:
    document = document_of(["nail  2", "bolt  3", "screw  4", "clamp  5"])
    first = part(document, rows("nail", "clamp", "nowhere"))
    joint = merged(first, part(lines_of(document, 1, 3), rows("bolt", "screw")))
    assert joint.answer == rows("nail", "bolt", "screw", "clamp", "nowhere")
    assert joint.origins[("rows", 1, "name")] == (1, ("rows", 0, "name"))


def test_equal_answers_of_two_kinds_are_two_records() -> None:
    nodes = schema_tree({"type": "object", "properties": {"list": {"type": "array", "items": {"type": "number"}}}})
    parts = [Part({"list": [1, 0]}, {}, {}), Part({"list": [True, False]}, {}, {})]
    assert [str(one) for one in merge(nodes.children, parts, {}).answer["list"]] == ["1", "0", "True", "False"]
