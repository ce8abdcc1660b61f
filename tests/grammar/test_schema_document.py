import pytest

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import JsonSchema, compile_constraint
from dg_sglang.grammar.schema_document import SchemaDocument

SCHEMA = {
    "$id": "https://example.com/root",
    "$defs": {
        "a/b~c": {"type": "null"},
        "named": {"$anchor": "here", "type": "string"},
        "other": {"$id": "folder/other", "$defs": {"x": {"type": "integer"}}, "items": {"$ref": "#/$defs/x"}},
        "old": {"$id": "#old", "type": "array"},
        "dynamic": {"$dynamicAnchor": "node", "type": "boolean"},
    },
    "prefixItems": [{"title": "first"}],
}


@pytest.mark.parametrize(
    ("reference", "pointer"),
    [
        ("#", ""),
        ("#/$defs/a~1b~0c", "/$defs/a~1b~0c"),
        ("#/%24defs/named", "/$defs/named"),
        ("#here", "/$defs/named"),
        ("root#here", "/$defs/named"),
        ("https://example.com/folder/other", "/$defs/other"),
        ("folder/other#/$defs/x", "/$defs/other/$defs/x"),
        ("#old", "/$defs/old"),
        ("#node", "/$defs/dynamic"),
        ("#/prefixItems/0", "/prefixItems/0"),
    ],
)
def test_references(reference, pointer):
    document = SchemaDocument(SCHEMA | {"$ref": reference})
    target = document.resolve(document.root, "$ref")
    assert target.pointer == pointer
    assert document.resolve(document.root, "$ref") is target


def test_a_reference_is_relative_to_its_resource():
    document = SchemaDocument(SCHEMA)
    inner = document.child(document.root, "$defs", "other", "items")
    assert document.resolve(inner, "$ref").pointer == "/$defs/other/$defs/x"


@pytest.mark.parametrize(
    "reference",
    ["#/nothing", "#nowhere", *(f"#/prefixItems/{index}" for index in ("7", "x", "-1", "+0", "00", "0/-1"))],
)
def test_references_to_nowhere(reference):
    document = SchemaDocument(SCHEMA | {"$ref": reference})
    with pytest.raises(InvalidSchemaError, match="points nowhere"):
        document.resolve(document.root, "$ref")


@pytest.mark.parametrize("keyword", ["$id", "$ref"])
def test_no_uris(keyword):
    schema = {"$id": "https://example.com/root", "properties": {"a": {keyword: "https://[::x"}}}
    with pytest.raises(InvalidSchemaError, match=r"'https://\[::x' is not a URI reference: .* \(at /properties/a\)"):
        compile_constraint(JsonSchema(schema))


def test_other_documents_and_dynamic_paths_are_refused():
    document = SchemaDocument(SCHEMA | {"$ref": "elsewhere.json"})
    with pytest.raises(UnsupportedSchemaError, match="inside the document"):
        document.resolve(document.root, "$ref")
    twice = SchemaDocument(SCHEMA | {"items": {"$dynamicAnchor": "node"}, "$dynamicRef": "#node"})
    with pytest.raises(UnsupportedSchemaError, match="path"):
        twice.resolve(twice.root, "$dynamicRef")
