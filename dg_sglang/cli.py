"""The `dg-sglang` command: results on stdout, progress and errors on stderr, heavy imports inside the commands.

Exit codes: 0 done, 1 an error (one line says what and what to do), 2 wrong usage, 130 interrupted.
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import click

from dg_sglang.errors import ConfigError, DgError, InputError

_model = click.option(
    "--model", default="nano", show_default=True, help='"nano" (bundled), a checkpoint folder, or a Hugging Face id.'
)
_seed = click.option("--seed", type=click.IntRange(min=0), help="Same seed, same result.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_SCHEMA_HELP = "invoice, receipt, a JSON Schema file, or module:Class of a pydantic model."


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="dg-sglang", prog_name="dg-sglang")
def cli() -> None:
    """Typed data from documents by block diffusion, with a grammar over the whole canvas."""


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--schema", required=True, help=_SCHEMA_HELP)
@_model
@_seed
@click.option("--out", type=click.Path(path_type=Path), help="Also write the JSON to this file.")
@_json
@click.option("--password", envvar="DG_SGLANG_PASSWORD", help="Of an encrypted PDF (or set DG_SGLANG_PASSWORD).")
def extract(
    file: Path, schema: str, model: str, seed: int | None, out: Path | None, as_json: bool, password: str | None
) -> None:
    """Extract a schema's fields from FILE (a PDF or an image), each with its evidence in the document."""
    from dg_sglang import pipelines
    from dg_sglang.report import render_extraction

    if out is not None:
        _check_writable(out, file, Path(schema))
    target = pipelines.resolve_schema(schema)
    _hide_weight_bar()
    result = pipelines.extract(file, target, model=model, seed=seed, password=password, progress=_progress)
    tree = result.to_json()
    if out is not None:
        _write(out, _dump(tree, "utf-8"))
    click.echo(_dump(tree, sys.stdout.encoding) if as_json else render_extraction(result))


@cli.command()
@click.argument("prompt")
@click.option("--schema", help=f"The answer's schema: {_SCHEMA_HELP}")
@click.option("--regex", help="A pattern that the whole answer matches.")
@click.option("--choice", "choices", multiple=True, help="A possible answer; give the option once for each.")
@_model
@click.option("--max-new-tokens", type=click.IntRange(min=1), help="Longest answer, in tokens.")
@_seed
@_json
def generate(
    prompt: str,
    schema: str | None,
    regex: str | None,
    choices: tuple[str, ...],
    model: str,
    max_new_tokens: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Answer PROMPT ("-" reads it from stdin), under a constraint where one is given."""
    if sum(option is not None for option in (schema, regex, choices or None)) > 1:
        raise click.UsageError("--schema, --regex and --choice exclude one another.")
    constraint: Any = None
    if schema is not None or regex is not None or choices:
        from dg_sglang import grammar, pipelines

        if schema is not None:
            constraint = grammar.JsonSchema(pipelines.resolve_schema(schema))
        else:
            constraint = grammar.Choice(choices) if regex is None else grammar.Regex(regex)
        grammar.compile_constraint(constraint)  # a bad one fails here, before a model is loaded
    text = _read_stdin() if prompt == "-" else prompt
    from dg_sglang.engine import Engine

    _hide_weight_bar()
    _progress(f"loading {model}")
    engine = Engine.load(model)
    result = engine.generate(text, constraint=constraint, max_new_tokens=max_new_tokens, seed=seed)
    click.echo(_dump(result.to_json(), sys.stdout.encoding) if as_json else result.text)
    usage = result.usage
    _progress(
        f"{usage.seconds:.1f} s; canvases: {usage.canvases}, denoising steps: {usage.denoising_steps}, "
        f"tokens: {usage.completion_tokens}, finish reason: {result.finish_reason}"
    )


@cli.command()
@_model
@_json
def doctor(model: str, as_json: bool) -> None:
    """Show versions, device and model; say what is missing and how to get it (exit code 1 if anything is)."""
    from dataclasses import asdict

    from dg_sglang.doctor import inspect

    _hide_weight_bar()
    checks = []
    click.echo("checking; a model's first answer also compiles kernels, once, for up to a minute", err=True)
    for check in inspect(model):
        checks.append(check)
        if not as_json:
            click.echo(check.line())
    if as_json:
        click.echo(_dump([asdict(check) for check in checks], sys.stdout.encoding))
    if not all(check.ok for check in checks):
        raise SystemExit(1)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit. DG_SGLANG_DEBUG=1 shows the traceback of an error that nobody foresaw."""
    if sys.stdout is None:  # closed by the caller: there is nobody to tell
        sys.stdout = StringIO()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name or a word may not fit the terminal's encoding
    try:
        cli.main(arguments, prog_name="dg-sglang", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        command = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "dg-sglang"
        _fail(f"{error.format_message()} See: {command} --help", error.exit_code)
    except DgError as error:
        _fail(str(error), 1)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except BrokenPipeError:
        # The reader has left (`| head`): nobody to tell, and Python's own flush at exit must not complain either.
        _drop_output()
        sys.exit(1)
    except Exception as error:
        if os.environ.get("DG_SGLANG_DEBUG"):
            raise
        if isinstance(error, OSError):
            _drop_output()  # a full disk behind stdout, for example: Python would complain once more at exit
        _fail(f"{type(error).__name__}: {error} (unexpected; DG_SGLANG_DEBUG=1 shows where)", 1)
    sys.exit(0)


def _fail(message: str, code: int) -> NoReturn:
    from dg_sglang.report import printable

    click.echo(f"dg-sglang: {printable(message)}", err=True)
    sys.exit(code)


def _drop_output() -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dump(value: Any, encoding: str | None) -> str:
    """JSON as it is read best; in ASCII where the encoding lacks a character, or the text is none (lone surrogates)."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return json.dumps(value, indent=2)
    return text


def _read_stdin() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InputError(f"the prompt on stdin is not {error.encoding} text: {error.reason}") from error


def _progress(message: str) -> None:
    click.echo(message, err=True)


def _hide_weight_bar() -> None:
    """Leave out transformers' bar for reading weights, which takes moments, but not the hub's for downloads."""
    try:
        from huggingface_hub.utils import enable_progress_bars
        from transformers.utils import logging
    except ImportError:
        return  # the doctor's business
    logging.disable_progress_bar()
    enable_progress_bars()


def _check_writable(path: Path, *inputs: Path) -> None:
    """Fail before any compute rather than after it, and never write over what is read."""
    try:
        if path.is_dir() or not path.parent.is_dir():
            problem = "is a folder" if path.is_dir() else f"can't be written, {path.parent} is not a folder"
            raise ConfigError(f"--out {path} {problem}: name a file in an existing folder")
        if any(path.exists() and one.exists() and path.samefile(one) for one in inputs):
            raise ConfigError(f"--out {path} is the file to be read: name another one")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise ConfigError(f"--out {path} can't be written: no permission")
    except OSError as error:
        raise ConfigError(f"--out {path} can't be written: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    """The whole file or none of it: a new file takes the place of an old one only when it is complete."""
    data = (text + "\n").encode()
    try:
        plain = not path.exists() or (path.is_file() and not path.is_symlink())
        if not plain or not os.access(path.parent, os.W_OK):
            path.write_bytes(data)  # a device or a pipe has nothing to replace
            return
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".dg-sglang-", delete=False) as file:
            draft = Path(file.name)
            try:
                file.write(data)
                file.close()
                draft.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
                draft.replace(path)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise ConfigError(f"--out {path} can't be written: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
