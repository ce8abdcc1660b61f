import itertools

import numpy as np
import pytest
import torch
from brute_force import END, PAD, Enumerated, valid_canvases
from scipy.stats import chisquare

from dg_sglang.errors import BudgetError, GrammarError
from dg_sglang.grammar import (
    CanvasPosterior,
    Choice,
    Ebnf,
    JsonSchema,
    Regex,
    StructuralTag,
    Template,
    TokenAutomaton,
    Verbatim,
    VerbatimSource,
    Vocabulary,
    compile_constraint,
)
from dg_sglang.kernels import cpu

STRINGS = Vocabulary([None, None, b'"', b"a", b"b", b'"a', b'b"', b"ab"])
NUMBERS = Vocabulary([None, None, b"[", b"1", b"0", b",", b"]", b"1,"])
OBJECTS = Vocabulary([None, None, b'{"a":', b"1", b'"x"', b"}", b"null", b" "])
UTF8 = Vocabulary([None, None, b"\xc3", b"\xa4", b"a", b"\xc3\xa4", "ää".encode(), b'"'])
CASES = {
    "string": (JsonSchema({"type": "string", "minLength": 1}), STRINGS),
    "bounded string": (JsonSchema({"type": "string", "maxLength": 2}), STRINGS),
    "array": (
        JsonSchema({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, "compact"),
        NUMBERS,
    ),
    "nullable object": (
        JsonSchema({"type": "object", "properties": {"a": {"anyOf": [{"enum": [1, "x"]}, {"type": "null"}]}}}),
        OBJECTS,
    ),
    "regex": (Regex("(ab|a)+b?"), STRINGS),
    "choice": (Choice(["ab", "abb", "b"]), STRINGS),
    "utf-8": (JsonSchema({"type": "string", "minLength": 1, "maxLength": 2}), UTF8),
    "verbatim": (
        JsonSchema({"type": "string", "x-verbatim": {"source": "d"}}, sources={"d": VerbatimSource("ab a  b")}),
        STRINGS,
    ),
    "piece": (Verbatim("ab a  b", pattern="a.*", words=False), STRINGS),
    "grammar": (Ebnf('root ::= word ("a" word)? | "b" root\nword ::= "b" | "ab"'), STRINGS),
    "template": (Template("a{body}b{tail}", body=Regex("[ab]{0,2}"), tail=Choice(["", '"'])), STRINGS),
    "structural tag": (
        StructuralTag(
            {
                "format": {
                    "type": "triggered_tags",
                    "triggers": ['"'],
                    "tags": [
                        {"type": "tag", "begin": '"a', "content": {"type": "const_string", "value": "b"}, "end": "a"}
                    ],
                }
            }
        ),
        STRINGS,
    ),
}
LENGTH = 5


def automaton_of(case):
    constraint, vocabulary = CASES[case]
    grammar = compile_constraint(constraint)
    return grammar, vocabulary, TokenAutomaton(grammar, vocabulary, end_token_ids=[END], pad_token_id=PAD)


def logits_of(seed, spread=3.0, width=8):
    return torch.randn(LENGTH, width, generator=torch.Generator().manual_seed(seed)) * spread


@pytest.mark.parametrize("tail", ["scored", "unscored"])
@pytest.mark.parametrize("remaining", [0, 1, -1])
@pytest.mark.parametrize("case", CASES)
def test_agrees_with_enumeration(case, remaining, tail):
    grammar, vocabulary, automaton = automaton_of(case)
    canvases = valid_canvases(grammar, vocabulary, LENGTH, remaining)
    for seed in range(3):
        logits = logits_of(seed)
        exact = Enumerated(canvases, logits, tail)
        posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=remaining, tail=tail)
        posterior.update(logits)
        assert posterior.log_z == pytest.approx(exact.log_z, abs=1e-6)
        marginals = posterior.tilted_logits().double().softmax(-1).numpy()
        np.testing.assert_allclose(marginals, exact.marginals, atol=1e-6)
        np.testing.assert_allclose(posterior.entropy().numpy(), exact.entropy, atol=1e-6)
        assert exact.scores[tuple(posterior.mode().tolist())] == pytest.approx(exact.best_score, abs=1e-6)


@pytest.mark.parametrize("tail", ["scored", "unscored"])
@pytest.mark.parametrize("case", ["string", "array", "nullable object"])
def test_draws_have_the_exact_joint_law(case, tail):
    grammar, vocabulary, automaton = automaton_of(case)
    logits = logits_of(7, spread=1.0)
    exact = Enumerated(valid_canvases(grammar, vocabulary, LENGTH, 0), logits, tail)
    posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0, tail=tail)
    posterior.update(logits)
    generator = torch.Generator().manual_seed(0)
    index = {tuple(tokens): i for i, tokens in enumerate(exact.canvases.tolist())}
    counts = np.zeros(len(index))
    draws = 20_000
    for _ in range(draws):
        counts[index[tuple(posterior.draw(generator).tolist())]] += 1
    often = exact.probability * draws >= 5
    observed = np.append(counts[often], counts[~often].sum())
    expected = np.append(exact.probability[often], exact.probability[~often].sum()) * draws
    if expected[-1] < 5:
        observed, expected = observed[:-1], expected[:-1] * observed[:-1].sum() / expected[:-1].sum()
    assert chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.parametrize("case", CASES)
