"""One stretch of a document, as long as the model reads at once, and what the model answers about it."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import BudgetError, EmptyLanguageError, GrammarTooLargeError
from dg_sglang.pipelines.agreement import Doubt, settle
from dg_sglang.pipelines.canvas_schema import SOURCE, canvas_schema, prompt_fields
from dg_sglang.pipelines.confidence import leaf_confidences
from dg_sglang.pipelines.coverage import ends_in_circles, unread_lines
from dg_sglang.pipelines.document import Document
from dg_sglang.pipelines.engines import TextEngine
from dg_sglang.pipelines.evidence import Path, trace
from dg_sglang.pipelines.merging import Part
from dg_sglang.pipelines.normalise import Conventions
from dg_sglang.pipelines.planner import Group
from dg_sglang.pipelines.prompt import build_prompt
from dg_sglang.pipelines.reading import Failure, claims
from dg_sglang.pipelines.repair import Tried, tighter_schema
from dg_sglang.pipelines.segments import segments_of

if TYPE_CHECKING:
    from dg_sglang.results import GenerationResult


class Window:
    """One answer per group of fields; together they are the window's answer.

    Args:
        engine: what answers.
        groups: the plan.
        document: what the model reads.
        conventions: how the whole document writes its values.
        settings: of every request: seed, generation settings. The mode "auto" asks in both modes and settles them.
        constrained: whether under the grammar.
        rounds, sought: how often its list was asked for in longer stretches, and how many lines were left out there.

    Attributes:
        document: the stretch.
        answer: what the model wrote, all groups merged.
        groups: the fields that it answers; `drop` takes some away.
        rounds, sought: as given.
        spent: every answer so far, those that were replaced included.
        failures, doubts: of the last `read`: groups whose answer is no JSON object, fields that the modes differ in.
    """

    def __init__(
        self,
        engine: TextEngine,
        groups: Sequence[Group],
        document: Document,
        conventions: Conventions,
        settings: Mapping[str, Any],
        *,
        constrained: bool,
        rounds: int = 0,
        sought: int = 0,
    ) -> None:
        self._engine, self.groups, self.document = engine, list(groups), document
        self.rounds, self.sought = rounds, sought
        self._settings = dict(settings)
        self._settles = self._settings.get("mode") == "auto"
        if self._settles:
            self._settings["mode"] = "causal"
        self._segments = segments_of(document)
        self._nodes = [node for group in groups for node in group.nodes]
        self._pieces = None
        if constrained:
            from dg_sglang.pipelines.pieces import pieces_for

            self._pieces = pieces_for(self._nodes, document.text, self._segments, conventions)
        self._results: list[GenerationResult] = []
        self._denoised: dict[int, GenerationResult] = {}
        self.spent: list[GenerationResult] = []
        self._part: Part | None = None  # of the results that there are
        self.answer: dict[str, Any] = {}
        self.failures: list[Failure] = []
        self.doubts: list[Doubt] = []

    def questions(self) -> list[dict[str, Any]]:
        """The requests for all groups; `take` wants their answers in this order."""
        schemas = [self._pieces and canvas_schema(group.nodes, self._pieces.kinds) for group in self.groups]
        asked = list(zip(self.groups, schemas, strict=True))
        denoised = [self._question(*one, mode="diffusion") for one in asked] if self._settles else []
        return [self._question(*one) for one in asked] + denoised

    def take(self, results: "Sequence[GenerationResult]") -> None:
        """The answers to `questions`."""
        self.spent += results
        self._part = None
        self._results = list(results[: len(self.groups)])
        self._denoised = dict(enumerate(results[len(self.groups) :]))

    def full(self) -> list[Group]:
        """The groups whose list fills the tokens that it may take: it may have been closed before its end.

        Not one that goes round in circles: it would fill any answer.
        """
        return [
            group
            for group, result in zip(self.groups, self._results, strict=True)
            if group.record
            and result.usage.completion_tokens + 2 * group.record > group.max_new_tokens
            and not ends_in_circles(self.read().traced, group.nodes[0].name)
        ]

    def unread(self, group: Group) -> list[int]:
        """The lines that look like the group's records but hold no value of the answer, see `unread_lines`."""
        return unread_lines(self.document, self.read().traced, group.nodes[0].name) if group.record else []

    def drop(self, groups: Sequence[Group]) -> None:
        """Forget these groups, for which smaller windows are asked."""
        self._part = None
        kept = [index for index, group in enumerate(self.groups) if group not in groups]
        self.groups = [self.groups[index] for index in kept]
        self._results = [self._results[index] for index in kept]
        self._denoised = {new: self._denoised[old] for new, old in enumerate(kept) if old in self._denoised}

    def redraw(self, tried: Tried) -> set[Path]:
        """Ask again for these leaves alone; only under the grammar, which holds everything else.

        Returns:
            The leaves with a new value; for the others the window holds nothing else.
        """
        if self._pieces is None or not tried:
            return set()
        names = {path[0] for path in tried}
        asked = [i for i, group in enumerate(self.groups) if any(node.name in names for node in group.nodes)]
        questions = []
        for group in (self.groups[i] for i in asked):
            schema = tighter_schema(group.nodes, self.answer, tried, self._pieces.kinds)
            questions.append(self._question(group, schema))
        try:
            results = self._engine.generate_batch(questions)
        except (EmptyLanguageError, BudgetError, GrammarTooLargeError):
            return set() if len(tried) == 1 else self._redraw_each(tried)
        self._part = None
        self.spent += results
        for index, result in zip(asked, results, strict=True):
            self._results[index] = result
            self._denoised.pop(index, None)  # what they differed in is held
        return set(tried)

    def _redraw_each(self, tried: Tried) -> set[Path]:
        redrawn: set[Path] = set()
        for path, values in tried.items():
            if self.redraw({path: values}):
                redrawn.add(path)
                self.read()  # the next one holds what this one gave
        return redrawn

    def read(self) -> Part:
        """The answer with the places and confidences of its leaves, traced once for the results that there are."""
        if self._part is not None:
            return self._part
        self.answer, self.failures, self.doubts = {}, [], []
        confidences: dict[Path, float] = {}
        for index, (group, result) in enumerate(zip(self.groups, self._results, strict=True)):
            known = [node.name for node in group.nodes]
            part = _object(result)
            if isinstance(part, str):
                reason = f"the answer is not {part}: {result.text[:80]!r}"
                self.failures.append(Failure(", ".join(known), None, reason))
                continue
            tokens = self._engine.vocabulary.tokens
            own = leaf_confidences(result.text, result.token_ids, result.token_confidence, tokens)
            if index in self._denoised and not isinstance(other := _object(self._denoised[index]), str):
                part, found = settle(group.nodes, part, other, own)
                self.doubts += found
            confidences |= own
            self.answer |= {name: value for name, value in part.items() if name in known}
        traced = trace(claims(self._nodes, self.answer), self._segments)
        self._part = Part(self.answer, traced, confidences)
        return self._part

    def _question(self, group: Group, schema: Any, **settings: Any) -> dict[str, Any]:
        request: dict[str, Any] = {
            "prompt": build_prompt(prompt_fields(group.nodes), self.document.text),
            "max_new_tokens": group.max_new_tokens,
        }
        if self._pieces is not None:
            from dg_sglang.grammar import JsonSchema

            request["constraint"] = JsonSchema(schema, sources={SOURCE: self._pieces.source})
        return {**request, **self._settings, **settings}


def _object(result: "GenerationResult") -> dict[str, Any] | str:
    """The JSON object that was answered, or what the answer is not."""
    try:
        part = json.loads(result.text)
    except json.JSONDecodeError as error:
        return f"JSON ({error})"
    return part if isinstance(part, dict) else "a JSON object"
