"""One Grammar and one TokenAutomaton in many threads: each finds what it would find alone."""

import threading
from collections.abc import Callable
from typing import Any

import torch

from dg_sglang.grammar import CanvasPosterior, Grammar, JsonSchema, TokenAutomaton, Vocabulary, compile_constraint
from dg_sglang.grammar.samples import draw_text

TOKENS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b":",
    b",",
    b"1",
    b"23",
    b"a",
    b"b",
    b'":',
    b'{"a":',
    b'{"',
    b"]}",
    b"null",
    b" ",
]
VOCABULARY = Vocabulary([None, None, *TOKENS])
OTHER = Vocabulary([None, None, *(bytes([byte]) for byte in sorted({byte for token in TOKENS for byte in token}))])
TREE = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/leaf"}, "maxItems": 4}, "b": {"type": "string"}},
    "$defs": {"leaf": {"anyOf": [{"type": "integer"}, {"type": "null"}, {"type": "string", "maxLength": 3}]}},
}
THREADS = 8


def automaton_of(grammar: Grammar, vocabulary: Vocabulary = VOCABULARY) -> TokenAutomaton:
    return TokenAutomaton(grammar, vocabulary, end_token_ids=[0], pad_token_id=1)


def together(work: Callable[[int], Any]) -> list[Any]:
    """What `work(0)`, `work(1)`, … return, all started at once."""
    barrier, found = threading.Barrier(THREADS), dict[int, Any]()

    def run(index: int) -> None:
        barrier.wait()
        found[index] = work(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[index] for index in range(THREADS)]  # a KeyError: that thread failed


def canvases(automaton: TokenAutomaton, index: int) -> list[list[int]]:
    """Draws and modes of several steps, another canvas for each index."""
    generator = torch.Generator().manual_seed(index)
    posterior = CanvasPosterior(automaton, 12 + index, start=automaton.start, remaining=index % 3)
    found = []
    for _ in range(4):
        posterior.update(torch.randn(12 + index, len(automaton.vocabulary), generator=generator))
        found += [posterior.draw(generator).tolist(), posterior.mode().tolist()]
    return found


def test_threads_share_a_token_automaton():
    alone = [canvases(automaton_of(compile_constraint(JsonSchema(TREE))), index) for index in range(THREADS)]
    shared = automaton_of(compile_constraint(JsonSchema(TREE)))
    assert together(lambda index: canvases(shared, index)) == alone


def test_threads_share_a_grammar():
    """Automata of two vocabularies are made from one grammar while others ask it."""
    grammar = compile_constraint(JsonSchema(TREE))
    member, other = '{"a":[1,null,"ab"]}', '{"a":[1,null,"abba"]}'
    alone = [automaton_of(grammar, one) for one in (VOCABULARY, OTHER)]
    shortest = [automaton.min_tokens(automaton.start) for automaton in alone]
    grammar = compile_constraint(JsonSchema(TREE))

    def work(index: int) -> Any:
        if index % 2:
            return [(grammar.accepts(member), grammar.accepts(other)) for _ in range(20)]
        automaton = automaton_of(grammar, (VOCABULARY, OTHER)[index // 2 % 2])
        text = draw_text(automaton, 20, torch.Generator().manual_seed(index))
        return automaton.min_tokens(automaton.start), grammar.accepts(text)

    found = together(work)
    assert all(one == [(True, False)] * 20 for one in found[1::2])
    assert found[::2] == [(shortest[index % 2], True) for index in range(THREADS // 2)]


def test_rows_start_where_their_own_canvas_ended():
    """Canvas after canvas, several answers under one automaton, in turn: none disturbs another."""
    grammar = compile_constraint(JsonSchema(TREE, "compact"))
    automaton = automaton_of(grammar)
    generators = [torch.Generator().manual_seed(seed) for seed in range(3)]
    states, texts = [automaton.start] * 3, [b""] * 3
    for left in range(20, -1, -4):
        for row, generator in enumerate(generators):
            if automaton.is_finished(states[row]):
                continue
            posterior = CanvasPosterior(automaton, 4, start=states[row], remaining=left)
            posterior.update(torch.randn(4, len(VOCABULARY), generator=generator))
            tokens = posterior.draw(generator)
            states[row] = posterior.end_state(tokens)
            texts[row] += b"".join(VOCABULARY.tokens[token] or b"" for token in tokens.tolist())
    assert all(map(automaton.is_accepting, states))
    assert all(grammar.accepts(text.decode()) for text in texts)
    assert len(set(texts)) == len(texts)
