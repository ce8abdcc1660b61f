"""The command line: results on stdout, one line per error, exit codes, and no heavy import where none is needed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from dg_sglang.cli import main
from dg_sglang.cli.shared import dump, write
from dg_sglang.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
INVOICE = ROOT / "examples" / "invoice.pdf"
BILL = """from pydantic import BaseModel

class Bill(BaseModel):
    number: str | None

class Plain:
    pass

text = "not a class"
"""


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def error_line(self) -> str:
        """The only line on stderr, without progress before it."""
        (line,) = self.err.splitlines()
        assert line.startswith("dg-sglang: ")
        assert "Traceback" not in line
        assert self.out == ""
        return line


class Cli:
    """`dg-sglang …` in this process, which saves importing torch for every test."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        code = stop.value.code
        assert isinstance(code, int)
        return Outcome(code, captured.out, captured.err)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


def spawn(*arguments: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dg_sglang", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **{**pipes, **options})  # type: ignore[call-overload, no-any-return]


def make_pdf(path: Path, pages: int = 1, **save: object) -> Path:
    import pymupdf

    with pymupdf.open() as document:
        for number in range(pages):
            page = document.new_page()
            page.insert_text((72, 72), f"Invoice number: 2024-{number:03}")
        document.save(path, **save)
    return path


# --- the command itself -----------------------------------------------------------------------------------------------


def test_help_is_quick_and_light() -> None:
    code = (
        "import sys, dg_sglang.cli as c\n"
        "try: c.main(['extract', '--help'])\n"
        "finally: print([m for m in ('torch', 'transformers', 'pydantic', 'numba', 'pymupdf') if m in sys.modules])"
    )
    times = []
    for _ in range(3):
        start = os.times()
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        end = os.times()  # of the processor, so that busy neighbours don't count
        times.append(end.children_user + end.children_system - start.children_user - start.children_system)
        assert "--schema" in result.stdout
        assert result.stdout.splitlines()[-1] == "[]"
    assert min(times) < 0.5


def test_version_and_module_form() -> None:
    process = spawn("--version")
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == "dg-sglang, version 0.1.0\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["extract"], "Missing argument 'FILE'"),
        (["extract", "x.pdf"], "Missing option '--schema'"),
        (["extrakt"], "No such command 'extrakt'"),
        (["generate", "x", "--seed", "-1"], "-1 is not in the range"),
        (["generate", "x", "--regex", "a", "--choice", "b"], "exclude one another"),
        (["generate", "x", "--regex", "a", "--ebnf", "b"], "exclude one another"),
        (["generate", "x", "--unknown"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(cli: Cli, arguments: list[str], message: str) -> None:
    outcome = cli(*arguments)
    assert outcome.code == 2
    assert message in outcome.error_line
    assert "--help" in outcome.error_line


# --- documents that can't be read -------------------------------------------------------------------------------------


def test_missing_file(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("extract", tmp_path / "none.pdf", "--schema", "invoice")
    assert outcome.code == 1
    assert "none.pdf: no such file" in outcome.error_line


def test_folder_instead_of_a_file(cli: Cli, tmp_path: Path) -> None:
    assert "not a file" in cli("extract", tmp_path, "--schema", "invoice").error_line


def test_empty_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty.pdf").touch()
    outcome = cli("extract", tmp_path / "empty.pdf", "--schema", "invoice")
    assert outcome.code == 1
    assert "empty.pdf: the file is empty" in outcome.error_line


@pytest.mark.heavy
@pytest.mark.parametrize("kept", [0.02, 0.5, 0.9])
def test_truncated_pdf(cli: Cli, tmp_path: Path, kept: float) -> None:
    whole = make_pdf(tmp_path / "whole.pdf", pages=20).read_bytes()
    (tmp_path / "cut.pdf").write_bytes(whole[: int(len(whole) * kept)])
    outcome = cli("extract", tmp_path / "cut.pdf", "--schema", "invoice")
    assert outcome.code == 1
    assert "cut.pdf" in outcome.error_line


@pytest.mark.heavy
def test_encrypted_pdf_asks_for_the_password(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pymupdf

    locked = make_pdf(tmp_path / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open", owner_pw="own")
    outcome = cli("extract", locked, "--schema", "invoice")
    assert outcome.code == 1
    assert "locked.pdf" in outcome.error_line
    assert "password" in outcome.error_line
    monkeypatch.setenv("DG_SGLANG_PASSWORD", "wrong")
    assert "password" in cli("extract", locked, "--schema", "invoice").error_line


@pytest.mark.heavy
@pytest.mark.parametrize("content", [b"%PDF-1.7\nnothing of the kind", bytes(range(256)) * 40])
def test_not_a_pdf(cli: Cli, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "fake.pdf").write_bytes(content)
    outcome = cli("extract", tmp_path / "fake.pdf", "--schema", "invoice")
    assert outcome.code == 1
    assert "fake.pdf" in outcome.error_line


@pytest.mark.heavy
def test_too_many_pages(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("extract", make_pdf(tmp_path / "long.pdf", pages=1001), "--schema", "invoice")
    assert outcome.code == 1
    assert "1001 pages" in outcome.error_line
    assert "limit" in outcome.error_line


# --- schemas that can't be used ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("none.json", ["none.json"]),
        ("broken.json", ["broken.json", "line 1"]),
        ("list.json", ["list.json"]),
        ("unsupported.json", ["not", "keyword"]),
        ("no_such_module:Bill", ["no_such_module"]),
        ("bill_models:Nothing", ["Nothing", "bill_models"]),
        ("bill_models:Plain", ["Plain", "pydantic"]),
        ("bill_models:text", ["text", "pydantic"]),
        ("invoise", ["invoise", "invoice", "receipt"]),
        ("", ["schema"]),
    ],
)
def test_wrong_schema(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: str, words: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("bill_models.py").write_text(BILL)
    Path("broken.json").write_text('{"type": "object", ')
    Path("list.json").write_text("[1, 2]")
    Path("unsupported.json").write_text('{"type": "object", "properties": {"a": {"not": {"type": "null"}}}}')
    outcome = cli("extract", INVOICE, "--schema", schema)
    assert outcome.code == 1
    assert [word for word in words if word not in outcome.error_line] == []


def test_unwritable_output_fails_before_any_work(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("extract", INVOICE, "--schema", "invoice", "--out", tmp_path / "nowhere" / "out.json")
    assert outcome.code == 1
    assert "nowhere" in outcome.error_line
    assert "is a folder" in cli("extract", INVOICE, "--schema", "invoice", "--out", tmp_path).error_line


@pytest.mark.parametrize("option", ["--out", "--schema", "--model", "FILE"])
def test_names_too_long_for_any_file(cli: Cli, option: str) -> None:
    arguments = {"FILE": INVOICE, "--schema": "invoice", "--model": "none"} | {option: "/" + "x" * 5000}
    outcome = cli("extract", arguments.pop("FILE"), *(word for pair in arguments.items() for word in pair))
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("dg-sglang: ")
    assert "unexpected" not in outcome.err


def test_output_never_replaces_what_is_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "object", "properties": {"a": {"type": "string"}}}')
    document = make_pdf(tmp_path / "bill.pdf")
    for out in (document, tmp_path / "schema.json"):
        before = out.read_bytes()
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(out)
        for name in (out, tmp_path / "link"):
            outcome = cli("extract", document, "--schema", tmp_path / "schema.json", "--out", name)
            assert (outcome.code, "the file to be read" in outcome.error_line) == (1, True)
        assert out.read_bytes() == before


def test_output_is_complete_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old.json").write_text("old")
    (tmp_path / "old.json").chmod(0o600)
    write("--out", tmp_path / "old.json", "new")
    write("--out", tmp_path / "new.json", "ü")
    assert (tmp_path / "old.json").read_text() == "new\n"
    assert (tmp_path / "old.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new.json").stat().st_mode & 0o111 == 0
    monkeypatch.setattr(Path, "chmod", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(ConfigError, match="No space left"):
        write("--out", tmp_path / "old.json", "newer")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.json", "old.json"]
    assert (tmp_path / "old.json").read_text() == "new\n"
    with pytest.raises(ConfigError, match="No space left"):
        write("--out", Path("/dev/full"), "x")


# --- extraction -------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_extract_shows_values_with_their_evidence(cli: Cli) -> None:
    outcome = cli("extract", INVOICE, "--schema", "invoice", "--seed", 1)
    assert outcome.code == 0
    assert "page 1" in outcome.out
    assert "loading nano" in outcome.err
    assert "loading nano" not in outcome.out


@pytest.mark.heavy
def test_extract_json_validates_and_grounds_every_value(cli: Cli, tmp_path: Path) -> None:
    import pymupdf

    from dg_sglang.pipelines import Invoice

    out = tmp_path / "result.json"
    outcome = cli("extract", INVOICE, "--schema", "invoice", "--seed", 1, "--json", "--out", out)
    assert outcome.code == 0
    result = json.loads(outcome.out)
    assert json.loads(out.read_text()) == result
    Invoice.model_validate(result["value"])
    with pymupdf.open(INVOICE) as document:
        pages = [" ".join(page.get_text().split()) for page in document]
    evidence = list(leaves(result["evidence"]))
    assert evidence
    for leaf in evidence:
        # A piece may run from one line of a column to the next, which the page's text keeps apart.
        assert all(word in pages[leaf["page"] - 1] for word in leaf["verbatim"].split())
        assert leaf["boxes"]


def leaves(node: object) -> list[dict[str, object]]:
    """Every leaf of an evidence tree that quotes the document."""
    if isinstance(node, dict):
        if node.get("verbatim"):
            return [node]
        return [leaf for child in node.values() for leaf in leaves(child)]
    return [leaf for child in node for leaf in leaves(child)] if isinstance(node, list) else []


@pytest.mark.heavy
def test_extract_reads_an_encrypted_pdf_with_its_password(cli: Cli, tmp_path: Path) -> None:
    import pymupdf

    locked = make_pdf(tmp_path / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open", owner_pw="own")
    (tmp_path / "schema.json").write_text('{"type": "object", "properties": {"number": {"type": ["string", "null"]}}}')
    outcome = cli("extract", locked, "--schema", tmp_path / "schema.json", "--password", "open", "--json")
    assert outcome.code == 0
    assert set(json.loads(outcome.out)["value"]) == {"number"}


# --- generation -------------------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_generate_under_each_constraint(cli: Cli, tmp_path: Path) -> None:
    assert cli("generate", "Yes or no?", "--choice", "yes", "--choice", "no", "--seed", 1).out in ("yes\n", "no\n")
    digits = cli("generate", "A number", "--regex", "[0-9]{3}", "--seed", 1)
    assert len(digits.out.strip()) == 3
    assert digits.out.strip().isdigit()
    (tmp_path / "grammar.gbnf").write_text('root ::= "a" | "b"+ "c"\n')
    grammar = cli("generate", "A word", "--ebnf", tmp_path / "grammar.gbnf", "--seed", 1).out.strip()
    assert grammar == "a" or grammar.strip("b") == "c"
    (tmp_path / "schema.json").write_text('{"enum": ["red", "green"]}')
    coloured = cli("generate", "A colour", "--schema", tmp_path / "schema.json", "--seed", 1, "--json")
    answer = json.loads(coloured.out)
    assert answer["parsed"] in ("red", "green")
    assert answer["seed"] == 1
    assert answer["usage"]["denoising_steps"] >= 1


@pytest.mark.heavy
def test_generate_reads_stdin_and_repeats_with_a_seed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from io import StringIO

    outputs = []
    for _ in range(2):
        monkeypatch.setattr("sys.stdin", StringIO("Write something."))
        outcome = cli("generate", "-", "--max-new-tokens", 16, "--seed", 7)
        assert outcome.code == 0
        assert "denoising steps:" in outcome.err
        outputs.append(outcome.out)
    assert outputs[0] == outputs[1]


def test_stdin_that_is_no_text(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from io import BytesIO, TextIOWrapper

    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"\xff\xfe"), encoding="utf-8"))
    outcome = cli("generate", "-")
    assert outcome.code == 1
    assert "the prompt on stdin is not utf-8 text" in outcome.error_line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--regex", "(unclosed"], ["(unclosed"]),
        (["--ebnf", 'root ::= "a'], ["line 1, column 10", "isn't closed"]),
        (["--model", "/no/such/checkpoint"], ["/no/such/checkpoint"]),
        (["--schema", "none.json"], ["none.json"]),
        (["--choice", "\udcff"], ["lone surrogate"]),
    ],
)
def test_generate_refuses_in_one_line(cli: Cli, arguments: list[str], words: list[str]) -> None:
    outcome = cli("generate", "Hello", *arguments)
    assert outcome.code == 1
    last = outcome.err.splitlines()[-1]
    assert last.startswith("dg-sglang: ")
    assert [word for word in words if word not in last] == []


@pytest.mark.heavy
def test_generate_refuses_an_empty_prompt(cli: Cli) -> None:
    outcome = cli("generate", "  ")
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("dg-sglang: ")


# --- what nobody foresaw ----------------------------------------------------------------------------------------------


def test_an_unforeseen_error_is_one_line_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise TypeError("first line\nsecond \x1b[31mline")

    monkeypatch.setattr("dg_sglang.pipelines.resolve_schema", fail, raising=False)
    outcome = cli("extract", INVOICE, "--schema", "invoice")
    assert outcome.code == 1
    assert "TypeError: first line second \\x1b[31mline (unexpected; DG_SGLANG_DEBUG=1" in outcome.error_line
    monkeypatch.setenv("DG_SGLANG_DEBUG", "1")
    with pytest.raises(TypeError):
        main(["extract", str(INVOICE), "--schema", "invoice"])


def test_json_fits_the_encoding_of_its_reader() -> None:
    tree = {"a": "ü€😀", "b": "\udcff"}
    assert json.loads(dump(tree, "utf-8")) == json.loads(dump(tree, "ascii")) == tree
    assert "ü€😀" in dump({"a": "ü€😀"}, "utf-8")
    assert dump({"a": "ü€"}, "latin-1").isascii()


def test_a_closed_stdout_is_no_error() -> None:
    command = f"{sys.executable} -m dg_sglang --version >&-"
    result = subprocess.run(["/bin/sh", "-c", command], stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_full_disk_behind_stdout_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        process = spawn("--version", stdout=full)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert len(err.splitlines()) == 1
    assert "No space left on device" in err


# --- doctor and signals -----------------------------------------------------------------------------------------------


@pytest.mark.heavy
def test_doctor(cli: Cli) -> None:
    outcome = cli("doctor")
    assert outcome.code == 0
    assert outcome.err.count("\n") == 1
    assert "compiles kernels" in outcome.err
    assert "ok       torch" in outcome.out
    checks = json.loads(cli("doctor", "--json").out)
    assert (checks[-1]["name"], checks[-1]["ok"]) == ("model", True)
    missing = cli("doctor", "--model", "/no/such/checkpoint")
    assert missing.code == 1
    assert "/no/such/checkpoint" in missing.out


def test_interrupt_is_quiet() -> None:
    process = spawn("generate", "-", stdin=subprocess.PIPE)
    time.sleep(1.5)  # it waits for stdin, which stays open
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (130, "", "dg-sglang: interrupted")


def test_reader_that_leaves_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = spawn("doctor", stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    assert "BrokenPipe" not in err
    assert process.returncode == 1
