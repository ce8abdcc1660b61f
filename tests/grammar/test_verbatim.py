import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import EmptyLanguageError, GrammarTooLargeError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import JsonSchema, Verbatim, VerbatimSource, compile_constraint
from dg_sglang.grammar.byte_automaton import ByteAutomaton
from dg_sglang.grammar.verbatim import PieceAutomaton, inside_word

SCHEMA = {"type": "string", "x-verbatim": {"source": "document"}}


def compile_pieces(text, **more):
    return compile_constraint(JsonSchema(SCHEMA, sources={"document": VerbatimSource(text, **more)}))


def pieces(text):
    """By the definition: word-bounded stretches between column gaps and blank lines, white space collapsed."""
    found = set()
    for segment in re.split(r"[ \t]{2,}|\t|\n[ \t]*\n\s*", text):
        segment = " ".join(segment.split())
        for i in range(len(segment)):
            for j in range(i + 1, len(segment) + 1):
                cuts_a_word = inside_word(segment, i) or inside_word(segment, j)
                if not cuts_a_word and segment[i] != " " and segment[j - 1] != " ":
                    found.add(segment[i:j])
    return found


@given(st.text('ab1ü". \n-\\', max_size=14), st.text('ab1ü". -\\', max_size=6))
@settings(max_examples=200, deadline=None)
def test_members_are_the_word_bounded_pieces(text, other):
    expected = pieces(text)
    if not expected:
        with pytest.raises(EmptyLanguageError):
            compile_pieces(text)
        return
    grammar = compile_pieces(text)
    for piece in expected:
        assert grammar.accepts(json.dumps(piece, ensure_ascii=False)), piece
    assert grammar.accepts(json.dumps(other, ensure_ascii=False)) == (other in expected)


def test_the_table_of_an_embedded_automaton_is_the_same_language():
    text = 'Net 10.00  Total "12.00"\nEUR 7'
    grammar = compile_constraint(
        JsonSchema(
            {"type": "array", "items": {"anyOf": [SCHEMA, {"type": "null"}]}, "maxItems": 2},
            whitespace="compact",
            sources={"document": VerbatimSource(text)},
        )
    )
    automaton = ByteAutomaton(grammar.table, grammar.root)

    def accepts(data):
        return automaton.accepting(automaton.after(automaton.start, data))

    for value in (
        [],
        [None],
        ["Net"],
        ["Total", "12.00"],
        ["10.00", None],
        ["EUR 7"],
        ["Net 10.00 Total"],
        ["To"],
        [""],
    ):
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        assert accepts(data.encode()) == grammar.accepts(data)
        assert accepts(data.encode()) == all(v is None or v in pieces(text) for v in value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("RE-2025/17, O'Neil", ["RE-2025/17", ",", "O'Neil"]),
        ("(1.234,56 EUR)", ["(", "1.234,56", "EUR", ")"]),
        ("Nr.4711 a.b@c-d.eu", ["Nr", ".", "4711", "a", ".", "b@c-d", ".", "eu"]),
        ("at 17:30: -5 - x", ["at", "17:30", ":", "-", "5", "-", "x"]),
        ("£15 5kg", ["£", "15", "5kg"]),
    ],
)
def test_words(text, words):
    cuts = [i for i in range(len(text) + 1) if not inside_word(text, i)]
    stretches = [text[a:b] for a, b in itertools.pairwise(cuts)]
    assert [word for word in stretches if word.strip()] == words


def test_several_texts_do_not_run_into_each_other():
    grammar = compile_pieces(["one two", "three"])
    assert grammar.accepts('"one two"')
    assert grammar.accepts('"three"')
    assert not grammar.accepts('"two three"')


def test_ideographs_are_words_of_their_own():
    assert compile_pieces("株式会社東京").accepts('"東京"')


def test_spans_of_a_kind():
    source = VerbatimSource("due 1 May 2024, total 3", spans={"date": ["1 May\n2024"], "number": []})
    schema = {"type": "string", "x-verbatim": {"source": "document", "kind": "date"}}
    grammar = compile_constraint(JsonSchema(schema, sources={"document": source}))
    assert grammar.accepts('"1 May 2024"')
    assert not grammar.accepts('"May 2024"')
    number = {"anyOf": [{"type": "string", "x-verbatim": {"source": "document", "kind": "number"}}, {"type": "null"}]}
    only_null = compile_constraint(JsonSchema(number, sources={"document": source}))
    assert only_null.accepts("null")
    assert not only_null.accepts('""')


def test_length_bounds_intersect():
    schema = SCHEMA | {"minLength": 5}
    grammar = compile_constraint(JsonSchema(schema, sources={"document": VerbatimSource("ab cde fgh")}))
    assert grammar.accepts('"ab cde"')
    assert not grammar.accepts('"cde"')


@pytest.mark.parametrize(
    "settings",
    [
        {"source": "other"},
        {"source": "document", "kind": "date"},
        {"kind": "date"},
        "document",
        {"source": "document", "x": 1},
    ],
)
def test_bad_settings(settings):
    with pytest.raises(InvalidSchemaError):
        compile_constraint(
            JsonSchema({"type": "string", "x-verbatim": settings}, sources={"document": VerbatimSource("x")})
        )