def test_two_canvases_carry_the_state_and_close_in_budget(case):
    grammar, vocabulary, automaton = automaton_of(case)
    generator = torch.Generator().manual_seed(1)
    for seed in range(20):
        text, state = b"", automaton.start
        for remaining in (3, 0):
            posterior = CanvasPosterior(automaton, 3, start=state, remaining=remaining)
            posterior.update(logits_of(seed)[:3])
            tokens = posterior.draw(generator) if seed % 2 else posterior.mode()
            state = posterior.end_state(tokens)
            body = itertools.takewhile(lambda t: t not in (END, PAD), tokens.tolist())
            text += b"".join(vocabulary.tokens[t] for t in body)
            if automaton.is_finished(state):
                break
        assert grammar.accepts(text.decode())
        assert automaton.is_accepting(state)


def test_the_second_canvas_is_exact_too():
    grammar, vocabulary, automaton = automaton_of("array")
    prefix = [2, 3]  # [1
    state = automaton.advance(automaton.start, prefix)
    exact = Enumerated(valid_canvases(grammar, vocabulary, LENGTH, 0, prefix=b"[1"), logits_of(3), "unscored")
    posterior = CanvasPosterior(automaton, LENGTH, start=state, remaining=0)
    posterior.update(logits_of(3))
    assert posterior.log_z == pytest.approx(exact.log_z, abs=1e-6)


def test_fixed_positions():
    grammar, vocabulary, automaton = automaton_of("string")
    fixed = {2: 3}
    logits = logits_of(5)
    canvases = [c for c in valid_canvases(grammar, vocabulary, LENGTH, 0) if c[0][2] == 3]
    held = logits.clone()
    held[2] = -torch.inf
    held[2, 3] = 0.0
    posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0, tail="scored", fixed=fixed)
    posterior.update(logits)
    exact = Enumerated(canvases, held.nan_to_num(neginf=-1e9), "scored")
    assert posterior.log_z == pytest.approx(exact.log_z, abs=1e-6)
    assert posterior.mode()[2] == 3
    impossible = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0, fixed={0: 3})
    impossible.update(logits)
    with pytest.raises(GrammarError, match="fixed canvas positions"):
        _ = impossible.log_z


def test_budget():
    _, _, automaton = automaton_of("array")
    with pytest.raises(BudgetError, match="needs 3 more tokens, but max_new_tokens leaves 2"):
        CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=-3)
    with pytest.raises(BudgetError):
        CanvasPosterior(automaton, 2, start=automaton.start, remaining=0)
    CanvasPosterior(automaton, 2, start=automaton.start, remaining=1)


def test_shape_is_checked():
    _, _, automaton = automaton_of("array")
    posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0)
    with pytest.raises(GrammarError, match="shape"):
        posterior.update(torch.zeros(LENGTH, 9))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("temperature", [0.05, 0.4, 2.0])
def test_no_underflow_and_no_nan(temperature, dtype):
    """Logits over ±80: the wanted path may have a probability of e^-10000."""
    _grammar, _vocabulary, automaton = automaton_of("string")
    length = 60
    generator = torch.Generator().manual_seed(2)
    for adversarial in (False, True):
        logits = (torch.rand(length, 8, generator=generator) * 160 - 80).to(dtype) / temperature
        if adversarial:  # the end token last of all, until the budget forces it
            logits[:, END] = -80 / temperature
            logits[:, [3, 4]] = 80 / temperature
        posterior = CanvasPosterior(automaton, length, start=automaton.start, remaining=0)
        posterior.update(logits)
        assert np.isfinite(posterior.log_z)
        assert torch.isfinite(posterior.tilted_logits()).all()
        assert torch.isfinite(posterior.entropy()).all()
        for tokens in (posterior.mode(), posterior.draw(generator)):
            assert automaton.is_accepting(posterior.end_state(tokens))


def test_log_space_and_scaled_messages_agree(monkeypatch):
    _, _, automaton = automaton_of("string")
    results = []
    for linear_range in (640.0, -1e9):
        monkeypatch.setattr(cpu, "LINEAR_RANGE", linear_range)
        posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=1)
        posterior.update(logits_of(4))
        draw = posterior.draw(torch.Generator().manual_seed(5))
        results.append((posterior.log_z, posterior.entropy(), posterior.tilted_logits(), draw))
    assert results[0][0] == pytest.approx(results[1][0], abs=1e-12)
    for left, right in zip(results[0][1:], results[1][1:], strict=True):
        torch.testing.assert_close(left, right)


def test_draws_repeat_with_a_seed():
    _, _, automaton = automaton_of("string")
    posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0)
    posterior.update(logits_of(6))
    first, second = (posterior.draw(torch.Generator().manual_seed(9)) for _ in range(2))
    assert torch.equal(first, second)
