import itertools

import numpy as np
import pytest

from dg_sglang.errors import BudgetError, EmptyLanguageError, GrammarError
from dg_sglang.grammar import Choice, JsonSchema, Regex, TokenAutomaton, Vocabulary, compile_constraint
from dg_sglang.grammar.token_automaton import FAR

VOCABULARY = Vocabulary([None, None, b'"', b"a", b"b", b'"a', b'b"', b"ab", b"a", b"\xc3", b"\xa4"])
PAD, END = 0, 1


def automaton_of(constraint, vocabulary=VOCABULARY, end=(END,)):
    return TokenAutomaton(compile_constraint(constraint), vocabulary, end_token_ids=end, pad_token_id=PAD)


def allowed_state(automaton, state, tokens):
    try:
        return automaton.advance(state, tokens)
    except GrammarError:
        return None


@pytest.mark.parametrize(
    "constraint",
    [Regex('"(ab|a)*"'), JsonSchema({"type": "string", "maxLength": 3}), Choice(["ab", "aab", "b"]), Regex("ä+")],
)
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


def test_edges_of_a_state_are_disjoint():
    automaton = automaton_of(JsonSchema({"type": "string", "maxLength": 3}))
    for state in range(automaton.states):
        labels = []
        for edge in range(automaton.edge_start[state], automaton.edge_start[state + 1]):
            assert automaton.source[edge] == state
            number = automaton.edge_set[edge]
            labels += automaton.set_classes[automaton.set_start[number] : automaton.set_start[number + 1]].tolist()
        assert len(labels) == len(set(labels))


def test_distances_are_exact():
    automaton = automaton_of(JsonSchema({"type": "string", "minLength": 2, "maxLength": 3}))
    assert automaton.min_tokens(automaton.start) == 2  # "a + b"
    for state in range(automaton.states):
        best = FAR if automaton.distance[state] else 0
        for edge in range(automaton.edge_start[state], automaton.edge_start[state + 1]):
            if automaton.edge_set[edge] < automaton.end_set:
                best = min(best, 1 + automaton.distance[automaton.target[edge]])
        assert automaton.distance[state] == best


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
    automaton = automaton_of(Regex("a+b"))
    assert automaton.token_class[3] == automaton.token_class[8]  # two tokens spell "a"
    assert automaton.token_class[3] != automaton.token_class[4]
    assert automaton.token_class[9] == -1
    assert np.unique(automaton.token_class).tolist() == [-1, *range(automaton.classes)]


def test_tables_of_a_large_vocabulary_stay_below_a_megabyte():
    """As in the model's vocabulary, most tokens are text of many lengths, which a length limit tells apart."""
    tokens = [None, None, *(bytes([byte]) for byte in range(256))]
    letters = [bytes(pair) for pair in itertools.product(range(97, 123), repeat=2)]
    tokens += [first + second + third for first in letters for second in letters[:20] for third in letters[:19]]
    vocabulary = Vocabulary([*tokens, *[None] * (262_144 - len(tokens))])
    automaton = automaton_of(JsonSchema({"type": "string", "maxLength": 80}), vocabulary)
    assert automaton.token_class.dtype == np.int16
    assert 2 * 262_144 < automaton.table_bytes < 1_000_000


def test_reserved_tokens_never_match():
    special = Vocabulary([None, None, b'"', b"<", b"x", b">", None])  # id 6 might be <x>
    automaton = automaton_of(JsonSchema({"type": "string"}), special)
    assert automaton.token_class[6] == -1
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
    assert (automaton.distance[np.unique(automaton.target)] < FAR).all()
    assert allowed_state(automaton, automaton.start, [3, 3]) is None


def test_advance_names_the_token_that_is_wrong():
    automaton = automaton_of(Regex("ab"))
    with pytest.raises(GrammarError, match="token 3 at position 1"):
        automaton.advance(automaton.start, [3, 3])
