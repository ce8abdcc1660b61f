import re
from pathlib import Path

import pytest

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import JsonSchema, compile_constraint
from dg_sglang.grammar.expression import Expressions
from dg_sglang.grammar.formats import ANNOTATIONS as HINTS
from dg_sglang.grammar.formats import NOT_REGULAR, STANDARD
from dg_sglang.grammar.keywords import ANNOTATIONS, ENFORCED, NEVER_SUPPORTED, check_shapes, is_annotation
from dg_sglang.grammar.schema_document import SchemaDocument
from dg_sglang.grammar.schema_reader import SchemaReader
from dg_sglang.grammar.string_text import StringTexts
from dg_sglang.grammar.type_keywords import GROUPS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "json-schema.md").read_text(encoding="utf-8")


def test_the_document_is_the_table():
    rows = re.findall(r"^\| `(.+?)` \| (.*?) \| (.*?) ?\|$", DOCUMENT, re.MULTILINE)
    assert rows == [(name, keyword.enforced, keyword.refused) for name, keyword in ENFORCED.items()]


@pytest.mark.parametrize("names", [ANNOTATIONS, NEVER_SUPPORTED, STANDARD, NOT_REGULAR, HINTS])
def test_the_document_names_all_others(names):
    assert ", ".join(f"`{name}`" for name in sorted(names)) in DOCUMENT


def test_every_enforced_keyword_is_read_somewhere():
    beside = {"then", "else", "minContains", "maxContains"}
    grouped = {keyword for group in GROUPS.values() for keyword in group}
    reader = SchemaReader(SchemaDocument({}), StringTexts(Expressions(), {}), open_world=True)
    assert grouped | beside | set(reader.combinators) == set(ENFORCED)


def test_vendor_names_are_annotations_but_ours_is_not():
    assert is_annotation("x-order")
    assert not is_annotation("x-verbatim")
    assert not is_annotation("maxlength")


@pytest.mark.parametrize("keyword", sorted(NEVER_SUPPORTED))
def test_keywords_of_other_drafts_are_refused_in_every_world(keyword):
    for choice in (False, True):
        with pytest.raises(UnsupportedSchemaError) as caught:
            compile_constraint(JsonSchema({"type": "object", keyword: {}}, open=choice))
        assert caught.value.keyword == keyword


@pytest.mark.parametrize(
    ("keyword", "value"), [("maxLength", -1), ("maxLength", True), ("minimum", "1"), ("type", "x")]
)
def test_shapes_are_checked_with_the_place(keyword, value):
    with pytest.raises(InvalidSchemaError, match=keyword) as caught:
        check_shapes({keyword: value}, "/a/0")
    assert caught.value.pointer == "/a/0"
    check_shapes({"maxLength": 2.0}, "")
