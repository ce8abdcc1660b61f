import json

import pytest
from made_documents import document_of

from dg_sglang.errors import PromptTooLongError
from dg_sglang.pipelines import Invoice
from dg_sglang.pipelines.planner import Group, fit_document, plan_groups
from dg_sglang.pipelines.schema_tree import schema_tree

ROOT = schema_tree(Invoice)


def names(groups: list[Group]) -> list[list[str]]:
    return [[node.name for node in group.nodes] for group in groups]


def test_a_large_canvas_holds_all_but_the_list() -> None:
    groups = plan_groups(ROOT, 1000, len)
    assert names(groups) == [[node.name for node in ROOT.children[:-1]], ["line_items"]]
    assert groups[0].max_new_tokens < groups[1].max_new_tokens


def test_smaller_canvases_make_more_groups_in_the_same_order() -> None:
    groups = plan_groups(ROOT, 100, len)
    assert len(groups) > 3
    assert [name for group in names(groups) for name in group] == [node.name for node in ROOT.children]


def test_a_field_too_large_for_a_canvas_has_a_group_of_its_own() -> None:
    assert all(len(group) == 1 for group in names(plan_groups(ROOT, 10, len)))


def test_what_doesnt_fit_is_left_out_from_the_end_and_named() -> None:
    groups = [Group(ROOT.children[:1], 20)]
    document = document_of([f"line {i}" for i in range(50)], [f"line {i}" for i in range(50)])
    whole, warnings = fit_document(document, groups, 2000, len)
    assert whole is document
    assert warnings == []
    part, (warning,) = fit_document(document, groups, 800, len)
    assert document.text.startswith(part.text)
    assert [page.number for page in part.pages] == [1, 2]
    assert 50 < sum(len(page.lines) for page in part.pages) < 100
    assert "up to line" in warning
    assert "of page 2" in warning
    part, (warning,) = fit_document(document, groups, 400, len)
    left = 100 - sum(len(page.lines) for page in part.pages)
    assert f"{left} of its 100 lines were left out" in warning


def test_an_answer_budget_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(PromptTooLongError, match="too short for the schema and one line"):
        fit_document(document_of(["a line"]), [Group(ROOT.children, 500)], 600, len)


def test_the_shortest_answer_always_fits_its_budget() -> None:
    fields = {f"a_rather_long_field_name_{number}": {"type": ["string", "null"]} for number in range(40)}
    nested = {"type": "object", "properties": fields, "required": list(fields)}
    listed = {"type": "array", "items": nested, "minItems": 9}
    schema = {"type": "object", "properties": {"nested": nested, "listed": listed, "x" * 500: {"type": "boolean"}}}
    for group in plan_groups(schema_tree(schema), 128, len):
        (node,) = group.nodes
        nulls = dict.fromkeys(fields)
        shortest = {"nested": nulls, "listed": [nulls] * 9}.get(node.name, True)
        assert group.max_new_tokens >= len(json.dumps({node.name: shortest}, separators=(",", ":")))
        assert group.max_new_tokens % 128 == 0
