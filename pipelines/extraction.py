"""One document in, one validated value out, every leaf with its evidence."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import ExtractionError
from dg_sglang.pipelines.canvas_schema import SOURCE, SPAN_KINDS, canvas_schema, prompt_fields
from dg_sglang.pipelines.confidence import leaf_confidences
from dg_sglang.pipelines.document import Document, Limits, load_document
from dg_sglang.pipelines.engines import EngineSpec, TextEngine
from dg_sglang.pipelines.evidence import Evidence, Path
from dg_sglang.pipelines.normalise import conventions_of, pieces
from dg_sglang.pipelines.planner import Group, fit_document, plan_groups
from dg_sglang.pipelines.prompt import build_prompt
from dg_sglang.pipelines.reading import Failure, Reading, path_name, read_answer, to_json_value
from dg_sglang.pipelines.schema_tree import schema_tree
from dg_sglang.pipelines.segments import Segment, segments_of

if TYPE_CHECKING:
    from dg_sglang.pipelines.dates import DateOrder
    from dg_sglang.pipelines.numbers import DecimalMark
    from dg_sglang.results import GenerationResult, Usage

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ExtractionResult:
    """What was extracted from one document.

    Attributes:
        value: the validated pydantic object; for a JSON Schema, the validated dict. None in an error's partial result.
        evidence: a tree of the value's shape (dicts by the schema's names, lists) whose leaves are `Evidence`; an
            object or a list that is null has one leaf.
        data: the typed values before validation, as a tree of the same shape.
        raw: the model's answer as it was written, all groups of fields merged.
        usage: of all groups together; `seconds` is wall-clock time.
        warnings: what the caller should know: text left out, values that could not be read.
        document: the document as it was read.
    """

    value: Any
    evidence: dict[str, Any]
    data: dict[str, Any]
    raw: dict[str, Any]
    usage: "Usage"
    warnings: tuple[str, ...]
    document: Document

    def to_json(self) -> dict[str, Any]:
        """Everything but the document's words as JSON values. Boxes are in PDF points, origin top left."""
        value = self.value
        if hasattr(value, "model_dump"):
            value = value.model_dump(mode="json", by_alias=True)
        pages = [
            {"number": page.number, "width": page.width, "height": page.height, "source": page.source}
            for page in self.document.pages
        ]
        return {
            "document": {"name": self.document.name, "pages": pages},
            "value": value,
            "evidence": _evidence_json(self.evidence),
            "warnings": list(self.warnings),
            "usage": self.usage.to_json(),
            "raw": self.raw,
        }


def extract(
    source: str | FilePath | Document,
    schema: Any,
    *,
    engine: TextEngine | None = None,
    model: str = "nano",
    seed: int | None = None,
    password: str | None = None,
    limits: Limits | None = None,
    date_order: "DateOrder | None" = None,
    decimal_mark: "DecimalMark | None" = None,
    constrained: bool = True,
    progress: Progress | None = None,
    **settings: Any,
) -> ExtractionResult:
    """Extract what `schema` asks for.

    Args:
        source: a PDF or image file, or a document that `load_document` has read.
        schema: a pydantic model class or a JSON Schema dict.
        engine: a loaded engine; None loads `model`.
        seed: the same seed gives the same result.
        password, limits: for `load_document`.
        date_order, decimal_mark: what to assume about 03/04/2024 and 1.234; None lets the document decide, or refuses.
        constrained: False leaves the grammar out, to measure what it does; the answer may then be anything.
        progress: gets one short message per step.
        settings: generation settings, as for `Engine.generate`.

    Raises:
        GrammarError: the schema is malformed or can't be extracted (before anything is read or loaded).
        DocumentError: the file can't be read. PromptTooLongError: nothing of it fits the model's context.
        ExtractionError: a value is missing or invalid; it names the fields and carries the rest as `partial`.
    """
    root = schema_tree(schema)
    if not isinstance(source, Document):
        source = load_document(source, password=password, limits=limits, progress=progress)
    if engine is None:
        if progress:
            progress(f"loading {model}")
        engine = EngineSpec(model).load()
    groups = plan_groups(root, engine.canvas_length, engine.count_tokens)
    document, warnings = fit_document(source, groups, engine.max_context, engine.count_tokens)
    segments = segments_of(document)
    spans = {kind: pieces(document.text, kind) for kind in SPAN_KINDS}
    if progress:
        progress(f"extracting {_count(root.children, 'field')} in {_count(groups, 'group')}")
    requests = [_request(group, document, segments, spans, seed, constrained) | settings for group in groups]
    started = time.perf_counter()
    results = engine.generate_batch(requests)
    usage = _total(results, time.perf_counter() - started)
    answer, confidences, failures = _merge(groups, results, engine.vocabulary.tokens)
    conventions = conventions_of(source.text).with_(date_order=date_order, decimal_mark=decimal_mark)
    reading = read_answer(root.children, answer, segments, conventions, confidences)
    reading.failures[:0] = failures
    partial = ExtractionResult(
        None,
        reading.evidence,
        reading.values,
        answer,
        usage,
        (*source.warnings, *warnings, *reading.warnings),
        document,
    )
    value = _validate(schema, reading, partial)
    return ExtractionResult(value, **{name: getattr(partial, name) for name in _KEPT})


