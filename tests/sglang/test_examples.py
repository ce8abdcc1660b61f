"""The programs in examples/server run: against the bundled checkpoint, or a random one that sees."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from sglang_client import Client

from dg_sglang.pipelines import load_document

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / "server" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_extract_reads_pieces_of_the_document(nano: Client) -> None:
    path = EXAMPLES / "invoice.pdf"
    result = example("extract").main(nano.url, str(path))
    text = " ".join(load_document(path).text.split())
    values = [value for part in result.values() for value in part.values()]
    assert len(values) == 5
    assert all(value is None or value in text for value in values)


def test_tools_calls_one_of_them(nano: Client) -> None:
    module = example("tools")
    result = module.main(nano.url, "What is 12 EUR in CHF?")
    assert module.TOOLS[result["tool"]].model_validate_json(result["arguments"]).run() == result["result"]


def test_picture_gives_an_object(tiny: Client) -> None:
    module = example("picture")
    assert isinstance(module.main(tiny.url, str(EXAMPLES / "receipt.png")), module.Picture)


def test_picture_is_told_where_a_checkpoint_cannot_see(nano: Client) -> None:
    with pytest.raises(RuntimeError, match="not trained to read pictures"):
        example("picture").main(nano.url, str(EXAMPLES / "receipt.png"))
