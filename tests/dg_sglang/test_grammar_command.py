"""`dg-sglang grammar`: figures, explanations, verdicts with their place, and draws that are valid."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dg_sglang.cli import main
from dg_sglang.pipelines import Receipt

BILL = {
    "type": "object",
    "title": "Bill",
    "properties": {
        "number": {"type": "string", "minLength": 1},
        "paid": {"type": "boolean"},
        "lines": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
    },
    "required": ["number", "lines"],
}
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`dg-sglang grammar …` in this process: exit code, stdout, stderr."""

    def command(*arguments: object, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", StringIO(stdin))
        with pytest.raises(SystemExit) as stop:
            main(["grammar", *(json.dumps(one) if isinstance(one, dict) else str(one) for one in arguments)])
        out, err = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, out, err

    return command


def test_check_gives_figures(run: Run) -> None:
    code, out, _ = run("check", BILL, "--json")
    figures = json.loads(out)
    assert code == 0
    assert figures["shortest answer, tokens"] > 5
    assert all(figures[name] > 0 for name in ("states", "edges", "table bytes", "compile ms"))
    assert set(figures["enforced"]) == {"type", "properties", "minLength", "items", "maxItems", "required"}
    assert figures["annotation"] == ["title"]
    assert "shortest answer" in run("check", "receipt")[1]
    assert "enforced" not in run("check", "--regex", "[0-9]+")[1]


def test_explain_names_every_keyword_and_its_place(run: Run) -> None:
    code, out, _ = run("explain", BILL, "--json")
    places = {(one["pointer"], one["keyword"]): one["status"] for one in json.loads(out)}
    assert code == 0
    assert places["/properties/number", "minLength"] == "enforced"
    assert places["", "title"] == "annotation"
    assert "/properties/lines" in run("explain", BILL)[1]


@pytest.mark.parametrize(
    ("instance", "offset", "expected"),
    [
        ('{"number":"","lines":[]}', 11, "other characters"),
        ('{"number":"x"}', 13, "`,`"),
        ('{"number":"x","lines":[1,2,3,4]}', 28, "`]`"),
        ('{"number":"x","lines":[1', 24, "`]`"),
        ('{"number":"x","paid":no,"lines":[]}', 21, "`true`"),
    ],
)
def test_accepts_says_where_and_what_could_follow(run: Run, instance: str, offset: int, expected: str) -> None:
    code, out, _ = run("accepts", BILL, instance, "--json")
    verdict = json.loads(out)
    assert code == 1
    assert (verdict["accepted"], verdict["offset"]) == (False, offset)
    assert expected in verdict["expected"]
    code, out, _ = run("accepts", BILL, instance)
    assert code == 1
    assert f"rejected at byte {offset}" in out


def test_accepts_reads_files_and_stdin_and_hints_at_the_spelling(run: Run, tmp_path: Path) -> None:
    good, swapped = '{"number": "1", "lines": [2]}', '{"lines": [2], "number": "1"}'
    (tmp_path / "answer.json").write_text(good + "\n")
    (tmp_path / "schema.json").write_text(json.dumps(BILL))
    for schema, instance, stdin in (
        (BILL, good, ""),
        (tmp_path / "schema.json", tmp_path / "answer.json", ""),
        ("-", good, json.dumps(BILL)),
        (BILL, "-", good + "\n"),
    ):
        assert run("accepts", schema, instance, stdin=stdin)[:2] == (0, "accepted\n")
    assert "schema order" in run("accepts", BILL, swapped)[1]
    assert "not JSON" in run("accepts", BILL, good[:-1])[1]
    extra = '{"number":"1","lines":[],"more":1}'
    assert run("accepts", BILL, extra)[0] == 1
    assert run("accepts", "--open", BILL, extra)[0] == 0


def test_accepts_other_constraints(run: Run) -> None:
    assert run("accepts", "--regex", "[a-z]+-[0-9]{2}", "ab-12")[0] == 0
    code, out, _ = run("accepts", "--regex", "[a-z]+-[0-9]{2}", "ab-1x")
    assert (code, "could follow: `0`-`9`" in out) == (1, True)
    rules = 'root ::= "(" root ")" | "x"'
    assert run("accepts", "--ebnf", rules, "((x))")[0] == 0
    assert run("accepts", "--ebnf", rules, "((x)")[0] == 1


@pytest.mark.parametrize("more", [[], ["--canvas", 8], ["--open"], ["--max-tokens", 20]])
def test_samples_are_valid_and_repeat_with_a_seed(run: Run, more: list[Any]) -> None:
    code, out, _ = run("sample", BILL, "-n", 8, "--seed", 3, *more, "--json")
    assert code == 0
    values = json.loads(out)
    assert len(values) == 8
    assert len(set(map(json.dumps, values))) > 1
    validator = jsonschema.Draft202012Validator(BILL)
    assert all(map(validator.is_valid, values))
    assert run("sample", BILL, "-n", 8, "--seed", 3, *more, "--json")[1] == out


def test_samples_of_other_kinds(run: Run) -> None:
    lines = run("sample", "receipt", "-n", 3, "--seed", 1)[1].splitlines()
    assert len(lines) == 3
    validator = jsonschema.Draft202012Validator(Receipt.model_json_schema())
    assert all(validator.is_valid(json.loads(line)) for line in lines)
    digits = run("sample", "--regex", "[0-9]{4}", "-n", 2)[1].split()
    assert [len(text) for text in digits if text.isdigit()] == [4, 4]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["check", {"type": "tring"}], 1, "type must be one of"),
        (["check", {"type": "string", "pattern": r"(a)\1"}], 1, "keyword 'pattern'"),
        (["check", "{"], 1, "not valid JSON"),
        (["check", "reciept"], 1, "unknown schema 'reciept'"),
        (["check", "receipt", "--tokenizer", "/no/such/tokenizer.json"], 1, "/no/such/tokenizer.json"),
        (["check", {"type": "string", "minLength": 3, "maxLength": 2}], 1, "no text satisfies"),
        (["explain", "--regex", "a"], 2, "no keywords"),
        (["accepts", "-", "-"], 2, "both be on stdin"),
        (["accepts", "--regex", "(", "a"], 1, "("),
        (["sample", BILL, "--max-tokens", 2], 1, "--max-tokens"),
        (["sample", "--open", "--regex", "a"], 2, "--open"),
        (["unknown"], 2, "unknown"),
    ],
)
def test_bad_input_is_one_clear_line(run: Run, arguments: list[Any], code: int, words: str) -> None:
    got, out, err = run(*arguments)
    assert (got, out) == (code, "")
    (line,) = err.splitlines()
    assert line.startswith("dg-sglang: ")
    assert words in line
