"""The entropy-bound sampler with an optional constraint over the whole canvas, one row per request.

Without a constraint a step does what transformers' `_denoising_step` does for a batch of one (temperature schedule,
independent draft, entropy-bound acceptance, uniform renoise, stable-and-confident stop). With sampling="multinomial" it
uses random numbers as upstream does, so that equal seeds give equal tokens.

With one, `StepPosterior` replaces independent draws by joint ones: the draft is an exact joint draw, the canvas that
would be committed is the joint mode, and `Policy` says what acceptance, self-conditioning and stopping read. Exactness
holds per step; the trajectory is not the model's law conditioned on the constraint (arXiv 2609.35609).

Everything that reads whole rows of logits or walks an automaton is in `dg_sglang.kernels`: one call for the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dg_sglang import kernels
from dg_sglang.canvas import CanvasState
from dg_sglang.config import Policy
from dg_sglang.errors import DgError
from dg_sglang.grammar.step_posterior import StepPosterior, no_valid_canvas
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
    errors: dict[int, DgError] | None = None,
) -> StepOutput:
    """Take one denoising step of every request and update its state.

    Requests don't see one another: a row's result is the same in any batch with the same logits.

    Args:
        logits: [B, L, V], the decoder's output for `states[i].tokens`, before temperature.
        states: one for each row, none of them done.
        dtype: of the returned conditioning (upstream: that of the embeddings).
        out: a tensor that the conditioning may take, say that of the step before, if it has its shape and dtype:
            large tensors are slow to come by.
        errors: gets what is wrong with single rows, whose states then stay as they are; without it that is raised.

    Raises:
        CheckpointError: the logits hold NaN or infinity.
        GrammarError: the fixed tokens leave no valid canvas.
    """
    fits = out is not None and out.shape == logits.shape and out.dtype == dtype
    conditioning = out if out is not None and fits else torch.empty(logits.shape, dtype=dtype, device=logits.device)
    heat = torch.stack([temperature(state) for state in states])[:, None].expand(logits.shape[:2])
    reading = _read(logits, heat, states, conditioning)
    for row, error in reading.errors.items():
        if errors is None:
            raise error
        errors[row] = error
    sound = [row for row in range(len(states)) if row not in reading.errors]
    ending = [row for row in sound if _advance(states[row], reading, row)]
    for row, sure in zip(ending, reading.confidence(ending, logits, heat, states), strict=True):
        states[row].finish(sure[None])
    for row in sound:
        states[row].pin(conditioning[row], _FLOOR)
    return StepOutput(
        tokens=torch.cat([state.tokens for state in states]),
        done=torch.tensor([state.done for state in states]),
        conditioning=conditioning,
    )


@dataclass(frozen=True)
class _Reading:
    """What one step makes of the logits; all [B, L].

    draft, best: of rows without an error. raw, tilted: entropies, tilted ones where a policy reads them.
    numbers: for each constrained row its canvas in the posterior.
    """

    draft: Tensor
    best: Tensor
    raw: Tensor
    tilted: Tensor
    log_norm: Tensor
    posterior: StepPosterior
    numbers: dict[int, int]
    errors: dict[int, DgError]

    def confidence(self, rows: list[int], logits: Tensor, heat: Tensor, states: Sequence[CanvasState]) -> Tensor:
        """The probability of `best` of some rows under this step's marginals, tilted ones under a constraint."""
        best = torch.stack([states[row].best[0] for row in rows]) if rows else self.best[:0]
        own = logits[rows].gather(-1, best[:, :, None])[:, :, 0].float() / heat[rows]
        log_p = (own - self.log_norm[rows]).float()
        joint = [place for place, row in enumerate(rows) if row in self.numbers]
        if joint:
            chosen = [self.numbers[rows[place]] for place in joint]
            log_p[joint] = self.posterior.log_probability(chosen, best[joint])
        return log_p.exp().clamp(max=1.0)  # rounding may exceed it


