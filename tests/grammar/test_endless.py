"""Languages with more states than a canvas can weigh: values that nest without bound, large counters."""

import itertools
import json
import threading

import jsonschema
import numpy as np
import pytest
import torch
from brute_force import END, PAD, Enumerated, valid_canvases

from dg_sglang.errors import BudgetError, EmptyLanguageError, GrammarError
from dg_sglang.grammar import (
    CanvasPosterior,
    Choice,
    Ebnf,
    JsonSchema,
    Regex,
    TokenAutomaton,
    Vocabulary,
    compile_constraint,
)
from dg_sglang.grammar import token_automaton as module
from dg_sglang.kernels.shortest import FAR

LISTS = Vocabulary([None, None, b"[", b"]", b",", b"1", b"[1", b"]]"])
BYTES = Vocabulary([None, None, *(bytes([byte]) for byte in range(256)), b'":', b'{"', b"}}", b"]]", b'","', b"true"])
NESTED = JsonSchema({"type": "array", "items": {"anyOf": [{"const": 1}, {"$ref": "#"}]}}, "compact")
TREE = {
    "type": "object",
    "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["v", "kids"],
    "additionalProperties": False,
}
LENGTH = 5


def automaton_of(constraint, vocabulary):
    return TokenAutomaton(compile_constraint(constraint), vocabulary, end_token_ids=[END], pad_token_id=PAD)


@pytest.fixture(scope="module")
def nested():
    return compile_constraint(NESTED), automaton_of(NESTED, LISTS)


def logits_of(seed):
    return torch.randn(LENGTH, len(LISTS), generator=torch.Generator().manual_seed(seed)) * 3


def text_of(vocabulary, tokens):
    return b"".join(vocabulary.tokens[t] for t in itertools.takewhile(lambda t: t not in (END, PAD), tokens))


@pytest.mark.parametrize("remaining", [0, 1, -1])
@pytest.mark.parametrize("tail", ["scored", "unscored"])
def test_where_a_canvas_reaches_few_states_all_are_weighed(nested, remaining, tail):
    grammar, automaton = nested
    assert automaton.whole is None
    canvases = valid_canvases(grammar, LISTS, LENGTH, remaining)
    for seed in range(3):
        exact = Enumerated(canvases, logits_of(seed), tail)
        posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=remaining, tail=tail)
        posterior.update(logits_of(seed))
        assert posterior.kept_mass == 1.0
        assert posterior.log_z == pytest.approx(exact.log_z, abs=1e-6)
        marginals = posterior.tilted_logits().double().softmax(-1).numpy()
        np.testing.assert_allclose(marginals, exact.marginals, atol=1e-6)
        assert exact.scores[tuple(posterior.mode().tolist())] == pytest.approx(exact.best_score, abs=1e-6)


def kept_canvases(automaton, posterior, canvases):
    """Those of `canvases` that lead through the kept states."""
    expansion = posterior._expansion
    bounds, states = expansion.positions
    kept = [set(expansion.states[states[a:b]].tolist()) for a, b in itertools.pairwise(bounds)]
    found = []
    for tokens, end in canvases:
        path = [automaton.start]
        for token in tokens:
            path.append(automaton.advance(path[-1], [token]))
        if all(state in some for state, some in zip(path, kept, strict=True)):
            found.append((tokens, end))
    return found


@pytest.mark.parametrize("remaining", [0, 1, -1])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_where_it_reaches_many_the_posterior_is_exact_over_the_kept_ones(nested, monkeypatch, width, remaining):
    monkeypatch.setattr(module, "MAX_COMPLETE", 3)
    grammar, _ = nested
    automaton = automaton_of(NESTED, LISTS)
    canvases = valid_canvases(grammar, LISTS, LENGTH, remaining)
    generator = torch.Generator().manual_seed(0)
    for seed in range(4):
        logits = logits_of(seed)
        posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=remaining, width=width)
        posterior.update(logits)
        exact = Enumerated(kept_canvases(automaton, posterior, canvases), logits, "unscored")
        assert posterior.log_z == pytest.approx(exact.log_z, abs=1e-6)
        marginals = posterior.tilted_logits().double().softmax(-1).numpy()
        np.testing.assert_allclose(marginals, exact.marginals, atol=1e-6)
        assert exact.scores[tuple(posterior.mode().tolist())] == pytest.approx(exact.best_score, abs=1e-6)
        assert all(tuple(posterior.draw(generator).tolist()) in exact.scores for _ in range(20))
        assert 0 < posterior.kept_mass <= 1


