from typing import Any

import pytest
import torch

from dg_sglang.config import GenerationConfig
from dg_sglang.errors import ConfigError, EmptyPromptError, InputError
from dg_sglang.request import GenerationRequest


@pytest.mark.parametrize("arguments", [{}, {"prompt": "a", "input_ids": [3]}, {"prompt": "a", "messages": []}])
def test_exactly_one_source(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="exactly one of prompt, messages and input_ids"):
        GenerationRequest.of(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"prompt": ""},
        {"prompt": " \n"},
        {"messages": []},
        {"messages": [{"role": "user", "content": " "}]},
        {"messages": [{"role": "user", "content": []}]},
    ],
)
def test_empty_prompts(arguments: dict[str, Any]) -> None:
    with pytest.raises(EmptyPromptError):
        GenerationRequest.of(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"prompt": 3},
        {"prompt": b"bytes"},
        {"messages": "hello"},
        {"messages": {"role": "user", "content": "x"}},
        {"messages": ["hello"]},
        {"messages": [{"content": "no role"}]},
        {"messages": [{"role": "user", "content": 3}]},
        {"messages": [{"role": "user", "content": [{"type": "audio"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        {"messages": [{"role": "user", "content": ["text"]}]},
    ],
)
def test_malformed_prompts(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        GenerationRequest.of(arguments)


@pytest.mark.parametrize(
    "ids", ["123", 5, {1, 2}, [1, -1], [1, 300], [1, True], [1, 2.0], [[1, 2]], torch.tensor([1.0]), torch.ones(2, 2)]
)
def test_bad_input_ids(ids: Any) -> None:
    with pytest.raises(InputError, match="input_ids"):
        GenerationRequest(input_ids=ids).checked_ids(300)


@pytest.mark.parametrize(
    "arguments",
    [{"prompt": "a\udcff"}, {"messages": [{"role": "user", "content": [{"type": "text", "text": "\ud800"}]}]}],
)
def test_lone_surrogates_are_no_text(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"lone surrogate \('.ud"):
        GenerationRequest.of(arguments)


@pytest.mark.parametrize("ids", [[5, 6], (5, 6), torch.tensor([5, 6]), torch.tensor([[5, 6]])])
def test_good_input_ids(ids: Any) -> None:
    assert GenerationRequest(input_ids=ids).checked_ids(300) == [5, 6]


def test_no_input_ids() -> None:
    with pytest.raises(EmptyPromptError):
        GenerationRequest(input_ids=[]).checked_ids(300)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, "1", True])
def test_bad_seeds(seed: Any) -> None:
    with pytest.raises(ConfigError, match="seed"):
        GenerationRequest(prompt="a", seed=seed)


@pytest.mark.parametrize(
    "fields",
    [
        {"config": {"t_max": 1.0}},
        {"thinking": 1},
        {"fixed_tokens": [1, 2]},
        {"fixed_tokens": {"1": 2}},
    ],
)
def test_other_wrong_fields(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(fields))):
        GenerationRequest.of({"prompt": "a", **fields})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("promt", "prompt"),
        ("max_new_token", "max_new_tokens"),
        ("temperature", ""),
        ("stop_after", "policy="),
        ("t", ""),
    ],
)
def test_unknown_arguments_are_refused(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}.*{hint}"):
        GenerationRequest.of({"prompt": "a", name: 1})


def test_settings_override_the_config_which_overrides_the_default() -> None:
    default = GenerationConfig(t_max=0.9, max_new_tokens=10)
    assert GenerationRequest(prompt="a").resolved_config(default) == default
    request = GenerationRequest.of({"prompt": "a", "entropy_bound": 0.7, "max_new_tokens": 20})
    assert request.resolved_config(default) == GenerationConfig(t_max=0.9, max_new_tokens=20, entropy_bound=0.7)
    request = GenerationRequest.of({"prompt": "a", "config": GenerationConfig(), "policy": {"tail": "scored"}})
    config = request.resolved_config(default)
    assert (config.t_max, config.policy.tail) == (0.8, "scored")
