import json

import pytest
from made_documents import document_of

from dg_sglang.errors import EmptyDocumentError, PromptTooLongError
from dg_sglang.pipelines import Invoice
from dg_sglang.pipelines.canvas_schema import prompt_fields
from dg_sglang.pipelines.planner import TEMPLATE_TOKENS, Group, halves, plan_groups, plan_windows
from dg_sglang.pipelines.prompt import build_prompt
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


@pytest.mark.parametrize("context", [250, 400, 800, 1500])
def test_windows_cover_every_line_and_overlap(context: int) -> None:
    groups = [Group(ROOT.children[:1], 20)]
    document = document_of(*([f"page {page} line {i}" for i in range(50)] for page in range(3)))
    windows = plan_windows(document, groups, context, len)
    read = [[(page.number, line.text) for page in window.pages for line in page.lines] for window in windows]
    whole = [(page.number, line.text) for page in document.pages for line in page.lines]
    covered = 0
    for lines in read:
        start = whole.index(lines[0])
        assert whole[start : start + len(lines)] == lines
        assert start <= covered
        assert start < covered or covered == 0 or len(lines) < 8  # a short window has no line to spare
        assert start + len(lines) > covered
        covered = start + len(lines)
    assert covered == len(whole)
    assert len(windows) > 1


def test_each_window_is_as_long_as_fits() -> None:
    groups = [Group(ROOT.children[:1], 20)]
    document = document_of([f"line {i}" for i in range(400)])
    (whole,) = plan_windows(document, groups, 10_000, len)
    assert whole is document
    first, *_ = plan_windows(document, groups, 900, len)
    prompt = len(build_prompt(prompt_fields(groups[0].nodes), first.text))
    assert prompt + 20 + TEMPLATE_TOKENS <= 900 < prompt + 20 + TEMPLATE_TOKENS + len("\nline 400")


def test_halves_share_lines_and_lose_none() -> None:
    for total in range(4, 40):
        document = document_of([f"line {i}" for i in range(total)])
        first, second = ([line.text for page in half.pages for line in page.lines] for half in halves(document))
        whole = [line.text for line in document.pages[0].lines]
        assert whole[: len(first)] == first
        assert whole[-len(second) :] == second
        assert total < len(first) + len(second)
        assert max(len(first), len(second)) < total
    assert halves(document_of(["a", "b", "c"])) == []


def test_a_single_line_that_doesnt_fit_is_refused_wherever_it_stands() -> None:
    groups = [Group(ROOT.children[:1], 20)]
    with pytest.raises(PromptTooLongError, match="too short for the schema and one line"):
        plan_windows(document_of(["a line"]), [Group(ROOT.children, 500)], 600, len)
    with pytest.raises(PromptTooLongError, match="too short for the schema and one line"):
        plan_windows(document_of(["a line", "x" * 900, "a line"]), groups, 500, len)


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


def test_a_document_without_text_is_called_empty() -> None:
    for pages in ([], [[]] * 3):
        with pytest.raises(EmptyDocumentError, match=rf"no text on any of its {len(pages)} page"):
            plan_windows(document_of(*pages), [Group(ROOT.children, 20)], 600, len)
