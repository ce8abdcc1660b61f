"""An engine without a model, which answers at once: every field is the first piece of the document that it may be.

For tests of what stands around the engine, in many processes that need not load torch. A document can misbehave: the
word CRASH kills the process, HANG sleeps, BUG raises, ONCE crashes the first time (a file beside it remembers).
"""

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dg_sglang.config import GenerationConfig
from dg_sglang.results import GenerationResult, Usage


class FirstWords:
    """Answers by the request's constraint, whose sources it reads."""

    config = GenerationConfig()
    canvas_length = 256
    max_context = 100_000
    vocabulary = type("Bytes", (), {"tokens": [bytes([byte]) for byte in range(256)]})()

    def count_tokens(self, text: str) -> int:
        return len(text) // 4

    def generate_batch(self, requests: Sequence[Mapping[str, Any]]) -> list[GenerationResult]:
        return [self._answer(request) for request in requests]

    def _answer(self, request: Mapping[str, Any]) -> GenerationResult:
        document = request["prompt"].split("Document:\n", 1)[1]
        _misbehave(document)
        properties = request["constraint"].schema["properties"]
        text = json.dumps(
            {name: document.split()[0] if "anyOf" not in schema else None for name, schema in properties.items()}
        )
        ids = list(text.encode())
        usage = Usage(len(request["prompt"]) // 4, len(ids), 1, 1, 0.0)
        return GenerationResult(text, "", None, ids, "stop", [1.0] * len(ids), usage, 0)


def _misbehave(document: str) -> None:
    if "CRASH" in document:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "HANG" in document:
        time.sleep(1000)
    if "BUG" in document:
        raise ZeroDivisionError("by the engine")
    if "ONCE" in document:
        marker = Path(document.split("ONCE ", 1)[1].split()[0])
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(float(os.environ.get("FIRST_WORDS_SECONDS", "0")))
