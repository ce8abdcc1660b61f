"""A running SGLang server as tests ask it. Every request has a time limit, so that one that hangs fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from dg_sglang.launch import Server

START_TIMEOUT = 600.0
"""Seconds; half a minute on a machine that does nothing else."""
TIMEOUT = 300.0


class Client:
    """One server; `pid` is its main process, `log` where its output goes."""

    def __init__(self, url: str, pid: int, log: Path) -> None:
        self.url = url
        self.pid = pid
        self.log = log

    def post(self, path: str, body: dict[str, Any], **options: Any) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=TIMEOUT, **options)

    def get(self, path: str) -> dict[str, Any]:
        response = requests.get(self.url + path, timeout=TIMEOUT)
        response.raise_for_status()
        return response.json()

    def generate(self, text: str = "Name a colour.", **parameters: Any) -> dict[str, Any]:
        """What /generate answers, which must not be an error."""
        return checked(self.post("/generate", {"text": text, "sampling_params": parameters}))

    def refusal(self, **parameters: Any) -> str:
        """The message with which /generate refuses these sampling parameters."""
        return refused(self.post("/generate", {"text": "Name a colour.", "sampling_params": parameters}))

    def chat(self, content: Any = "Name a colour.", **fields: Any) -> dict[str, Any]:
        """What /v1/chat/completions answers, which must not be an error."""
        return checked(self.post("/v1/chat/completions", chat_body(content, **fields)))

    def chat_text(self, content: Any = "Name a colour.", **fields: Any) -> str:
        return self.chat(content, **fields)["choices"][0]["message"]["content"]

    def chat_refusal(self, content: Any = "Name a colour.", **fields: Any) -> str:
        return refused(self.post("/v1/chat/completions", chat_body(content, **fields)))


def chat_body(content: Any = "Name a colour.", **fields: Any) -> dict[str, Any]:
    return {"model": "served", "messages": [{"role": "user", "content": content}], "max_tokens": 64} | fields


def checked(response: requests.Response) -> dict[str, Any]:
    assert response.status_code == 200, response.text
    return response.json()


def refused(response: requests.Response) -> str:
    assert response.status_code == 400, f"{response.status_code}: {response.text}"
    body = response.json()
    return body.get("error", body)["message"]


def schema_format(schema: Any) -> dict[str, Any]:
    """The OpenAI API's response_format for a JSON Schema."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


@contextmanager
def serving(model: str | Path, folder: Path, *arguments: str, dtype: str | None = None) -> Iterator[Client]:
    """A server on this machine's CPU, for as long as the context lasts."""
    log = folder / "server.log"
    options = ("--log-level", "info", *arguments)
    with (
        log.open("wb") as output,
        Server(model, device="cpu", dtype=dtype, port=0, log=output, arguments=options) as server,
    ):
        try:
            server.wait_ready(START_TIMEOUT)
        except Exception as error:
            raise RuntimeError(f"{error}\n{log.read_text(errors='replace')[-4000:]}") from error
        yield Client(server.url, server.process.pid, log)
