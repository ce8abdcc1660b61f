"""Questions about a picture to a model that sees: a pydantic model in, one of its objects out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dg_sglang.errors import ExtractionError, ImageError
from dg_sglang.vision.images import load_image

if TYPE_CHECKING:
    from pydantic import BaseModel

Answer = TypeVar("Answer", bound="BaseModel")
MAX_NEW_TOKENS = 2048
"""Of an answer, unless the caller says otherwise; at most half of the engine's context."""


class SeeingEngine(Protocol):
    """`dg_sglang.Engine`, `SGLangEngine`, or anything that answers like them."""

    @property
    def sees(self) -> bool:
        """Whether the checkpoint was trained to read pictures."""

    @property
    def max_context(self) -> int:
        """The most tokens that prompt and answer may have together."""

    def generate(self, prompt: str, **values: Any) -> Any:
        """Answer one request; the names are `GenerationRequest`'s fields and settings."""


def ask(image: object, kind: type[Answer], prompt: str, *, engine: SeeingEngine, **settings: Any) -> Answer:
    """What the model says about a picture, as an object of a pydantic model.

    The grammar holds the answer to the model's JSON Schema; a field of type `dg_sglang.vision.grid.GridBox` takes a
    box, which `to_pixels` converts. `analyze_chart` and its siblings with an engine are this function with a model and
    a prompt of their own.

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes.
        kind: the pydantic model class.
        prompt: the question; the picture comes before it.
        engine: of a checkpoint that sees.
        settings: as for `Engine.generate`.

    Raises:
        ImageError: it can't be read as an image, or the checkpoint wasn't trained on pictures.
        GrammarError: the model's schema can't be held to.
        ExtractionError: a validator of `kind` refuses the answer.
    """
    from pydantic import ValidationError

    picture = load_image(image)
    if not engine.sees:
        raise ImageError(
            "this checkpoint was not trained to read pictures: ask one that was, or leave out the engine where text "
            "recognition and geometry do"
        )
    settings.setdefault("max_new_tokens", min(MAX_NEW_TOKENS, engine.max_context // 2))
    result = engine.generate(prompt, images=[picture], constraint=kind, **settings)
    try:
        return kind.model_validate(result.parsed)
    except ValidationError as error:
        raise ExtractionError(f"the answer is no valid {kind.__name__}: {error}", partial=result.parsed) from error
