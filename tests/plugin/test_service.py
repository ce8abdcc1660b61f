"""What the server does with a request, without SGLang."""

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from tiny_checkpoint import SPECIAL_TOKENS, make_tiny_checkpoint

from dg_sglang import checkpoint
from dg_sglang.connection import refusal
from dg_sglang.errors import (
    BudgetError,
    ConfigError,
    GrammarError,
    InputError,
    PromptTooLongError,
    UnsupportedSchemaError,
)
from dg_sglang.grammar import JsonSchema, Regex
from dg_sglang.plugin.service import Served, Service, named, seed_of
from dg_sglang.sampler import denoise_step

LENGTH, VOCABULARY = 16, 304
CLOSE = SPECIAL_TOKENS.index("<channel|>")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_checkpoint(tmp_path_factory.mktemp("tiny") / "checkpoint")


@pytest.fixture(scope="module")
def service(folder: Path) -> Service:
    return make(folder)


def make(folder: Path, **options: Any) -> Service:
    tokenizer = checkpoint.load_tokenizer(checkpoint.inspect(folder))
    return Service(folder, tokenizer, vocab_size=VOCABULARY, canvas_length=LENGTH, **options)


def start(service: Service, custom_params: Any = None, *, seed: int | None = 0, **options: Any) -> Served:
    values = {"name": "a", "prompt": [50, 51], "max_new_tokens": 48, "max_context": 1024, "automaton": None} | options
    return service.start(service.settings(custom_params, seed), **values)


def denoise(served: Served) -> None:
    """Steps on random logits until the canvas is done."""
    generator = torch.Generator().manual_seed(0)
    while not served.canvas.done:
        denoise_step(3 * torch.randn(1, LENGTH, VOCABULARY, generator=generator), [served.canvas])


def test_settings_come_from_the_checkpoint_the_server_and_the_request(folder: Path) -> None:
    service = make(folder, defaults={"t_max": 0.7, "max_denoising_steps": 9})
    settings = service.settings({"max_denoising_steps": 4, "policy": {"stop_after": 2}, "__sglang": 1}, 7)
    config = settings.config
    assert (config.entropy_bound, config.t_max, config.max_denoising_steps, config.policy.stop_after) == (
        0.5,
        0.7,
        4,
        2,
    )
    assert settings.seed == 7


def test_fixed_tokens_have_json_keys(service: Service) -> None:
    assert service.settings({"fixed_tokens": {"3": 70}}, None).fixed_tokens == {3: 70}


@pytest.mark.parametrize(
    ("custom_params", "seed", "message"),
    [
        ({"entropy_bond": 1}, None, "did you mean 'entropy_bound'"),
        ({"entropy_bound": -1}, None, "entropy_bound must be a number >= 0"),
        ({"policy": {"acept": "raw"}}, None, "did you mean 'accept'"),
        ({"stop_after": 2}, None, "belongs to the policy"),
        ({"mode": "masked"}, None, "mode must be one of"),
        ({"max_new_tokens": 3}, None, r"pass SGLang's max_new_tokens \(OpenAI: max_tokens\)"),
        ({"seed": 3}, None, "pass SGLang's sampling_seed"),
        ({"prompt": "x"}, None, "can't hold 'prompt'"),
        ({"fixed_tokens": {"x": 3}}, None, "must map positions to token ids"),
        ({"fixed_tokens": [3]}, None, "must map positions to token ids"),
        ({"fixed_tokens": {"9" * 5000: 3}}, None, "must map positions to token ids"),
        ("max_denoising_steps", None, "must be an object of settings"),
        ([1], None, "must be an object of settings"),
        ({}, -1, "seed must be an integer from 0"),
    ],
)
def test_what_is_no_setting_is_refused(service: Service, custom_params: Any, seed: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        service.settings(custom_params, seed)


@pytest.mark.parametrize("prompt", [[50, -1], [VOCABULARY, 50], [2**40]])
def test_a_prompt_of_other_tokens_is_refused(service: Service, prompt: list[int]) -> None:
    service.check_prompt([0, VOCABULARY - 1])
    with pytest.raises(InputError, match="token ids go from 0 to 303"):
        service.check_prompt(prompt)


def test_an_empty_prompt_is_refused(service: Service) -> None:
    with pytest.raises(InputError, match="the prompt is empty"):
        service.check_prompt([])


def test_a_server_default_that_is_no_setting_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="entropy_bond"):
        make(folder, defaults={"entropy_bond": 1})


