import itertools

import pytest
from expression_trees import STRINGS, TREES, build, language
from hypothesis import given, settings

from dg_sglang.errors import GrammarTooLargeError
from dg_sglang.grammar import JsonSchema, compile_constraint
from dg_sglang.grammar.expression import Expressions


@given(TREES)
@settings(max_examples=300, deadline=None)
def test_derivatives_decide_membership(tree):
    table = Expressions()
    node, members = build(table, tree), language(tree)
    for text in STRINGS:
        assert table.after(node, text).nullable == (text in members), (tree, text)


def test_equal_expressions_are_one_object():
    table = Expressions()
    one = table.union([table.literal(b"x"), table.literal(b"yz")])
    assert one is table.union([table.literal(b"yz"), table.literal(b"x"), table.nothing])
    assert table.concat(one, table.empty) is one
    assert table.concat(one, table.nothing) is table.nothing


def test_classes_partition_all_bytes():
    table = Expressions()
    node = table.union([table.literal(b"ab"), table.concat(table.byte_range(97, 122), table.literal(b"q"))])
    classes = table.classes(node)
    assert sum(classes) == (1 << 256) - 1
    assert all(a & b == 0 for a, b in itertools.combinations(classes, 2))


def nested(table):
    """a…b…, as many a as b: S = ab | aSb."""
    name = object()
    a, b = table.literal(b"a"), table.literal(b"b")
    return table.reference(
        name, lambda: table.union((table.literal(b"ab"), table.concat(a, table.reference(name, dict), b)))
    )


def test_a_reference_may_stand_in_itself():
    table = Expressions()
    node = nested(table)
    for count in (1, 2, 3000):
        assert table.after(node, b"a" * count + b"b" * count).nullable
        assert not table.after(node, b"a" * count + b"b" * (count + 1)).nullable
    both = table.intersection((node, table.complement(table.literal(b"ab"))))
    assert table.after(both, b"aabb").nullable
    assert not table.after(both, b"ab").nullable


@given(TREES)
@settings(max_examples=100, deadline=None)
def test_what_is_called_empty_is_empty(tree):
    table = Expressions()
    if table.is_empty(build(table, tree)):
        assert not language(tree)


def test_a_text_that_doubles_with_every_definition_is_refused_soon():
    definitions = {"d0": {"type": "string"}}
    for level in range(1, 31):
        inner = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {
            "type": "object",
            "properties": {"a": inner, "b": inner},
            "required": ["a", "b"],
        }
    with pytest.raises(GrammarTooLargeError, match="sequence of more than"):
        compile_constraint(JsonSchema({"$defs": definitions, "$ref": "#/$defs/d30"}))