def test_more_states_keep_more_and_all_of_them_keep_all(nested, monkeypatch):
    _, automaton = nested
    everything = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0)
    everything.update(logits_of(1))
    monkeypatch.setattr(module, "MAX_COMPLETE", 3)
    automaton = automaton_of(NESTED, LISTS)
    log_z, kept = [], []
    for width in (1, 2, 4, 1000):
        posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0, width=width)
        posterior.update(logits_of(1))
        log_z.append(posterior.log_z)
        kept.append(posterior.kept_mass)
    assert log_z == sorted(log_z)
    assert kept[-1] == pytest.approx(1.0)
    assert log_z[-1] == pytest.approx(everything.log_z, abs=1e-9)


@pytest.mark.parametrize("spread", [1.0, 80.0])
@pytest.mark.parametrize("schema", [TREE, {}])
def test_answers_are_valid_and_close_in_budget_over_several_canvases(schema, spread):
    automaton = automaton_of(JsonSchema(schema, "compact"), BYTES)
    shortest = automaton.min_tokens(automaton.start)
    generator = torch.Generator().manual_seed(3)
    for budget in (shortest, shortest + 1, 24, 31):
        state, tokens, done = automaton.start, [], False
        while not done:
            remaining = budget - len(tokens) - 8
            posterior = CanvasPosterior(automaton, 8, start=state, remaining=remaining, width=16)
            posterior.update(torch.randn(8, len(BYTES), generator=generator) * spread)
            canvas = (posterior.draw(generator) if budget % 2 else posterior.mode()).tolist()
            state = automaton.advance(state, canvas)
            tokens += canvas
            done = automaton.is_finished(state) or remaining <= 0
        text = text_of(BYTES, tokens)
        assert len(list(itertools.takewhile(lambda t: t != END, tokens))) <= budget
        jsonschema.validate(json.loads(text), schema)
    with pytest.raises(BudgetError, match=f"needs {shortest} more"):
        CanvasPosterior(automaton, 8, start=automaton.start, remaining=shortest - 1 - 8)


def test_the_bound_is_kept_along_the_way_and_is_exact_for_the_shortest_text():
    automaton = automaton_of(JsonSchema(TREE, "compact"), BYTES)
    assert automaton.min_tokens(automaton.start) == 14  # {" v ": 0 , " k i d s ": [ ] }
    state, left = automaton.start, automaton.min_tokens(automaton.start)
    text = b""
    while left:
        allowed = np.flatnonzero(automaton.allowed(state, left))
        token = next(int(t) for t in allowed if automaton.min_tokens(automaton.advance(state, [int(t)])) == left - 1)
        text += BYTES.tokens[token]
        state, left = automaton.advance(state, [token]), left - 1
    assert automaton.is_accepting(state)
    assert json.loads(text) == {"v": 0, "kids": []}


def test_it_nests_as_deep_as_the_budget_allows():
    automaton = automaton_of(JsonSchema({}, "compact"), BYTES)
    opening, closing = BYTES.tokens.index(b"["), BYTES.tokens.index(b"]")
    state = automaton.advance(automaton.start, [opening] * 30)
    assert automaton.min_tokens(state) == 15  # ]] closes two
    with pytest.raises(BudgetError, match="needs 15 more"):
        automaton.check_budget(state, 14)
    logits = torch.zeros(40, len(BYTES))
    logits[:, opening] = 5.0
    posterior = CanvasPosterior(automaton, 40, start=state, remaining=0)
    posterior.update(logits)
    assert automaton.is_accepting(automaton.advance(state, posterior.mode().tolist()))
    deep = automaton.advance(automaton.start, [opening] * 3_000)
    assert automaton.is_complete(automaton.advance(deep, [closing] * 3_000))


