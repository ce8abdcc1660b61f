"""Which fields go on which canvas, and which windows over the document fit the model's context."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dg_sglang.errors import EmptyDocumentError, PromptTooLongError
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
OVERLAP = 0.15
"""Share of a window's lines that the next window reads again, so that a record cut by its end is whole there."""
FEWEST_LINES = 4
"""A window of fewer lines is not parted further."""
TEMPLATE_TOKENS = 32
"""Allowance for the chat template around the prompt."""
_TYPICAL = {
    "text": '"Musterfirma Handels GmbH & Co. KG"',
    "free": '"Invoice for the delivery of office supplies in March"',
    "date": '"31 December 2024"',
    "datetime": '"31 December 2024, 10:30 AM"',
    "time": '"10:30 AM"',
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
    """Fields asked for together, and how many tokens their answer may take.

    `record` is how many of them a record of the list takes that is among the fields; 0 without a list.
    """

    nodes: tuple[Node, ...]
    max_new_tokens: int
    record: int = 0


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
            groups.append(Group((node,), budget(tokens, LIST_CANVASES), record=tokens))
            continue
        if size + tokens > FILL * canvas_length:
            close()
        open_nodes.append(node)
        size += tokens
    close()
    return groups


def plan_windows(document: Document, groups: Sequence[Group], max_context: int, count: CountTokens) -> list[Document]:
    """The document if it fits the context with every group, else overlapping windows of whole lines over all of it.

    Raises:
        EmptyDocumentError: it has no lines. PromptTooLongError: not even one line fits.
    """
    total = sum(len(page.lines) for page in document.pages)
    if total == 0:
        raise EmptyDocumentError(f"{document.name}: no text on any of its {len(document.pages)} page(s)")

    def fits(start: int, end: int) -> bool:
        text = stretch(document, start, end).text
        prompts = ((count(build_prompt(prompt_fields(group.nodes), text)), group.max_new_tokens) for group in groups)
        return all(tokens + TEMPLATE_TOKENS + answer <= max_context for tokens, answer in prompts)

    windows: list[Document] = []
    start, size = 0, 32
    while True:
        size = _longest(lambda lines, start=start: fits(start, start + lines), size, total - start)  # type: ignore[misc]
        if size == 0:
            raise PromptTooLongError(
                f"{document.name}: the model's context of {max_context} tokens is too short for the schema and one "
                "line of the document; use a smaller schema or another model"
            )
        end = start + size
        windows.append(document if (start, end) == (0, total) else stretch(document, start, end))
        if end >= total:
            return windows
        start = max(start + 1, end - int(OVERLAP * size))


def halves(document: Document) -> list[Document]:
    """Two overlapping windows of the same number of lines; none if it has too few to part."""
    total = sum(len(page.lines) for page in document.pages)
    if total < FEWEST_LINES:
        return []
    shared = max(1, int(OVERLAP * total / 2))
    middle = (total + shared + 1) // 2
    return [stretch(document, 0, middle), stretch(document, total - middle, total)]


def _longest(fits: Callable[[int], bool], guess: int, most: int) -> int:
    """The largest number up to `most` that fits (what is larger doesn't either), sought from `guess` outwards."""
    low, high = 0, min(guess, most)
    while high < most and fits(high):
        low, high = high, min(2 * high, most)
    if high == most and fits(most):
        return most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def stretch(document: Document, start: int, end: int) -> Document:
    """The lines [start, end) of a document, counted over all pages, on pages that keep their numbers."""
    pages: list[Page] = []
    for page in document.pages:
        if lines := page.lines[max(start, 0) : max(end, 0)]:
            pages.append(replace(page, lines=lines))
        start, end = start - len(page.lines), end - len(page.lines)
    return replace(document, pages=tuple(pages))


def _holds_list(node: Node) -> bool:
    return node.kind == "list" or any(_holds_list(child) for child in node.children)


def _typical_answer(node: Node) -> str:
    if node.kind == "object":
        return "{" + ",".join(f'"{child.name}":{_typical_answer(child)}' for child in node.children) + "}"
    if node.kind == "list":
        items = [_typical_answer(node.children[0])] * max(1, min(node.min_items, MOST_COUNTED))
        return f"[{','.join(items)}]"
    if node.kind == "union":
        return max(map(_typical_answer, node.children), key=len)
    if node.kind == "choice":
        return f'"{max((text for text, _ in node.choices), key=len)}"'
    return _TYPICAL[node.kind]
