"""The model's answers about one document, group by group: asked for, asked for again where one won't do, and read."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import BudgetError, EmptyLanguageError, GrammarTooLargeError
from dg_sglang.pipelines.canvas_schema import SOURCE, canvas_schema, prompt_fields
from dg_sglang.pipelines.confidence import leaf_confidences
from dg_sglang.pipelines.document import Document
from dg_sglang.pipelines.engines import TextEngine
from dg_sglang.pipelines.evidence import Path
from dg_sglang.pipelines.normalise import Conventions
from dg_sglang.pipelines.planner import Group
from dg_sglang.pipelines.prompt import build_prompt
from dg_sglang.pipelines.reading import Failure, Reading, read_answer
from dg_sglang.pipelines.repair import Tried, tighter_schema
from dg_sglang.pipelines.segments import segments_of

if TYPE_CHECKING:
    from dg_sglang.results import GenerationResult, Usage


class Answers:
    """One answer per group of fields; together they are the answer.

    Args:
        engine: what answers.
        groups: the plan.
        document: what the model reads.
        conventions: how the document writes its values.
        settings: of every request: seed, generation settings.
        constrained: whether under the grammar.

    Attributes:
        answer: what the model wrote, all groups merged.
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
    ) -> None:
        self._engine, self._groups, self._document = engine, groups, document
        self._conventions, self._settings = conventions, settings
        self._segments = segments_of(document)
        self._nodes = [node for group in groups for node in group.nodes]
        self._pieces = None
        if constrained:
            from dg_sglang.pipelines.pieces import pieces_for

            self._pieces = pieces_for(self._nodes, document.text, self._segments, conventions)
        self._started = time.perf_counter()
        self._results: list[GenerationResult] = []
        self._spent: list[GenerationResult] = []
        self.answer: dict[str, Any] = {}

    def draw(self) -> None:
        """Ask for all groups at once. Raises what the engine raises."""
        schemas = [self._pieces and canvas_schema(group.nodes, self._pieces.kinds) for group in self._groups]
        self._results = self._ask(list(zip(self._groups, schemas, strict=True)))

    def redraw(self, tried: Tried) -> set[Path]:
        """Ask again for these leaves alone; only under the grammar, which holds everything else.

        Returns:
            The leaves with a new value; for the others the document holds nothing else.
        """
        if self._pieces is None or not tried:
            return set()
        names = {path[0] for path in tried}
        asked = [i for i, group in enumerate(self._groups) if any(node.name in names for node in group.nodes)]
        groups = [self._groups[i] for i in asked]
        schemas = [tighter_schema(group.nodes, self.answer, tried, self._pieces.kinds) for group in groups]
        try:
            results = self._ask(list(zip(groups, schemas, strict=True)))
        except (EmptyLanguageError, BudgetError, GrammarTooLargeError):
            return set() if len(tried) == 1 else self._redraw_each(tried)
        for index, result in zip(asked, results, strict=True):
            self._results[index] = result
        return set(tried)

    def _redraw_each(self, tried: Tried) -> set[Path]:
        redrawn: set[Path] = set()
        for path, values in tried.items():
            if self.redraw({path: values}):
                redrawn.add(path)
                self.read()  # the next one holds what this one gave
        return redrawn

    def read(self) -> Reading:
        """The typed values, with evidence and confidence. Groups whose answer is no JSON object are failures."""
        self.answer = {}
        confidences: dict[Path, float] = {}
        failures: list[Failure] = []
        for group, result in zip(self._groups, self._results, strict=True):
            known = [node.name for node in group.nodes]
            try:
                part = json.loads(result.text)
                tokens = self._engine.vocabulary.tokens
                confidences |= leaf_confidences(result.text, result.token_ids, result.token_confidence, tokens)
            except json.JSONDecodeError as error:
                part = f"JSON ({error})"
            if isinstance(part, dict):
                self.answer |= {name: value for name, value in part.items() if name in known}
            else:
                reason = f"the answer is not {part if isinstance(part, str) else 'a JSON object'}: {result.text[:80]!r}"
                failures.append(Failure(", ".join(known), None, reason))
        reading = read_answer(self._nodes, self.answer, self._segments, self._conventions, confidences)
        reading.failures[:0] = failures
        return reading

    def usage(self) -> "Usage":
        """Of all requests so far together; `seconds` is wall-clock time."""
        from dg_sglang.results import Usage

        return Usage(
            prompt_tokens=sum(result.usage.prompt_tokens for result in self._spent),
            completion_tokens=sum(result.usage.completion_tokens for result in self._spent),
            canvases=sum(result.usage.canvases for result in self._spent),
            denoising_steps=sum(result.usage.denoising_steps for result in self._spent),
            seconds=time.perf_counter() - self._started,
        )

    def _ask(self, asked: Sequence[tuple[Group, Any]]) -> "list[GenerationResult]":
        requests = []
        for group, schema in asked:
            request: dict[str, Any] = {
                "prompt": build_prompt(prompt_fields(group.nodes), self._document.text),
                "max_new_tokens": group.max_new_tokens,
            }
            if self._pieces is not None:
                from dg_sglang.grammar import JsonSchema

                request["constraint"] = JsonSchema(schema, sources={SOURCE: self._pieces.source})
            requests.append({**request, **self._settings})
        results = self._engine.generate_batch(requests)
        self._spent += results
        return results
