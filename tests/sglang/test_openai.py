"""The OpenAI API: response_format, tools, streaming, images, and the clients that people use it with."""

import base64
import io
import json
import re
from typing import Any, Literal

import jsonschema
import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

import instructor
import openai
import outlines
from PIL import Image
from pydantic import BaseModel, Field
from sglang_client import TIMEOUT, Client, schema_format

COLOUR = {"type": "object", "properties": {"colour": {"enum": ["red", "green"]}}, "required": ["colour"]}
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "strict": True,
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Bern", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}


class Colour(BaseModel):
    colour: Literal["red", "green"]
    share: int = Field(ge=0, le=100)


@pytest.fixture(scope="module")
def client(tiny: Client) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{tiny.url}/v1", api_key="none", timeout=TIMEOUT, max_retries=0)


def picture(colour: str) -> dict[str, Any]:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), colour).save(buffer, "PNG")
    url = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def test_response_format_json_schema(tiny: Client) -> None:
    answer = tiny.chat(response_format=schema_format(COLOUR))
    jsonschema.validate(json.loads(answer["choices"][0]["message"]["content"]), COLOUR)
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] > 0


def test_response_format_json_object(tiny: Client) -> None:
    assert isinstance(json.loads(tiny.chat_text(response_format={"type": "json_object"})), dict)


def test_response_format_structural_tag(tiny: Client) -> None:
    tag = {
        "type": "structural_tag",
        "format": {
            "type": "tag",
            "begin": "<a>",
            "content": {"type": "json_schema", "json_schema": COLOUR},
            "end": "</a>",
        },
    }
    text = tiny.chat_text(response_format=tag)
    inner = re.fullmatch("<a>(.*)</a>", text, re.DOTALL)
    assert inner, text
    jsonschema.validate(json.loads(inner[1]), COLOUR)


def test_regex_and_ebnf_are_extra_fields(tiny: Client) -> None:
    assert tiny.chat_text(regex="yes|no") in ("yes", "no")
    assert tiny.chat_text(ebnf='root ::= "yes" | "no"') in ("yes", "no")


def test_an_image_and_a_text_are_answered_under_a_schema(tiny: Client) -> None:
    content = [picture("red"), {"type": "text", "text": "Which colour?"}]
    bare = tiny.chat("Which colour?", response_format=schema_format(COLOUR))
    seen = tiny.chat(content, response_format=schema_format(COLOUR))
    jsonschema.validate(json.loads(seen["choices"][0]["message"]["content"]), COLOUR)
    assert seen["usage"]["prompt_tokens"] > bare["usage"]["prompt_tokens"]


def test_a_stream_joins_to_the_whole_answer(client: openai.OpenAI) -> None:
    schema = {"type": "array", "items": {"type": "integer", "minimum": 100}, "minItems": 8, "maxItems": 12}
    stream = client.chat.completions.create(
        model="served",
        messages=[{"role": "user", "content": "Count."}],
        response_format=schema_format(schema),
        max_tokens=96,
        stream=True,
    )
    pieces, reasons = [], []
    for chunk in stream:
        pieces.append(chunk.choices[0].delta.content or "")
        reasons.append(chunk.choices[0].finish_reason)
    jsonschema.validate(json.loads("".join(pieces)), schema)
    assert len([piece for piece in pieces if piece]) > 1
    assert [reason for reason in reasons if reason] == ["stop"]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}], ids=str)
def test_a_required_tool_is_called_with_valid_arguments(nano: Client, choice: Any) -> None:
    message = nano.chat("The weather in Oslo?", tools=[WEATHER], tool_choice=choice)["choices"][0]["message"]
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "weather"
    jsonschema.validate(json.loads(call["function"]["arguments"]), WEATHER["function"]["parameters"])


