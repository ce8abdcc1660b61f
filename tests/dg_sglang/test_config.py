import json
from pathlib import Path

import pytest

from dg_sglang.config import GenerationConfig, Policy, checkpoint_config
from dg_sglang.errors import CheckpointError, ConfigError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_new_tokens", 0),
        ("max_new_tokens", 1.5),
        ("max_new_tokens", True),
        ("max_new_tokens", "256"),
        ("max_denoising_steps", 0),
        ("max_denoising_steps", None),
        ("max_denoising_steps", 2**31),
        ("stability_threshold", 10**400),
        ("entropy_bound", -0.1),
        ("entropy_bound", float("nan")),
        ("entropy_bound", float("inf")),
        ("entropy_bound", 10**400),
        ("t_max", 0),
        ("t_max", 1e300),
        ("t_min", -1),
        ("t_min", 0.9),
        ("stability_threshold", -1),
        ("confidence_threshold", "low"),
        ("policy", "raw"),
    ],
)
def test_values_out_of_range_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        GenerationConfig().replace({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accept", "both"),
        ("condition", None),
        ("stop", "never"),
        ("stop_after", 0),
        ("entropy_bound", -1),
        ("frontier_window", 0),
        ("frontier_window", 2.5),
        ("frontier_threshold", -0.1),
        ("tail", True),
        ("flatten", 0),
        ("whitespace", "pretty"),
    ],
)
def test_policies_out_of_range_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"policy.{name}"):
        Policy().replace({name: value})


def test_unknown_settings_are_refused_with_close_matches() -> None:
    with pytest.raises(ConfigError, match="did you mean 'max_new_tokens'"):
        GenerationConfig().replace({"max_new_token": 3})
    with pytest.raises(ConfigError, match=r"policy=\{'stop_after': \.\.\.\}"):
        GenerationConfig().replace({"stop_after": 3})
    with pytest.raises(ConfigError, match="did you mean 'frontier_window'"):
        Policy().replace({"frontier_windows": 3})


def test_a_policy_mapping_changes_only_what_it_names() -> None:
    config = GenerationConfig(policy=Policy(stop_after=7, tail="scored"))
    changed = config.replace({"policy": {"stop_after": 2}, "t_max": 1.0})
    assert changed.policy == Policy(stop_after=2, tail="scored")
    assert (changed.t_max, changed.t_min) == (1.0, 0.4)
    assert config.policy.stop_after == 7


def test_checkpoint_defaults(tmp_path: Path) -> None:
    assert checkpoint_config(tmp_path, {}) == GenerationConfig()
    generation = {
        "eos_token_id": [1, 106],
        "max_new_tokens": 512,
        "t_max": None,
        "sampler_config": {"_cls_name": "EntropyBoundSamplerConfig", "entropy_bound": 0.2},
    }
    ours = {"mode": "auto", "policy": {"frontier_window": 4}}
    (tmp_path / "dg_sglang_config.json").write_text(json.dumps(ours))
    config = checkpoint_config(tmp_path, generation)
    assert config.mode == "auto"
    assert (config.max_new_tokens, config.entropy_bound, config.t_max) == (512, 0.2, 0.8)
    assert config.policy == Policy(frontier_window=4)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"policy": 3}', '{"policies": {}}', '{"policy": {"accept": 1}}', '{"mode": "fast"}']
)
def test_a_bad_settings_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "dg_sglang_config.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"dg_sglang_config\.json"):
        checkpoint_config(tmp_path, {})


def test_a_bad_generation_config_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"generation_config\.json: t_min"):
        checkpoint_config(tmp_path, {"t_min": 3})
