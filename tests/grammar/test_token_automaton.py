import itertools

import numpy as np
import pytest

from dg_sglang.errors import BudgetError, EmptyLanguageError, GrammarError
from dg_sglang.grammar import Choice, JsonSchema, Regex, TokenAutomaton, Vocabulary, compile_constraint
from dg_sglang.kernels.shortest import FAR

VOCABULARY = Vocabulary([None, None, b'"', b"a", b"b", b'"a', b'b"', b"ab", b"a", b"\xc3", b"\xa4"])
PAD, END = 0, 1
CONSTRAINTS = [
    Regex('"(ab|a)*"'),
    JsonSchema({"type": "string", "maxLength": 3}),
    Choice(["ab", "aab", "b"]),
    Regex("ä+"),
]


def automaton_of(constraint, vocabulary=VOCABULARY, end=(END,)):
    return TokenAutomaton(compile_constraint(constraint), vocabulary, end_token_ids=end, pad_token_id=PAD)


def allowed_state(automaton, state, tokens):
    try:
        return automaton.advance(state, tokens)
    except GrammarError:
        return None


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_every_token_string_has_one_path_and_no_other_has_any(constraint):
    grammar, automaton = compile_constraint(constraint), automaton_of(constraint)
    body = range(2, len(VOCABULARY))
    for tokens in itertools.chain.from_iterable(itertools.product(body, repeat=n) for n in range(4)):
        data = b"".join(VOCABULARY.tokens[t] for t in tokens)
        state = allowed_state(automaton, automaton.start, tokens)
        try:
            member = grammar.accepts(data.decode())
        except UnicodeDecodeError:
            member = False
        assert (state is not None and automaton.is_accepting(state)) == member, data
        closed = allowed_state(automaton, automaton.start, [*tokens, END])
        assert (closed is not None) == member
        if closed is not None:
            assert automaton.is_finished(closed)
            assert automaton.advance(closed, [PAD, END, PAD]) == closed


def set_tokens(labels, number):
    classes = labels.set_classes[labels.set_start[number] : labels.set_start[number + 1]]
    return np.flatnonzero(np.isin(labels.token_class, classes)).tolist()


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_tables_hold_every_edge_once(constraint):
    automaton = automaton_of(constraint)
    whole = automaton.whole
    for index, state in enumerate(whole.states.tolist()):
        found = {}
        for edge in range(whole.edge_start[index], whole.edge_start[index + 1]):
            assert whole.source[edge] == index
            for token in set_tokens(whole.labels, whole.edge_set[edge]):
                assert token not in found
                found[token] = int(whole.states[whole.target[edge]])
        expected = {token: allowed_state(automaton, state, [token]) for token in range(len(VOCABULARY))}
        assert found == {token: after for token, after in expected.items() if after is not None}


def test_distances_are_exact():
    automaton = automaton_of(JsonSchema({"type": "string", "minLength": 2, "maxLength": 3}))
    assert automaton.min_tokens(automaton.start) == 2  # "a + b"
    whole = automaton.whole
    for index, state in enumerate(whole.states.tolist()):
        best = 0 if automaton.is_accepting(state) else FAR
        for edge in range(whole.edge_start[index], whole.edge_start[index + 1]):
            if whole.edge_set[edge] < whole.labels.end_set:
                best = min(best, 1 + whole.distance[whole.target[edge]])
        assert whole.distance[index] == best == automaton.min_tokens(state)


def test_complete_means_that_only_the_end_can_follow():
    automaton = automaton_of(Choice(["ab", "aba"]))
    complete = [automaton.is_complete(automaton.advance(automaton.start, t)) for t in ([3], [3, 4], [7, 3], [7, END])]
    assert complete == [False, False, True, True]


def test_allowed_tokens_are_those_that_still_close_in_budget():
    automaton = automaton_of(JsonSchema({"type": "string", "maxLength": 3}))
    for tokens in ([], [2], [5], [2, 3], [2, 7], [2, 2]):
        state = automaton.advance(automaton.start, tokens)
        for available in range(automaton.min_tokens(state), 5):
            allowed = automaton.allowed(state, available)
            for token in range(len(VOCABULARY)):
                after = allowed_state(automaton, state, [token])
                closes = after is not None and (token == END or automaton.min_tokens(after) < available)
                assert allowed[token] == closes, (tokens, available, token)


def test_budget():
    automaton = automaton_of(Regex("abab"))
    automaton.check_budget(automaton.start, 2)
    with pytest.raises(BudgetError, match="needs 2 more tokens, but max_new_tokens leaves 1"):
        automaton.check_budget(automaton.start, 1)


def test_classes_hold_the_tokens_that_no_set_tells_apart():
    labels = automaton_of(Regex("a+b")).whole.labels
    assert labels.token_class[3] == labels.token_class[8]  # two tokens spell "a"
    assert labels.token_class[3] != labels.token_class[4]
    assert labels.token_class[9] == -1
    assert sorted(set(labels.token_class.tolist())) == list(range(-1, labels.classes))
    assert labels.token_class.dtype == labels.set_classes.dtype == np.int16


def test_reserved_tokens_never_match():
    special = Vocabulary([None, None, b'"', b"<", b"x", b">", None])  # id 6 might be <x>
    automaton = automaton_of(JsonSchema({"type": "string"}), special)
    assert automaton.whole.labels.token_class[6] == -1
    assert allowed_state(automaton, automaton.start, [2, 3, 4, 5, 2]) is not None


def test_a_vocabulary_that_cannot_spell_the_language():
    with pytest.raises(EmptyLanguageError, match="can't spell"):
        automaton_of(Regex("xyz"))


@pytest.mark.parametrize("end", [(), (99,), (3,)])
def test_end_tokens_are_checked(end):
    with pytest.raises(GrammarError, match="end"):
        automaton_of(Regex("a"), end=end)


def test_dead_ends_are_removed():
    """ "ax" can't be spelled, so no path may run into it."""
    automaton = automaton_of(Regex("a(b|ax)"))
    assert (automaton.whole.distance[np.unique(automaton.whole.target)] < FAR).all()
    assert allowed_state(automaton, automaton.start, [3, 3]) is None


def test_advance_names_the_token_that_is_wrong():
    automaton = automaton_of(Regex("ab"))
    with pytest.raises(GrammarError, match="token 3 at position 1"):
        automaton.advance(automaton.start, [3, 3])
