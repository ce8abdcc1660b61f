"""Questions about a picture to a model that sees: a pydantic model in, one of its objects out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dg_sglang.errors import ExtractionError, ImageError
from dg_sglang.vision.images import load_image
from dg_sglang.vision.pages import is_pdf, render_page

if TYPE_CHECKING:
    from PIL.Image import Image
    from pydantic import BaseModel

Answer = TypeVar("Answer", bound="BaseModel")
MAX_NEW_TOKENS = 2048
"""Of an answer, unless the caller says otherwise; at most half of the engine's context."""


class SeeingEngine(Protocol):
    """`dg_sglang.Engine`, `SGLangEngine`, or anything that answers like them."""

    @property
    def soft_tokens(self) -> int:
        """The most that the checkpoint makes of a picture."""

    @property
    def max_context(self) -> int:
        """The most tokens that prompt and answer may have together."""

    def generate(self, prompt: str, **values: Any) -> Any:
        """Answer one request; the names are `GenerationRequest`'s fields and settings."""


def ask(
    image: object,
    kind: type[Answer],
    prompt: str,
    *,
    engine: SeeingEngine,
    page: int | None = None,
    **settings: Any,
) -> Answer:
    """What the model says about a picture, or a PDF's page, as an object of a pydantic model.

    The grammar holds the answer to the model's JSON Schema; a field of type `dg_sglang.vision.grid.GridBox` takes a
    box, which `to_pixels` converts. `analyze_chart` and its siblings with an engine are this function with a model and
    a prompt of their own.

    Args:
        image: a PIL image, a file's path, or an encoded file's bytes; a PDF's path or bytes.
        kind: the pydantic model class.
        prompt: the question; the picture comes before it.
        engine: of a checkpoint that sees.
        page: of a PDF, from 1; may be left out where it has one. A page is drawn in as many pixels as the checkpoint's
            soft tokens can use; `PageImage.to_points` converts boxes on it.
        settings: as for `Engine.generate`.

    Raises:
        ImageError: it can't be read as an image, or the engine's checkpoint wasn't trained on pictures.
        GrammarError: the model's schema can't be held to.
        ExtractionError: a validator of `kind` refuses the answer.
    """
    from pydantic import ValidationError

    picture = _picture(image, page, engine.soft_tokens)
    settings.setdefault("max_new_tokens", min(MAX_NEW_TOKENS, engine.max_context // 2))
    result = engine.generate(prompt, images=[picture], constraint=kind, **settings)
    try:
        return kind.model_validate(result.parsed)
    except ValidationError as error:
        raise ExtractionError(f"the answer is no valid {kind.__name__}: {error}", partial=result.parsed) from error


def _picture(image: object, page: int | None, soft_tokens: int) -> Image:
    if is_pdf(image):
        return render_page(image, page, soft_tokens=soft_tokens).picture
    if page is not None:
        raise ImageError("only a PDF has pages to choose from: leave out page=")
    return load_image(image)
