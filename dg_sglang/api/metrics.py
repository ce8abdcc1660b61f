"""What `/metrics` tells, through prometheus_client."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.middleware.base import BaseHTTPMiddleware

_SECONDS = (0.01, 0.1, 1, 3, 10, 30, 100, 300, 1000)


class Metrics:
    """One registry per application, so that two in one process don't collide."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("dg_requests_total", "HTTP requests", ("path", "status"), registry=self.registry)
        self._seconds = Histogram(
            "dg_request_seconds", "Duration of HTTP requests", ("path",), buckets=_SECONDS, registry=self.registry
        )
        self._documents = Counter(
            "dg_documents_total", "Documents worked on, by outcome (ok, or the error's category)", ("outcome",),
            registry=self.registry,
        )  # fmt: skip
        self._pages = Counter("dg_pages_total", "Pages of documents that were extracted", registry=self.registry)
        self._steps = Counter("dg_denoising_steps_total", "Denoising steps", registry=self.registry)
        self._tokens = Counter("dg_completion_tokens_total", "Committed tokens", registry=self.registry)
        self._waiting = Gauge("dg_waiting", "Synchronous requests that wait or run", registry=self.registry)
        self._jobs = Gauge("dg_jobs_queued", "Jobs that wait", registry=self.registry)

    def document(self, row: dict[str, Any]) -> None:
        """Count a document by its row."""
        self._documents.labels(row["error"]["category"] if row["error"] else "ok").inc()
        if row["document"] and row["usage"]:
            self._pages.inc(len(row["document"]["pages"]))
            self._steps.inc(row["usage"]["denoising_steps"])
            self._tokens.inc(row["usage"]["completion_tokens"])

    def render(self, *, waiting: int, jobs: int) -> Response:
        """Everything as text."""
        self._waiting.set(waiting)
        self._jobs.set(jobs)
        return Response(generate_latest(self.registry), media_type=CONTENT_TYPE_LATEST)

    def middleware(self, app: object) -> BaseHTTPMiddleware:
        """Counts requests by route, never by raw path: clients choose those."""

        async def count(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
            started = time.monotonic()
            response = await proceed(request)
            route = request.scope.get("route")
            path = getattr(route, "path", "other")
            self._requests.labels(path, str(response.status_code)).inc()
            self._seconds.labels(path).observe(time.monotonic() - started)
            return response

        return BaseHTTPMiddleware(app, dispatch=count)  # type: ignore[arg-type]
