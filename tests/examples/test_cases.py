import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from cases import NANO, handwritten, text_document  # noqa: E402

from dg_sglang.pipelines.schema_tree import schema_tree  # noqa: E402


def stated(value, schema):
    """Every text of a value that must be a piece of the document."""
    if isinstance(value, dict):
        for name, child in value.items():
            yield from stated(child, schema["properties"][name])
    elif isinstance(value, list):
        for child in value:
            yield from stated(child, schema["items"])
    elif isinstance(value, str) and not {"enum", "format", "x-kind"} & set(schema):
        yield value


class TestHandwritten:
    def test_truth_stands_in_the_documents(self):
        cases = list(handwritten(NANO / "handwritten"))
        assert len(cases) >= 60
        assert len({case.name for case in cases}) == len(cases)
        for case in cases:
            schema_tree(case.schema)
            text = " ".join(case.document.text.split())
            for name, value in case.truth.items():
                for piece in stated(value, case.schema["properties"][name]):
                    assert piece in text, f"{case.name}: {name}"

    def test_asks_for_what_is_not_there(self):
        cases = list(handwritten(NANO / "handwritten"))
        values = [value for case in cases for value in case.truth.values()]
        assert sum(value is None for value in values) >= 60
        assert {type(value) for value in values} >= {str, float, int, bool, list, dict}

    def test_reads_one_line_a_field(self, tmp_path):
        (tmp_path / "a.txt").write_text(
            '### one\nBolt  2 pcs\n---\nname: text = null\nkind: choice(x, y) (which) = "x"\n'
            'rows: list(what: text, count: number) = [["Bolt", 2]]\n'
        )
        (case,) = handwritten(tmp_path)
        assert case.document.text == "Bolt  2 pcs"
        assert case.truth == {"name": None, "kind": "x", "rows": [{"what": "Bolt", "count": 2}]}
        assert case.schema["properties"]["kind"] == {"enum": ["x", "y"], "description": "which"}


def test_text_document_keeps_the_text():
    text = "Total   12.50\n\nBolt  2 pcs\nNut"
    document = text_document("a", "\n" + text + "\n")
    assert document.text == text
    assert [text[place.start : place.end] for place in document.places] == text.split()
