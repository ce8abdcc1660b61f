"""SGLangEngine gives what Engine gives, through the server."""

import dataclasses
import json
import threading
from pathlib import Path

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from made_documents import document_of
from PIL import Image
from pydantic import BaseModel
from sglang_client import Client

from dg_sglang import Engine, GenerationConfig
from dg_sglang.cli import main
from dg_sglang.errors import BudgetError, CheckpointError, ConfigError, ServerError, UnsupportedSchemaError
from dg_sglang.grammar import Choice, JsonSchema, Regex
from dg_sglang.pipelines import extract
from dg_sglang.remote import SGLangEngine

INVOICE = Path(__file__).resolve().parents[2] / "examples" / "invoice.pdf"
DOCUMENT = document_of(["Rechnung 4711", "", "vom 03.05.2024", "", "2 Stk.     1.234,50 €"])


class Bill(BaseModel):
    number: str | None
    total: float | None


@pytest.fixture(scope="module")
def local(tiny_path: Path) -> Engine:
    return Engine.load(tiny_path, device="cpu")


def test_it_knows_what_the_engine_knows(tiny_engine: SGLangEngine, local: Engine) -> None:
    assert tiny_engine.canvas_length == local.canvas_length
    assert tiny_engine.max_context == local.max_context
    assert tiny_engine.config == local.config
    assert tiny_engine.count_tokens("nullify") == local.count_tokens("nullify")
    assert tiny_engine.vocabulary.tokens == local.vocabulary.tokens


@pytest.mark.parametrize(
    ("constraint", "settings"),
    [
        (None, {"max_new_tokens": 40}),
        (Choice(["yes", "no (maybe)"]), {}),
        (Regex("[a-c]{3}-[0-9]{2}"), {"max_denoising_steps": 4}),
        (JsonSchema({"type": "array", "items": {"type": "integer"}, "maxItems": 3}, whitespace="compact"), {}),
        (
            JsonSchema(
                {"type": "object", "properties": {"a": {"enum": [1]}}, "additionalProperties": {"type": "null"}},
                open=True,
            ),
            {"t_max": 1.5},
        ),
        (Bill, {"policy": {"accept": "tilted"}}),
        (Bill, {"mode": "causal"}),
    ],
    ids=["free", "choice", "regex", "compact", "open", "model", "causal"],
)
def test_server_and_process_give_the_same_tokens(
    tiny_engine: SGLangEngine, local: Engine, constraint: object, settings: dict[str, object]
) -> None:
    for seed in range(3):
        there, here = (
            engine.generate("Tell me.", constraint=constraint, seed=seed, **settings) for engine in (tiny_engine, local)
        )
        assert there.token_ids == here.token_ids
        assert there.token_confidence == pytest.approx(here.token_confidence, abs=1e-3)
        assert dataclasses.replace(there.usage, seconds=0) == dataclasses.replace(here.usage, seconds=0)
        for name in ("text", "thinking", "parsed", "finish_reason", "seed"):
            assert getattr(there, name) == getattr(here, name)


def test_so_do_messages_token_ids_configs_and_fixed_tokens(tiny_engine: SGLangEngine, local: Engine) -> None:
    config = GenerationConfig(max_new_tokens=24, max_denoising_steps=5, entropy_bound=0.3)
    messages = [{"role": "user", "content": "<turn|> is text here"}]
    for request in (
        {"messages": messages, "config": config, "seed": 3},
        {"input_ids": [2, 40, 41, 42], "seed": 4, "fixed_tokens": {0: 50, 17: 60}, "max_new_tokens": 20},
    ):
        assert tiny_engine.generate(**request).token_ids == local.generate(**request).token_ids


def test_an_image_beside_text_gives_the_same_prompt(tiny_engine: SGLangEngine, local: Engine) -> None:
    request = {"prompt": "A colour?", "images": [Image.new("RGB", (64, 48), "red")], "seed": 1, "max_new_tokens": 16}
    there, here = tiny_engine.generate(**request), local.generate(**request)
    assert there.usage.prompt_tokens == here.usage.prompt_tokens
    assert there.token_ids == here.token_ids


