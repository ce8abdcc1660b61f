"""The entropy-bound sampler with an optional constraint over the whole canvas: pure torch, one row per request.

Without a constraint a step does what transformers' `_denoising_step` does for a batch of one (temperature schedule,
multinomial draft, entropy-bound acceptance, uniform renoise, stable-and-confident stop), with the same operations on
the same shapes in the same order, so that equal random numbers give equal tokens, bit for bit.

With one, `CanvasPosterior` replaces independent draws by joint ones: the draft is an exact joint draw, the canvas that
would be committed is the joint mode, and `Policy` says what acceptance, self-conditioning and stopping read. Exactness
holds per step; the trajectory is not the model's law conditioned on the constraint (arXiv 2609.35609).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dg_sglang.canvas import CanvasState, Posterior
from dg_sglang.config import Policy
from dg_sglang.errors import CheckpointError

# The lowest self-conditioning logit: finite in float16 too, and exp(-30000) is 0, so that no softmax meets -inf or NaN.
_FLOOR = -3e4


@dataclass(frozen=True)
class StepOutput:
    """What the next forward pass needs.

    Attributes:
        tokens: int64 [B, L], the next canvas of each request.
        done: bool [B] on the CPU; a done request's canvas is final (`CanvasState.best`).
        conditioning: [B, L, V], logits whose softmax is the next step's self-conditioning.
    """

    tokens: Tensor
    done: Tensor
    conditioning: Tensor


@torch.inference_mode()
def denoise_step(logits: Tensor, states: Sequence[CanvasState], *, dtype: torch.dtype = torch.float32) -> StepOutput:
    """Take one denoising step of every request and update its state.

    Requests don't see one another: a row's result is the same in any batch with the same logits.

    Args:
        logits: [B, L, V], the decoder's output for `states[i].tokens`, before temperature.
        states: one for each row, none of them done.
        dtype: of the returned conditioning (upstream: that of the embeddings).

    Raises:
        CheckpointError: the logits hold NaN or infinity.
    """
    conditioning = torch.empty(logits.shape, dtype=dtype, device=logits.device)
    for row, state in enumerate(states):
        conditioning[row] = _denoise(logits[row : row + 1], state)
        state.pin(conditioning[row], _FLOOR)
    return StepOutput(
        tokens=torch.cat([state.tokens for state in states]),
        done=torch.tensor([state.done for state in states]),
        conditioning=conditioning,
    )


def _denoise(logits: Tensor, state: CanvasState) -> Tensor:
    """One step of one request: `logits` [1, L, V] → self-conditioning logits [L, V] in float32."""
    scaled = logits.float() / temperature(state)
    if not bool(scaled.amax(dim=-1).isfinite().all()):
        raise CheckpointError(
            "the model's logits are not finite: the weights are damaged, or this dtype overflows (load with float32)"
        )
    reading = _read_free(scaled, state) if state.posterior is None else _read_joint(scaled, state, state.posterior)
    state.advance(state.hold(reading.best))
    if state.done or _may_stop(state, reading.entropy):
        state.finish(_confidence(scaled, state))
    state.tokens = state.hold(torch.where(reading.accepted, reading.draft, state.noise(state.length)))
    return reading.conditioning


@dataclass(frozen=True)
class _Reading:
    """What one step makes of the logits; all [1, L] but `conditioning` [L, V]."""

    draft: Tensor
    best: Tensor
    entropy: Tensor
    accepted: Tensor
    conditioning: Tensor


def _read_free(scaled: Tensor, state: CanvasState) -> _Reading:
    """Independent draws and the argmax, as upstream. `scaled` is [1, L, V]."""
    entropy = state.settle(log_probabilities(scaled)[1])
    probabilities = torch.softmax(scaled, dim=-1)[0]
    return _Reading(
        draft=torch.multinomial(probabilities, num_samples=1, generator=state.generator).T,
        best=torch.argmax(scaled, dim=-1),
        entropy=entropy,
        accepted=accept(entropy, state.config.entropy_bound),
        conditioning=scaled[0],
    )


def _read_joint(scaled: Tensor, state: CanvasState, posterior: Posterior) -> _Reading:
    """Joint draw and joint mode under the constraint; the policy says who reads tilted marginals."""
    policy = state.config.policy
    posterior.update(scaled[0] if policy.flatten == 1.0 else scaled[0] * policy.flatten)
    tilted = policy.accept == "tilted"
    entropy = state.settle(posterior.entropy()[None] if tilted else log_probabilities(scaled)[1])
    bound = state.config.entropy_bound if policy.entropy_bound is None else policy.entropy_bound
    return _Reading(
        draft=posterior.draw(state.generator)[None],
        best=posterior.mode()[None],
        entropy=entropy,
        accepted=accept(entropy, bound, within_window(entropy, policy)),
        conditioning=posterior.tilted_logits().clamp(min=_FLOOR) if policy.condition == "tilted" else scaled[0],
    )


def _confidence(scaled: Tensor, state: CanvasState) -> Tensor:
    """The probability of each token of `state.best` under this step's marginals, float32 [1, L]."""
    logits = scaled if state.posterior is None else state.posterior.tilted_logits()[None]
    return log_probabilities(logits)[0].gather(-1, state.best[..., None])[..., 0].exp()


