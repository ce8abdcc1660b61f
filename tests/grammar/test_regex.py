import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import Regex, compile_constraint

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


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"(a)\1", "backreference"),
        (r"(?=a)b", "look-around"),
        (r"(?<!a)b", "look-around"),
        (r"(?i)a", "flags"),
        (r"(?i:a)", "flags"),
        (r"a\bb", "word boundary"),
        (r"a^b", "anchor"),
        (r"(a|b$)c", "anchor"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(pattern, names):
    with pytest.raises(UnsupportedSchemaError, match=names) as caught:
        compile_constraint(Regex(pattern))
    assert caught.value.keyword == "pattern"


def test_wrong_type():
    with pytest.raises(InvalidSchemaError, match="must be a string"):
        compile_constraint(Regex(3))  # type: ignore[arg-type]
