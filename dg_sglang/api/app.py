"""The FastAPI application."""

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Body, Depends, FastAPI, File, Form, Request, Response, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BeforeValidator
from starlette.exceptions import HTTPException
from starlette.routing import Route

from dg_sglang.api.bodies import ErrorBody, Extraction, Health, Job, SchemaCheck
from dg_sglang.api.errors import body_of, problem, status_of
from dg_sglang.api.limits import Gate
from dg_sglang.api.metrics import Metrics
from dg_sglang.api.settings import ApiSettings
from dg_sglang.api.store import JobStore, StoredJob
from dg_sglang.api.uploads import check_text, read_schema, read_settings, safe_name, save, target_of
from dg_sglang.api.work import Busy, Desk, Extractor
from dg_sglang.errors import DgError
from dg_sglang.pipelines.dates import DateOrder
from dg_sglang.pipelines.numbers import DecimalMark

# FastAPI makes a model of each form; a form's field may well be named like a method of pydantic's models.
warnings.filterwarnings("ignore", message='Field name "schema"', category=UserWarning)

# A form sends its empty fields too.
_Empty = BeforeValidator(lambda value: None if value == "" else value)


@dataclass
class ExtractionForm:
    """What is sent for one document."""

    file: Annotated[UploadFile, File(description="a PDF, a picture, or another document that the SDK reads")]
    schema: Annotated[str, Form(description='"invoice", "receipt", or a JSON Schema as JSON text')]
    seed: Annotated[int | None, _Empty, Form(ge=0, le=2**63 - 1, description="the same seed gives the same result")] = (
        None
    )
    password: Annotated[str | None, _Empty, Form(description="of an encrypted PDF")] = None
    date_order: Annotated[DateOrder | None, _Empty, Form(description="what to assume about 03/04/2024")] = None
    decimal_mark: Annotated[DecimalMark | None, _Empty, Form(description="what to assume about 1.234")] = None
    settings: Annotated[str | None, _Empty, Form(description="generation settings as a JSON object")] = None


_Form = Annotated[ExtractionForm, Depends(ExtractionForm)]


def _errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    texts = {
        400: "the schema or a setting is wrong",
        401: "the API key is missing or wrong",
        404: "there is no such job",
        409: "the job isn't finished",
        413: "the request is too large",
        422: "the document can't be read, or not as the schema asks",
        500: "the document made a worker fail",
        429: "too much is waiting: try again later",
        504: "the document took longer than allowed",
        503: "the model can't answer",
    }
    return {code: {"model": ErrorBody, "description": texts[code]} for code in codes}


def _text(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"description": "Successful Response", "content": {media_type: {"schema": {"type": "string"}}}}}


_EXTRACT_ERRORS = _errors(400, 401, 413, 422, 429, 500, 503, 504)