@pytest.mark.parametrize(
    ("constraint", "member"),
    [
        (JsonSchema({"type": "string", "maxLength": 40_000}), '"' + "ä" * 3_000 + '"'),
        (JsonSchema({"type": "array", "items": {"type": "string", "maxLength": 4_000}, "maxItems": 500}), '["a", "b"]'),
        (Regex("(ab|cd){2,60000}"), "abcd" * 1_000),
    ],
)
def test_counters_are_not_unrolled(constraint, member):
    automaton = automaton_of(constraint, BYTES)
    assert automaton.whole is None
    state = automaton.advance(automaton.start, [byte + 2 for byte in member.encode()])
    assert automaton.is_accepting(state)
    posterior = CanvasPosterior(automaton, 12, start=automaton.start, remaining=0, width=8)
    posterior.update(torch.randn(12, len(BYTES), generator=torch.Generator().manual_seed(0)))
    assert automaton.is_accepting(automaton.advance(automaton.start, posterior.mode().tolist()))


def test_context_free_grammars():
    automaton = automaton_of(Ebnf('root ::= "a" root "b" | "ab"'), BYTES)
    a, b = BYTES.tokens.index(b"a"), BYTES.tokens.index(b"b")
    state = automaton.advance(automaton.start, [a] * 50 + [b] * 49)
    assert np.flatnonzero(automaton.allowed(state, 5)).tolist() == [b]
    assert automaton.is_complete(automaton.advance(state, [b]))


def test_fixed_tokens(monkeypatch):
    monkeypatch.setattr(module, "MAX_COMPLETE", 3)
    automaton = automaton_of(NESTED, LISTS)
    posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0, fixed={0: 2, 1: 2}, width=4)
    posterior.update(logits_of(2))
    assert posterior.mode()[:2].tolist() == [2, 2]
    impossible = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0, fixed={0: 3})
    with pytest.raises(GrammarError, match="fixed canvas positions"):
        impossible.update(logits_of(2))


def test_equal_steps_give_equal_posteriors_whatever_was_asked_before(monkeypatch):
    monkeypatch.setattr(module, "MAX_COMPLETE", 3)
    results = []
    for before in ([], [5, 6, 7]):
        automaton = automaton_of(NESTED, LISTS)
        for seed in (*before, 1):
            posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0, width=2)
            posterior.update(logits_of(seed))
        results.append(([posterior.log_z, posterior.kept_mass], posterior.mode().tolist()))
    assert results[0][0] == pytest.approx(results[1][0])
    assert results[0][1] == results[1][1]


def test_a_vocabulary_that_cannot_spell_it():
    with pytest.raises(EmptyLanguageError, match="can't spell"):
        automaton_of(JsonSchema(TREE), LISTS)
    assert FAR > 10**6


def test_threads_may_share_one(monkeypatch):
    automaton = automaton_of(JsonSchema({}, "compact"), BYTES)
    expected, found = {}, {}

    def run(seed, into):
        posterior = CanvasPosterior(automaton, 8, start=automaton.start, remaining=0, width=16)
        posterior.update(torch.randn(8, len(BYTES), generator=torch.Generator().manual_seed(seed)))
        into[seed] = posterior.mode().tolist()

    threads = [threading.Thread(target=run, args=(seed, found)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(6):
        run(seed, expected)
    assert found == expected


def test_a_state_may_have_very_many_edges():
    """More than what is left of any pool that isn't half full yet."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(word) for word in itertools.product(letters, repeat=3)][:9_000]
    vocabulary = Vocabulary([None, None, *(letter.encode() for letter in letters), *(word.encode() for word in words)])
    automaton = automaton_of(Choice([word + word[::-1] for word in words]), vocabulary)
    assert len(automaton._live_edges(automaton.start)) > 9_000
    assert automaton.allowed(automaton.start, 10).sum() == len(words) + len({word[0] for word in words})
    assert automaton.is_complete(automaton.advance(automaton.start, [vocabulary.tokens.index(b"abc"), 4, 3, 2]))
