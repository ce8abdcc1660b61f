"""Requests to an SGLang server, with its errors as ours."""

import re
import time
from http import HTTPStatus
from typing import Any

import requests

from dg_sglang import errors
from dg_sglang.errors import ConfigError, DgError, GrammarError, InputError, ServerError

_RETRIES = 4
"""How often a request is sent again that the server has no room for (503), each time after twice as long."""
_OURS = re.compile(r"(?:^|: )(?P<kind>[A-Z]\w*Error): (?P<text>.*)", re.DOTALL)
_PLACE = re.compile(r" \((?:keyword '(?P<keyword>[^']*)'(?: at (?P<at>.*))?|at (?P<pointer>/.*))\)$")


class Connection:
    """One server. Threads may share it.

    Attributes:
        url: the server's, without a slash at its end.
    """

    def __init__(self, url: str, *, timeout: float, api_key: str | None) -> None:
        """`timeout` is how many seconds the server may be silent.

        Raises:
            ConfigError: `url` is none.
        """
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise ConfigError(f"a server's URL begins with http:// or https://, got {url!r}")
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object that the server answers, to a POST of `body` if there is one.

        Raises:
            As `send`.
        """
        with self.send(path, body) as response:
            try:
                value = response.json()
            except requests.JSONDecodeError:
                value = None
            except requests.RequestException as error:
                raise ServerError(f"{self.url} broke off its answer: {error}") from error
        if not isinstance(value, dict):
            raise ServerError(f"{self.url} is no SGLang server: its answer to {path} is not a JSON object")
        return value

    def send(self, path: str, body: dict[str, Any] | None = None, *, stream: bool = False) -> requests.Response:
        """The server's answer once it is not an error; sent again where the server has no room for it (503).

        Raises:
            ServerError: no answer in time, or the server is too busy or fails.
            DgError: the server refuses the request; the class is the one that it names.
        """
        for attempt in range(_RETRIES + 1):
            try:
                response = requests.request(
                    "GET" if body is None else "POST",
                    self.url + path,
                    json=body,
                    headers=self._headers,
                    timeout=(10.0, self._timeout),
                    stream=stream,
                )
            except requests.Timeout as error:
                raise ServerError(f"{self.url} gave no answer within {self._timeout:g} s") from error
            except requests.ConnectionError as error:
                cause = error.args[0] if error.args else error
                reason = str(getattr(cause, "reason", cause)).rpartition(": ")[2]
                raise ServerError(
                    f"no server answers at {self.url} ({reason}): start one (dg-sglang serve), or check the URL"
                ) from error
            except requests.RequestException as error:
                raise ServerError(f"{self.url} can't be asked: {error}") from error
            if response.status_code != HTTPStatus.SERVICE_UNAVAILABLE or attempt == _RETRIES:
                break
            response.close()
            time.sleep(0.5 * 2**attempt)
        if response.ok:
            return response
        message = _message(response)
        if response.status_code == HTTPStatus.BAD_REQUEST:
            raise refusal(message)
        raise ServerError(f"{self.url}{path} answered {response.status_code}: {message}")


def refusal(message: str) -> DgError:
    """The error that the server raised: behind SGLang's own words stand our class's name and its message.

    InputError where SGLang itself refuses.
    """
    match = _OURS.search(message)
    kind = getattr(errors, match["kind"], None) if match else None
    if match is None or not (isinstance(kind, type) and issubclass(kind, DgError)):
        return InputError(message)
    text = match["text"]
    place = _PLACE.search(text)
    if kind is errors.UnsupportedSchemaError:
        if place is None or place["keyword"] is None:
            return GrammarError(text)
        return errors.UnsupportedSchemaError(text[: place.start()], keyword=place["keyword"], pointer=place["at"] or "")
    if kind is errors.InvalidSchemaError and place is not None and place["pointer"]:
        return errors.InvalidSchemaError(text[: place.start()], pointer=place["pointer"])
    return kind(text)


def _message(response: requests.Response) -> str:
    """What an error response says, in one of the shapes that SGLang's routes give it."""
    try:
        value = response.json()
    except requests.RequestException:  # not JSON, or broken off
        return str(response.text[:500] or response.reason)
    if isinstance(value, dict):
        value = value.get("error", value)
    return str(value["message"]) if isinstance(value, dict) and "message" in value else str(value)
