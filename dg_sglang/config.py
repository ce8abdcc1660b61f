"""Settings: how a canvas is denoised, and what reads the tilted distribution under a constraint."""

import dataclasses
import difflib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, cast, get_args

from dg_sglang.errors import CheckpointError, ConfigError

Reads = Literal["raw", "tilted"]
Stop = Literal["confident", "mode"]
Tail = Literal["unscored", "scored"]
Mode = Literal["diffusion", "causal", "auto"]
Whitespace = Literal["json", "compact"]
Sampling = Literal["inversion", "multinomial"]

CHECKPOINT_SETTINGS_FILE = "dg_sglang_config.json"
_LARGEST, _LARGEST_NUMBER = 2**31 - 1, 3.4e38  # what int32 and float32 tensors hold
_OWN = {"policy", "mode", "vision"}


def close_matches(name: str, known: Iterable[str]) -> str:
    """` (did you mean 'x'?)` for error messages, or nothing."""
    matches = difflib.get_close_matches(name, list(known), n=2, cutoff=0.55)
    return f" (did you mean {' or '.join(map(repr, matches))}?)" if matches else ""


def _check_int(name: str, value: object, minimum: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ConfigError(f"{name} must be an integer >= {minimum}, got {value!r}")
    if value > _LARGEST:
        raise ConfigError(f"{name} must be at most {_LARGEST:,}")


def _check_number(name: str, value: object, *, minimum: float = 0.0, exclusive: bool = False) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST_NUMBER
    if not is_number or value < minimum or (exclusive and value == minimum):  # type: ignore[operator]
        raise ConfigError(f"{name} must be a number {'>' if exclusive else '>='} {minimum:g}, got {value!r}")


def _check_choice(name: str, value: object, choices: Any) -> None:
    if value not in get_args(choices):
        raise ConfigError(f"{name} must be one of {', '.join(map(repr, get_args(choices)))}, got {value!r}")


@dataclass(frozen=True)
class Policy:
    """What reads the model's own marginals p ("raw") and what reads those tilted by the grammar, q ("tilted").

    In force only under a constraint. Draft tokens are then always one joint draw and the committed canvas is always
    the joint mode, so validity does not depend on the policy; quality and the number of steps do.

    Attributes:
        accept: whose entropies (nats) the entropy bound and the frontier compare.
        condition: whose logits are fed back as self-conditioning.
        stop: "confident" is the report's rule (mean entropy below `confidence_threshold` and a stable canvas);
            "mode" stops once the joint mode has not changed for `stop_after` steps, however high the entropy.
        stop_after: the number of unchanged steps for stop="mode".
        entropy_bound: replaces the config's bound; None keeps it.
        frontier_window: a position at or beyond frontier + window is never accepted in this step, where the frontier
            is the first position whose entropy exceeds `frontier_threshold`. None switches the window off.
        frontier_threshold: nats.
        tail: whether positions after the end token count in the likelihood of a canvas.
        flatten: p is raised to this power before the grammar tilts it (1 leaves it alone).
        whitespace: white space a JSON answer may hold: "json" (bounded JSON white space) or "compact" (none).
    """

    accept: Reads = "raw"
    condition: Reads = "raw"
    stop: Stop = "mode"
    stop_after: int = 3
    entropy_bound: float | None = None
    frontier_window: int | None = None
    frontier_threshold: float = 0.1
    tail: Tail = "unscored"
    flatten: float = 1.0
    whitespace: Whitespace = "json"

    def __post_init__(self) -> None:
        _check_choice("policy.accept", self.accept, Reads)
        _check_choice("policy.condition", self.condition, Reads)
        _check_choice("policy.stop", self.stop, Stop)
        _check_choice("policy.tail", self.tail, Tail)
        _check_choice("policy.whitespace", self.whitespace, Whitespace)
        _check_int("policy.stop_after", self.stop_after, 1)
        if self.entropy_bound is not None:
            _check_number("policy.entropy_bound", self.entropy_bound)
        if self.frontier_window is not None:
            _check_int("policy.frontier_window", self.frontier_window, 1)
        _check_number("policy.frontier_threshold", self.frontier_threshold)
        _check_number("policy.flatten", self.flatten, exclusive=True)

    def replace(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some settings changed; ConfigError for unknown names or values out of range."""
        known = [entry.name for entry in fields(self)]
        for name in changes:
            if name not in known:
                raise ConfigError(f"unknown policy setting {name!r}{close_matches(name, known)}; known: {known}")
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True)
class GenerationConfig:
    """How one request is generated. The names and defaults are transformers' `DiffusionGemmaGenerationConfig`'s.

    Attributes:
        max_new_tokens: length limit of the answer, thinking included; canvases are ceil(max_new_tokens / L).
        mode: "diffusion", or "causal": the same weights left to right, one token a forward pass, always the most
            probable one that is allowed; the settings below then have no effect. "auto" leaves the choice to what is
            asked for: `pipelines.extract` asks in both modes and settles them, everything else denoises.
        max_denoising_steps: step cap T of each canvas.
        entropy_bound: nats; the k most certain positions are accepted while the sum of the entropies of all but the
            least certain of them stays within it (arXiv 2505.24857, upstream `EntropyBoundSampler`).
        t_max, t_min: temperature, linear from t_max at the first step towards t_min at the last
            (`LinearTemperatureScheduleLogitsProcessor`).
        stability_threshold: steps for which the best canvas must not have changed before a canvas may stop early.
        confidence_threshold: nats; a stable canvas stops when its mean entropy is below (0 never stops early).
        sampling: how draft tokens are drawn without a constraint. "inversion" takes one random number a position;
            "multinomial" (torch's) one for every token of the vocabulary, in the order of transformers' `generate`:
            with the same seed on the same device it gives the same tokens, many times slower.
        policy: what reads raw and what reads tilted marginals under a constraint.
    """

    max_new_tokens: int = 256
    mode: Mode = "diffusion"
    max_denoising_steps: int = 48
    entropy_bound: float = 0.1
    t_max: float = 0.8
    t_min: float = 0.4
    stability_threshold: int = 1
    confidence_threshold: float = 0.005
    sampling: Sampling = "inversion"
    policy: Policy = field(default_factory=Policy)

    def __post_init__(self) -> None:
        _check_int("max_new_tokens", self.max_new_tokens, 1)
        _check_choice("mode", self.mode, Mode)
        _check_int("max_denoising_steps", self.max_denoising_steps, 1)
        _check_number("entropy_bound", self.entropy_bound)
        _check_number("t_max", self.t_max, exclusive=True)
        _check_number("t_min", self.t_min)
        if self.t_min > self.t_max:
            raise ConfigError(f"t_min must not exceed t_max, got {self.t_min} > {self.t_max}")
        _check_int("stability_threshold", self.stability_threshold, 0)
        _check_number("confidence_threshold", self.confidence_threshold)
        _check_choice("sampling", self.sampling, Sampling)
        if not isinstance(self.policy, Policy):
            raise ConfigError(f"policy must be a Policy (or a mapping of its settings), got {self.policy!r}")

    def replace(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some settings changed. `policy` may be a mapping, which changes only the settings it names.

        Raises:
            ConfigError: an unknown name (close matches are offered) or a value out of range.
        """
        known = [entry.name for entry in fields(self)]
        for name in changes:
            if name not in known:
                in_policy = name in {entry.name for entry in fields(Policy)}
                hint = (
                    f"; it belongs to the policy: policy={{{name!r}: ...}}" if in_policy else close_matches(name, known)
                )
                raise ConfigError(f"unknown setting {name!r}{hint}; known: {known}")
        changes = dict(changes)
        if isinstance(changes.get("policy"), Mapping):
            changes["policy"] = self.policy.replace(changes["policy"])
        return dataclasses.replace(self, **changes)


def checkpoint_config(folder: Path, generation: Mapping[str, Any]) -> GenerationConfig:
    """The checkpoint's own defaults.

    Args:
        folder: the checkpoint; `dg_sglang_config.json` there may hold {"policy": {...}, "mode": "...", "vision": ...}
            (transformers' configuration classes refuse unknown keys, so these have a file of their own).
        generation: the contents of transformers' `generation_config.json`; null and absent keys keep our defaults.

    Raises:
        CheckpointError: either file holds something that is not a setting.
    """
    names = {entry.name for entry in fields(GenerationConfig)} - {"policy"}
    settings = {name: generation[name] for name in names if generation.get(name) is not None}
    sampler = generation.get("sampler_config") or {}
    if not isinstance(sampler, Mapping):
        raise CheckpointError(f"{folder / 'generation_config.json'}: sampler_config must be an object")
    if "entropy_bound" in sampler:
        settings["entropy_bound"] = sampler["entropy_bound"]
    path = folder / CHECKPOINT_SETTINGS_FILE
    try:
        config = GenerationConfig().replace(settings)
    except ConfigError as error:
        raise CheckpointError(f"{folder / 'generation_config.json'}: {error}") from error
    if not path.is_file():
        return config
    try:
        ours = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(ours, dict) or not isinstance(ours.get("policy", {}), dict) or set(ours) - _OWN:
            raise ConfigError(f"it must hold one JSON object with no keys but {', '.join(sorted(_OWN))}")
        return config.replace({name: cast(Any, value) for name, value in ours.items() if name != "vision"})
    except (ValueError, OSError) as error:  # ConfigError and json's errors are ValueErrors
        raise CheckpointError(f"{path}: {error}") from error
