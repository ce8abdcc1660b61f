"""/generate: every kind of constraint, per-request settings, requests of all kinds at once."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

import itertools

from sglang_client import Client, checked

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 6},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
}
EBNF = 'root ::= greeting " " name\ngreeting ::= "hello" | "hi"\nname ::= [a-c] [a-c]'
WEEK = r"20[0-9]{2}-W(0[1-9]|[1-4][0-9])"


def valid(text: str, schema: Any) -> bool:
    jsonschema.validate(json.loads(text), schema)
    return True


@pytest.mark.parametrize("seed", range(3))
def test_a_json_schema_is_enforced(tiny: Client, seed: int) -> None:
    answer = tiny.generate(json_schema=json.dumps(PERSON), max_new_tokens=64, sampling_seed=seed)
    assert valid(answer["text"], PERSON)
    assert answer["meta_info"]["finish_reason"]["type"] == "stop"


def test_a_regex_is_enforced(tiny: Client) -> None:
    assert re.fullmatch(WEEK, tiny.generate(regex=WEEK, max_new_tokens=48)["text"])


def test_an_ebnf_grammar_is_enforced(tiny: Client) -> None:
    assert re.fullmatch("(hello|hi) [a-c]{2}", tiny.generate(ebnf=EBNF, max_new_tokens=48)["text"])


def test_an_answer_closes_within_the_smallest_budget(tiny: Client) -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
    answer = tiny.generate(json_schema=json.dumps(schema), max_new_tokens=6)
    assert valid(answer["text"], schema)
    assert answer["meta_info"]["finish_reason"]["type"] == "stop"
    assert answer["meta_info"]["completion_tokens"] <= 6


def test_an_answer_over_several_canvases_is_valid(tiny: Client) -> None:
    schema = {"type": "array", "items": {"type": "integer", "minimum": 100}, "minItems": 8, "maxItems": 12}
    answer = tiny.generate(json_schema=json.dumps(schema), max_new_tokens=96)
    assert valid(answer["text"], schema)
    assert answer["meta_info"]["completion_tokens"] > 16


def test_without_a_constraint_the_length_limit_cuts(tiny: Client) -> None:
    answer = tiny.generate(max_new_tokens=20, ignore_eos=True)
    assert answer["meta_info"]["completion_tokens"] == 20
    assert answer["meta_info"]["finish_reason"]["type"] == "length"


def test_the_same_seed_gives_the_same_answer(tiny: Client) -> None:
    def text(seed: int) -> str:
        return tiny.generate(max_new_tokens=32, ignore_eos=True, sampling_seed=seed)["text"]

    assert text(1) == text(1)
    assert len({text(seed) for seed in range(4)}) > 1


def test_custom_params_set_what_the_sampler_does(tiny: Client) -> None:
    def steps(most: int) -> int:
        custom = {"max_denoising_steps": most, "confidence_threshold": 0.0}
        answer = tiny.generate(max_new_tokens=16, ignore_eos=True, custom_params=custom)
        return answer["meta_info"]["canvas_steps"][-1]

    assert steps(2) == 2
    assert steps(5) == 5


def test_logprobs_are_those_of_the_committed_tokens(tiny: Client) -> None:
    body = {
        "text": "Name a colour.",
        "sampling_params": {"regex": "red|green", "max_new_tokens": 16},
        "return_logprob": True,
    }
    answer = checked(tiny.post("/generate", body))
    logprobs = answer["meta_info"]["output_token_logprobs"]
    assert [token for _, token, _ in logprobs] == answer["output_ids"]
    assert all(-1e4 < logprob <= 0 for logprob, _, _ in logprobs)


def test_a_batch_has_its_own_constraint_in_each_row(tiny: Client) -> None:
    body = {
        "text": ["One."] * 3,
        "sampling_params": [
            {"regex": "yes|no", "max_new_tokens": 16},
            {"json_schema": json.dumps(PERSON), "max_new_tokens": 64},
            {"max_new_tokens": 16},
        ],
    }
    choice, person, free = checked(tiny.post("/generate", body))
    assert choice["text"] in ("yes", "no")
    assert valid(person["text"], PERSON)
    assert free["meta_info"]["completion_tokens"] > 0


def test_requests_of_all_kinds_run_side_by_side(tiny: Client) -> None:
    kinds: list[tuple[dict[str, Any], Any]] = [
        ({"json_schema": json.dumps(PERSON), "max_new_tokens": 64}, lambda text: valid(text, PERSON)),
        ({"regex": WEEK, "max_new_tokens": 48}, lambda text: re.fullmatch(WEEK, text)),
        ({"ebnf": EBNF, "max_new_tokens": 48}, lambda text: re.fullmatch("(hello|hi) [a-c]{2}", text)),
        ({"max_new_tokens": 40}, lambda text: True),
    ] * 4
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda kind: tiny.generate(**kind[0]), kinds))
    for (_, check), answer in zip(kinds, answers, strict=True):
        assert check(answer["text"])


def test_streaming_gives_the_answer_in_pieces(tiny: Client) -> None:
    schema = {"type": "array", "items": {"type": "integer", "minimum": 100}, "minItems": 8, "maxItems": 12}
    body = {
        "text": "Count.",
        "sampling_params": {"json_schema": json.dumps(schema), "max_new_tokens": 96},
        "stream": True,
    }
    with tiny.post("/generate", body, stream=True) as response:
        lines = [line.removeprefix(b"data: ") for line in response.iter_lines() if line]
    assert lines.pop() == b"[DONE]"
    texts = [json.loads(line)["text"] for line in lines]
    assert len(texts) > 1
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(texts))
    assert valid(texts[-1], schema)
