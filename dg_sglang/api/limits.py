"""What every request goes through: an id, the key, the size limit. Plain ASGI, so that bodies are never buffered."""

import hmac
import json
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect

from dg_sglang.api.errors import problem

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

OPEN_PATHS = frozenset({"/healthz", "/docs", "/openapi.json"})
"""Need no key: they tell nothing about anybody's documents."""
_REQUEST_ID = re.compile(rb"[\w.:-]{1,128}")


class Gate:
    """Refuses requests without the key (401) and bodies over the limit (413), and gives each answer a request id."""

    def __init__(self, app: App, *, api_key: str | None, max_bytes: int) -> None:
        self.app = app
        self.expected = None if api_key is None else f"Bearer {api_key}".encode()
        self.max_bytes = max_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8).encode()
        received = 0
        refused = False

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (b"x-request-id", request_id)]
            await send(message)

        async def too_large() -> None:
            nonlocal refused
            if not refused:
                refused = True
                text = f"the request is larger than the limit of {self.max_bytes:,} bytes; split the document"
                await _refuse(answer, 413, text, "limit")

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.max_bytes:
                await too_large()
                return {"type": "http.disconnect"}
            return message

        async def unless_refused(message: Message) -> None:
            if not refused:  # the application answers, too, when the rest of a body doesn't come
                await answer(message)

        key = headers.get(b"authorization", b"")
        if self.expected and scope["path"] not in OPEN_PATHS and not hmac.compare_digest(key, self.expected):
            await _refuse(answer, 401, "send the API key as 'Authorization: Bearer KEY'", "key")
            return
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.max_bytes:
            await too_large()
            return
        try:
            await self.app(scope, counted, unless_refused)
        except ClientDisconnect:
            if not refused:
                raise


async def _refuse(send: Send, status: int, message: str, code: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(problem(message, code)).encode()})
