"""What a form says, as typed data."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from dg_sglang.vision.grid import PixelBox


class FormField(BaseModel):
    """One field: its label, and what is filled in. A checkbox or radio button has `checked` instead of a value."""

    kind: Literal["text", "choice", "checkbox", "radio"]
    label: str | None = None
    value: str | None = Field(default=None, description="None where nothing is filled in, or only a hint is shown")
    checked: bool | None = None
    box: PixelBox | None = Field(default=None, description="of the field where it is drawn, else of the value")
    confidence: float | None = Field(default=None, description="how sure the reader of the value was")


class Form(BaseModel):
    """A form's fields in reading order. `method`: "model" (its vision) or "geometry" (text recognition and pixels)."""

    fields: list[FormField]
    method: Literal["model", "geometry"]
    warnings: list[str] = []
