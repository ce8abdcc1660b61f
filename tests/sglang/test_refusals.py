"""What can't be served is refused by name with HTTP 400, at once, and leaves the server as it was."""

import json
from typing import Any

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from sglang_client import Client, chat_body, refused, schema_format

BAD_SCHEMAS = {
    "an unsupported keyword": (
        {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}},
        ("'uniqueItems'", "/properties/a"),
    ),
    "a malformed schema": ({"type": "object", "properties": {"a": {"type": "text"}}}, ("/properties/a",)),
    "an empty language": ({"enum": []}, ()),
    "bounds that contradict": ({"type": "integer", "minimum": 5, "maximum": 4}, ()),
}


@pytest.mark.parametrize(("schema", "words"), BAD_SCHEMAS.values(), ids=BAD_SCHEMAS.keys())
def test_a_schema_that_cannot_be_enforced_is_refused_with_keyword_and_pointer(
    tiny: Client, schema: Any, words: tuple[str, ...]
) -> None:
    for message in (
        tiny.refusal(json_schema=json.dumps(schema), max_new_tokens=64),
        tiny.chat_refusal(response_format=schema_format(schema)),
    ):
        assert all(word in message for word in words), message


@pytest.mark.parametrize(
    "parameters",
    [
        {"json_schema": "{"},
        {"regex": "("},
        {"regex": "(?=a)b"},
        {"ebnf": "root ::= missing"},
        {"ebnf": "root ::= ("},
        {"structural_tag": "{}"},
    ],
    ids=str,
)
def test_a_malformed_constraint_is_refused(tiny: Client, parameters: dict[str, str]) -> None:
    assert tiny.refusal(max_new_tokens=32, **parameters)


def test_a_refused_schema_is_refused_again(tiny: Client) -> None:
    """From the grammar cache, too."""
    schema = json.dumps({"type": "array", "uniqueItems": True})
    first, second = (tiny.refusal(json_schema=schema, max_new_tokens=32) for _ in range(2))
    assert first == second
    assert "uniqueItems" in first


def test_a_budget_that_fits_no_answer_is_refused(tiny: Client) -> None:
    assert "max_new_tokens" in tiny.refusal(regex="a{40}", max_new_tokens=8)


def test_a_stream_is_refused_too(tiny: Client) -> None:
    schema = {"type": "array", "uniqueItems": True}
    response = tiny.post("/v1/chat/completions", chat_body(response_format=schema_format(schema), stream=True))
    assert "uniqueItems" in (response.text if response.ok else refused(response))
    body = {
        "text": "Go.",
        "sampling_params": {"json_schema": json.dumps(schema), "max_new_tokens": 32},
        "stream": True,
    }
    assert "uniqueItems" in tiny.post("/generate", body).text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min_p", 0.1),
        ("frequency_penalty", 0.5),
        ("presence_penalty", 0.5),
        ("repetition_penalty", 1.1),
        ("min_new_tokens", 4),
        ("logit_bias", {"5": 1.0}),
    ],
)
def test_fields_that_diffusion_cannot_honour_are_refused_by_name(tiny: Client, name: str, value: Any) -> None:
    assert name in tiny.refusal(max_new_tokens=16, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("min_p", 0.1), ("frequency_penalty", 0.5), ("logit_bias", {"5": 1.0}), ("top_logprobs", 2)]
)
def test_so_are_those_of_the_openai_api(tiny: Client, name: str, value: Any) -> None:
    fields = {name: value} | ({"logprobs": True} if name == "top_logprobs" else {})
    assert name in tiny.chat_refusal(**fields)


@pytest.mark.parametrize(
    ("custom", "word"),
    [
        ({"entropy_bond": 0.1}, "entropy_bound"),
        ({"max_denoising_steps": 0}, "max_denoising_steps"),
        ({"policy": {"accept": "neither"}}, "policy.accept"),
        ({"fixed_tokens": {"0": 100_000}}, "fixed_tokens"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_by_name(tiny: Client, custom: dict[str, Any], word: str) -> None:
    assert word in tiny.refusal(max_new_tokens=16, custom_params=custom)


@pytest.mark.parametrize("custom", [[1], "max_denoising_steps", 5, True, {"max_denoising_steps": 10**30}], ids=str)
def test_what_nobody_thought_of_ends_its_own_request_only(tiny: Client, custom: Any) -> None:
    parameters = {"max_new_tokens": 8, "custom_params": custom}
    assert tiny.post("/generate", {"text": "Go.", "sampling_params": parameters}).status_code == 400
    assert tiny.generate(regex="yes|no", max_new_tokens=8)["text"] in ("yes", "no")


@pytest.mark.parametrize("ids", [[50, -1], [304], [2**40]], ids=str)
def test_token_ids_beyond_the_vocabulary_are_refused(tiny: Client, ids: list[int]) -> None:
    body = {"input_ids": ids, "sampling_params": {"max_new_tokens": 8}}
    assert "token ids go from 0 to 303" in refused(tiny.post("/generate", body))
    assert tiny.generate(regex="yes|no", max_new_tokens=8)["text"] in ("yes", "no")


def test_an_empty_prompt_is_refused(tiny: Client) -> None:
    assert "the prompt is empty" in refused(
        tiny.post("/generate", {"text": "", "sampling_params": {"max_new_tokens": 8}})
    )


def test_a_prompt_longer_than_the_context_is_refused(tiny: Client) -> None:
    response = tiny.post("/generate", {"text": "a " * 3000, "sampling_params": {"max_new_tokens": 16}})
    assert "context" in refused(response)


def test_an_unreadable_image_is_refused(tiny: Client) -> None:
    content = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,bm90IGEgcGljdHVyZQ=="}},
        {"type": "text", "text": "What is it?"},
    ]
    response = tiny.post("/v1/chat/completions", chat_body(content))
    assert response.status_code in (400, 500)
    assert tiny.generate(regex="yes|no", max_new_tokens=8)["text"] in ("yes", "no")


def test_the_server_answers_after_all_of_it(tiny: Client) -> None:
    assert tiny.generate(regex="yes|no", max_new_tokens=8)["text"] in ("yes", "no")