def temperature(state: CanvasState) -> Tensor:
    """The temperature of the next step, a float32 scalar: T_min + (T_max − T_min) · n/N with n steps left of N.

    A tensor on the device, as upstream's is, because dividing by a Python number rounds differently on a GPU.
    """
    config = state.config
    left = torch.tensor(config.max_denoising_steps - state.steps, dtype=torch.int32, device=state.generator.device)
    return config.t_min + ((config.t_max - config.t_min) * (left / config.max_denoising_steps))


def log_probabilities(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Normalised logits [..., V] and their entropy [...] in nats, rounded as `torch.distributions.Categorical` does."""
    normalised = logits - logits.logsumexp(dim=-1, keepdim=True)
    return normalised, -(normalised * torch.softmax(normalised, dim=-1)).sum(-1)


def accept(entropy: Tensor, bound: float, allowed: Tensor | None = None) -> Tensor:
    """The entropy-bound rule: bool [..., L] from entropies [..., L] in nats.

    Accepts the k most certain positions with Σ entropy − max entropy ≤ bound over them, an upper bound on their mutual
    information (arXiv 2505.24857; upstream `EntropyBoundSampler.accept_canvas`). The most certain position is always
    among them. Positions that are not `allowed` (bool [..., L]) neither are accepted nor use up the bound.
    """
    if allowed is not None:
        entropy = entropy.masked_fill(~allowed, torch.inf)
    ascending, order = torch.sort(entropy, dim=-1, descending=False)
    chosen = torch.cumsum(ascending, dim=-1) - ascending <= bound  # False where it is inf − inf
    return torch.scatter(torch.zeros_like(chosen), -1, order, chosen)


def within_window(entropy: Tensor, policy: Policy) -> Tensor:
    """Bool [1, L]: positions before frontier + window, where the frontier is the first uncertain position."""
    length = entropy.shape[-1]
    positions = torch.arange(length, device=entropy.device)[None]
    if policy.frontier_window is None:
        return torch.ones_like(positions, dtype=torch.bool)
    frontier = torch.where(entropy > policy.frontier_threshold, positions, length).amin(dim=-1, keepdim=True)
    return positions < frontier + policy.frontier_window


def _may_stop(state: CanvasState, entropy: Tensor) -> bool:
    config = state.config
    if state.posterior is not None and config.policy.stop == "mode":
        return state.unchanged >= config.policy.stop_after
    stable = state.unchanged >= config.stability_threshold
    return stable and bool(torch.mean(entropy, dim=-1) < config.confidence_threshold)
