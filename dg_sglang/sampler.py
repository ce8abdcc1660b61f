"""The entropy-bound sampler with an optional constraint over the whole canvas, one row per request.

Without a constraint a step does what transformers' `_denoising_step` does for a batch of one (temperature schedule,
independent draft, entropy-bound acceptance, uniform renoise, stable-and-confident stop). With sampling="multinomial" it
uses random numbers as upstream does, so that equal seeds give equal tokens.

With one, `CanvasPosterior` replaces independent draws by joint ones: the draft is an exact joint draw, the canvas that
would be committed is the joint mode, and `Policy` says what acceptance, self-conditioning and stopping read. Exactness
holds per step; the trajectory is not the model's law conditioned on the constraint (arXiv 2609.35609).

Everything that reads whole rows of logits is in `dg_sglang.kernels`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dg_sglang import kernels
from dg_sglang.canvas import CanvasState, Posterior
from dg_sglang.config import Policy
from dg_sglang.errors import CheckpointError
from dg_sglang.kernels.tables import RowStatistics

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
def denoise_step(
    logits: Tensor,
    states: Sequence[CanvasState],
    *,
    dtype: torch.dtype = torch.float32,
    out: Tensor | None = None,
) -> StepOutput:
    """Take one denoising step of every request and update its state.

    Requests don't see one another: a row's result is the same in any batch with the same logits.

    Args:
        logits: [B, L, V], the decoder's output for `states[i].tokens`, before temperature.
        states: one for each row, none of them done.
        dtype: of the returned conditioning (upstream: that of the embeddings).
        out: a tensor that the conditioning may take, say that of the step before, if it has its shape and dtype:
            large tensors are slow to come by.

    Raises:
        CheckpointError: the logits hold NaN or infinity.
    """
    fits = out is not None and out.shape == logits.shape and out.dtype == dtype
    conditioning = out if out is not None and fits else torch.empty(logits.shape, dtype=dtype, device=logits.device)
    for row, state in enumerate(states):
        _denoise(logits[row], state, conditioning[row])
        state.pin(conditioning[row], _FLOOR)
    return StepOutput(
        tokens=torch.cat([state.tokens for state in states]),
        done=torch.tensor([state.done for state in states]),
        conditioning=conditioning,
    )


def _denoise(logits: Tensor, state: CanvasState, conditioning: Tensor) -> None:
    """One step of one request: `logits` [L, V]; fills its self-conditioning logits [L, V]."""
    heat = temperature(state).expand(len(logits))
    if state.posterior is None:
        reading = _read_free(logits, heat, state, conditioning)
    else:
        reading = _read_joint(logits, heat, state, conditioning, state.posterior)
    state.advance(state.hold(reading.best))
    if state.done or _may_stop(state, reading.entropy):
        sure = _log_probability(logits, heat, reading.log_norm, state).exp().clamp(max=1.0)  # rounding may exceed it
        state.finish(sure[None])
    state.tokens = state.hold(torch.where(reading.accepted, reading.draft, state.noise(state.length)))


@dataclass(frozen=True)
class _Reading:
    """What one step makes of the logits; all [1, L], but log_norm [L]."""

    draft: Tensor
    best: Tensor
    entropy: Tensor
    accepted: Tensor
    log_norm: Tensor


def _read_free(logits: Tensor, heat: Tensor, state: CanvasState, conditioning: Tensor) -> _Reading:
    """Independent draws and the argmax."""
    rows = kernels.backend(logits.device).row_statistics(logits, heat, scaled=conditioning)
    _check_finite(rows)
    entropy = state.settle(rows.entropy[None])
    return _Reading(
        draft=_draft(logits, heat, rows, state),
        best=rows.best[None],
        entropy=entropy,
        accepted=accept(entropy, state.config.entropy_bound),
        log_norm=rows.log_norm,
    )


def _draft(logits: Tensor, heat: Tensor, rows: RowStatistics, state: CanvasState) -> Tensor:
    generator = state.generator
    if state.config.sampling == "multinomial":
        probabilities = torch.softmax(logits.float() / heat[:, None], dim=-1)
        return torch.multinomial(probabilities, num_samples=1, generator=generator).T
    uniform = torch.rand(len(logits), dtype=torch.float64, generator=generator, device=generator.device)
    drawn: Tensor = kernels.backend(logits.device).draw_tokens(rows, uniform)
    return drawn[None]


def _read_joint(
    logits: Tensor, heat: Tensor, state: CanvasState, conditioning: Tensor, posterior: Posterior
) -> _Reading:
    """Joint draw and joint mode under the constraint; the policy says who reads tilted marginals."""
    policy = state.config.policy
    scaled = conditioning if policy.condition == "raw" else None
    if policy.flatten == 1.0:
        rows = posterior.update(logits, heat, scaled=scaled)
    else:
        rows = kernels.backend(logits.device).row_statistics(logits, heat, scaled=scaled)
        posterior.update(logits, heat / policy.flatten)
    _check_finite(rows)
    entropy = state.settle((posterior.entropy() if policy.accept == "tilted" else rows.entropy)[None])
    if policy.condition == "tilted":
        posterior.tilted_logits(floor=_FLOOR, out=conditioning)
    bound = state.config.entropy_bound if policy.entropy_bound is None else policy.entropy_bound
    return _Reading(
        draft=posterior.draw(state.generator)[None],
        best=posterior.mode()[None],
        entropy=entropy,
        accepted=accept(entropy, bound, within_window(entropy, policy)),
        log_norm=rows.log_norm,
    )


def mean_embedding(conditioning: Tensor, weight: Tensor, own: slice = slice(None)) -> Tensor:
    """The mean embedding under softmax(conditioning): float32 [R, hidden], before its scale.

    Args:
        conditioning: [R, V], a step's self-conditioning logits.
        weight: [V', hidden], the embeddings of the tokens `own`, which may be a rank's part of the vocabulary: the
            parts' results add up (upstream `_soft_embeddings`).
    """
    kernel = kernels.backend(conditioning.device)
    ones = torch.ones(len(conditioning), device=conditioning.device)
    log_norm = kernel.row_statistics(conditioning, ones).log_norm
    mean: Tensor = kernel.soft_embedding(conditioning[:, own], ones, log_norm, None, None, weight)
    return mean


def _check_finite(rows: RowStatistics) -> None:
    if not bool(rows.log_norm.isfinite().all()):
        raise CheckpointError(
            "the model's logits are not finite: the weights are damaged, or this dtype overflows (load with float32)"
        )


def _log_probability(logits: Tensor, heat: Tensor, log_norm: Tensor, state: CanvasState) -> Tensor:
    """Of each token of `state.best` under this step's marginals, tilted ones under a constraint: float32 [L]."""
    if state.posterior is not None:
        return state.posterior.log_probability(state.best[0])
    own = logits.gather(-1, state.best[0, :, None])[:, 0].float() / heat
    return (own - log_norm).float()


def temperature(state: CanvasState) -> Tensor:
    """The temperature of the next step, a float32 scalar: T_min + (T_max − T_min) · n/N with n steps left of N.

    A tensor on the device, as upstream's is, because dividing by a Python number rounds differently on a GPU.
    """
    config = state.config
    left = torch.tensor(config.max_denoising_steps - state.steps, dtype=torch.int32, device=state.generator.device)
    return config.t_min + ((config.t_max - config.t_min) * (left / config.max_denoising_steps))


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
