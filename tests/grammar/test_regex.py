import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import EmptyLanguageError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import Regex, compile_constraint
from dg_sglang.grammar.expression import Expressions
from dg_sglang.grammar.regex import compile_regex, compile_search
from dg_sglang.grammar.text import json_body, json_spelling

ATOMS = st.sampled_from(["a", "b", "é", ".", r"\d", r"\w", r"[ab]", r"[^a]", r"\s", r"[a-c0-9]", r"\."])
PATTERNS = st.recursive(
    ATOMS,
    lambda child: st.one_of(
        st.tuples(child, child).map("".join),
        st.tuples(child, child).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(child, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "{2,}"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    ),
    max_leaves=5,
)


@given(PATTERNS, st.lists(st.text("abé0 .\nx", max_size=5), min_size=5, max_size=10))
@settings(max_examples=200, deadline=None)
def test_agrees_with_python(pattern, texts):
    grammar = compile_constraint(Regex(pattern))
    for text in texts:
        # \w and \d are ASCII in ECMA-262; é is the only other letter here
        assert grammar.accepts(text) == bool(re.fullmatch(pattern, text, re.ASCII)), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "member", "other"),
    [
        (r"^(foo|bar)$", "bar", "bar$"),
        (r"^a|b$", "a", "ab"),
        (r"\A[A-Z]{2}\d{3}\Z", "DE123", "D123"),
        (r"", "", "x"),
        (r"[\u4e00-\u9fff]+", "漢字", "kana"),
        (r"\p", None, None),
    ],
)
def test_examples(pattern, member, other):
    if member is None:
        with pytest.raises(InvalidSchemaError, match="malformed"):
            compile_constraint(Regex(pattern))
        return
    grammar = compile_constraint(Regex(pattern))
    assert grammar.accepts(member)
    assert not grammar.accepts(other)


