"""Errors of a server become ours, against a real one that fails on demand."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import unquote

import pytest

from dg_sglang import errors
from dg_sglang.connection import Connection, refusal
from dg_sglang.errors import (
    BudgetError,
    ConfigError,
    GrammarError,
    InputError,
    InvalidSchemaError,
    ServerError,
    UnsupportedSchemaError,
)


class Failing(BaseHTTPRequestHandler):
    """/STATUS answers that status; /busy/N is 503 for the first N requests; /slow doesn't answer."""

    busy: ClassVar[dict[str, int]] = {}

    def do_GET(self) -> None:
        _, kind, *rest = unquote(self.path).split("/")
        body: object = {"ok": True}
        status = 200
        if kind == "busy":
            asked = self.busy[self.path] = self.busy.get(self.path, 0) + 1
            status = 503 if asked <= int(rest[0]) else 200
        elif kind == "slow":
            threading.Event().wait(1)
            return
        elif kind == "text":
            body = "not an object"
        elif kind == "html":
            self.answer(200, b"<html>")
            return
        elif kind == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b'{"ok":')
            return
        elif kind.isdigit():
            status, body = int(kind), {"error": {"message": "/".join(rest)}}
        self.answer(status, json.dumps(body).encode())

    do_POST = do_GET  # noqa: N815

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def connection(url: str) -> Connection:
    return Connection(url + "/", timeout=20, api_key="key")


def test_an_answer_is_a_json_object(connection: Connection) -> None:
    assert connection.ask("/fine") == {"ok": True}
    for path in ("/text", "/html"):
        with pytest.raises(ServerError, match="no SGLang server"):
            connection.ask(path)


def test_a_busy_server_is_asked_again(connection: Connection) -> None:
    assert connection.ask("/busy/1") == {"ok": True}


def test_other_failures_are_not_tried_again(connection: Connection) -> None:
    with pytest.raises(ServerError, match="500: broken"):
        connection.ask("/500/broken")
    with pytest.raises(ServerError, match="401"):
        connection.ask("/401/no key", {})


def test_a_server_that_keeps_silent(url: str) -> None:
    with pytest.raises(ServerError, match=r"within 0\.2 s"):
        Connection(url, timeout=0.2, api_key=None).ask("/slow")


def test_an_answer_that_breaks_off(connection: Connection) -> None:
    with pytest.raises(ServerError):
        connection.ask("/cut")


def test_nobody_there() -> None:
    with pytest.raises(ServerError, match="dg-sglang serve"):
        Connection("http://127.0.0.1:1", timeout=5, api_key=None).ask("/")
    with pytest.raises(ServerError):
        Connection("http://[::", timeout=5, api_key=None).ask("/")
    with pytest.raises(ConfigError, match="http://"):
        Connection("localhost:30000", timeout=5, api_key=None)


def test_a_refused_request_raises_what_the_server_raised(connection: Connection) -> None:
    with pytest.raises(BudgetError, match="too short"):
        connection.ask("/400/BudgetError: too short")
    with pytest.raises(InputError, match="does not support request-level min_p"):
        connection.ask("/400/DiffusionGemma does not support request-level min_p")


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedSchemaError("no", keyword="uniqueItems", pointer="/properties/a (b)"),
        UnsupportedSchemaError("no: never", keyword="not", pointer=""),
        InvalidSchemaError("bad", pointer="/a"),
        InvalidSchemaError("bad (very)"),
        GrammarError("x"),
        ConfigError("y: z"),
    ],
    ids=repr,
)
def test_an_error_survives_the_way(error: errors.DgError) -> None:
    for words in ("", "Failed to compile json grammar: "):
        back = refusal(f"{words}{type(error).__name__}: {error}")
        assert type(back) is type(error)
        assert str(back) == str(error)
        assert vars(back) == vars(error)


def test_names_that_are_no_errors_of_ours_stay_text() -> None:
    for message in ("ValueError: x", "Sequence: x", "DgError", "nothing"):
        back = refusal(message)
        assert type(back) is InputError
        assert str(back) == message
