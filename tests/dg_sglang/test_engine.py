import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from tiny_checkpoint import make_tiny_checkpoint

from dg_sglang import Engine, GenerationConfig, errors
from dg_sglang.grammar import Choice, Regex
from dg_sglang.request import GenerationRequest

MIXED: list[dict[str, Any]] = [
    {"prompt": "one", "seed": 1},
    {"prompt": "a much longer prompt than the other ones in this batch", "seed": 2, "max_new_tokens": 20},
    {"prompt": "three", "seed": 3, "max_denoising_steps": 3, "entropy_bound": 2.0},
    {"input_ids": [7, 8, 9], "seed": 4, "t_max": 1.2, "stability_threshold": 0, "confidence_threshold": 2.0},
    {"prompt": "five", "seed": 5, "constraint": Regex("[a-f]{20,40}"), "max_new_tokens": 44},
    {"prompt": "a picture", "seed": 6, "images": [Image.new("RGB", (50, 50), "green")], "max_new_tokens": 30},
    {"prompt": "seven", "seed": 7, "constraint": Choice(["yes", "no"]), "policy": {"stop_after": 1}},
    {"prompt": "eight", "seed": 8, "fixed_tokens": {0: 90, 17: 91}, "max_new_tokens": 32},
]


@pytest.mark.parametrize("batch_size", [16, 3])
def test_a_batch_is_the_same_as_one_by_one(engine: Engine, batch_size: int) -> None:
    together = engine.generate_batch(MIXED, batch_size=batch_size)
    alone = [engine.generate(**request) for request in MIXED]
    for one, other in zip(together, alone, strict=True):
        assert one.token_ids == other.token_ids
        assert (one.finish_reason, one.seed) == (other.finish_reason, other.seed)
        assert (one.usage.canvases, one.usage.denoising_steps) == (other.usage.canvases, other.usage.denoising_steps)
        assert one.token_confidence == pytest.approx(other.token_confidence, abs=1e-3)


def test_requests_may_be_objects(engine: Engine) -> None:
    request = GenerationRequest(prompt="one", seed=1)
    assert engine.generate_batch([request])[0].token_ids == engine.generate("one", seed=1).token_ids
    assert engine.generate_batch([]) == []