def create_app(settings: ApiSettings, extractor: Extractor, *, model: str) -> FastAPI:
    """The API around an extractor.

    Args:
        settings: limits. extractor: works on documents; `model` is its name in `/healthz`.
    """
    store = JobStore(settings.folder)
    metrics = Metrics()
    desk = Desk(extractor, store, settings, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with desk:
            yield
        store.close()

    app = FastAPI(
        title="dg-sglang",
        summary="Documents in, typed and evidenced data out.",
        lifespan=lifespan,
        redoc_url=None,
        responses={422: {"model": ErrorBody, "description": "the request is malformed"}},
    )
    app.add_middleware(metrics.middleware)
    app.add_middleware(Gate, api_key=settings.api_key, max_bytes=settings.max_bytes)

    @app.exception_handler(DgError)
    async def _ours(_: Request, error: DgError) -> Response:
        return JSONResponse(body_of(error), status_of(error.category))

    @app.exception_handler(Exception)
    async def _unforeseen(_: Request, error: Exception) -> Response:
        """The server's log has the traceback; the client learns no more than that it isn't at fault."""
        return JSONResponse(problem(f"the server failed ({type(error).__name__}); see its log", "unexpected"), 500)

    @app.exception_handler(Busy)
    async def _busy(_: Request, error: Busy) -> Response:
        return JSONResponse(problem(str(error), "busy"), 429, {"Retry-After": "5"})

    @app.exception_handler(RequestValidationError)
    async def _malformed(_: Request, error: RequestValidationError) -> Response:
        parts = [f"{'.'.join(map(str, one['loc'][1:])) or one['loc'][0]}: {one['msg']}" for one in error.errors()]
        return JSONResponse(problem("; ".join(parts), "request"), 422)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            # Starlette names the methods of the first route of a path only.
            routes = [route for route in app.routes if isinstance(route, Route)]
            known = [route.methods or set() for route in routes if route.path_regex.match(request.url.path)]
            headers["Allow"] = ", ".join(sorted(set().union(*known) - {"HEAD"}))
        return JSONResponse(problem(str(error.detail), "request"), error.status_code, headers)

    async def received(form: ExtractionForm) -> tuple[str, str, dict[str, Any]]:
        """Check the request, then keep the document. Returns id, name and the request as it is stored."""
        request = {
            "schema": read_schema(form.schema), "settings": read_settings(form.settings), "seed": form.seed,
            "password": form.password, "date_order": form.date_order, "decimal_mark": form.decimal_mark,
        }  # fmt: skip
        await asyncio.to_thread(extractor.check, target_of(request["schema"]))
        name = safe_name(form.file.filename)
        job, path = store.reserve(name)
        try:
            await save(form.file, path)
        except BaseException:
            store.delete(job)
            raise
        return job, name, request

    @app.post("/v1/extract", response_model=Extraction, responses=_EXTRACT_ERRORS, tags=["extract"])
    async def extract(form: _Form) -> Response:
        """Extract from one document and wait for the result. Long documents: make a job of them."""
        with desk.admission():
            job, name, request = await received(form)
            try:
                body, status = await desk.extract(store.path(job, name), request)
                return JSONResponse(body, status)
            finally:
                store.delete(job)

    @app.post("/v1/jobs", status_code=202, response_model=Job, responses=_EXTRACT_ERRORS, tags=["jobs"])
    async def create_job(form: _Form) -> Job:
        """Extract from one document in the background. A job outlives the server: it goes on after a restart."""
        desk.admit_job()
        job = store.add(*await received(form))
        desk.wake()
        return _job(job)

    @app.get("/v1/jobs/{job_id}", response_model=Job, responses=_errors(401, 404), tags=["jobs"])
    async def get_job(job_id: str) -> Job:
        """How a job is doing."""
        return _job(_known(store, job_id))

    @app.get(
        "/v1/jobs/{job_id}/result",
        response_model=Extraction,
        responses=_errors(400, 401, 404, 409, 422, 500, 503, 504),
        tags=["jobs"],
    )
    async def get_result(job_id: str) -> Response:
        """A finished job's extraction; a failed job's error, with what was extracted nevertheless."""
        job = _known(store, job_id)
        if job.error:
            return JSONResponse(job.error, status_of(job.error["error"]["code"]))
        return JSONResponse(_finished(store, job))

    @app.get(
        "/v1/jobs/{job_id}/review",
        response_class=Response,
        responses=_text("text/html") | _errors(401, 404, 409, 422),
        tags=["jobs"],
    )
    async def get_review(job_id: str) -> Response:
        """A page that shows each value of a finished job in the document."""
        from dg_sglang.pipelines.review import review_html

        job = _known(store, job_id)
        result, path = _finished(store, job), store.path(job.id, job.name)
        if not path.is_file():
            raise HTTPException(404, f"the document {job.name} is gone; send it again")
        return HTMLResponse(await asyncio.to_thread(review_html, result, path, password=job.request["password"]))

    @app.delete("/v1/jobs/{job_id}", status_code=204, responses=_errors(401, 404), tags=["jobs"])
    async def delete_job(job_id: str) -> None:
        """Forget a job, its document and its result; one that waits is never started."""
        store.delete(_known(store, job_id).id)

    @app.post("/v1/schemas/check", response_model=SchemaCheck, responses=_errors(400, 401, 413), tags=["schemas"])
    async def check_schema(
        schema: Annotated[dict[str, Any], Body(description="a JSON Schema")],
    ) -> SchemaCheck:
        """Whether documents can be extracted into a schema, and which fields it has."""
        check_text(schema)
        return SchemaCheck.model_validate(await asyncio.to_thread(extractor.check, schema))

    @app.get("/healthz", response_model=Health, tags=["operations"])
    async def healthz() -> Health:
        """Whether the API answers."""
        return Health(status="ok", model=model, waiting=desk.waiting, jobs=store.count("queued"))

    @app.get("/metrics", response_class=Response, responses=_text("text/plain") | _errors(401), tags=["operations"])
    async def get_metrics() -> Response:
        """Counters and durations in Prometheus' text format."""
        return metrics.render(waiting=desk.waiting, jobs=store.count("queued"))

    return app


def _job(job: StoredJob) -> Job:
    detail = job.error["error"] if job.error else None
    return Job.model_validate(
        {name: getattr(job, name) for name in ("id", "status", "name", "created", "started", "finished")}
        | {"error": detail}
    )


def _known(store: JobStore, job_id: str) -> StoredJob:
    try:
        return store[job_id]
    except KeyError:
        raise HTTPException(404, "there is no such job, or its result was deleted") from None


def _finished(store: JobStore, job: StoredJob) -> dict[str, Any]:
    result = store.result(job.id)
    if result is None:
        raise HTTPException(409, f"the job is {job.status}: there is no result")
    return result
