"""The model's answers about one document: window by window, then joined and read."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import BudgetError, EmptyLanguageError, GrammarTooLargeError
from dg_sglang.pipelines.coverage import unread_lines
from dg_sglang.pipelines.document import Document
from dg_sglang.pipelines.engines import TextEngine
from dg_sglang.pipelines.evidence import Path, Traced
from dg_sglang.pipelines.merging import merge
from dg_sglang.pipelines.normalise import Conventions
from dg_sglang.pipelines.planner import Group, halves, stretch
from dg_sglang.pipelines.reading import Reading, read_answer
from dg_sglang.pipelines.repair import Tried
from dg_sglang.pipelines.schema_tree import Node
from dg_sglang.pipelines.segments import lines_of
from dg_sglang.pipelines.window import Window

if TYPE_CHECKING:
    from dg_sglang.results import Usage

ROUNDS = 4
"""How often a list may be asked for again in lines that look like its records and were left out."""
WINDOWS_AT_ONCE = 8
"""Windows that the engine is asked about together; the others' automata need not be in memory meanwhile."""


class Answers:
    """The windows over one document; together they are the answer.

    Args:
        engine: what answers.
        groups: the plan of fields.
        documents: the windows, see `plan_windows`.
        conventions: how the document writes its values.
        settings: of every request: seed, generation settings. The mode "auto" asks in both modes and settles them.
        constrained: whether under the grammar.

    Attributes:
        answer: what the model wrote, all groups and windows joined.
    """

    def __init__(
        self,
        engine: TextEngine,
        groups: Sequence[Group],
        documents: Sequence[Document],
        conventions: Conventions,
        settings: Mapping[str, Any],
        *,
        constrained: bool,
    ) -> None:
        self._engine, self._conventions, self._settings = engine, conventions, settings
        self._constrained = constrained
        self._cut: list[str] = []
        words = dict.fromkeys(id(place.word) for document in documents for place in document.places)
        self._order = {word: index for index, word in enumerate(words)}
        self._documents, self._lists = documents, [group.nodes[0].name for group in groups if group.record]
        self._nodes = [node for group in groups for node in group.nodes]
        if len(documents) > 1:  # what one window lacks may stand in another
            groups = [_dispensable_group(group) for group in groups]
        self._windows = [self._window(groups, document) for document in documents]
        self._origins: dict[Path, tuple[int, Path]] = {}
        self._started = time.perf_counter()
        self.answer: dict[str, Any] = {}

    def draw(self, progress: Callable[[str], None] | None = None) -> None:
        """Ask for all groups in all windows, and where a list fills its answer, again in halves of the window.

        Raises what the engine raises.
        """
        waiting, self._windows = self._windows, []
        while waiting:
            windows, waiting = waiting[:WINDOWS_AT_ONCE], waiting[WINDOWS_AT_ONCE:]
            if progress and (self._windows or waiting or len(windows) > 1):
                first = len(self._windows) + 1
                progress(
                    f"reading windows {first} to {first + len(windows) - 1} of {first + len(windows + waiting) - 1}"
                )
            again = [window for window in windows if window.rounds > 0]
            windows = [window for window in windows if window.rounds == 0]
            self._ask(windows)
            try:
                self._ask(again)
                windows += again
            except (EmptyLanguageError, BudgetError, GrammarTooLargeError):
                pass  # what was left out stays out: the answers that there are count
            smaller = [part for window in windows for part in (*self._smaller(window), *self._rest(window))]
            self._windows += windows
            waiting = smaller + waiting
        self._windows.sort(key=self._position)

    def _ask(self, windows: Sequence[Window]) -> None:
        questions = [window.questions() for window in windows]
        results = iter(self._engine.generate_batch([one for asked in questions for one in asked]) if windows else ())
        for window, asked in zip(windows, questions, strict=True):
            window.take([next(results) for _ in asked])

    def _position(self, window: Window) -> int:
        """Where a window begins: records follow one another as in the document."""
        return self._order[id(window.document.places[0].word)]

    def _smaller(self, window: Window) -> list[Window]:
        """Windows over the halves of one, for the lists that may not have found room in its answer."""
        full = window.full()
        parts = halves(window.document) if full else []
        if full and not parts:
            names = ", ".join(node.name for group in full for node in group.nodes)
            self._cut.append(f"{names} may lack records: they filled the longest answer to a few lines")
        if parts:
            window.drop(full)
        groups = [_dispensable_group(group) for group in full]
        return [self._window(groups, part, window.rounds, window.sought) for part in parts]

    def _rest(self, window: Window) -> list[Window]:
        """Windows over the lines that look like a list's records and were left out, while there are fewer each time."""
        rest = []
        for group in window.groups if window.rounds < ROUNDS else ():
            unread = window.unread(group)
            if unread and (window.rounds == 0 or len(unread) < window.sought):
                part = stretch(window.document, unread[0], unread[-1] + 1)
                rest.append(self._window([_dispensable_group(group)], part, window.rounds + 1, len(unread)))
        return rest

    def _window(self, groups: Sequence[Group], document: Document, rounds: int = 0, sought: int = 0) -> Window:
        given = self._engine, groups, document, self._conventions, self._settings
        return Window(*given, constrained=self._constrained, rounds=rounds, sought=sought)

    def redraw(self, tried: Tried) -> set[Path]:
        """Ask again for these leaves alone, each in the window that its value came from.

        Returns:
            The leaves with a new value; for the others the document holds nothing else.
        """
        redrawn: set[Path] = set()
        for index, window in enumerate(self._windows):
            own = {place[1]: path for path in tried if (place := self._origins.get(path)) and place[0] == index}
            redrawn |= {own[place] for place in window.redraw({place: tried[path] for place, path in own.items()})}
        return redrawn

    def read(self) -> Reading:
        """The typed values, with evidence and confidence. Groups whose answer is no JSON object are failures."""
        merged = merge(self._nodes, [window.read() for window in self._windows], self._order)
        self.answer, self._origins = merged.answer, merged.origins
        reading = read_answer(self._nodes, merged.answer, merged.traced, self._conventions, merged.confidences)
        asked = [window for window in self._windows if window.rounds == 0]  # more records are no duty
        reading.failures[:0] = [failure for window in asked for failure in window.failures]
        doubts = [str(doubt) for window in self._windows for doubt in window.doubts]
        reading.warnings[:0] = [*self._cut, *self._left_out(merged.traced), *merged.conflicts, *doubts]
        return reading

    def _left_out(self, traced: Mapping[Path, Traced]) -> Iterator[str]:
        """A warning for each list whose records other lines of the document look like."""
        for name in self._lists:
            lines: dict[int, str] = {}
            for document in self._documents:
                unread = unread_lines(document, traced, name)
                here = list(lines_of(document)) if unread else []
                for index in unread:
                    first, *_ = line = here[index]
                    text = " ".join(place.word.text for place in line)
                    lines.setdefault(id(first.word), f"page {first.page}, {text!r}")
            if lines:
                looks = "line looks" if len(lines) == 1 else "lines look"
                where = next(iter(lines.values()))
                yield f"{name}: {len(lines)} {looks} like its records, but none was read there ({where})"

    def usage(self) -> "Usage":
        """Of all requests so far together; `seconds` is wall-clock time."""
        from dg_sglang.results import Usage

        spent = [result.usage for window in self._windows for result in window.spent]
        return Usage(
            prompt_tokens=sum(usage.prompt_tokens for usage in spent),
            completion_tokens=sum(usage.completion_tokens for usage in spent),
            canvases=sum(usage.canvases for usage in spent),
            denoising_steps=sum(usage.denoising_steps for usage in spent),
            seconds=time.perf_counter() - self._started,
        )


def _dispensable_group(group: Group) -> Group:
    return replace(group, nodes=tuple(map(_dispensable, group.nodes)))


def _dispensable(node: Node) -> Node:
    """The same field where the text may lack it; what one record of a list must have, it must still have."""
    children = tuple(map(_dispensable, node.children)) if node.kind == "object" else node.children
    return replace(node, required=False, min_items=0, children=children)