@given(st.lists(st.text('ab1üé× "-\\語文😀\x01', max_size=10), max_size=4))
@settings(max_examples=200, deadline=None)
def test_the_automaton_holds_the_pieces_of_all_segments(segments):
    automaton = PieceAutomaton(VerbatimSource(segments).segments())
    found, queue = set(), [(0, b"")]
    for state, read in queue:
        if automaton.accepting(state):
            found.add(json.loads(b'"' + read + b'"'))
        queue.extend((target, read + bytes([byte])) for byte, target in automaton.moves(state).items())
    expected = set()
    for segment in VerbatimSource(segments).segments():
        cuts = [i for i in range(len(segment) + 1) if not inside_word(segment, i)]
        expected |= {segment[i:j] for i in cuts for j in cuts if i < j and segment[i] != " " and segment[j - 1] != " "}
    assert found == expected


@pytest.mark.parametrize("text", ["x " * 20_000, "." * 20_000, "Item 12,50 EUR, paid. " * 1_000])
def test_a_text_that_repeats_itself_stays_linear(text):
    assert len(PieceAutomaton(VerbatimSource(text).segments())) <= len(text) + 1


def test_a_text_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("dg_sglang.grammar.verbatim.MAX_SUFFIX_STATES", 100)
    with pytest.raises(GrammarTooLargeError, match="too long"):
        compile_pieces("many different words " * 5 + "and then some more of them to fill the states")


TEXT = "Total 12.50 due\n\n2024-02-29 or 2023-02-29, Café\\Bar"


@pytest.mark.parametrize(
    ("options", "members", "others"),
    [
        ({}, ["Total", "Total 12.50", "12.50", "Café\\Bar", "or"], ["", "Tot", "12", "due 2024-02-29"]),
        ({"words": False}, ["Tot", "2.5", "fé\\B", "Total"], ["", "x", " 12", "due 2024"]),
        ({"pattern": "[A-Z][a-z]+"}, ["Total"], ["Total 12.50", "due"]),
        ({"pattern": "[a-z]{3}", "words": False}, ["due", "tal"], ["Total"]),
        ({"format": "date"}, ["2024-02-29"], ["2023-02-29", "Total"]),
        ({"type": "number"}, ["12.50"], ["12", "Total"]),
        ({"type": "integer", "words": False}, ["12", "2024", "5", "-29"], ["12.50", "02"]),
        ({"kind": "name"}, ["Café Bar"], ["Total"]),
    ],
)
def test_verbatim_as_a_constraint(options, members, others):
    source = VerbatimSource(TEXT, {"name": ["Café  Bar"]})
    grammar = compile_constraint(Verbatim(source, **options))
    assert [text for text in (*members, *others) if grammar.accepts(text)] == members


def test_words_in_json():
    schema = {"type": "string", "x-verbatim": {"source": "document", "words": False}}
    grammar = compile_constraint(JsonSchema(schema, sources={"document": TEXT}))
    assert grammar.accepts('"fé\\\\B"') and not grammar.accepts('"xyz"')


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (5, "a verbatim source must be a text or a list of texts, not 5"),
        (None, "not None"),
        (["a", 1], r"not \['a', 1\]"),
        (b"bytes", "not b'bytes'"),
        ({"text": "x"}, "a verbatim source must be"),
    ],
)
def test_sources_of_a_wrong_type(source, message):
    schema = {"type": "string", "x-verbatim": {"source": "document"}}
    for make in (
        lambda: compile_constraint(Verbatim(source)),
        lambda: compile_constraint(JsonSchema(schema, sources={"document": source})),
        lambda: VerbatimSource(source),
    ):
        with pytest.raises(InvalidSchemaError, match=message):
            make()


@pytest.mark.parametrize("spans", [5, {"a": "text"}, {"a": [1]}, ["a"]])
def test_spans_of_a_wrong_type(spans):
    with pytest.raises(InvalidSchemaError, match="spans must map kinds to lists of texts"):
        VerbatimSource("a", spans)


@pytest.mark.parametrize(
    "more", [{"source": 5}, {"source": []}, {"source": "d", "kind": 1}, {"source": "d", "x": 1}, {}]
)
def test_malformed_settings(more):
    with pytest.raises(InvalidSchemaError, match=r"x-verbatim must be .*\(at /x-verbatim\)"):
        compile_constraint(JsonSchema({"type": "string", "x-verbatim": more}, sources={"d": "x"}))


def test_constraints_that_no_piece_meets():
    with pytest.raises(EmptyLanguageError):
        compile_constraint(Verbatim("abc", type="number"))
    with pytest.raises(InvalidSchemaError, match="no spans of kind 'x'; its kinds: 'y'"):
        compile_constraint(Verbatim(VerbatimSource("a", {"y": ["a"]}), kind="x"))
    with pytest.raises(InvalidSchemaError, match='type must be "integer"'):
        compile_constraint(Verbatim("a", type="string"))
    with pytest.raises(UnsupportedSchemaError, match="the format 'nope'"):
        compile_constraint(Verbatim("a", format="nope"))
    with pytest.raises(InvalidSchemaError, match="sources must map names to texts"):
        compile_constraint(JsonSchema({}, sources=["a"]))
