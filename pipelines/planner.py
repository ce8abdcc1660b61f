"""Which fields go on which canvas, and how much of the document fits the model's context."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dg_sglang.errors import PromptTooLongError
from dg_sglang.pipelines.canvas_schema import MOST_COUNTED, prompt_fields
from dg_sglang.pipelines.document import Document, Page
from dg_sglang.pipelines.prompt import build_prompt
from dg_sglang.pipelines.schema_tree import Node

FILL = 0.85
"""Share of a canvas that a group's estimated answer may take."""
SCALAR_CANVASES = 2
"""Canvases that an answer without lists may use: its values may be longer than estimated."""
LIST_CANVASES = 8
"""Canvases that an answer with a list may use."""
TEMPLATE_TOKENS = 32
"""Allowance for the chat template around the prompt."""
_TYPICAL = {
    "text": '"Musterfirma Handels GmbH & Co. KG"',
    "free": '"Invoice for the delivery of office supplies in March"',
    "date": '"31 December 2024"',
    "number": '"1.234,56"',
    "currency": '"EUR"',
    "boolean": "false",
}

CountTokens = Callable[[str], int]


class Capacity(Protocol):
    """What the planner needs to know about an engine."""

    canvas_length: int
    max_context: int


@dataclass(frozen=True)
class Group:
    """Fields asked for together, and how many tokens their answer may take."""

    nodes: tuple[Node, ...]
    max_new_tokens: int


def plan_groups(root: Node, canvas_length: int, count: CountTokens) -> list[Group]:
    """Pack neighbouring top-level fields so that a group's answer fits one canvas; fields with lists stand alone."""
    groups: list[Group] = []
    open_nodes: list[Node] = []
    size = 0

    def budget(tokens: int, canvases: int) -> int:
        """The usual number of canvases; more where long names or many nested fields alone would fill them."""
        return max(canvases, -(-tokens // canvas_length) + 1) * canvas_length

    def close() -> None:
        nonlocal size
        if open_nodes:
            groups.append(Group(tuple(open_nodes), budget(size, SCALAR_CANVASES)))
            open_nodes.clear()
            size = 0

    for node in root.children:
        tokens = count(f'"{node.name}":{_typical_answer(node)},')
        if _holds_list(node):
            close()
            groups.append(Group((node,), budget(tokens, LIST_CANVASES)))
            continue
        if size + tokens > FILL * canvas_length:
            close()
        open_nodes.append(node)
        size += tokens
    close()
    return groups


def fit_document(
    document: Document, groups: Sequence[Group], max_context: int, count: CountTokens
) -> tuple[Document, list[str]]:
    """The document's longest beginning, in whole lines, that fits the context with every group, and what was left out.

    Raises:
        PromptTooLongError: not even the first line fits.
    """
    total = sum(len(page.lines) for page in document.pages)

    def fits(lines: int) -> bool:
        text = _first_lines(document, lines).text
        prompts = ((count(build_prompt(prompt_fields(group.nodes), text)), group.max_new_tokens) for group in groups)
        return all(tokens + TEMPLATE_TOKENS + answer <= max_context for tokens, answer in prompts)

    if fits(total):
        return document, []
    low, high = 0, total
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low == 0:
        raise PromptTooLongError(
            f"{document.name}: the model's context of {max_context} tokens is too short for the schema and one line of "
            "the document; use a smaller schema or another model"
        )
    return _first_lines(document, low), [_left_out(document, low, total, max_context)]


def _first_lines(document: Document, lines: int) -> Document:
    pages: list[Page] = []
    for page in document.pages:
        pages.append(replace(page, lines=page.lines[:lines]))
        lines = max(lines - len(page.lines), 0)
    return replace(document, pages=tuple(pages))


def _left_out(document: Document, kept: int, total: int, max_context: int) -> str:
    for page in document.pages:
        if kept < len(page.lines):
            place = f"page {page.number}" if kept == 0 else f"line {kept + 1} of page {page.number}"
            rest = total - sum(len(one.lines) for one in document.pages if one.number < page.number) - kept
            return (
                f"the document is longer than the model's context of {max_context} tokens: it was read only up to "
                f"{place}, {rest} of its {total} lines were left out"
            )
        kept -= len(page.lines)
    raise AssertionError("nothing was left out")


def _holds_list(node: Node) -> bool:
    return node.kind == "list" or any(_holds_list(child) for child in node.children)


def _typical_answer(node: Node) -> str:
    if node.kind == "object":
        return "{" + ",".join(f'"{child.name}":{_typical_answer(child)}' for child in node.children) + "}"
    if node.kind == "list":
        items = [_typical_answer(node.children[0])] * max(1, min(node.min_items, MOST_COUNTED))
        return f"[{','.join(items)}]"
    if node.kind == "choice":
        return f'"{max((text for text, _ in node.choices), key=len)}"'
    return _TYPICAL[node.kind]