ASSERTIONS = st.sampled_from(["^", "$", r"\b", r"\B", "(?=a)", "(?!b)", "(?<=a)", "(?<!b)", "(?=a|$)", "(?!.*0)"])
ASSERTING = st.recursive(
    ATOMS,
    lambda child: st.one_of(
        st.tuples(child, child).map("".join),
        st.tuples(ASSERTIONS, child).map("".join),
        st.tuples(child, ASSERTIONS).map("".join),
        st.tuples(child, child).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(child, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "*?"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=5,
)


@given(ASSERTING, st.lists(st.text("abé0 .x", max_size=5), min_size=5, max_size=10))
@settings(max_examples=300, deadline=None)
def test_searches_agree_with_python(pattern, texts):
    table = Expressions()
    node = compile_search(table, pattern, json_spelling)
    for text in texts:
        if not text and r"\B" in pattern:
            continue  # Python says that \B doesn't match the empty text, ECMA-262 that it does
        assert table.after(node, json_body(text)).nullable == bool(re.search(pattern, text, re.ASCII)), (pattern, text)


@given(ASSERTING, st.lists(st.text("abé0 .x", max_size=5), min_size=5, max_size=10))
@settings(max_examples=200, deadline=None)
def test_whole_texts_with_assertions_agree_with_python(pattern, texts):
    try:
        grammar = compile_constraint(Regex(pattern))
    except EmptyLanguageError:
        assert not any(re.fullmatch(pattern, text, re.ASCII) for text in texts)
        return
    for text in texts:
        if text or r"\B" not in pattern:
            assert grammar.accepts(text) == bool(re.fullmatch(pattern, text, re.ASCII)), (pattern, text)


PYTHON_FLAGS = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
CASED = st.sampled_from(
    [
        "a",
        "B",
        "[^a]",
        "[a-c]",
        "é",
        "ß",
        "ſ",
        "K",
        "(?i:b)",
        "(?-i:b)",
        "(?s:.)",
        "(?m:$)",
        "(?:^|x)",
        "$",
        "^",
        ".",
        r"\w",
        r"\W",
        r"[\W]",
        r"\x41",
        "σ",
        "\n",
        " ",
        "# x\n",
        "[ ]",
        "a +",
    ]
)


@given(
    st.lists(CASED, min_size=1, max_size=3).map("".join),
    st.lists(st.text("aAbBéÉßẞſsSKk\nσςΣ x#", max_size=3), min_size=5, max_size=10),
    st.sets(st.sampled_from(sorted(PYTHON_FLAGS))).map(sorted).map("".join),
)
@settings(max_examples=400, deadline=None)
def test_flags_agree_with_python(pattern, texts, flags):
    # \w and \W are ASCII in ECMA-262, and Python's $ without m also matches before a line break at the end
    python = pattern.replace(r"[\W]", r"\W").replace(r"\w", "[A-Za-z0-9_]").replace(r"\W", "[^A-Za-z0-9_]")
    if "m" not in flags:
        python = re.sub(r"(?<!m:)\$", lambda _: r"\Z", python)
    expected = re.compile(python, sum(PYTHON_FLAGS[flag] for flag in flags))
    compiled = re.compile(pattern, sum(PYTHON_FLAGS[flag] for flag in flags))
    try:
        grammar = compile_constraint(Regex(compiled))  # type: ignore[arg-type]
    except EmptyLanguageError:
        assert not any(map(expected.fullmatch, texts))
        return
    for text in texts:
        assert grammar.accepts(text) == bool(expected.fullmatch(text)), (pattern, flags, text)


@pytest.mark.parametrize(
    ("pattern", "members", "others"),
    [
        ("(?i)ab", ["ab", "AB"], ["a"]),
        ("a(?i)b|c", ["ab", "aB", "C"], ["Ab"]),
        ("(?:a(?i)b)c", ["aBc"], ["aBC", "ABc"]),
        ("(?i)a(?-i:b)c", ["AbC"], ["aBc"]),
        ("(?is-m:.)", ["\n"], []),
        ("(?x) a b # c\n | [ ]c\\ d{2} #", ["ab", " c dd"], ["a b", "c"]),
        ("(?m)^a$(?s:.)^b$", ["a\nb", "a\rb"], ["ab", "axb"]),
        ("(?i)[a-c]\\x44", ["Bd"], ["dd"]),
        ("(?ia)k", ["k", "K"], ["\u212a"]),
        ("(?i)k", ["k", "K", "\u212a"], []),
    ],
)
def test_flags(pattern, members, others):
    table = Expressions()
    whole = compile_regex(table, pattern)
    assert [text for text in members if not table.after(whole, text.encode()).nullable] == []
    assert [text for text in others if table.after(whole, text.encode()).nullable] == []


@pytest.mark.parametrize(
    ("pattern", "members", "others"),
    [
        (r"^\p{Lu}\p{L}*$", ["Éa", "A"], ["éa", "A1"]),
        (r"^\P{L}$", ["1"], ["a"]),
        (r"^[^\p{L}\d]$", ["-"], ["a", "1"]),
        (r"^\x41\u0042\u{1F600}\cJ$", ["AB\U0001f600\n"], ["AB"]),
        (r"^(?<year>\d{4})(?P<rest>x)$", ["2024x"], ["2024"]),
        (r"^[\w.-]+$", ["a.b-c"], ["a b", ""]),
        (r"^a{2}b{,3}$", [], None),
        (r"^(?=.*[A-Z])(?=.*\d).{4,}$", ["abC1", "1xxX"], ["abc1", "AB1", "ABCD"]),
        (r"^(?!xml).+$", ["xm", "axml"], ["xmlx", ""]),
        (r"\bcat\b", ["a cat.", "cat"], ["concat", "cats"]),
        (r"^.{0,4000}$", ["", "x" * 4000], ["x" * 4001]),
        (r"^((a|b*)($|-))*$", ["", "a-bb-", "a", "--"], ["ab", "a-c"]),
        (r"x|^$", ["", "axb"], ["a"]),
    ],
)
def test_dialect(pattern, members, others):
    table = Expressions()
    if others is None:
        with pytest.raises(UnsupportedSchemaError):
            compile_search(table, pattern, json_spelling)
        return
    node = compile_search(table, pattern, json_spelling)
    assert [text for text in members if not table.after(node, json_body(text)).nullable] == []
    assert [text for text in others if table.after(node, json_body(text)).nullable] == []


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"(a)\1", "backreference"),
        (r"(?P=x)", "backreference"),
        (r"\k<x>", "backreference"),
        (r"(?<=ab)c", "look-behind over more"),
        (r"(?u)a", "flags L and u"),
        (r"(?L:a)", "flags L and u"),
        (r"(?>a)", "atomic"),
        (r"a++", "possessive"),
        (r"\p{Script=Greek}", "Unicode property"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(pattern, names):
    with pytest.raises(UnsupportedSchemaError, match=names) as caught:
        compile_constraint(Regex(pattern))
    assert caught.value.keyword == "pattern"


def test_wrong_type():
    with pytest.raises(InvalidSchemaError, match="must be a string"):
        compile_constraint(Regex(3))  # type: ignore[arg-type]
    with pytest.raises(InvalidSchemaError, match=r"must be a string, not re\.compile"):
        Regex(re.compile(b"a"))  # type: ignore[arg-type]
