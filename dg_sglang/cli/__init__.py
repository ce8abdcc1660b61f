"""The `dg-sglang` command: results on stdout, progress and errors on stderr, heavy imports inside the commands.

One module a command, each imported when it is called for. Exit codes: 0 done, 1 an error (one line says what and what
to do), 2 wrong usage, 130 interrupted.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from typing import NoReturn

import click

from dg_sglang.errors import DgError

# Command -> module in this folder; the command object has the command's name.
_COMMANDS = ("extract", "batch", "evaluate", "generate", "chart", "screenshot", "api", "serve", "grammar", "doctor")


class _Commands(click.Group):
    """Imports a command's module only when it runs or the help lists it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of a newcomer's needs."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, if there is one."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"dg_sglang.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="dg-sglang", prog_name="dg-sglang")
def cli() -> None:
    """Typed data from documents by block diffusion, with a grammar over the whole canvas."""


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
