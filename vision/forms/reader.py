"""From the elements of a page to the fields of a form."""

from __future__ import annotations

import re
from typing import Literal

from dg_sglang.vision.forms.model import FormField
from dg_sglang.vision.screens.model import Element, Screen

_BLANK = re.compile(r"[\s_.…·-]*")  # a line to write on
_STATED = re.compile(
    r"(?P<label>[^:]*\D): ?(?P<value>.*)|(?P<only>[^:]*\D):", re.DOTALL
)  # no time of day such as 12:30


def fields_of(screen: Screen) -> list[FormField]:
    """Fields in reading order: drawn ones, then what is printed as "label: value", each where it stands."""
    labels = {element.label for element in screen.elements if element.label}
    lines = [one for one in screen.elements if one.role in ("text", "cell", "heading") and one.text not in labels]
    fields = []
    spent: set[int] = set()
    for element in screen.elements:
        if element.role in ("textbox", "combobox", "checkbox", "radio"):
            fields.append(_drawn(element))
        elif id(element) not in spent and any(element is line for line in lines):
            found = _printed(element, lines)
            if found is not None:
                fields.append(found[0])
                spent.update(found[1])
    return fields


def _drawn(element: Element) -> FormField:
    label = element.label.rstrip(" :*") if element.label else None
    if element.role in ("checkbox", "radio"):
        return FormField(kind=element.role, label=label, checked=element.state == "checked", box=element.box)
    value = element.text if element.state == "filled" and not _BLANK.fullmatch(element.text) else None
    kind: Literal["choice", "text"] = "choice" if element.role == "combobox" else "text"
    return FormField(
        kind=kind, label=label, value=value, box=element.box, confidence=element.confidence if value else None
    )


def _printed(element: Element, lines: list[Element]) -> tuple[FormField, set[int]] | None:
    """A field from a line with a colon, the value behind it or in the next line to the right; and the lines' ids."""
    match = _STATED.fullmatch(element.text)
    if match is None:
        return None
    label, value, source = match["label"] or match["only"] or "", match["value"] or "", element
    if not label.strip() or label.rstrip().endswith(("http", "https")):
        return None
    if not value.strip():
        beside = _beside(element, lines)
        if beside is not None and not beside.text.rstrip().endswith(":"):
            value, source = beside.text, beside
    filled = not _BLANK.fullmatch(value)
    field = FormField(
        kind="text",
        label=label.strip(),
        value=value.strip() if filled else None,
        box=source.box,
        confidence=source.confidence if filled else None,
    )
    return field, {id(element), id(source)}


def _beside(element: Element, lines: list[Element]) -> Element | None:
    """The next line to the right on the same height, not farther than some words."""
    height = element.box[3] - element.box[1]
    beside = [
        line
        for line in lines
        if abs((line.box[1] + line.box[3]) - (element.box[1] + element.box[3])) < height
        and 0 <= line.box[0] - element.box[2] < 12 * height
    ]
    return min(beside, key=lambda line: line.box[0], default=None)
