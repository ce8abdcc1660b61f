import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"number": {"type": ["string", "null"]}, "total": {"type": ["number", "null"]}},
        "required": ["number", "total"],
    }
)


def send(client: Any, content: bytes, path: str = "/v1/extract", name: str = "bill.pdf", **fields: Any) -> Any:
    return client.post(path, files={"file": (name, content)}, data={"schema": SCHEMA, "seed": "1"} | fields)


def finished(client: Any, job: str) -> dict[str, Any]:
    for _ in range(600):
        state = client.get(f"/v1/jobs/{job}").json()
        if state["status"] in ("done", "failed"):
            return state
        time.sleep(0.1)
    raise AssertionError(state)


def test_extract_answers_with_value_and_evidence(client: Callable[..., Any], pdf: bytes, tmp_path: Path) -> None:
    api = client()
    answer = send(api, pdf)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert set(body["value"]) == {"number", "total"} == set(body["evidence"])
    assert body["document"]["name"] == "bill.pdf"
    assert answer.headers["x-request-id"]
    assert send(api, pdf).json()["value"] == body["value"]
    assert [entry.name for entry in (tmp_path / "jobs").iterdir() if entry.is_dir()] == []


def test_job_runs_in_the_background_and_has_a_review_page(client: Callable[..., Any], pdf: bytes) -> None:
    api = client()
    answer = send(api, pdf, "/v1/jobs")
    assert answer.status_code == 202
    job = answer.json()["id"]
    assert finished(api, job)["status"] == "done"
    result = api.get(f"/v1/jobs/{job}/result").json()
    assert result["value"] == send(api, pdf).json()["value"]
    page = api.get(f"/v1/jobs/{job}/review")
    assert page.headers["content-type"].startswith("text/html")
    assert "data:image/jpeg" in page.text
    assert api.delete(f"/v1/jobs/{job}").status_code == 204
    assert api.get(f"/v1/jobs/{job}").status_code == 404


@pytest.mark.parametrize(
    ("change", "status", "code", "words"),
    [
        ({"content": b""}, 422, "empty", "empty"),
        ({"content": b"%PDF-1.7 nothing"}, 422, "damaged", "damaged"),
        ({"schema": "{"}, 400, "schema", "neither"),
        ({"schema": "[]"}, 400, "schema", "object"),
        ({"schema": "os:path"}, 400, "schema", "neither"),
        ({"schema": "/etc/passwd"}, 400, "schema", "neither"),
        ({"schema": '{"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}'}, 400, "schema", "http://x/y"),
        ({"settings": "[1]"}, 400, "config", "object"),
        ({"settings": '{"engine": 1}'}, 400, "config", "engine"),
        ({"settings": '{"tempurature": 1}'}, 400, "config", "tempurature"),
        ({"seed": "minus one"}, 422, "request", "seed"),
        ({"date_order": "dym"}, 422, "request", "date_order"),
    ],
)
def test_bad_input_says_what_is_wrong(
    client: Callable[..., Any], pdf: bytes, change: dict[str, Any], status: int, code: str, words: str
) -> None:
    fields = {"content": pdf} | change
    answer = send(client(), **fields)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["code"] == code
    assert words in error["message"]


def test_empty_form_fields_are_absent_and_a_wrong_method_says_which_are_right(
    client: Callable[..., Any], pdf: bytes
) -> None:
    api = client()
    assert send(api, pdf, seed="", password="", date_order="", decimal_mark="", settings="").status_code == 200
    wrong = api.post("/v1/jobs/x")
    assert wrong.status_code == 405
    assert wrong.headers["allow"] == "DELETE, GET"


def test_what_is_no_text_or_is_gone_is_answered_in_json(client: Callable[..., Any], pdf: bytes, tmp_path: Path) -> None:
    api = client()
    bad = '{"type": "object", "properties": {"\\ud800": {"type": "string"}}}'
    answer = api.post("/v1/schemas/check", content=bad, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "schema")
    assert send(api, pdf, schema=bad).status_code == 400
    job = send(api, pdf, "/v1/jobs").json()["id"]
    finished(api, job)
    (tmp_path / "jobs" / job / "bill.pdf").unlink()
    gone = api.get(f"/v1/jobs/{job}/review")
    assert gone.status_code == 404
    assert str(tmp_path) not in gone.text


def test_failed_job_keeps_its_error(client: Callable[..., Any]) -> None:
    api = client()
    job = send(api, b"%PDF-1.7 nothing", "/v1/jobs").json()["id"]
    state = finished(api, job)
    assert state["status"] == "failed"
    assert state["error"]["code"] == "damaged"
    assert api.get(f"/v1/jobs/{job}/result").status_code == 422
    assert api.get(f"/v1/jobs/{job}/review").status_code == 409


def test_key_size_and_unknown_paths(client: Callable[..., Any], pdf: bytes) -> None:
    api = client(api_key="s3cret", max_bytes=20_000)
    assert send(api, pdf).status_code == 401
    assert api.get("/metrics").status_code == 401
    assert api.get("/healthz").status_code == 200
    api.headers["Authorization"] = "Bearer s3cret"
    assert send(api, pdf).status_code == 200
    large = send(api, pdf + b"\0" * 30_000)
    assert large.status_code == 413
    assert "20,000" in large.json()["error"]["message"]

    def chunks() -> Any:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        yield from [b"y" * 10_000] * 5

    streamed = api.post("/v1/extract", content=chunks(), headers={"content-type": "multipart/form-data; boundary=x"})
    assert streamed.status_code == 413
    assert api.get("/v1/jobs/nope").json()["error"]["message"].startswith("there is no such job")
    assert api.get("/nope").json()["error"]["code"] == "request"


def test_check_schema_and_metrics(client: Callable[..., Any], pdf: bytes) -> None:
    api = client()
    checked = api.post("/v1/schemas/check", json=json.loads(SCHEMA))
    assert [field["name"] for field in checked.json()["fields"]] == ["number", "total"]
    bad = api.post("/v1/schemas/check", json={"type": "object", "properties": {"a": {"not": {}}}})
    assert bad.status_code == 400
    assert bad.json()["error"]["pointer"] == "/properties/a"
    assert send(api, pdf).status_code == 200
    send(api, b"%PDF-1.7 nothing")
    text = api.get("/metrics").text
    assert 'dg_documents_total{outcome="ok"} 1.0' in text
    assert 'dg_documents_total{outcome="damaged"} 1.0' in text
    assert 'dg_requests_total{path="/v1/extract",status="200"} 1.0' in text


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\bill.pdf", "bill.pdf"),
        ("..", "document"),
        ("", "document"),
        (None, "document"),
        (".hidden", "hidden"),
        ("a\0b\n<c>.pdf", "abc.pdf"),
        ("é" * 300 + ".pdf", "é" * 56 + ".pdf"),
    ],
)
def test_names_of_uploads_are_made_safe(given: str | None, kept: str) -> None:
    from dg_sglang.api.uploads import safe_name

    assert safe_name(given) == kept
