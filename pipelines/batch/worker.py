"""A batch's worker process: `python -m dg_sglang.pipelines.batch.worker FD`.

It loads the engine once and then answers each message, a source, with a row. Its stdout belongs to nobody; what
libraries print goes to stderr. When its batch dies, so does it.
"""

import ctypes
import json
import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from dg_sglang.errors import DgError

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until the batch closes the connection."""
    parent, descriptor = map(int, sys.argv[1:])
    _die_with(parent)
    os.dup2(2, 1)
    connection = Connection(descriptor)

    def tell(kind: str, content: Any = None) -> None:
        connection.send_bytes(json.dumps([kind, content]).encode())

    with suppress(EOFError, OSError):  # the batch has what it wants
        task: dict[str, Any] = pickle.loads(connection.recv_bytes())  # noqa: S301 (from the process that started us)
        sys.path[:] = task["path"]
        try:
            serve = _prepare(pickle.loads(task["job"]), task["threads"])  # noqa: S301
        except Exception as error:
            return tell("failed", str(error) if isinstance(error, DgError) else f"{type(error).__name__}: {error}")
        tell("ready")
        while True:
            tell("row", serve(pickle.loads(connection.recv_bytes())))  # noqa: S301


def _prepare(job: dict[str, Any], threads: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function from a source, and what differs for it, to its row. What takes long is loaded here, off their time."""
    os.environ["OMP_NUM_THREADS"] = str(threads)  # read by the OCR engine and, where they aren't loaded yet, by others
    from dg_sglang.pipelines.batch.rows import extract_row
    from dg_sglang.pipelines.engines import EngineSpec

    with suppress(ImportError):  # then only documents that need it fail
        import pymupdf  # noqa: F401
    spec: EngineSpec = job["engine"]
    if spec.make is None and spec.url is None:
        from transformers.utils import logging

        logging.disable_progress_bar()
    engine = spec.load()
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(threads)

    def serve(message: dict[str, Any]) -> dict[str, Any]:
        extraction = job["extraction"] | message.get("extraction", {})
        return extract_row(message["source"], message.get("schema", job["schema"]), engine, **extraction)

    return serve


def _die_with(parent: int) -> None:
    """On Linux the kernel kills this process when its parent ends, and takes it first when memory runs out."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it ended before the line above
    try:
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
            file.write("1000")
    except OSError:
        return  # not allowed in this container: the kernel chooses


if __name__ == "__main__":
    main()
