from typing import Any

import pytest
from made_documents import document_of

from dg_sglang.pipelines import Document, Evidence
from dg_sglang.pipelines.evaluation import Score
from dg_sglang.pipelines.grounding import places_of, score_grounding
from dg_sglang.pipelines.normalise import conventions_of
from dg_sglang.pipelines.schema_tree import schema_tree
from dg_sglang.pipelines.segments import segments_of

NODES = schema_tree(
    {
        "type": "object",
        "properties": {
            "company": {"type": ["string", "null"]},
            "date": {"type": ["string", "null"], "format": "date"},
            "total": {"type": ["number", "null"]},
            "paid": {"type": "boolean"},
        },
    }
).children
DOCUMENT = document_of(["OAK & Sons (Ltd)", "25/12/2024   total 9,50", "cash 9,50"])


def spots(name: str, value: Any, document: Document = DOCUMENT) -> list[str]:
    node = next(node for node in NODES if node.name == name)
    found = places_of(node, value, segments_of(document), conventions_of(document.text))
    return [" ".join(place.word.text for place in places) for places in found]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("company", "Oak & Sons Ltd", ["OAK Sons (Ltd)"]),
        ("company", "Elm", []),
        ("date", "2024-12-25", ["25/12/2024"]),
        ("total", 9.5, ["9,50", "9,50"]),
        ("total", 9.51, []),
    ],
)
def test_values_are_found_by_what_they_mean(name: str, value: Any, words: list[str]) -> None:
    assert spots(name, value) == words


def evidence_of(text: str) -> Evidence:
    place = next(place for place in DOCUMENT.places if place.word.text == text)
    return Evidence("exact", text, place.page, (place.word.box,), 1)


def score(evidence: dict[str, Evidence], truth: dict[str, Any]) -> Score:
    return score_grounding(NODES, evidence, truth, segments_of(DOCUMENT), conventions_of(DOCUMENT.text))


def test_any_occurrence_of_the_truth_is_right() -> None:
    assert score({"total": evidence_of("9,50")}, {"total": 9.5}) == Score(1, 1, 1)
    assert score({"date": evidence_of("25/12/2024")}, {"date": "2024-12-25"}) == Score(1, 1, 1)


def test_the_wrong_words_and_no_words_miss() -> None:
    assert score({"total": evidence_of("25/12/2024")}, {"total": 9.5}) == Score(0, 1, 1)
    assert score({"total": Evidence("none")}, {"total": 9.5}) == Score(0, 0, 1)
    assert score({}, {"total": 9.5}) == Score(0, 0, 1)


def test_boxes_for_a_null_are_wrong_and_what_the_page_lacks_is_left_out() -> None:
    assert score({"total": evidence_of("9,50")}, {"total": None}) == Score(0, 1, 0)
    assert score({"company": evidence_of("OAK")}, {"company": "Elm"}) == Score()
    assert score({"paid": Evidence("none")}, {"paid": True}) == Score()
