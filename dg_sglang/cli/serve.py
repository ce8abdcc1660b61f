"""`dg-sglang serve`: an SGLang server for a DiffusionGemma checkpoint."""

import signal
from types import FrameType

import click

from dg_sglang.cli.shared import model_option, progress


@click.command(context_settings={"ignore_unknown_options": False})
@model_option
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="[default: cuda where there is a GPU, else cpu]")
@click.option("--dtype", help="float32, bfloat16 or float16.  [default: bfloat16 on a GPU, float32 on a CPU]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=30000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.argument("sglang_arguments", metavar="[-- SGLANG_ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
def serve(
    model: str, device: str | None, dtype: str | None, host: str, port: int, sglang_arguments: tuple[str, ...]
) -> None:
    """Serve a checkpoint with SGLang until Ctrl-C; its log goes to stderr, its URL to stdout.

    What follows -- goes to SGLang's own command line, for example: dg-sglang serve -- --log-level info
    """
    from dg_sglang.errors import ServerError
    from dg_sglang.launch import Server

    signal.signal(signal.SIGTERM, _interrupt)
    with Server(model, device=device, dtype=dtype, host=host, port=port, arguments=sglang_arguments) as server:
        try:
            progress(f"starting SGLang with {model}; Ctrl-C ends it")
            server.wait_ready()
            click.echo(server.url)
            code = server.wait()
        except KeyboardInterrupt:
            progress("stopping")
            return
    raise ServerError(f"the server ended by itself with exit code {code}: its output above says why")


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """SIGTERM ends the command as Ctrl-C does."""
    raise KeyboardInterrupt
