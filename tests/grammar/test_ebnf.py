"""Context-free grammars: the language, on bytes and on tokens, and what is refused."""

import itertools
import json

import pytest
from hypothesis import assume, given, settings
from random_grammars import GRAMMARS, TEXTS, gbnf, lark, recognises

from dg_sglang.errors import EmptyLanguageError, GrammarError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import Ebnf, JsonSchema, TokenAutomaton, Vocabulary, compile_constraint


@given(GRAMMARS)
@settings(max_examples=60, deadline=None)
def test_agrees_with_the_definition(grammar):
    for written in (gbnf(grammar), lark(grammar)):
        expected = [text for text in TEXTS if recognises(grammar, text)]
        try:
            compiled = compile_constraint(Ebnf(written))
        except EmptyLanguageError:
            assert not expected, written
            continue
        except InvalidSchemaError as error:
            assume("left-recursive" not in str(error))
            raise
        assert [text for text in TEXTS if compiled.accepts(text)] == expected, written


def accepted(grammar, *texts, **options):
    compiled = compile_constraint(Ebnf(grammar, **options))
    return [text for text in texts if compiled.accepts(text)]


@pytest.mark.parametrize(
    ("grammar", "members", "others"),
    [
        ('root ::= "(" root ")" | ""', ["", "(())"], ["(()", ")("]),
        ('root ::= sum\nsum ::= sum "+" n | n\nn ::= [0-9]+', ["1", "1+22+3"], ["", "1+", "+1"]),  # left recursion
        ("root\n  ::= # a comment\n 'x'?".replace("'", '"') + '\n | "y" # another\n   "z"', ["", "x", "yz"], ["y"]),
        (r'root ::= "\n\t\\\"\x41\u00e9\U0001F600"', ['\n\t\\"Aé😀'], ["nt"]),
        (r"root ::= [a-cé\]\-^] [^a-c\n] []-]*".replace("[]-]", r"[\]-]"), ["éd", "]d]-", "-x", "^é"], ["aa", "a\n"]),
        ("root ::= [-a] [a-] .", ["-aé", "a-\n"], ["b-a"]),
        ('root ::= ("a" | "b"){2} "c" {1,} "d"{0}', ["abc", "bacc"], ["ab", "acc", "abcd"]),
        ('root ::= a-b.c_1 \na-b.c_1 ::= "x" unused ::= "u"', ["x"], ["u"]),
        ('root ::= "a" root | "b" dead | "c"\ndead ::= "d" dead', ["c", "aac"], ["a", "bd"]),
        ('root ::= (opt opt){2,3} "!"\nopt ::= "a"?', ["!", "aaaaaa!"], ["aaaaaaa!"]),
    ],
)
def test_gbnf(grammar, members, others):
    assert accepted(grammar, *members, *others) == members


@pytest.mark.parametrize(
    ("grammar", "members", "others"),
    [
        ('start: "Hi"i "!"', ["hi!", "HI!"], ["hi"]),
        ('?start: a | "x" -> alias\n  // a comment\n  | b # another\n!a: "a"\nb.2: "b"\n', ["a", "x", "b"], ["c"]),
        ("start: /a.b/ | /a.c/s | /É+\\/\\d/i", ["axb", "a\nc", "éÉ/1"], ["a\nb", "é/"]),
        ('start: "a".."c" ~ 2 ["-"] ("x" | "y") ~ 0..1', ["ab", "cc-y"], ["a", "ad"]),
        ('start: X{2,3} Y*\nX: "x"\nY: /y/', ["xx", "xxxyy"], ["x"]),
        (
            'start: sum\n?sum: product | sum "+" product -> add\n?product: NUMBER | "(" sum ")"\n'
            "%import common.NUMBER\n%import common (WS_INLINE, NEWLINE)\n%ignore WS_INLINE",
            ["1+2.5", "  ( 1 + 2 )+3 "],
            ["1+", "1\n", "1 2"],
        ),
        ("start: string\n%import common.ESCAPED_STRING -> string", ['"a\\"b"'], ['"a']),
    ],
)
def test_lark(grammar, members, others):
    assert accepted(grammar, *members, *others) == members


def test_the_dialect_and_the_root_can_be_named():
    assert accepted('a ::= "x"\nb ::= "y"', "x", "y", root="b") == ["y"]
    assert accepted('a: "x"\nb: "y"', "x", "y", root="b", dialect="lark") == ["y"]
    with pytest.raises(GrammarError, match="dialect must be one of"):
        compile_constraint(Ebnf('root ::= "a"', dialect="bnf"))


JSON = r"""
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null")
object ::= "{" ( string ":" value ("," string ":" value)* )? "}"
array  ::= "[" ( value ("," value)* )? "]"
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}) )* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
"""


def test_json_by_its_grammar():
    values = [{}, {"a": [1, -2.5e-9, None, {"b": [[]]}]}, {"é\n": "\u0001😀"}]
    written = [json.dumps(value, separators=(",", ":")) for value in values]
    grammar, schema = compile_constraint(Ebnf(JSON)), compile_constraint(JsonSchema({"type": "object"}))
    for text in (*written, '{"a":1,}', "[]", '{"a":01}', '{"a" :1}', '{"a":"\n"}'):
        assert grammar.accepts(text) == (text in written), text
        assert schema.accepts(text) or not grammar.accepts(text)
    nested = '{"a":' * 200 + "[]" + "}" * 200
    assert grammar.accepts(nested) and not grammar.accepts(nested[:-1])


