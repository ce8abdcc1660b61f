import random

import pytest

from dg_sglang.errors import GrammarTooLargeError
from dg_sglang.grammar import Choice, Regex, TokenAutomaton, Vocabulary, compile_constraint, fold
from dg_sglang.kernels.fold import PARTITIONS

LETTERS = "abcdef"


def automaton_of(constraint, vocabulary):
    return TokenAutomaton(compile_constraint(constraint), vocabulary, end_token_ids=[0])


def words(generator, count, longest):
    return {"".join(generator.choices(LETTERS, k=generator.randint(1, longest))) for _ in range(count)}


def test_what_grammars_share_stays_right_while_it_grows():
    generator = random.Random(0)
    vocabulary = Vocabulary([None, *(word.encode() for word in sorted({*words(generator, 300, 5), *LETTERS}))])
    first = vocabulary.fold.pools
    for _ in range(25):
        repeated = "|".join(sorted(words(generator, 3, 4)))
        for constraint in (
            Choice(sorted(words(generator, 25, 7))),
            Regex(f"(?:{repeated}){{0,3}}[a-{generator.choice(LETTERS)}]*"),
        ):
            automaton = automaton_of(constraint, vocabulary)
            for state in automaton.whole.states[:-1].tolist():
                found = {}
                for target, number in automaton._edges.of(state).tolist():
                    for token in automaton._edges.tokens(number).tolist():
                        assert token not in found
                        found[token] = target
                after = {
                    token: automaton._bytes.after(state, vocabulary.tokens[token])
                    for token in range(1, len(vocabulary))
                }
                assert found == {token: target for token, target in after.items() if target}
    assert vocabulary.fold.pools.count[PARTITIONS] > len(first.partitions)


def test_a_full_fold_gives_way_to_a_new_one_and_serves_its_automata_on(monkeypatch):
    vocabulary = Vocabulary([None, *(letter.encode() for letter in LETTERS)])
    old = automaton_of(Choice(["ab", "cd"]), vocabulary)
    assert automaton_of(Choice(["ef"]), vocabulary)._edges.fold is old._edges.fold
    monkeypatch.setattr(fold, "MAX_NODES", 4)
    assert automaton_of(Choice(["ef"]), vocabulary)._edges.fold is not old._edges.fold
    assert old.is_accepting(old.advance(old.start, [1, 2]))
    with pytest.raises(GrammarTooLargeError, match="kinds of tokens"):
        old._edges.fold.make_room()
