"""What a generation returns."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True)
class Usage:
    """What one request cost. `completion_tokens` counts thinking, answer and end token, not the fill after it.

    `kept_mass` is 1 where every valid answer was weighed. A constraint may allow too many (values that nest without
    bound); then a denoising step weighs those that begin as the model finds likely, and `kept_mass` is the share of the
    probability of all valid beginnings that these have, at the last step of the canvas where it was least.
    """

    prompt_tokens: int
    completion_tokens: int
    canvases: int
    denoising_steps: int
    seconds: float
    kept_mass: float = 1.0

    @property
    def effective_denoising_steps(self) -> float:
        """Denoising steps per canvas."""
        return self.denoising_steps / self.canvases

    @property
    def tokens_per_forward(self) -> float:
        """Tokens over the forward passes after the prefill: the denoising steps, and one pass to encode each committed
        canvas but the last."""
        return self.completion_tokens / (self.denoising_steps + self.canvases - 1)

    def to_json(self) -> dict[str, Any]:
        """Every figure, the derived ones included, as JSON values."""
        derived = ("effective_denoising_steps", "tokens_per_forward")
        return asdict(self) | {name: getattr(self, name) for name in derived}


@dataclass(frozen=True)
class GenerationResult:
    """One finished request.

    Attributes:
        text: the answer, without thinking and special tokens.
        thinking: what stood in the thinking channel; empty if the model did not think.
        parsed: if the answer was closed, the value that the constraint reads from it: a JSON value, a template's holes;
            None where the text is all there is.
        token_ids: what was committed, cut after the end token or at max_new_tokens.
        finish_reason: "stop" if the end token came or the constraint is satisfied, "length" if max_new_tokens cut the
            answer.
        token_confidence: for each of `token_ids` its probability under the last denoising step's distribution at its
            position: the temperature-scaled softmax without a constraint, the tilted marginal with one, 1 at fixed
            positions.
        usage: tokens, canvases, steps, seconds.
        seed: generating again with it gives the same tokens.
    """

    text: str
    thinking: str
    parsed: Any
    token_ids: list[int]
    finish_reason: FinishReason
    token_confidence: list[float]
    usage: Usage
    seed: int

    def to_json(self) -> dict[str, Any]:
        """The whole result as JSON values."""
        return asdict(self) | {"usage": self.usage.to_json()}


@dataclass(frozen=True)
class Draft:
    """The answer as one denoising step leaves it: committed canvases and the best guess of the current one.

    `step` counts from 1 within the canvas, `canvas_index` from 0. The last draft of a stream carries the result.
    """

    step: int
    canvas_index: int
    text: str
    token_ids: list[int]
    result: GenerationResult | None = None