def _read(logits: Tensor, heat: Tensor, states: Sequence[CanvasState], conditioning: Tensor) -> _Reading:
    """Draws, best tokens and entropies of all rows; fills their self-conditioning logits.

    Without a constraint these are independent draws and the argmax; with one, the joint draw and the joint mode.
    """
    batch, length, _ = logits.shape
    canvases = {row: state.posterior for row, state in enumerate(states) if state.posterior is not None}
    flatten = [state.config.policy.flatten if row in canvases else 1.0 for row, state in enumerate(states)]
    if set(flatten) == {1.0}:
        posterior = StepPosterior(canvases, logits, heat, scaled=conditioning)
        rows = posterior.rows
    else:
        kernel = kernels.backend(logits.device)
        rows = kernel.row_statistics(logits.flatten(0, 1), heat.flatten(), scaled=conditioning.flatten(0, 1))
        posterior = StepPosterior(canvases, logits, heat / torch.tensor(flatten, device=heat.device)[:, None])
    errors, numbers = dict(posterior.errors), {row: k for k, row in enumerate(posterior.places)}
    best, draft = (
        rows.best.to(logits.device).view(batch, length).clone(),
        torch.zeros_like(rows.best).to(logits.device).view(batch, length),
    )
    raw = rows.entropy.to(logits.device).view(batch, length)
    tilted = raw.clone()
    if free := [row for row in range(batch) if row not in canvases and row not in errors]:
        draft[free] = _draft(logits, heat, rows, states, free)
    if numbers:
        impossible = posterior.log_z == -torch.inf
        errors |= {row: no_valid_canvas() for row, k in numbers.items() if impossible[k]}
        draft[posterior.places] = posterior.draw([states[row].generator for row in numbers])
        best[posterior.places] = posterior.mode()
        policies = {row: states[row].config.policy for row in numbers if row not in errors}
        if accepting := [row for row, policy in policies.items() if policy.accept == "tilted"]:
            tilted[accepting] = posterior.entropy([numbers[row] for row in accepting])
        if conditioned := [row for row, policy in policies.items() if policy.condition == "tilted"]:
            posterior.tilted_logits([numbers[row] for row in conditioned], floor=_FLOOR, out=conditioning)
    log_norm = rows.log_norm.to(logits.device).view(batch, length)
    return _Reading(draft, best, raw, tilted, log_norm, posterior, numbers, errors)


def _draft(
    logits: Tensor, heat: Tensor, rows: RowStatistics, states: Sequence[CanvasState], free: Sequence[int]
) -> Tensor:
    """Independent draws for the rows `free` of the batch: int64 [n, L]."""
    length = logits.shape[1]
    drawn = torch.empty(len(free), length, dtype=torch.int64, device=logits.device)
    inverted = []
    for place, row in enumerate(free):
        state, generator = states[row], states[row].generator
        if state.config.sampling == "multinomial":  # upstream's own operations, for its own random numbers
            probabilities = torch.softmax(logits[row].float() / heat[row, :, None], dim=-1)
            drawn[place] = torch.multinomial(probabilities, num_samples=1, generator=generator)[:, 0]
        else:
            uniform = torch.rand(length, dtype=torch.float64, generator=generator, device=generator.device)
            inverted.append((place, row, uniform))
    if inverted:
        places, chosen, uniforms = zip(*inverted, strict=True)
        positions = torch.arange(length, device=logits.device)
        wanted = torch.cat([row * length + positions for row in chosen])
        tokens = kernels.backend(logits.device).draw_tokens(rows, wanted, torch.cat(uniforms))
        drawn[list(places)] = tokens.view(-1, length)
    return drawn


def _advance(state: CanvasState, reading: _Reading, row: int) -> bool:
    """Accept and renoise one canvas; whether it ends with this step."""
    policy, constrained = state.config.policy, state.posterior is not None
    own = slice(row, row + 1)
    entropy = state.settle((reading.tilted if constrained else reading.raw)[own])
    bound = policy.entropy_bound if constrained and policy.entropy_bound is not None else state.config.entropy_bound
    accepted = accept(entropy, bound, within_window(entropy, policy) if constrained else None)
    state.advance(state.hold(reading.best[own]))
    ends = state.done or _may_stop(state, entropy)
    state.tokens = state.hold(torch.where(accepted, reading.draft[own], state.noise(state.length)))
    return ends


def mean_embedding(conditioning: Tensor, weight: Tensor, own: slice = slice(None)) -> Tensor:
    """The mean embedding under softmax(conditioning): float32 [R, hidden], before its scale.

    Args:
        conditioning: [R, V], a step's self-conditioning logits.
        weight: [V', hidden], the embeddings of the tokens `own`, which may be a rank's part of the vocabulary: the
            parts' results add up (upstream `_soft_embeddings`).
    """
    kernel = kernels.backend(conditioning.device)
    log_norm = kernel.row_statistics(conditioning, torch.ones(len(conditioning), device=conditioning.device)).log_norm
    mean: Tensor = kernel.soft_embedding(conditioning[:, own], log_norm, weight)
    return mean


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
