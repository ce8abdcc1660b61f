"""What stands on a screen, as typed data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from dg_sglang.vision.grid import PixelBox

Role = Literal[
    "heading", "text", "link", "button", "textbox", "combobox", "checkbox", "radio", "tab", "table", "cell", "image",
    "box",
]  # fmt: skip
"""ARIA's names; "text" and "box" are what a line and a rectangle are called where nothing more is known."""

State = Literal["checked", "unchecked", "selected", "unselected", "filled", "placeholder", "empty"]
"""Of a checkbox or radio button; of a tab; of a text field."""


class Element(BaseModel):
    """One thing on a screen. Each line of text is the `text` of exactly one element."""

    role: Role
    text: str = ""
    box: PixelBox
    state: State | None = None
    label: str | None = Field(default=None, description="the text beside or above a field or checkbox that names it")
    parent: int | None = Field(default=None, description="index of the element that this one lies in")
    confidence: float | None = Field(default=None, description="how sure the reader of its text was")


class Screen(BaseModel):
    """A screen: its size in pixels, and its elements in reading order, each after the one that it lies in.

    `method` says what read it: "model" (its vision) or "geometry" (text recognition and pixels).
    """

    width: int
    height: int
    elements: list[Element]
    method: Literal["model", "geometry"]
    warnings: list[str] = []

    def children(self, parent: int | None = None) -> list[int]:
        """The indices of the elements directly in an element; without one, those that lie in no other."""
        return [index for index, element in enumerate(self.elements) if element.parent == parent]

    def tree(self, parent: int | None = None) -> list[dict[str, Any]]:
        """The elements as nested dictionaries, those inside under "children"."""
        nodes = []
        for index in self.children(parent):
            node = self.elements[index].model_dump(exclude={"parent"}, exclude_none=True)
            nodes.append({**node, "children": self.tree(index)})
        return nodes

    @property
    def text(self) -> str:
        """All text in reading order, one element a line."""
        return "\n".join(element.text for element in self.elements if element.text)
