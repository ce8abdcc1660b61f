"""An engine as a model of the outlines package (the extra `outlines`): `outlines.Generator(DiffusionGemma(engine), T)`.

Output types mean what they mean in outlines, where `bool` is True or False and `date` is unquoted; generation is under
our grammar, over the whole canvas. Answers are texts, as outlines' models return them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outlines.inputs import Chat, Image
from outlines.models import VLLMOffline
from outlines.models.base import ModelTypeAdapter
from outlines.types.dsl import python_types_to_terms

from dg_sglang.engine import Engine
from dg_sglang.errors import GrammarError, InputError
from dg_sglang.grammar import Constraint, Grammar, as_constraint


class DiffusionGemma(VLLMOffline):  # type: ignore[misc]
    """An engine that outlines can call.

    outlines' Generator takes its own model classes only, so this is one of them, the one for an engine in the same
    process, with everything in it replaced.
    """

    def __init__(self, engine: Engine) -> None:
        self.model = engine
        self.tokenizer = engine.tokenizer
        self.type_adapter = TypeAdapter()

    def generate(self, model_input: Any, output_type: Any = None, **settings: Any) -> str:
        """The answer to one input. `settings` are the other arguments of `Engine.generate`."""
        return self.model.generate(**self._request(model_input, output_type, settings)).text

    def generate_batch(self, model_input: Sequence[Any], output_type: Any = None, **settings: Any) -> list[str]:
        """The answers to several inputs, denoised together."""
        requests = [self._request(one, output_type, settings) for one in model_input]
        return [result.text for result in self.model.generate_batch(requests)]

    def generate_stream(self, model_input: Any, output_type: Any = None, **settings: Any) -> Iterator[str]:
        """The answer in pieces, one for each committed canvas: what a denoising step guesses may still change."""
        sent, draft = "", None
        for following in self.model.stream(**self._request(model_input, output_type, settings)):
            if draft is not None and following.canvas_index != draft.canvas_index:
                text = draft.text.rstrip("\ufffd")  # a character may go on in the next canvas
                yield text[len(sent) :]
                sent = text
            draft = following
        if draft is not None and draft.result is not None:
            yield draft.result.text[len(sent) :]

    def _request(self, model_input: Any, output_type: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **self.type_adapter.format_input(model_input),
            **self.type_adapter.format_output_type(output_type),
            **settings,
        }


class TypeAdapter(ModelTypeAdapter):  # type: ignore[misc]
    """outlines' inputs and output types as arguments of `Engine.generate`."""

    def format_input(self, model_input: Any) -> dict[str, Any]:
        """A prompt, a prompt with images in a list, or a Chat.

        Raises:
            InputError: something else.
        """
        if isinstance(model_input, str):
            return {"prompt": model_input}
        if isinstance(model_input, Chat):
            return {"messages": [{**one, "content": _content(one.get("content"))} for one in model_input.messages]}
        if isinstance(model_input, list):
            return {"messages": [{"role": "user", "content": _content(model_input)}]}
        raise InputError(
            f"an input must be a str, a list of a str and Images, or a Chat, not {type(model_input).__name__}"
        )

    def format_output_type(self, output_type: Any = None) -> dict[str, Any]:
        """An output type of outlines, or any constraint of ours.

        Raises:
            GrammarError: outlines doesn't know the type.
        """
        if output_type is None:
            return {}
        if isinstance(output_type, Constraint | Grammar):
            return {"constraint": output_type}
        try:
            term = python_types_to_terms(output_type)
        except (TypeError, ValueError, RecursionError) as error:
            raise GrammarError(f"outlines has no output type for {output_type!r}: {error}") from error
        return {"constraint": as_constraint(term)}


def _content(content: Any) -> Any:
    """outlines' list of texts and Images as the parts of a message."""
    if not isinstance(content, list):
        return content
    parts: list[Any] = []
    for part in content:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        elif isinstance(part, Mapping):
            parts.append(_bare(part))
        elif isinstance(part, Image):
            parts.append({"type": "image", "image": part.image})
        else:
            raise InputError(f"an input holds texts and Images, not {type(part).__name__}")
    return parts


def _bare(part: Mapping[str, Any]) -> Mapping[str, Any]:
    image = part.get("image")
    return {**part, "image": image.image} if isinstance(image, Image) else part
