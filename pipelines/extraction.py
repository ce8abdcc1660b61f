"""One document in, one validated value out, every leaf with its evidence."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import ExtractionError
from dg_sglang.pipelines.answers import Answers
from dg_sglang.pipelines.document import Document, Limits, load_document
from dg_sglang.pipelines.engines import EngineSpec, TextEngine
from dg_sglang.pipelines.evidence import Evidence, Path
from dg_sglang.pipelines.normalise import conventions_of
from dg_sglang.pipelines.planner import plan_groups, plan_windows
from dg_sglang.pipelines.reading import Failure, Reading, path_name, to_json_value
from dg_sglang.pipelines.repair import repairable
from dg_sglang.pipelines.schema_tree import schema_tree

if TYPE_CHECKING:
    from dg_sglang.pipelines.dates import DateOrder
    from dg_sglang.pipelines.numbers import DecimalMark
    from dg_sglang.results import Usage

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ExtractionResult:
    """What was extracted from one document.

    Attributes:
        value: the validated pydantic object; for a JSON Schema, the validated dict. None in an error's partial result.
        evidence: a tree of the value's shape (dicts by the schema's names, lists) whose leaves are `Evidence`; an
            object or a list that is null has one leaf.
        data: the typed values before validation, as a tree of the same shape.
        raw: the model's answer as it was written, all groups of fields and windows joined.
        usage: of all groups together; `seconds` is wall-clock time.
        warnings: what the caller should know: hidden text, values that could not be read or that windows differ in.
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
            "document": {"name": self.document.name, "pages": pages, "attachments": list(self.document.attachments)},
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
    repairs: int = 2,
    progress: Progress | None = None,
    **settings: Any,
) -> ExtractionResult:
    """Extract what `schema` asks for.

    A document that is longer than the engine reads at once is read in overlapping windows. Their answers are joined:
    records of lists follow one another, those that two windows read count once, and where two windows state different
    values for a single field, the better founded one is taken and a warning tells the others.

    Args:
        source: a PDF, image, text, HTML or Word file, or a document that `load_document` has read.
        schema: a pydantic model class or a JSON Schema dict.
        engine: a loaded engine; None loads `model`.
        seed: the same seed gives the same result.
        password, limits: for `load_document`.
        date_order, decimal_mark: what to assume about 03/04/2024 and 1.234; None lets the document decide, or refuses.
        constrained: False leaves the grammar out, to measure what it does; the answer may then be anything.
        repairs: how often fields with an invalid value are asked for again, alone and without that value. Whatever is
            wrong then is an error; what was asked again is a warning.
        progress: gets one short message per step.
        settings: generation settings, as for `Engine.generate`. In the mode "auto" every field is asked for in the
            causal mode and denoised, and a value that they don't agree on and that the causal mode isn't sure of is
            null, with a warning that says so.

    Raises:
        GrammarError: the schema is malformed or can't be extracted (before anything is read or loaded).
        DocumentError: the file can't be read. PromptTooLongError: nothing of it fits the model's context.
        ExtractionError: a value is missing or invalid; it names the fields and carries the rest as `partial`.
    """
    root = schema_tree(schema)
    source, engine = opened(source, engine, model=model, password=password, limits=limits, progress=progress)
    groups = plan_groups(root, engine.canvas_length, engine.count_tokens)
    windows = plan_windows(source, groups, engine.max_context, engine.count_tokens)
    conventions = conventions_of(source.text).with_(date_order=date_order, decimal_mark=decimal_mark)
    if progress:
        over = f" over {_count(windows, 'window')}" if len(windows) > 1 else ""
        progress(f"extracting {_count(root.children, 'field')} in {_count(groups, 'group')}{over}")
    asked: dict[str, Any] = {"seed": seed} | settings
    if constrained:
        asked = {"mode": (settings.get("config") or engine.config).mode} | asked
    answers = Answers(engine, groups, windows, conventions, asked, constrained=constrained)
    answers.draw(progress)
    value, reading, failures = _read(schema, answers)
    tried: dict[Path, list[Any]] = {}
    replaced: list[str] = []
    for _ in range(repairs if constrained else 0):
        wrong = repairable(failures, answers.answer)
        for path, raw in wrong.items():
            tried.setdefault(path, []).append(raw)
        redrawn = answers.redraw({path: tried[path] for path in wrong})
        if not redrawn:
            break
        replaced += [f"{failure}: asked again" for failure in failures if failure.path in redrawn]
        value, reading, failures = _read(schema, answers)
    result = ExtractionResult(
        value,
        reading.evidence,
        reading.values,
        answers.answer,
        answers.usage(),
        (*source.warnings, *replaced, *reading.warnings),
        source,
    )
    if failures:
        message = f"{source.name}: " + "; ".join(map(str, failures))
        raise ExtractionError(message, failures=failures, partial=replace(result, value=None))
    return result


def opened(
    source: str | FilePath | Document,
    engine: TextEngine | None,
    *,
    model: str,
    password: str | None,
    limits: Limits | None,
    progress: Progress | None,
) -> tuple[Document, TextEngine]:
    """The document and the engine of an extraction, read and loaded where they aren't given. Raises as `extract`."""
    if not isinstance(source, Document):
        source = load_document(source, password=password, limits=limits, progress=progress)
    if engine is None:
        if progress:
            progress(f"loading {model}")
        engine = EngineSpec(model).load()
    return source, engine


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _read(schema: Any, answers: Answers) -> tuple[Any, Reading, list[Failure]]:
    reading = answers.read()
    value, faults = _validated(schema, reading)
    return value, reading, [*reading.failures, *faults]


def _validated(schema: Any, reading: Reading) -> tuple[Any, list[Failure]]:
    """The value, validated by pydantic or by jsonschema, and every field that this finds at fault."""
    if isinstance(schema, type):
        from pydantic import ValidationError

        try:
            return schema.model_validate(reading.values), []  # type: ignore[attr-defined]
        except ValidationError as error:
            named = {failure.field for failure in reading.failures}
            found = [_failure(tuple(one["loc"]), one["msg"], reading) for one in error.errors(include_url=False)]
            return None, [failure for failure in found if failure.field not in named]
    from jsonschema.validators import validator_for

    kind = validator_for(schema)
    value = to_json_value(reading.values)
    if reading.failures:
        return value, []
    errors = kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(value)
    return value, [_failure(tuple(one.absolute_path), one.message, reading) for one in errors]


def _failure(path: Path, reason: str, reading: Reading) -> Failure:
    leaf: Any = reading.evidence
    for part in path:
        if isinstance(leaf, dict | list):
            try:
                leaf = leaf[part]  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                break
    verbatim = leaf.verbatim if isinstance(leaf, Evidence) else None
    return Failure(path_name(path) or "the document", verbatim, reason, path)


def _evidence_json(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {name: _evidence_json(branch) for name, branch in tree.items()}
    if isinstance(tree, list):
        return [_evidence_json(branch) for branch in tree]
    return asdict(tree)