def test_a_tool_call_can_be_streamed(nano: Client) -> None:
    stream = openai.OpenAI(base_url=f"{nano.url}/v1", api_key="none", timeout=TIMEOUT).chat.completions.create(
        model="served",
        messages=[{"role": "user", "content": "The weather in Oslo?"}],
        tools=[WEATHER],
        tool_choice="required",
        max_tokens=64,
        stream=True,
    )
    calls = [call for chunk in stream for call in chunk.choices[0].delta.tool_calls or []]
    assert [call.function.name for call in calls if call.function and call.function.name] == ["weather"]
    arguments = "".join(call.function.arguments or "" for call in calls if call.function)
    jsonschema.validate(json.loads(arguments), WEATHER["function"]["parameters"])


def test_an_optional_tool_leaves_a_free_answer_possible(nano: Client) -> None:
    choice = nano.chat("Hello.", tools=[WEATHER], tool_choice="auto")["choices"][0]
    for call in choice["message"].get("tool_calls") or []:
        jsonschema.validate(json.loads(call["function"]["arguments"]), WEATHER["function"]["parameters"])
    assert choice["finish_reason"] in ("stop", "length", "tool_calls")


def test_seed_and_settings_through_the_sdk(client: openai.OpenAI) -> None:
    def text(seed: int) -> str | None:
        answer = client.chat.completions.create(
            model="served",
            messages=[{"role": "user", "content": "Say something."}],
            max_tokens=32,
            seed=seed,
            extra_body={"custom_params": {"max_denoising_steps": 3}},
        )
        return answer.choices[0].message.content

    assert text(1) == text(1)
    assert len({text(seed) for seed in range(4)}) > 1


def test_several_answers_to_one_request(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="served",
        messages=[{"role": "user", "content": "A colour?"}],
        response_format=schema_format(COLOUR),
        max_tokens=64,
        n=3,
    )
    assert len(answer.choices) == 3
    for choice in answer.choices:
        jsonschema.validate(json.loads(choice.message.content or ""), COLOUR)


def test_logprobs_through_the_sdk(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="served",
        messages=[{"role": "user", "content": "Yes or no?"}],
        max_tokens=16,
        logprobs=True,
        extra_body={"regex": "yes|no"},
    )
    (choice,) = answer.choices
    assert choice.logprobs is not None
    assert "".join(token.token for token in choice.logprobs.content or []).startswith(choice.message.content or "?")
    assert all(token.logprob <= 1e-3 for token in choice.logprobs.content or [])


def test_the_sdk_raises_bad_request_for_a_refused_schema(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="uniqueItems"):
        client.chat.completions.create(
            model="served",
            messages=[{"role": "user", "content": "Go."}],
            response_format=schema_format({"type": "array", "uniqueItems": True}),
        )


def test_the_sdk_parses_pydantic_models(client: openai.OpenAI) -> None:
    answer = client.chat.completions.parse(
        model="served", messages=[{"role": "user", "content": "A colour?"}], response_format=Colour, max_tokens=64
    )
    assert isinstance(answer.choices[0].message.parsed, Colour)


@pytest.mark.parametrize("mode", [instructor.Mode.JSON_SCHEMA, instructor.Mode.TOOLS], ids=lambda mode: mode.value)
def test_instructor_returns_pydantic_models(nano: Client, mode: instructor.Mode) -> None:
    """By response_format, and by the tool call that is instructor's default."""
    client = openai.OpenAI(base_url=f"{nano.url}/v1", api_key="none", timeout=TIMEOUT, max_retries=0)
    colour = instructor.from_openai(client, mode=mode).chat.completions.create(
        model="served",
        messages=[{"role": "user", "content": "A colour?"}],
        response_model=Colour,
        max_tokens=64,
        max_retries=0,
    )
    assert isinstance(colour, Colour)


def test_outlines_constrains_by_model_choice_and_regex(client: openai.OpenAI) -> None:
    model = outlines.from_sglang(client, "served")
    assert Colour.model_validate_json(model("A colour?", Colour, max_tokens=64))
    assert model("Yes or no?", Literal["yes", "no"], max_tokens=16) in ("yes", "no")
    week = outlines.regex("20[0-9]{2}-W[0-4][0-9]")
    assert re.fullmatch(week.pattern, model("A week?", week, max_tokens=32))