def test_thinking_comes_before_a_constrained_answer(tiny_engine: SGLangEngine) -> None:
    """The server marks a missing thought, for SGLang's parser, so that its tokens may differ from the engine's."""
    for seed in range(3):
        answer = tiny_engine.generate("Think.", thinking=True, constraint=Choice(["yes", "no"]), seed=seed)
        assert answer.text in ("yes", "no")
        assert answer.finish_reason == "stop"


def test_a_batch_keeps_its_order(tiny_engine: SGLangEngine) -> None:
    texts = [f"answer {number}" for number in range(12)]
    results = tiny_engine.generate_batch([{"prompt": "Which?", "constraint": Choice([text])} for text in texts])
    assert [result.text for result in results] == texts


def test_a_stream_ends_with_the_result(tiny_engine: SGLangEngine) -> None:
    schema = JsonSchema({"type": "array", "items": {"type": "integer", "minimum": 100}, "minItems": 8, "maxItems": 12})
    drafts = list(tiny_engine.stream("Count.", constraint=schema, max_new_tokens=96, seed=1))
    assert len(drafts) > 1
    assert [draft.canvas_index for draft in drafts] == list(range(len(drafts)))
    assert all(draft.result is None for draft in drafts[:-1])
    result = drafts[-1].result
    assert result is not None
    assert result.token_ids == tiny_engine.generate("Count.", constraint=schema, max_new_tokens=96, seed=1).token_ids


def test_refusals_have_the_class_that_the_engine_raises(tiny_engine: SGLangEngine) -> None:
    with pytest.raises(UnsupportedSchemaError) as caught:
        tiny_engine.generate("Go.", constraint={"type": "object", "properties": {"a": {"uniqueItems": True}}})
    assert caught.value.keyword == "uniqueItems"
    assert caught.value.pointer == "/properties/a"
    with pytest.raises(BudgetError):
        tiny_engine.generate("Go.", constraint=Regex("a{40}"), max_new_tokens=8)
    with pytest.raises(ConfigError, match="entropy_bound"):
        tiny_engine.generate("Go.", entropy_bond=1)


def test_threads_may_share_it(tiny_engine: SGLangEngine) -> None:
    texts: list[str] = []
    threads = [
        threading.Thread(
            target=lambda: texts.append(tiny_engine.generate("Go.", constraint=Choice(["yes", "no"])).text)
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 6
    assert set(texts) <= {"yes", "no"}


def test_extract_takes_it_as_an_engine(nano_engine: SGLangEngine) -> None:
    there = extract(DOCUMENT, Bill, engine=nano_engine, seed=1)
    here = extract(DOCUMENT, Bill, engine=Engine.load("nano", device="cpu"), seed=1)
    assert there.value == here.value
    assert there.raw == here.raw
    assert there.evidence.keys() == here.evidence.keys()
    for name, evidence in there.evidence.items():
        # Server and engine add in different orders, so that a confidence may differ in its last digits.
        assert evidence.confidence == pytest.approx(here.evidence[name].confidence, abs=1e-4)
        assert evidence == dataclasses.replace(here.evidence[name], confidence=evidence.confidence)


def test_the_command_line_takes_a_url(nano: Client, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["generate", "Is water wet?", "--choice", "yes", "--choice", "no", "--url", nano.url])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip() in ("yes", "no")
    with pytest.raises(SystemExit) as stop:
        main(["extract", str(INVOICE), "--schema", "receipt", "--url", nano.url, "--seed", "1", "--json"])
    captured = capsys.readouterr()
    assert stop.value.code == 0, captured.err
    assert "value" in json.loads(captured.out)


def test_a_url_where_nobody_answers() -> None:
    with pytest.raises(ServerError, match="dg-sglang serve"):
        SGLangEngine("http://127.0.0.1:1")


def test_another_checkpoint_than_the_servers_can_be_named(tiny: Client) -> None:
    with pytest.raises(CheckpointError):
        SGLangEngine(tiny.url, model="/nowhere")
