import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from dg_sglang.pipelines.evaluation import (
    Score,
    assign,
    grounded_leaves,
    null_cells,
    score_boxes,
    score_fields,
    score_kinds,
)
from dg_sglang.pipelines.evidence import Evidence

COSTS = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(*[st.tuples(*[st.integers(-9, 9)] * shape[1])] * shape[0])
)
GOLD = {"a": "Muster GmbH", "b": None, "rows": [{"x": "A", "y": 1.0}, {"x": "B", "y": 2.0}]}


@given(COSTS)
def test_the_pairing_is_the_cheapest(costs: tuple[tuple[int, ...], ...]) -> None:
    pairs = assign(costs)
    rows, columns = linear_sum_assignment(np.array(costs))
    assert len(pairs) == len(rows)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert sum(costs[i][j] for i, j in pairs) == np.array(costs)[rows, columns].sum()


def test_nothing_to_pair() -> None:
    assert assign([]) == assign([[]]) == []


def test_the_truth_itself_is_perfect() -> None:
    score = score_fields(GOLD, GOLD)
    assert score == Score(6, 6, 6)
    assert score.perfect
    assert score.f1 == 1


@pytest.mark.parametrize(
    ("change", "score"),
    [
        ({"a": " Muster\n GmbH"}, Score(6, 6, 6)),
        ({"a": "MUSTER GMBH"}, Score(5, 6, 6)),
        ({"a": None}, Score(5, 5, 6)),
        ({"b": "invented"}, Score(5, 6, 5)),
        ({"extra": "not scored"}, Score(6, 6, 6)),
        ({"rows": []}, Score(2, 2, 6)),
        ({"rows": [{"x": "B", "y": 2}, {"x": "A", "y": 1}]}, Score(6, 6, 6)),
        ({"rows": [{"x": "B", "y": 2, "z": 3}]}, Score(4, 4, 6)),
        ({"rows": [*GOLD["rows"], {"x": "C", "y": None, "z": 3}]}, Score(6, 7, 6)),
        ({"rows": [{"x": "A", "y": 2.0}, {"x": "B", "y": 2.01}]}, Score(4, 6, 6)),
        ({"rows": "none"}, Score(2, 2, 6)),
    ],
)
def test_what_costs_precision_and_what_recall(change: dict[str, object], score: Score) -> None:
    assert score_fields(GOLD | change, GOLD) == score


def test_relaxed_scores_ignore_case_and_punctuation() -> None:
    assert score_fields(GOLD | {"a": "MUSTER, GMBH"}, GOLD, relaxed=True).perfect


def test_numbers_and_booleans_are_not_confused() -> None:
    assert not score_fields({"a": True}, {"a": 1}).perfect
    assert score_fields({"a": 1}, {"a": 1.0}).perfect
    assert not score_fields({"a": "1"}, {"a": 1}).perfect


def test_nothing_expected_and_nothing_found_is_right() -> None:
    assert Score().f1 == 1
    assert Score(0, 0, 3).f1 == 0


def test_shares() -> None:
    assert null_cells({"b": "x"}, {"a": "x", "b": None, "c": None}) == (1, 2)
    evidence = {
        "a": Evidence("exact", "x", 1, ((0, 0, 1, 1),), 1),
        "b": [{"c": Evidence("none", "y")}, {"c": Evidence("normalised", "1", 1)}],
        "d": Evidence("none"),
    }
    assert grounded_leaves(evidence) == (2, 3)


def test_the_same_cells_by_kind() -> None:
    gold = {"day": "2024-05-03", "total": 9.5, "paid": True, "name": "Muster", "note": None, "rows": [{"x": 1}]}
    found = gold | {"day": "2024-05-04", "note": "invented", "rows": [{"x": 1}, {"x": "two"}]}
    assert score_kinds(found, gold) == {
        "date": Score(0, 1, 1),
        "number": Score(2, 2, 2),
        "boolean": Score(1, 1, 1),
        "text": Score(1, 3, 1),
    }
    assert score_kinds(gold, gold)["null"] == Score(1, 1, 1)
    kinds = score_kinds(found, gold).values()
    assert sum(kinds, Score()) == score_fields(found, gold)


LINE = (1, (0.0, 0.0, 100.0, 10.0))


@pytest.mark.parametrize(
    ("predicted", "score"),
    [
        ([LINE], Score(1, 1, 1)),
        ([(1, (0, 0, 20, 10)), (1, (25, 0, 50, 10))], Score(1, 1, 1)),
        ([(1, (0, 0, 20, 10)), (1, (0, 40, 20, 50))], Score(1, 2, 1)),
        ([(2, (0, 0, 100, 10))], Score(0, 1, 1)),
        ([], Score(0, 0, 1)),
    ],
)
def test_boxes_of_words_lie_in_boxes_of_lines(predicted: list[tuple[int, tuple[float, ...]]], score: Score) -> None:
    assert score_boxes(predicted, [LINE]) == score  # type: ignore[arg-type]
