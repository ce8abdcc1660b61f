import json
from typing import Any

import jsonschema
import pytest
from tiny_checkpoint import SPECIAL_TOKENS

from dg_sglang import Engine
from dg_sglang.errors import BudgetError, CheckpointError
from dg_sglang.grammar import Choice
from dg_sglang.thinking import Thinking

OPEN, CLOSE, END = (SPECIAL_TOKENS.index(token) for token in ("<|channel>", "<channel|>", "<turn|>"))
ENDS = frozenset([END])
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def take(tokens: list[int], room: int = 99, **options: bool) -> tuple[list[int], bool]:
    thinking = Thinking(OPEN, CLOSE, **{"begun": False} | options)
    return thinking.take(tokens, room, ENDS), thinking.over


@pytest.mark.parametrize(
    ("tokens", "options", "expected"),
    [
        ([50, 51, 52], {}, ([], True)),  # the model doesn't think
        ([50, 51, 52], {"marked": True}, ([CLOSE], True)),
        ([OPEN, 51, CLOSE], {"marked": True}, ([OPEN, 51, CLOSE], True)),
        ([OPEN, 51, 52], {}, ([OPEN, 51, 52], False)),
        ([50, 51, 52], {"begun": True}, ([50, 51, 52], False)),
        ([OPEN, 51, CLOSE, 52], {}, ([OPEN, 51, CLOSE], True)),
        ([OPEN, 51, END, 0], {}, ([OPEN, 51, CLOSE], True)),
        ([OPEN, 51, 52, 53], {"room": 3}, ([OPEN, 51, CLOSE], True)),
        ([OPEN, 51, 52, CLOSE], {"room": 4}, ([OPEN, 51, 52, CLOSE], True)),
        ([OPEN, 51, 52, 53], {"room": 4}, ([OPEN, 51, 52, CLOSE], True)),
        ([OPEN, 51, 52, 53], {"room": 5}, ([OPEN, 51, 52, 53], False)),
        ([50, 51], {"room": 1, "begun": True}, ([CLOSE], True)),
    ],
)
def test_where_thinking_ends(tokens: list[int], options: dict[str, Any], expected: tuple[list[int], bool]) -> None:
    assert take(tokens, **options) == expected


def test_after_the_first_canvas_no_opening_token_is_needed() -> None:
    thinking = Thinking(OPEN, CLOSE, begun=False)
    assert thinking.take([OPEN, 51], 99, ENDS) == [OPEN, 51]
    assert thinking.take([52, 53], 97, ENDS) == [52, 53]
    assert thinking.take([CLOSE, 53], 95, ENDS) == [CLOSE] and thinking.over


@pytest.mark.parametrize("seed", range(2))
def test_the_constraint_begins_where_the_channel_closes(engine: Engine, seed: int) -> None:
    """Also in the middle of a canvas, whatever the model had put after it."""
    result = engine.generate(
        "think", constraint=SCHEMA, thinking=True, seed=seed, fixed_tokens={0: OPEN, 9: CLOSE}, max_new_tokens=48
    )
    closing = result.token_ids.index(CLOSE)
    assert result.token_ids[0] == OPEN and closing <= 9
    answer = [token for token in result.token_ids[closing + 1 :] if token != END and token != 1]
    assert engine.tokenizer.decode(answer) == result.text
    jsonschema.validate(json.loads(result.text), SCHEMA)
    assert result.parsed == json.loads(result.text) and result.finish_reason == "stop"
    assert len(result.token_ids) == len(result.token_confidence)


def test_a_model_that_does_not_think_answers_at_once(engine: Engine) -> None:
    result = engine.generate("think", constraint=Choice(["yes", "no"]), thinking=True, seed=0, fixed_tokens={0: 60})
    assert result.text in ("yes", "no") and result.thinking == ""
    assert result.token_ids[0] not in (OPEN, 60)
    assert result.usage.canvases == 2  # the free canvas was dropped


@pytest.mark.parametrize("budget", [20, 70])
def test_thinking_without_end_leaves_room_for_the_answer(engine: Engine, budget: int) -> None:
    arguments = {"constraint": SCHEMA, "thinking": True, "max_new_tokens": budget, "fixed_tokens": {0: OPEN}}
    request = {"prompt": "think", **arguments}
    results = engine.generate_batch([{**request, "seed": seed} for seed in range(3)])
    for seed, result in enumerate(results):
        assert len(result.token_ids) <= budget and result.finish_reason == "stop"
        jsonschema.validate(result.parsed, SCHEMA)
        assert CLOSE in result.token_ids
        assert engine.generate(**request, seed=seed).token_ids == result.token_ids


def test_drafts_show_the_answer_only(engine: Engine) -> None:
    fixed = {0: OPEN, 5: CLOSE}
    drafts = list(engine.stream("think", constraint=Choice(["yes"]), thinking=True, seed=0, fixed_tokens=fixed))
    assert drafts[-1].text == "yes" and drafts[-1].result is not None
    assert drafts[-1].canvas_index == 1


def test_the_budget_counts_the_channel(engine: Engine) -> None:
    shortest = engine.compile(SCHEMA).min_tokens(engine.compile(SCHEMA).start) + 1
    arguments = {"constraint": SCHEMA, "thinking": True, "fixed_tokens": {0: OPEN}, "seed": 0}
    assert engine.generate("think", **arguments, max_new_tokens=shortest + 2).finish_reason == "stop"
    with pytest.raises(BudgetError, match="thinking"):
        engine.generate("think", **arguments, max_new_tokens=shortest + 1)


def test_a_checkpoint_without_the_channel(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine._chat, "_open", None)
    with pytest.raises(CheckpointError, match="no thinking channel"):
        engine.generate("think", thinking=True)
