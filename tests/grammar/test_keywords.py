import re
from pathlib import Path

import pytest

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import JsonSchema, compile_constraint
from dg_sglang.grammar.expression import Expressions
from dg_sglang.grammar.formats import ANNOTATIONS as HINTS
from dg_sglang.grammar.formats import INTEGERS, NOT_REGULAR, OTHERS, STANDARD
from dg_sglang.grammar.keywords import ANNOTATIONS, ENFORCED, NEVER_SUPPORTED, check_shapes, is_annotation
from dg_sglang.grammar.schema_document import SchemaDocument
from dg_sglang.grammar.schema_reader import SchemaReader
from dg_sglang.grammar.string_text import StringTexts
from dg_sglang.grammar.type_keywords import GROUPS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "json-schema.md").read_text(encoding="utf-8")


def test_the_document_is_the_table():
    rows = re.findall(r"^\| `(.+?)` \| (.*?) \| (.*?) ?\|$", DOCUMENT, re.MULTILINE)
    assert rows == [(name, keyword.enforced, keyword.refused) for name, keyword in ENFORCED.items()]


@pytest.mark.parametrize("names", [ANNOTATIONS, NEVER_SUPPORTED, STANDARD, OTHERS, INTEGERS, NOT_REGULAR, HINTS])
def test_the_document_names_all_others(names):
    assert ", ".join(f"`{name}`" for name in sorted(names)) in DOCUMENT


def test_every_enforced_keyword_is_read_somewhere():
    beside = {"then", "else", "minContains", "maxContains"}
    grouped = {keyword for group in GROUPS.values() for keyword in group}
    reader = SchemaReader(SchemaDocument({}), StringTexts(Expressions(), {}), open_world=True)
    assert grouped | beside | set(reader.combinators) == set(ENFORCED)


def test_names_of_ones_own_are_annotations_but_ours_is_not():
    for name in ("x-order", "_format", "//pattern"):
        assert is_annotation(name)
        assert f"`{name[:2].rstrip('f')}`" in DOCUMENT
    assert not is_annotation("x-verbatim")
    assert not is_annotation("maxlength")


@pytest.mark.parametrize("keyword", sorted(NEVER_SUPPORTED))
def test_keywords_of_other_drafts_are_refused_in_every_world(keyword):
    for choice in (False, True):
        with pytest.raises(UnsupportedSchemaError) as caught:
            compile_constraint(JsonSchema({"type": "object", keyword: {}}, open=choice))
        assert caught.value.keyword == keyword


@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ("maxlength", "did you mean 'maxLength'"),
        ("additonalProperties", "did you mean 'additionalProperties'"),
        ("Titel", "did you mean 'title'"),
        ("nullable", 'as a list with "null"'),
        ("extends", "write allOf"),
        ("colour", "is not supported; remove it, check it after generation, or name it in `annotations`"),
    ],
)
def test_what_may_have_been_meant(keyword, message):
    with pytest.raises(UnsupportedSchemaError, match=message) as caught:
        compile_constraint(JsonSchema({"type": "object", "properties": {"a": {keyword: 1}}}))
    assert (caught.value.keyword, caught.value.pointer) == (keyword, "/properties/a")
    if keyword != "extends":
        compile_constraint(JsonSchema({"type": "object", "properties": {"a": {keyword: 1}}}, open=True))


def test_annotations_of_ones_own():
    schema = {"colour": 1, "items": {"type": "string", "format": "iso-code", "disallow": 2}, "type": "array"}
    grammar = compile_constraint(JsonSchema(schema, annotations=["colour", "iso-code", "disallow"]))
    assert grammar.accepts('["anything"]')
    assert not grammar.accepts("[1]")
    for some in (["colour"], {"colour", "iso-code"}, ("iso-code", "disallow")):
        with pytest.raises(UnsupportedSchemaError):
            compile_constraint(JsonSchema(schema, annotations=some))


@pytest.mark.parametrize("name", ["pattern", "$ref", "date"])
def test_what_is_enforced_is_no_annotation(name):
    with pytest.raises(InvalidSchemaError, match=f"annotations can't name '{re.escape(name)}', which is enforced"):
        compile_constraint(JsonSchema({}, annotations=[name]))


@pytest.mark.parametrize(
    ("keyword", "value"), [("maxLength", -1), ("maxLength", True), ("minimum", "1"), ("type", "x")]
)
def test_shapes_are_checked_with_the_place(keyword, value):
    with pytest.raises(InvalidSchemaError, match=keyword) as caught:
        check_shapes({keyword: value}, "/a/0")
    assert caught.value.pointer == "/a/0"
    check_shapes({"maxLength": 2.0}, "")