_KEPT = ("evidence", "data", "raw", "usage", "warnings", "document")


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _request(
    group: Group,
    document: Document,
    segments: Sequence[Segment],
    spans: Mapping[str, Sequence[str]],
    seed: int | None,
    constrained: bool,
) -> dict[str, Any]:
    request: dict[str, Any] = {
        "prompt": build_prompt(prompt_fields(group.nodes), document.text),
        "max_new_tokens": group.max_new_tokens,
        "seed": seed,
    }
    if constrained:
        from dg_sglang.grammar import JsonSchema, VerbatimSource

        texts = VerbatimSource([segment.text for segment in segments], spans)
        available = [kind for kind in SPAN_KINDS if spans[kind]]
        request["constraint"] = JsonSchema(canvas_schema(group.nodes, available), sources={SOURCE: texts})
    return request


def _merge(
    groups: Sequence[Group], results: "Sequence[GenerationResult]", vocabulary: Sequence[bytes | None]
) -> tuple[dict[str, Any], dict[Path, float], list[Failure]]:
    """The groups' answers as one object, the confidence of its leaves, and the groups whose answer is no JSON object.

    Under the grammar there are none of those.
    """
    answer: dict[str, Any] = {}
    confidences: dict[Path, float] = {}
    failures: list[Failure] = []
    for group, result in zip(groups, results, strict=True):
        known = [node.name for node in group.nodes]
        try:
            part = json.loads(result.text)
            confidences |= leaf_confidences(result.text, result.token_ids, result.token_confidence, vocabulary)
        except json.JSONDecodeError as error:
            part = f"JSON ({error})"
        if isinstance(part, dict):
            answer |= {name: value for name, value in part.items() if name in known}
        else:
            reason = f"the answer is not {part if isinstance(part, str) else 'a JSON object'}: {result.text[:80]!r}"
            failures.append(Failure(", ".join(known), None, reason))
    return answer, confidences, failures


def _total(results: "Sequence[GenerationResult]", seconds: float) -> "Usage":
    from dg_sglang.results import Usage

    return Usage(
        prompt_tokens=sum(result.usage.prompt_tokens for result in results),
        completion_tokens=sum(result.usage.completion_tokens for result in results),
        canvases=sum(result.usage.canvases for result in results),
        denoising_steps=sum(result.usage.denoising_steps for result in results),
        seconds=seconds,
    )


def _validate(schema: Any, reading: Reading, partial: ExtractionResult) -> Any:
    """The value, validated by pydantic or by jsonschema. Raises ExtractionError that names every field at fault."""
    failures = list(reading.failures)
    value = None
    if isinstance(schema, type):
        from pydantic import ValidationError

        try:
            value = schema.model_validate(reading.values)  # type: ignore[attr-defined]
        except ValidationError as error:
            named = {failure.field for failure in failures}
            found = (_failure(tuple(one["loc"]), one["msg"], partial) for one in error.errors(include_url=False))
            failures.extend(failure for failure in found if failure.field not in named)
    else:
        from jsonschema.validators import validator_for

        kind = validator_for(schema)
        validator = kind(schema, format_checker=kind.FORMAT_CHECKER)
        value = to_json_value(reading.values)
        if not failures:
            errors = validator.iter_errors(value)
            failures.extend(_failure(tuple(one.absolute_path), one.message, partial) for one in errors)
    if failures:
        raise ExtractionError(
            f"{partial.document.name}: " + "; ".join(map(str, failures)), failures=failures, partial=partial
        )
    return value


def _failure(path: Path, reason: str, partial: ExtractionResult) -> Failure:
    leaf: Any = partial.evidence
    for part in path:
        if isinstance(leaf, dict | list):
            try:
                leaf = leaf[part]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                break
    return Failure(path_name(path) or "the document", leaf.verbatim if isinstance(leaf, Evidence) else None, reason)


def _evidence_json(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _evidence_json(branch) for name, branch in tree.items()}
    if isinstance(tree, list):
        return [_evidence_json(branch) for branch in tree]
    return asdict(tree)
