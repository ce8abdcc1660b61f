import json
from pathlib import Path

import pytest

from dg_sglang.errors import InvalidSchemaError
from dg_sglang.pipelines import Invoice, Receipt, resolve_schema
from dg_sglang.pipelines.schema_tree import schema_tree


def test_built_in_schemas_allow_everything_to_be_absent() -> None:
    for name, model in (("invoice", Invoice), ("receipt", Receipt)):
        assert resolve_schema(name) is model
        assert all(leaf.optional for leaf in schema_tree(model).leaves())
        model()


def test_a_class_of_a_module() -> None:
    assert resolve_schema("dg_sglang.pipelines.schemas:LineItem").__name__ == "LineItem"


def test_a_class_of_a_module_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_bill.py").write_text("from pydantic import BaseModel\nclass Bill(BaseModel):\n    number: str\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", __import__("sys").path[:])
    assert schema_tree(resolve_schema("my_bill:Bill")).children[0].name == "number"


def test_a_json_schema_file(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"type": "object", "properties": {"a": {"type": "string"}}}))
    assert schema_tree(resolve_schema(str(path))).children[0].name == "a"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("bill", "unknown schema 'bill'; use invoice, receipt"),
        ("missing.json", "can't be read"),
        ("broken.json", "is not valid JSON"),
        ("latin.json", "is not valid JSON"),
        ("list.json", "must hold a JSON object, not list"),
        ("no_such_module:Bill", "can't be imported"),
        ("broken_module:Bill", "can't be imported: division"),
        ("leaving_module:Bill", "can't be imported: 3"),
        ("strange_module:Bill", "can't be imported: X"),
        ("deep.json", "nested too deeply"),
        ("x" * 5000, "unknown schema"),
        ("json:Bill", "the module 'json' has no class 'Bill'"),
        ("json:dumps", "is not a pydantic model"),
    ],
)
def test_errors_say_what_is_wrong(name: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe4"}')
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "broken_module.py").write_text("1 / 0")
    (tmp_path / "leaving_module.py").write_text("import sys\nsys.exit(3)")
    (tmp_path / "strange_module.py").write_text("class X(BaseException): pass\nraise X")
    (tmp_path / "deep.json").write_text('{"a":' * 10**5 + "1" + "}" * 10**5)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", __import__("sys").path[:])
    with pytest.raises(InvalidSchemaError, match=problem):
        resolve_schema(name)


def test_a_json_schema_file_as_windows_editors_save_it(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "object", "properties": {"a": {"type": "string"}}}', encoding="utf-8-sig")
    assert resolve_schema(str(path))["type"] == "object"
