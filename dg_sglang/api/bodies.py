"""What the API answers, as pydantic models: they make the OpenAPI page."""

from typing import Any, Literal

from pydantic import BaseModel, Field

JobStatus = Literal["queued", "running", "done", "failed"]


class FieldFailure(BaseModel):
    """A field without a valid value."""

    field: str
    raw: str | None = Field(description="what the document says")
    reason: str


class ErrorDetail(BaseModel):
    """One problem."""

    message: str = Field(description="what is wrong, where, and what to do")
    code: str = Field(description="the kind of the error in one word, such as encrypted")
    pointer: str | None = Field(default=None, description="JSON pointer into the schema")
    keyword: str | None = Field(default=None, description="the JSON Schema keyword at fault")
    failures: list[FieldFailure] = []


class ErrorBody(BaseModel):
    """An error, and what was extracted nevertheless."""

    error: ErrorDetail
    partial: dict[str, Any] | None = Field(
        default=None, description="the values that could be read, when only some fields could not be filled"
    )


class DocumentInfo(BaseModel):
    """The document as it was read."""

    name: str
    pages: list[dict[str, Any]]
    attachments: list[str] = Field(description="structured invoices inside a PDF, which are not read")


class Extraction(BaseModel):
    """A validated value and where each of its leaves stands in the document."""

    document: DocumentInfo
    value: Any = Field(description="valid under the schema")
    evidence: dict[str, Any] = Field(
        description="a tree of the value's shape; leaves say page, boxes (PDF points, origin top left), words, match"
    )
    warnings: list[str]
    usage: dict[str, Any]


class Job(BaseModel):
    """A document that is worked on in the background."""

    id: str
    status: JobStatus
    name: str = Field(description="the file's name")
    created: float = Field(description="seconds since 1970")
    started: float | None = None
    finished: float | None = None
    error: ErrorDetail | None = None


class FieldCheck(BaseModel):
    """One leaf that will be extracted."""

    pointer: str = Field(description="JSON pointer of its subschema")
    name: str
    kind: str
    stated: bool = Field(description="its value is a piece of the document; otherwise the model judges it")
    nullable: bool


class SchemaCheck(BaseModel):
    """What becomes of a schema."""

    fields: list[FieldCheck]


class Health(BaseModel):
    """Whether the API answers, and with what."""

    status: Literal["ok"]
    model: str
    waiting: int
    jobs: int