@pytest.mark.parametrize(
    "grammar",
    [
        'root ::= pair ("," pair)* | "c" root\npair ::= "a" "b"',
        'root ::= "a" root "b" | "c" | ""',  # nests without bound
        'root ::= list\nlist ::= "a" (item ("," item)*)? "b"\nitem ::= "c" | list',
        'start: sum\nsum: sum "," item | item\nitem: "c" | "a" sum "b"',
    ],
)
def test_tokens(grammar):
    pieces = Vocabulary([None, None, b"a", b"ab", b"b", b"c", b","])
    compiled = compile_constraint(Ebnf(grammar))
    automaton = TokenAutomaton(compiled, pieces, end_token_ids=[1], pad_token_id=0)
    for tokens in itertools.chain.from_iterable(itertools.product(range(2, 7), repeat=n) for n in range(5)):
        data = b"".join(pieces.tokens[token] for token in tokens)
        try:
            member = automaton.is_accepting(automaton.advance(automaton.start, tokens))
        except GrammarError:
            member = False
        assert member == compiled.accepts(data), data


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ("", "no rule 'root' to start from; its rules: none"),
        ('rot ::= "a"', "no rule 'root' to start from; its rules: rot"),
        ('begin: "a"', "no rule 'start' to start from; its rules: begin"),
        ('root ::= "a" x', "no rule 'x', which the grammar uses at line 1, column 14"),
        ('root ::= "a"\nx ::= "b"\nx ::= "c"', "line 3, column 1: the rule 'x' is defined twice, first at line 2"),
        ('root ::= "a', "line 1, column 10: the string isn't closed"),
        ('root ::= "a\n"', "line 1, column 10: the string isn't closed on its line"),
        ("root ::= [a", "line 1, column 10: the character class isn't closed"),
        ('root ::= (\n"a"', "line 1, column 10: the parenthesis isn't closed"),
        ('root ::= "a" )', r"line 1, column 14: expected a rule \(name ::= …\), not '\)'"),
        ('root ::= "a", "b"', "line 1, column 13: expected a string"),
        ("root ::= [z-a]", "line 1, column 11: the range is out of order"),
        (r'root ::= "\q"', r"line 1, column 11: unknown escape \\q"),
        (r'root ::= "\x4"', "line 1, column 11: the escape needs 2 hexadecimal digits"),
        (r'root ::= "\uD800"', "line 1, column 11: the escape stands for no character"),
        ('root ::= "a"**', "line 1, column 14: two repetitions in a row"),
        ('root ::= "a"{3,2}', "line 1, column 13: the repetition's bounds are out of order: 3 > 2"),
        ('root ::= "a"{,2}', r"line 1, column 13: a repetition is written \{n\}"),
        ('root = "a"', "line 1, column 1: expected a rule"),
        ('root ::= a "x" | "y"\na ::= b? root\nb ::= "b"', "'root' .*left-recursive: root → a → root"),
        ('root ::= "b"? root "a" | "c"', "left-recursive: root → root"),
        ('start: "a"..', 'line 1, column 8: a range is written "a".."z"'),
        ("start: /a", "line 1, column 8: the regular expression isn't closed"),
        ("start: a ->", "line 1, column 12: expected an alias, not the end"),
        ("start: A\nA: /a(/", "the regular expression 'a\\(' is malformed"),
        ("start: A\n%import common.NOPE", "line 2, column 1: there is no terminal common.NOPE"),
        (5, "a grammar must be a string, not int"),
    ],
)
def test_malformed(grammar, message):
    with pytest.raises(InvalidSchemaError, match=message):
        compile_constraint(Ebnf(grammar))


@pytest.mark.parametrize("grammar", ['root ::= "a" root', "root ::= x\nx ::= root", "root ::= []", "start: start"])
def test_empty_languages(grammar):
    with pytest.raises(EmptyLanguageError, match="derives no text"):
        compile_constraint(Ebnf(grammar))


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ('root ::= "a" (= "b")', r"the look-ahead \(= …\) at line 1, column 14"),
        ('root ::= TagDispatch(("a", b))', r"the macro TagDispatch\(…\) at line 1, column 10"),
        ("start: x{y}", r"the template x\{…\} at line 1, column 8"),
        ("start: /a/l", "the flag 'l' of the regular expression at line 1, column 8"),
        ("%declare A\nstart: A", "%declare"),
        (r"start: /(a)\1/", "a backreference"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(grammar, message):
    with pytest.raises(UnsupportedSchemaError, match=message):
        compile_constraint(Ebnf(grammar))


@pytest.mark.parametrize("depth", [9, 14, 60])
def test_rules_that_double_are_not_copied_out(depth):
    rules = [f"r{one} ::= r{one + 1} r{one + 1}" for one in range(depth)]
    grammar = compile_constraint(Ebnf("\n".join(["root ::= r0", *rules, f'r{depth} ::= "x" | "y"'])))
    assert len(grammar.table._table) < 100_000
    if depth < 15:
        assert grammar.accepts("xy" * 2 ** (depth - 1))
        assert not grammar.accepts("x" * (2**depth - 1))
        assert not grammar.accepts("x" * (2**depth + 1))
