"""`dg-sglang api`: the pipeline over HTTP."""

import socket
from pathlib import Path

import click

from dg_sglang.cli.shared import model_option, progress, url_option
from dg_sglang.errors import ConfigError

_DATA = Path("~/.local/state/dg-sglang/api")


@click.command()
@model_option
@url_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 picks a free one.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Documents at a time.")
@click.option("--data", type=click.Path(path_type=Path), default=_DATA, show_default=True, help="Keeps the jobs.")
@click.option("--api-key", envvar="DG_SGLANG_API_KEY", help="What clients must send (or set DG_SGLANG_API_KEY).")
@click.option("--timeout", type=click.FloatRange(min=1), default=600, show_default=True, help="Seconds per document.")
@click.option("--max-pages", type=click.IntRange(min=1), default=100, show_default=True, help="Of one document.")
@click.option("--max-bytes", type=click.IntRange(min=1), default=50_000_000, show_default=True, help="Of one request.")
@click.option("--max-waiting", type=click.IntRange(min=1), default=16, show_default=True, help="Waiting requests.")
@click.option("--max-jobs", type=click.IntRange(min=1), default=1000, show_default=True, help="Waiting jobs.")
@click.option("--keep-hours", type=click.FloatRange(min=0.01), default=24, show_default=True, help="Of finished jobs.")
def api(
    model: str,
    url: str | None,
    host: str,
    port: int,
    workers: int,
    data: Path,
    api_key: str | None,
    timeout: float,
    max_pages: int,
    max_bytes: int,
    max_waiting: int,
    max_jobs: int,
    keep_hours: float,
) -> None:
    """Serve extraction over HTTP; the page /docs describes the requests.

    Without --api-key anybody who reaches the port may use it: the default host is this machine only.
    """
    try:
        import uvicorn

        from dg_sglang.api.app import create_app
        from dg_sglang.api.extractor import PooledExtractor
        from dg_sglang.api.settings import ApiSettings
    except ImportError as error:
        raise ConfigError(f"the API needs an extra ({error}): pip install 'dg-sglang[api]'") from error
    from dg_sglang import checkpoint
    from dg_sglang.pipelines.document import Limits
    from dg_sglang.pipelines.engines import EngineSpec

    settings = ApiSettings(
        folder=data.expanduser(),
        api_key=api_key,
        max_bytes=max_bytes,
        max_waiting=max_waiting,
        max_jobs=max_jobs,
        keep_hours=keep_hours,
    )
    if url is None:
        checkpoint.inspect(checkpoint.resolve(model))  # a wrong name fails here, not in a worker
    extractor = PooledExtractor(
        EngineSpec(model, url),
        workers=workers,
        timeout=timeout,
        limits=Limits(max_pages=max_pages),
    )
    listener = _listen(host, port)
    address, bound = listener.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    with extractor:
        progress(f"http://{shown}:{bound}/docs")
        server = uvicorn.Server(
            uvicorn.Config(create_app(settings, extractor, model=url or model), log_level="warning")
        )
        server.run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """The listening socket, made here so that a port that is taken is one line, before a model is loaded."""
    try:
        family, kind, proto, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen(128)  # whoever reads the address may connect at once
    except OSError as error:
        raise ConfigError(
            f"can't listen on {host}:{port}: {error.strerror}; choose another --port or --host"
        ) from error
    return listener
