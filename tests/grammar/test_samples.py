import pytest
import torch

from dg_sglang.errors import BudgetError
from dg_sglang.grammar import JsonSchema, Regex, TokenAutomaton, Vocabulary, compile_constraint
from dg_sglang.grammar.samples import draw_text, uninformed_logits

LETTERS = Vocabulary([None, None, b"a", b"b", b"ab", b"1", b"23", b'"', b'":', b"{", b"}", b","])
CONSTRAINTS = [Regex("a(b|a)*"), JsonSchema({"type": "object", "properties": {"a": {"type": "integer"}}}, "compact")]


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize("canvas", [1, 3])
@pytest.mark.parametrize("room", [0, 1, 9])
def test_members_within_the_budget(constraint, canvas, room):
    grammar = compile_constraint(constraint)
    automaton = TokenAutomaton(grammar, LETTERS, end_token_ids=[0], pad_token_id=1)
    budget = automaton.min_tokens(automaton.start) + room
    generator = torch.Generator().manual_seed(1)
    texts = {draw_text(automaton, budget, generator, canvas=canvas) for _ in range(40)}
    assert all(map(grammar.accepts, texts))
    assert len(texts) > 1 or room < 9
    longest = max(map(len, texts))
    assert longest <= 2 * budget  # no token has more than two bytes
    with pytest.raises(BudgetError):
        draw_text(automaton, automaton.min_tokens(automaton.start) - 1, generator, canvas=canvas)


def test_each_group_has_a_quarter():
    shares = uninformed_logits(LETTERS).exp()
    assert shares.sum() == pytest.approx(4)  # softmax makes a quarter of it
    for group in ([0, 1], [2, 3, 4], [5, 6], [7, 8, 9, 10, 11]):
        assert shares[group].sum() == pytest.approx(1)
