"""Structural tags: which texts they take, as xgrammar sees it too, and what is refused."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dg_sglang.errors import EmptyLanguageError, GrammarTooLargeError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import StructuralTag, compile_constraint

INTEGER = {"type": "json_schema", "json_schema": {"type": "integer"}}
F = {"type": "tag", "begin": "<f>", "content": INTEGER, "end": "</f>"}
G = {"type": "tag", "begin": "<g>", "content": {"type": "any_text"}, "end": ["</g>", "</h>"]}
C = {"type": "const_string", "value": "c"}
TEXT = {"type": "any_text"}


def accepted(tag, *texts):
    grammar = compile_constraint(StructuralTag(tag))
    return [text for text in texts if grammar.accepts(text)]


def formatted(kind, **keys):
    return {"type": "structural_tag", "format": {"type": kind, **keys}}


FORMATS = [
    (formatted("const_string", value="c"), ["c"], ["", "cc"]),
    (formatted("json_schema", json_schema={"type": "integer"}, style="json", any_order=False), ["1"], ["a"]),
    (formatted("json_schema", json_schema={}), ['{"a": [1]}', "null"], [""]),
    (formatted("grammar", grammar='root ::= "a"+'), ["aa"], [""]),
    (formatted("regex", pattern="a+"), ["aa"], [""]),
    (formatted("any_text"), ["", "é\n😀"], []),
    (formatted("any_text", excludes=["ab", "c"]), ["", "ba", "a"], ["aab", "xc"]),
    (formatted("any_text", max_chars=2), ["", "é😀"], ["aaa"]),
    (formatted("sequence", elements=[TEXT, C]), ["c", "acc"], ["", "ca"]),
    (formatted("or", elements=[C, INTEGER]), ["c", "7"], ["", "c7"]),
    (formatted("optional", content=C), ["", "c"], ["cc"]),
    (formatted("star", content=C), ["", "ccc"], ["a"]),
    (formatted("plus", content=C), ["c", "cc"], [""]),
    (formatted("repeat", content=C, min=1, max=2), ["c", "cc"], ["", "ccc"]),
    (formatted("repeat", content=C, min=1, max=-1), ["c", "ccc"], [""]),
    (formatted("tag", **{k: G[k] for k in ("begin", "content", "end")}),
     ["<g>x</g>", "<g></h>", "<g></</g>"], ["<g>x", "<g></g></g>", "<g>x</g>y</g>"]),
    (formatted("tag", begin="<", content={"type": "sequence", "elements": [C, TEXT]}, end=">"), ["<cb>"], ["<c>>"]),
    (formatted("tag", begin="<", content={"type": "or", "elements": [C, TEXT]}, end=">"), ["<c>", "<>"], ["<c>>"]),
    (formatted("tag", begin="<", content={"type": "optional", "content": TEXT}, end=">"), ["<>", "<x>"], ["<>>"]),
    (formatted("tag", begin="B", content={"type": "triggered_tags", "triggers": ["<f"], "tags": [F]}, end="E"),
     ["BE", "BxE", "Bx<f>1</f>yE"], ["BxEyE", "Bx", "B<fE"]),
    (formatted("triggered_tags", triggers=["<f", "<g"], tags=[F, G]),
     ["", "x", "<", "x<f>1</f>y<g>z</h>", "<<f>1</f>", "<g><f></g>"], ["<fx", "<f>x</f>", "<f>1", "<g>"]),
    (formatted("triggered_tags", triggers=["<f"], tags=[F], stop_after_first=True),
     ["", "x", "x<f>1</f>"], ["<f>1</f>x", "<f>1</f><f>2</f>"]),
    (formatted("triggered_tags", triggers=["<f"], tags=[F], at_least_one=True),
     ["<f>1</f>", "<f>1</f>x<f>2</f>"], ["", "x", "x<f>1</f>"]),
    (formatted("triggered_tags", triggers=["<f"], tags=[F], at_least_one=True, stop_after_first=True),
     ["<f>1</f>"], ["", "x", "<f>1</f>x"]),
    (formatted("triggered_tags", triggers=["<f"], tags=[F], excludes=["no"]),
     ["n<f>1</f>o", ""], ["no", "<f>1</f>no"]),
    (formatted("tags_with_separator", tags=[F], separator=","),
     ["", "<f>1</f>", "<f>1</f>,<f>2</f>"], ["<f>1</f>,"]),
    (formatted("tags_with_separator", tags=[F, G], separator="", at_least_one=True),
     ["<f>1</f><g></g>"], ["", "<f>1</f>,<f>2</f>"]),
    (formatted("tags_with_separator", tags=[F], separator=",", stop_after_first=True),
     ["", "<f>1</f>"], ["<f>1</f>,<f>2</f>"]),
    (formatted("dispatch", rules=[["<t>", C]]), ["", "x<t>c", "<t>cx<t>c"], ["<t>", "<t>x"]),
    (formatted("dispatch", rules=[["<t>", C]], loop=False, excludes=["e"]), ["x", "x<t>c"], ["<t>cx", "e<t>c"]),
    ({"type": "structural_tag", "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}],
      "triggers": ["<f"]}, ["", "x<f>1</f>y"], ["<f>x</f>", "<f"]),
    ({"structures": [{"begin": "<f>", "end": "</f>"}], "triggers": ["<f"], "at_least_one": True},
     ['<f>{"any": 1}</f>y'], ["", "x<f>1</f>"]),
]  # fmt: skip


@pytest.mark.parametrize(("tag", "members", "others"), FORMATS)
def test_formats(tag, members, others):
    assert accepted(tag, *members, *others) == members
    assert accepted(json.dumps(tag), *members, *others) == members


# xgrammar takes the older form through another function.
@pytest.mark.parametrize(("tag", "members", "others"), [row for row in FORMATS if "format" in row[0]])
def test_xgrammar_agrees(tag, members, others):
    xgrammar = pytest.importorskip("xgrammar")
    from xgrammar.testing import _is_grammar_accept_string as accepts

    grammar = xgrammar.Grammar.from_structural_tag(tag)
    assert [text for text in (*members, *others) if accepts(grammar, text)] == members


TRIGGERED = compile_constraint(StructuralTag(formatted("triggered_tags", triggers=["<f"], tags=[F], excludes=["stop"])))


@given(st.lists(st.sampled_from(["<f", "<f>", "1", "</f>", "x", "<", "stop", "é"]), max_size=6).map("".join))
@settings(max_examples=300, deadline=None)
def test_free_text_holds_no_trigger(text):
    """The first trigger begins a tag, and so on: read as a program would, from left to right."""
    rest, valid = text, True
    while valid:
        before, trigger, rest = rest.partition("<f")
        valid = "stop" not in before
        if not trigger:
            break
        region = re.match(r">-?(?:0|[1-9]\d*)</f>", rest)
        valid = valid and region is not None
        rest = rest[region.end() :] if region else ""
    assert TRIGGERED.accepts(text) == valid


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (5, "must be an object"),
        ("{", "not valid JSON"),
        ({"type": "json_schema"}, 'of type "structural_tag"'),
        ({"type": "structural_tag"}, 'must have a "format"'),
        ({"format": "x"}, r"an object with a type \(at /format\)"),
        (formatted("nope"), r"no format 'nope'; the formats are const_string, .*\(at /format\)"),
        (formatted("const_string"), "value must be a string, not None"),
        (formatted("const_string", value="a", extra=1), "'const_string' has no 'extra'"),
        (formatted("sequence", elements=[]), "elements must not be empty"),
        (formatted("or", elements={}), "elements must be a list"),
        (formatted("star"), r"an object with a type \(at /format/content\)"),
        (formatted("repeat", content=C, min=2, max=1), "min and max must be counts in order"),
        (formatted("repeat", content=C, min=0, max=1e400), "min and max must be counts in order"),
        (formatted("any_text", max_chars=-1), "max_chars must be a non-negative integer"),
        (formatted("any_text", excludes=[""]), "excludes must be a list of strings that aren't empty"),
        (formatted("tag", begin="a", content=C, end=[]), "end must not be empty"),
        (formatted("tag", begin="a", content=C, end=[1]), "end must be a string or a list"),
        (formatted("tag", begin=1, content=C, end="b"), "begin must be a string"),
        (formatted("triggered_tags", triggers=["<", "<f"], tags=[F]), r"not 2 of .*\(at /format/tags/0\)"),
        (formatted("triggered_tags", triggers=["x"], tags=[F]), "exactly one trigger must begin '<f>', not 0"),
        (formatted("triggered_tags", triggers=["<"], tags=[3]), r"a tag must be an object.*\(at /format/tags/0\)"),
        (formatted("triggered_tags", triggers=["<"], tags=[F], at_least_one="yes"),
         "at_least_one must be true or false"),
        (formatted("dispatch", rules=[["", C]]), r"a rule must be \[pattern, format\].*\(at /format/rules/0\)"),
        (formatted("json_schema", json_schema={"minLength": "x"}), r"\(at /format/json_schema\)"),
        (formatted("grammar", grammar='root ::= "a'), r"line 1, column 10.*\(at /format/grammar\)"),
        (formatted("regex", pattern="("), r"malformed.*\(at /format/pattern\)"),
        ({"structures": [1], "triggers": ["a"]}, r"a tag must be an object.*\(at /structures/0\)"),
    ],
)  # fmt: skip
def test_malformed(tag, message):
    with pytest.raises(InvalidSchemaError, match=message):
        compile_constraint(StructuralTag(tag))


@pytest.mark.parametrize(
    ("tag", "keyword", "pointer"),
    [
        (formatted("token", token=1), "token", "/format"),
        (formatted("sequence", elements=[C, {"type": "any_tokens"}]), "any_tokens", "/format/elements/1"),
        (formatted("any_text", max_tokens=3), "max_tokens", "/format"),
        (formatted("json_schema", json_schema={}, style="qwen_xml"), "style", "/format"),
        (formatted("json_schema", json_schema={}, any_order=True), "any_order", "/format"),
        (formatted("qwen_xml_parameter", json_schema={}), "qwen_xml_parameter", "/format"),
        (formatted("tag", begin={"type": "token", "token": 5}, content=C, end="x"), "token", "/format/begin"),
        (formatted("json_schema", json_schema={"items": {"$ref": "http://x"}}), "$ref", "/format/json_schema/items"),
        (formatted("regex", pattern=r"(a)\1"), "pattern", "/format/pattern"),
        (formatted("grammar", grammar='root ::= Token("a")'), "ebnf", "/format/grammar"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(tag, keyword, pointer):
    with pytest.raises(UnsupportedSchemaError) as caught:
        compile_constraint(StructuralTag(tag))
    assert (caught.value.keyword, caught.value.pointer) == (keyword, pointer)


def test_a_tool_without_parameters():
    assert accepted(formatted("json_schema"), '{"a": [1]}', "null", "x") == ['{"a": [1]}', "null"]
    assert accepted(formatted("json_schema", json_schema=None), "1") == ["1"]


def test_empty_and_too_deep():
    with pytest.raises(EmptyLanguageError):
        compile_constraint(StructuralTag(formatted("json_schema", json_schema=False)))
    deep = C
    for _ in range(2000):
        deep = {"type": "optional", "content": deep}
    with pytest.raises(GrammarTooLargeError):
        compile_constraint(StructuralTag({"format": deep}))
