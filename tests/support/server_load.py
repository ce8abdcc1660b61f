"""A mixed load for an SGLang server, and what must hold after it."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import requests

SCHEMAS: list[dict[str, Any]] = [
    {"enum": ["red", "green", None]},
    {"type": "boolean"},
    {"type": "integer", "minimum": -5, "maximum": 40},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 10, "multipleOf": 0.5},
    {"type": "string", "minLength": 1, "maxLength": 8},
    {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"},
    {"type": "string", "format": "date"},
    {"type": ["string", "null"], "maxLength": 4},
    {"const": {"fixed": [1, "two"]}},
    {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "minItems": 2, "maxItems": 5},
    {"type": "array", "prefixItems": [{"type": "boolean"}, {"enum": ["x"]}], "minItems": 2, "items": False},
    {"anyOf": [{"type": "integer", "minimum": 0}, {"enum": ["none"]}]},
    {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"type": "null"}, "b": {"enum": [1, 2]}}, "required": ["b"]},
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 6}, "age": {"type": "integer", "maximum": 150}},
        "required": ["name", "age"],
    },
    {
        "type": "object",
        "properties": {"in": {"type": "object", "properties": {"x": {"enum": ["y"]}}, "required": ["x"]}},
        "required": ["in"],
    },
    {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    {"type": "array", "items": {"type": "object", "properties": {"n": {"enum": [1]}}}, "maxItems": 3},
    {"$defs": {"c": {"enum": ["a", "b"]}}, "type": "array", "items": {"$ref": "#/$defs/c"}, "maxItems": 4},
    {"type": "object", "properties": {"day": {"type": "string", "format": "date"}, "ok": {"type": "boolean"}}},
]
BAD_SCHEMAS: list[Any] = [
    {"type": "array", "uniqueItems": True},
    {"type": "text"},
    {"enum": []},
    {"type": "integer", "minimum": 5, "maximum": 4},
]
TOKENS = 96
STEPS = {"max_denoising_steps": 24}
Outcome = Callable[[requests.Response], str | None]


@dataclass
class Report:
    """What came of a load.

    Attributes:
        outcomes: how many requests of each kind ended as they should.
        failures: what went wrong, one line each.
        seconds: wall time.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Load:
    """Half of the requests constrained by 20 schemas, a tenth refused, a tenth aborted or hung up on, the rest free."""

    def __init__(self, url: str, *, timeout: float = 300.0) -> None:
        self.url = url
        self.timeout = timeout

    def run(self, count: int = 200, concurrency: int = 8, seed: int = 0) -> Report:
        """Send `count` requests, `concurrency` at a time, in an order that `seed` draws."""
        kinds = (
            ["constrained"] * (count // 2)
            + ["refused"] * (count // 10)
            + ["aborted"] * (count // 20)
            + ["hung up"] * (count // 20)
        )
        kinds += ["free"] * (count - len(kinds))
        random.Random(seed).shuffle(kinds)
        report, lock = Report(), threading.Lock()

        def one(numbered: tuple[int, str]) -> None:
            number, kind = numbered
            try:
                problem = getattr(self, f"_{kind.replace(' ', '_')}")(number)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            with lock:
                if problem is None:
                    report.outcomes[kind] += 1
                else:
                    report.failures.append(f"request {number}, {kind}: {problem}")

        started = time.perf_counter()
        with ThreadPoolExecutor(concurrency) as threads:
            list(threads.map(one, enumerate(kinds)))
        report.seconds = time.perf_counter() - started
        return report

    def used_tokens(self, patience: float = 60.0) -> int:
        """Key/value slots in use once no request is left, or after `patience` seconds."""
        deadline = time.monotonic() + patience
        while True:
            response = requests.get(f"{self.url}/v1/loads", params={"include": "core"}, timeout=self.timeout)
            (load,) = response.json()["loads"]
            idle = load["num_running_reqs"] == 0 and load["num_waiting_reqs"] == 0 and load["num_used_tokens"] == 0
            if idle or time.monotonic() > deadline:
                return int(load["num_used_tokens"]) + int(load["num_running_reqs"])
            time.sleep(0.5)

    def _post(self, path: str, body: dict[str, Any], **options: Any) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=self.timeout, **options)

    def _generate(self, number: int, parameters: dict[str, Any]) -> requests.Response:
        text = f"Request {number}. " + "word " * (number * 7 % 50)
        settings = {"max_new_tokens": TOKENS, "sampling_seed": number, "custom_params": STEPS} | parameters
        return self._post("/generate", {"text": text, "sampling_params": settings})

    def _constrained(self, number: int) -> str | None:
        schema = SCHEMAS[number % len(SCHEMAS)]
        response = self._generate(number, {"json_schema": json.dumps(schema)})
        if response.status_code != 200:
            return f"{response.status_code}: {response.text[:200]}"
        answer = response.json()
        try:
            jsonschema.validate(json.loads(answer["text"]), schema)
        except ValueError as error:
            return f"{answer['text']!r} is no JSON: {error}"
        reason = answer["meta_info"]["finish_reason"]["type"]
        return None if reason == "stop" else f"finish reason {reason!r}"

    def _refused(self, number: int) -> str | None:
        response = self._generate(number, {"json_schema": json.dumps(BAD_SCHEMAS[number % len(BAD_SCHEMAS)])})
        return None if response.status_code == 400 else f"{response.status_code}: {response.text[:200]}"

    def _free(self, number: int) -> str | None:
        response = self._generate(number, {})
        return None if response.status_code == 200 else f"{response.status_code}: {response.text[:200]}"

    def _aborted(self, number: int) -> str | None:
        name = f"aborted-{number}-{time.monotonic_ns()}"
        parameters = {"max_new_tokens": TOKENS, "ignore_eos": True, "custom_params": {"confidence_threshold": 0.0}}
        body = {"rid": name, "text": "Go on.", "sampling_params": parameters}
        threading.Timer(0.2, lambda: self._post("/abort_request", {"rid": name})).start()
        response = self._post("/generate", body)
        if response.status_code == 200:  # aborted, or finished before
            reason = response.json()["meta_info"]["finish_reason"]["type"]
            return None if reason in ("abort", "length", "stop") else f"finish reason {reason!r}"
        return None if response.status_code in (400, 499) else f"{response.status_code}: {response.text[:200]}"

    def _hung_up(self, number: int) -> str | None:
        body = {
            "text": "Go on.",
            "sampling_params": {
                "max_new_tokens": TOKENS,
                "json_schema": json.dumps(SCHEMAS[9]),
                "custom_params": STEPS,
            },
            "stream": True,
        }
        with self._post("/generate", body, stream=True) as response:
            next(response.iter_lines(), None)
            return None if response.status_code == 200 else f"{response.status_code}"