def test_without_a_seed_the_name_decides(service: Service, folder: Path) -> None:
    def noise(service: Service, name: str, seed: int | None) -> list[int]:
        return start(service, seed=seed, name=name).canvas.tokens[0].tolist()

    assert noise(service, "a", None) == noise(service, "a", None) == noise(service, "x", seed_of("a"))
    assert noise(service, "a", None) != noise(service, "b", None)
    assert noise(make(folder, defaults={"seed": 5}), "a", None) == noise(service, "b", 5)
    assert 0 <= seed_of("a") < 2**63


def test_canvases_are_committed_up_to_the_answers_end(service: Service) -> None:
    served = start(service, automaton=service.compile(JsonSchema(SCHEMA), "compact"))
    while not served.sequence.finished:
        before = len(served.sequence.committed)
        denoise(served)
        block = served.commit()
        assert len(block) == LENGTH
        kept = served.sequence.committed[before:]
        assert block[: len(kept)] == kept
    tokens = served.sequence.committed
    text = service.vocabulary.tokens
    jsonschema.validate(json.loads(b"".join(text[token] or b"" for token in tokens)), SCHEMA)
    assert len(served.canvas_index) == len(served.canvas_steps) == len(served.logprobs()) == len(tokens)
    assert served.canvas_index[-1] == served.canvas_index[0] + (len(tokens) - 1) // LENGTH
    assert all(1 <= steps <= 12 for steps in served.canvas_steps)
    assert all(-1e4 < logprob <= 1e-6 for logprob in served.logprobs())


def test_causal_tokens_come_one_by_one(service: Service) -> None:
    served = start(service, {"mode": "causal"}, max_new_tokens=3)
    logits = torch.zeros(VOCABULARY)
    logits[70] = math.log(VOCABULARY - 1)
    assert [served.take(logits) for _ in range(3)] == [70, 70, 70]
    assert served.sequence.finished and not served.sequence.complete
    assert served.canvas_steps == [1, 2, 3]
    assert served.logprobs() == pytest.approx([math.log(0.5)] * 3)


def test_a_missing_thought_is_marked(service: Service) -> None:
    automaton = service.compile(Regex("[a-z]{3}"), "json")
    served = start(service, {"fixed_tokens": {"0": 60}}, automaton=automaton, thinking=True)
    denoise(served)
    assert served.commit()[0] == CLOSE and served.sequence.committed == [CLOSE]
    assert served.logprobs() == [-9999.0]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_new_tokens": 2}, BudgetError),
        ({"thinking": True, "max_new_tokens": 4}, BudgetError),
        ({"max_context": 17}, PromptTooLongError),
        ({"ignore_end": True}, ConfigError),
    ],
)
def test_what_can_t_be_served_is_refused(service: Service, options: dict[str, Any], error: type[Exception]) -> None:
    automaton = service.compile(Regex("[3-9]{3}"), "json")
    start(service, automaton=automaton, max_new_tokens=3, max_context=18)
    with pytest.raises(error):
        start(service, automaton=automaton, **options)


def test_fixed_tokens_that_leave_no_answer_are_refused(service: Service) -> None:
    with pytest.raises(GrammarError, match="fixed"):
        start(service, {"fixed_tokens": {"0": 60}}, automaton=service.compile(Regex("[0-9]"), "json"))


@pytest.mark.parametrize(("context", "expected"), [(1024, 48), (34, 32), (33, 16)])
def test_the_budget_ends_where_no_whole_canvas_fits(service: Service, context: int, expected: int) -> None:
    assert start(service, max_context=context).sequence.job.config.max_new_tokens == expected


def test_a_refusal_names_its_class() -> None:
    error = UnsupportedSchemaError("no", pointer="/a", keyword="b")
    assert named(error) == "UnsupportedSchemaError: no (keyword 'b' at /a)"
    assert isinstance(refusal(f"Failed to compile json grammar: {named(error)}"), UnsupportedSchemaError)


def test_it_warms_up(service: Service) -> None:
    service.warm_up(torch.device("cpu"))
