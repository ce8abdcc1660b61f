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
    assert not any("how" in one for one in json.loads(out) if one["status"] != "enforced")


def test_own_annotations(run: Run) -> None:
    schema = BILL | {"colour": "red", "properties": {"a": {"type": "string", "format": "iso"}}, "required": []}
    named = ["--annotation", "colour", "--annotation", "iso"]
    assert "'colour' is not supported" in run("check", schema)[2]
    statuses = {
        (one["pointer"], one["keyword"]): one["status"]
        for one in json.loads(run("explain", schema, *named, "--json")[1])
    }
    assert statuses["", "colour"] == "annotation (of your own)"
    assert statuses["/properties/a", "format"] == "annotation (of your own: iso)"
    assert run("accepts", schema, '{"a":"x"}', *named)[0] == 0
    assert run("sample", schema, "-n", 1, *named)[0] == 0
    assert run("accepts", "--regex", "a", "a", *named)[0] == 2


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


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of a and b only."""
    from tokenizers import AddedToken, Tokenizer, decoders
    from tokenizers.models import BPE

    tokenizer = Tokenizer(BPE({"a": 0, "b": 1}, []))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("</s>", special=True)])
    path = tmp_path_factory.mktemp("letters") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


CYCLE = {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}


@pytest.mark.parametrize("command", ["check", "explain", "accepts", "sample"])
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"items": {"type": "tring"}}, "type must be one of null, boolean"),
        ({"properties": 3}, "properties must be an object of schemas, not 3"),
        ('{"type": "string"', "not valid JSON"),
        (CYCLE, "refers to itself without progress"),
        ({"$ref": "https://example.org/schema.json"}, "only references inside the document are supported"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no text satisfies the constraint"),
        ({"type": "string", "pattern": r"^(a|b)\1$"}, "a backreference in the regular expression"),
        ({"type": "string", "maxlength": 2}, "did you mean 'maxLength'"),
        ({"items": {"$ref": "#/$defs/none"}}, "'#/$defs/none' points nowhere (at /items)"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bad_schema_is_one_clear_line(run: Run, command: str, schema: Any, words: str) -> None:
    code, out, err = run(command, schema, *(["{}"] if command == "accepts" else []))
    assert (code, out) == (1, "")
    (line,) = err.splitlines()
    assert line.startswith("dg-sglang: ")
    assert words in line


@pytest.mark.parametrize("command", ["check", "sample"])
@pytest.mark.parametrize("given", [[{"type": "integer"}], ["--regex", "[0-9]+"], ["--ebnf", 'root ::= "c"']], ids=str)
def test_a_tokenizer_that_can_not_spell_it(run: Run, letters: Path, command: str, given: list[Any]) -> None:
    code, out, err = run(command, *given, "--tokenizer", letters)
    assert (code, out) == (1, "")
    assert err.startswith("dg-sglang: the vocabulary can't spell any text")
    assert run(command, "--regex", "[a-c]{3}", "--tokenizer", letters)[0] == 0


@pytest.mark.parametrize(("given", "needed"), [(["--regex", "[0-9]{9}"], 9), (["--ebnf", 'root ::= "0" "x" "0"'], 3)])
def test_a_budget_below_the_shortest(run: Run, given: list[str], needed: int) -> None:
    code, out, err = run("sample", *given, "--max-tokens", needed - 1)
    assert (code, out) == (1, "")
    assert err == f"dg-sglang: the shortest one has {needed} tokens; raise --max-tokens\n"
    assert run("sample", *given, "--max-tokens", needed)[0] == 0


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