def test_results_add_up(engine: Engine) -> None:
    result = engine.generate("count", seed=0, max_new_tokens=40)
    usage = result.usage
    assert usage.completion_tokens == len(result.token_ids) == len(result.token_confidence) <= 40
    assert usage.canvases == -(-usage.completion_tokens // engine.canvas_length) == 3
    assert usage.effective_denoising_steps == usage.denoising_steps / 3
    assert usage.tokens_per_forward == usage.completion_tokens / (usage.denoising_steps + 2)
    assert all(0 < p <= 1 for p in result.token_confidence)
    assert usage.seconds > 0
    assert result.to_json()["usage"]["tokens_per_forward"] == usage.tokens_per_forward


def test_max_new_tokens_cuts_the_answer(engine: Engine) -> None:
    whole = engine.generate("count", seed=0, max_new_tokens=48)
    cut = engine.generate("count", seed=0, max_new_tokens=21)
    assert cut.token_ids == whole.token_ids[:21]
    assert (cut.finish_reason, cut.usage.canvases) == ("length", 2)


def test_the_end_token_is_counted_but_not_shown(engine: Engine) -> None:
    end = 5
    result = engine.generate("stop", seed=0, fixed_tokens={3: end, 4: 60})
    assert len(result.token_ids) <= 4 and result.token_ids[-1] in (1, end)
    assert result.finish_reason == "stop"
    assert "turn" not in result.text


def test_the_seed_is_told(engine: Engine) -> None:
    first = engine.generate("dice", max_new_tokens=16)
    assert engine.generate("dice", max_new_tokens=16, seed=first.seed).token_ids == first.token_ids
    assert engine.generate("dice", max_new_tokens=16).seed != first.seed


def test_generation_leaves_the_global_generator_alone(engine: Engine) -> None:
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    engine.generate("dice", max_new_tokens=16)
    assert torch.equal(torch.rand(3), expected)


def test_checkpoint_defaults_and_config(engine: Engine) -> None:
    assert (engine.config.max_new_tokens, engine.config.entropy_bound) == (48, 0.5)
    result = engine.generate("a", seed=0, config=GenerationConfig(max_denoising_steps=2, max_new_tokens=16))
    assert result.usage.denoising_steps == 2
    assert (engine.canvas_length, engine.max_context, engine.dtype) == (16, 1024, torch.float32)


def test_a_stream_of_drafts(engine: Engine) -> None:
    expected = engine.generate("stream", seed=1, max_new_tokens=30)
    drafts = list(engine.stream("stream", seed=1, max_new_tokens=30))
    assert len(drafts) == expected.usage.denoising_steps
    assert [draft.step for draft in drafts[:3]] == [1, 2, 3]
    assert [draft.canvas_index for draft in drafts] == sorted(draft.canvas_index for draft in drafts)
    assert {draft.canvas_index for draft in drafts} == set(range(expected.usage.canvases))
    assert all(draft.result is None for draft in drafts[:-1])
    last = drafts[-1]
    assert last.result is not None and last.result.token_ids == last.token_ids == expected.token_ids
    assert last.text == last.result.text == expected.text
    # What is committed does not change any more.
    assert all(draft.token_ids[:16] == expected.token_ids[:16] for draft in drafts if draft.canvas_index)


def test_an_abandoned_stream_does_no_harm(engine: Engine) -> None:
    expected = engine.generate("after", seed=1)
    stream = engine.stream("stream", seed=1)
    next(stream)
    stream.close()
    next(engine.stream("stream", seed=1))
    assert engine.generate("after", seed=1).token_ids == expected.token_ids


def test_a_stream_checks_the_request_at_once(engine: Engine) -> None:
    with pytest.raises(errors.EmptyPromptError):
        engine.stream("")


def test_threads_share_an_engine(engine: Engine) -> None:
    requests = [{"prompt": f"thread {i}", "seed": i, "max_new_tokens": 32} for i in range(4)]
    requests[1]["constraint"] = Regex("[xyz]+")
    expected = [engine.generate(**request).token_ids for request in requests]
    found: dict[int, list[int]] = {}

    def work(index: int) -> None:
        found[index] = engine.generate(**requests[index]).token_ids

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[index] for index in range(4)] == expected


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"prompt": " "}, errors.EmptyPromptError, "empty"),
        ({"prompt": "word " * 400}, errors.PromptTooLongError, "context of 1024"),
        ({"prompt": "a", "max_new_tokens": 1020}, errors.PromptTooLongError, "max_new_tokens=1020"),
        ({"prompt": "a", "temperature": 1}, errors.ConfigError, "temperature"),
        ({"prompt": "a", "max_new_tokens": 0}, errors.ConfigError, "max_new_tokens"),
        ({"prompt": "a", "policy": {"accepts": "raw"}}, errors.ConfigError, "did you mean 'accept'"),
        ({"prompt": "a", "images": ["no.png"]}, errors.ImageError, "no such file"),
        ({"input_ids": [400]}, errors.InputError, r"input_ids\[0\]"),
        ({"prompt": "a", "fixed_tokens": {48: 3}}, errors.ConfigError, "positions go from 0 to 47"),
        ({"prompt": "a", "fixed_tokens": {0: 304}}, errors.ConfigError, "token ids from 0 to 303"),
        ({"prompt": "a", "constraint": Choice(["b"]), "fixed_tokens": {16: 0}}, errors.ConfigError, "first canvas"),
        ({"prompt": "a", "constraint": Regex("x{60}"), "max_new_tokens": 8}, errors.BudgetError, "max_new_tokens"),
        ({"prompt": "a", "constraint": {"type": "strin"}}, errors.InvalidSchemaError, "strin"),
        ({"prompt": "a", "constraint": "yes|no"}, errors.GrammarError, "constraint"),
        ({"prompt": "a", "constraint": Choice(["b"]), "fixed_tokens": {0: 20}}, errors.GrammarError, "fixed"),
    ],
)
def test_bad_requests_fail_before_any_compute(
    engine: Engine, arguments: dict[str, Any], error: type[errors.DgError], message: str
) -> None:
    good = {"prompt": "this one is never started", "max_new_tokens": 16}
    with pytest.raises(error, match=message):
        engine.generate_batch([good, arguments])
    with pytest.raises(error, match=message):
        engine.stream(**arguments)


@pytest.mark.parametrize("requests", ["prompt", {"prompt": "a"}, 3, ["prompt"], [3]])
def test_bad_batches(engine: Engine, requests: Any) -> None:
    with pytest.raises(errors.InputError):
        engine.generate_batch(requests)


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_bad_batch_sizes(engine: Engine, size: Any) -> None:
    with pytest.raises(errors.ConfigError, match="batch_size"):
        engine.generate_batch([], batch_size=size)


def test_the_policy_of_the_checkpoint_is_the_default(tmp_path: Path) -> None:
    path = make_tiny_checkpoint(tmp_path / "tiny", policy={"stop": "mode", "stop_after": 2, "whitespace": "compact"})
    engine = Engine.load(path)
    assert engine.config.policy.stop_after == 2
    result = engine.generate("a", seed=0, constraint={"type": "array", "items": {"type": "integer"}, "minItems": 3})
    assert result.text == result.text.replace(" ", "").replace("\n", "")


def test_each_result_counts_its_own_seconds(engine: Engine) -> None:
    nine_canvases = {"prompt": "b", "constraint": Regex("a{140}"), "max_new_tokens": 145}
    short, long = engine.generate_batch([{"prompt": "a", "max_new_tokens": 4}, nine_canvases])
    assert (short.usage.canvases, long.usage.canvases) == (1, 9)
    assert short.usage.seconds < long.usage.seconds
