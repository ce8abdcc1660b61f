import re

import jsonschema
import pytest
import torch

from dg_sglang import Engine, GenerationRequest
from dg_sglang.errors import BudgetError, ConfigError
from dg_sglang.grammar import Choice, Regex

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, "b": {"enum": ["x", None]}},
    "required": ["a", "b"],
}


def test_without_a_constraint_it_is_greedy_left_to_right_generation(engine: Engine) -> None:
    ids = engine.tokenizer("the quick", add_special_tokens=True)["input_ids"]
    result = engine.generate(input_ids=ids, mode="causal", max_new_tokens=12)
    module = engine._model.module
    sequence = list(ids)
    for token in result.token_ids:
        with torch.inference_mode():
            hidden = module.model.encoder(input_ids=torch.tensor([sequence])).last_hidden_state[:, -1]
            assert int(module.lm_head(hidden)[0].argmax()) == token
        sequence.append(token)
    assert result.finish_reason in ("stop", "length")
    assert (result.usage.denoising_steps, result.usage.tokens_per_forward) == (len(result.token_ids), 1.0)


@pytest.mark.parametrize("budget", [0, 1, 5, 60])
def test_answers_are_valid_and_close_in_budget(engine: Engine, budget: int) -> None:
    automaton = engine.compile(SCHEMA)
    limit = automaton.min_tokens(automaton.start) + budget
    result = engine.generate("go", constraint=SCHEMA, mode="causal", max_new_tokens=limit)
    jsonschema.validate(result.parsed, SCHEMA)
    assert result.finish_reason == "stop"
    assert len(result.token_ids) == len(result.token_confidence) <= limit
    assert all(0 < p <= 1 for p in result.token_confidence)


def test_it_is_the_most_probable_token_that_is_allowed(engine: Engine) -> None:
    result = engine.generate("go", constraint=Regex("[xyz]{8}"), mode="causal", max_new_tokens=20)
    assert re.fullmatch("[xyz]{8}", result.text)
    module, automaton = engine._model.module, engine.compile(Regex("[xyz]{8}"))
    sequence, state = engine._chat.encode(GenerationRequest("go"), engine._model.vocab_size).ids, automaton.start
    for index, token in enumerate(result.token_ids):
        with torch.inference_mode():
            hidden = module.model.encoder(input_ids=torch.tensor([list(sequence)])).last_hidden_state[:, -1]
            logits = module.lm_head(hidden)[0]
        allowed = torch.from_numpy(automaton.allowed(state, 20 - index))
        assert int(logits.where(allowed, -torch.inf).argmax()) == token
        state, sequence = automaton.advance(state, [token]), [*sequence, token]


def test_a_stream_gives_a_draft_for_every_token(engine: Engine) -> None:
    drafts = list(engine.stream("go", constraint=Regex("[xyz]{5}"), mode="causal"))
    lengths = [len(draft.token_ids) for draft in drafts]
    assert lengths == list(range(1, len(drafts) + 1))
    assert drafts[-1].result is not None
    assert drafts[-1].text == drafts[-1].result.text


def test_both_modes_in_one_batch(engine: Engine) -> None:
    requests = [
        {"prompt": "one", "seed": 1, "constraint": Choice(["yes", "no"])},
        {"prompt": "two", "seed": 2, "constraint": Choice(["yes", "no"]), "mode": "causal"},
        {"prompt": "three", "seed": 3, "max_new_tokens": 9, "mode": "causal"},
        {"prompt": "four", "seed": 4, "max_new_tokens": 20},
    ]
    together = engine.generate_batch(requests)
    assert [r.token_ids for r in together] == [engine.generate(**request).token_ids for request in requests]


def test_what_needs_a_canvas_is_refused(engine: Engine) -> None:
    with pytest.raises(ConfigError, match="fixed_tokens"):
        engine.generate("a", mode="causal", fixed_tokens={0: 5})
    with pytest.raises(ConfigError, match="thinking before a constraint"):
        engine.generate("a", mode="causal", thinking=True, constraint=Choice(["x"]))
    with pytest.raises(ConfigError, match="'diffusion', 'causal'"):
        engine.generate("a", mode="ar")
    with pytest.raises(BudgetError):
        engine.generate("a", mode="causal", constraint=Regex("x{60}"), max_new_tokens=3)
