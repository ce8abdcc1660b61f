"""The server ends with the process that started it, however that one ends.

`dg_sglang.launch` gives the server's main process a pipe as its standard input and holds the other end. A process that
is killed closes it, too, which no handler of its own could do.
"""

import os
import signal
import threading

VARIABLE = "DG_SGLANG_LIFELINE"
"""Set for the server's main process; those that it starts have another standard input, and must not inherit it."""


def watch() -> None:
    """End this process's group once its standard input is closed, if `dg_sglang.launch` started it."""
    if os.environ.pop(VARIABLE, None):
        threading.Thread(target=_wait, name="dg-sglang lifeline", daemon=True).start()


def _wait() -> None:
    while os.read(0, 1):  # nothing is ever written
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)
