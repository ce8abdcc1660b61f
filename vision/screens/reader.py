"""A screen read from its text and its pixels: controls by their rectangles, everything else by its lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dg_sglang.vision.geometry.boxes import Box, area, inside, overlap
from dg_sglang.vision.geometry.ink import ink, is_underlined
from dg_sglang.vision.geometry.lines import font_size, prepare
from dg_sglang.vision.geometry.regions import Region, find_pictures, find_regions, smoothed
from dg_sglang.vision.ocr import Text
from dg_sglang.vision.screens.fields import Typical, read_field
from dg_sglang.vision.screens.model import Element, Screen
from dg_sglang.vision.screens.order import in_order
from dg_sglang.vision.screens.tabs import find_tabs
from dg_sglang.vision.screens.ticks import read_tick
from dg_sglang.vision.tables.find import Grid, find_grids

_LARGE = 1.17  # times the usual size of letters, from which a line is a heading
_DRAWN = 2.5  # times the usual height: a single character as large as that is a drawing
_ROUND = frozenset("OQCGDUo0eacd©®@□○ОСЭ")  # letters whose insides may look like radio buttons or checkboxes
_ICON = 12.0  # pixels; smaller drawings are no pictures


@dataclass
class _Draft:
    """What has been found so far, and which lines of text are spoken for."""

    pixels: NDArray[np.uint8]
    texts: list[Text]
    typical: Typical
    elements: list[Element] = field(default_factory=list)
    used: set[int] = field(default_factory=set)

    def free(self, box: Box) -> list[int]:
        """The indices of the lines in a box that no element has yet."""
        return [
            index
            for index, text in enumerate(self.texts)
            if index not in self.used and inside((text.x, text.y, text.x, text.y), box, 0.0)
        ]


def read_screen(pixels: NDArray[np.uint8], texts: Sequence[Text]) -> Screen:
    """Elements of a screen. `pixels` is uint8 [height, width, 3], RGB; `texts` the lines of text on it."""
    pixels = smoothed(pixels)
    lines = prepare(pixels, texts)
    typical = _typical(pixels, lines)
    lines = [text for text in lines if len(text.text) > 1 or text.height < _DRAWN * typical.height]
    draft = _Draft(pixels, lines, typical)
    height, width = pixels.shape[:2]
    regions = find_regions(pixels)
    pictures = find_pictures(pixels, regions, lines)
    inner = [region for region in regions if not _is_ground(region.box, width, height)]

    inner = _read_ticks(draft, inner, pictures)
    inner = [one for one in inner if not any(inside(one.box, box) and overlap(one.box, box) < 0.8 for box in pictures)]
    inner = _read_tables(draft, inner)
    _read_boxes(draft, inner)
    for index, (box, selected) in find_tabs(pixels, lines).items():
        if index not in draft.used:
            draft.used.add(index)
            _add(draft, "tab", [index], box, state="selected" if selected else "unselected")
    for index in range(len(lines)):
        if index not in draft.used:
            framed = any(_frames(region, lines[index]) for region in inner)
            _add(draft, _line_role(draft, lines[index], framed), [index], lines[index].box)
    _add_pictures(draft, pictures)
    return Screen(width=width, height=height, elements=in_order(draft.elements), method="geometry")


def _typical(pixels: NDArray[np.uint8], lines: Sequence[Text]) -> Typical:
    """The medians; those of common fonts where there is no text."""
    return Typical(
        float(np.median([text.height for text in lines] or [20.0])),
        float(np.median([font_size(pixels, text) for text in lines] or [15.0])),
        float(np.median([ink(pixels, text.box).contrast for text in lines] or [255.0])),
    )


def _is_ground(box: Box, width: int, height: int) -> bool:
    """Whether it is the page, or a band or column of it: it reaches three edges of the picture."""
    return sum((box[0] <= 3, box[1] <= 3, box[2] >= width - 3, box[3] >= height - 3)) >= 3


def _add(
    draft: _Draft, role: str, own: Sequence[int], box: Box, *, state: str | None = None, label: str | None = None
) -> None:
    texts = [draft.texts[index] for index in own]
    draft.elements.append(
        Element.model_validate(
            {
                "role": role,
                "text": " ".join(text.text for text in texts),
                "box": box,
                "state": state,
                "label": label,
                "confidence": min((text.confidence for text in texts), default=None),
            }
        )
    )


def _read_ticks(draft: _Draft, regions: list[Region], pictures: list[Box]) -> list[Region]:
    """Add checkboxes and radio buttons that stand before a text; the regions that are none of them."""
    rest, usual = [], draft.typical.size
    candidates: list[tuple[Box, Region | None]] = [(one.box, one) for one in regions]
    for box, region in [*candidates, *((one, None) for one in pictures)]:
        width, height = box[2] - box[0], box[3] - box[1]
        small = 0.6 * usual <= height <= 1.7 * usual and 0.75 < width / height < 1.34
        label = _label_after(draft, box) if small else None
        tick = read_tick(draft.pixels, box) if label is not None else None
        if tick and label is not None:
            _add(draft, tick[0], [], box, state=tick[1], label=draft.texts[label].text)
            draft.used.update(draft.free(box))  # a mark in it that was read as a letter
        elif region is not None and not any(_is_letter_part(box, text) for text in draft.texts):
            rest.append(region)
    return rest


def _label_after(draft: _Draft, box: Box) -> int | None:
    """The index of the text right of a small box, on its height; the box may stand at the line's very beginning."""
    middle, width = (box[1] + box[3]) / 2, box[2] - box[0]
    beside = [
        index
        for index, text in enumerate(draft.texts)
        if abs(text.y - middle) < 0.6 * text.height
        and box[0] - 0.4 * text.height < text.box[0] < box[2] + 1.6 * text.height
        and text.box[2] > box[2] + width
        and (text.box[0] > box[0] + width / 2 or not _may_begin(text.text))
    ]
    return min(beside, key=lambda index: draft.texts[index].box[0]) if beside else None


def _may_begin(text: str) -> bool:
    """Whether a small disc or square where a line begins may be its first letter."""
    return text[0] in _ROUND or len(text.split()[0]) == 1


def _is_letter_part(box: Box, text: Text) -> bool:
    """Whether it is the inside of a letter."""
    return inside(box, text.box) and box[3] - box[1] < 0.75 * text.height


def _read_tables(draft: _Draft, regions: list[Region]) -> list[Region]:
    """Add tables and their cells; the regions that are no part of them."""
    grids = find_grids([region.box for region in regions], draft.texts)
    for grid in grids:
        _add_table(draft, grid)
    return [one for one in regions if not any(_is_part(one, grid, regions) for grid in grids)]


def _is_part(region: Region, grid: Grid, regions: Sequence[Region]) -> bool:
    """Whether a rectangle belongs to a table, rather than to another one that lies on it, such as a dialog."""
    if not inside(region.box, grid.box, 4.0):
        return False
    holders = [one.box for one in regions if one is not region and inside(region.box, one.box)]
    return all(inside(box, grid.box, 4.0) or inside(grid.box, box, 4.0) for box in holders)


def _add_table(draft: _Draft, grid: Grid) -> None:
    _add(draft, "table", [], grid.box)
    for place in grid.places:
        own = [index for index in place.texts if index not in draft.used]
        if own:
            draft.used.update(own)
            x0, y0, x1, y1 = zip(*(draft.texts[index].box for index in own), strict=True)
            _add(draft, "cell", own, (min(x0), min(y0), max(x1), max(y1)))


def _read_boxes(draft: _Draft, regions: Sequence[Region]) -> None:
    """Add what the rectangles are, the smallest first, so that each text goes to the innermost one."""
    fields: list[Region] = []
    for region in sorted(regions, key=lambda region: area(region.box)):
        holds_others = any(other is not region and inside(other.box, region.box) for other in regions)
        own = draft.free(region.box)
        if len(own) == 2 and len(draft.texts[own[1]].text) == 1:
            arrow, own = own[1:], own[:1]  # an arrow may have been read as a letter
        else:
            arrow = []
        if holds_others or len(own) > 1:
            continue
        found = read_field(draft.pixels, region, [draft.texts[index] for index in own], draft.typical)
        label = _label_of(draft, region) if found and found[0] in ("textbox", "combobox") else None
        if found is None or (found[1] == "empty" and label is None) or (arrow and found[0] != "combobox"):
            continue
        draft.used.update(own, arrow)
        fields.append(region)
        _add(draft, found[0], own, region.box, state=found[1], label=label)
    edges = [(one.box[0], one.box[2]) for one in draft.elements if one.role in ("textbox", "combobox")]
    for region in regions:
        if region in fields:
            continue
        own = draft.free(region.box)
        holds_others = any(other is not region and inside(other.box, region.box) for other in regions)
        like_field = any(abs(x0 - region.box[0]) < 3 and abs(x1 - region.box[2]) < 3 for x0, x1 in edges)
        if own and like_field and not holds_others:  # a text field of several lines
            draft.used.update(own)
            _add(draft, "textbox", own, region.box, state="filled", label=_label_of(draft, region))
        else:
            _add(draft, "box", [], region.box)


def _label_of(draft: _Draft, region: Region) -> str | None:
    """The text directly above a field's left end, or before it on the same line."""
    x0, y0, _, y1 = region.box
    above = [
        text
        for text in draft.texts
        if abs(text.box[0] - x0) < 1.2 * text.height and -0.3 * text.height < y0 - text.box[3] < 1.2 * text.height
    ]
    before = [
        text
        for text in draft.texts
        if abs(text.y - (y0 + y1) / 2) < 0.5 * text.height and 0 <= x0 - text.box[2] < 4 * text.height
    ]
    found = max(above, key=lambda text: text.y, default=None) or max(before, key=lambda text: text.x, default=None)
    return found.text if found else None


def _frames(region: Region, text: Text) -> bool:
    """Whether a rectangle is so tight around a line that its lower side may look like an underline."""
    tight = region.height < 2.5 * text.height
    return tight and inside((text.x, text.y, text.x, text.y), region.box, 0.0)


def _line_role(draft: _Draft, text: Text, framed: bool) -> str:
    if len(text.text) < 2:  # a bullet, or a drawing that was read as a letter
        return "text"
    if not framed and is_underlined(draft.pixels, text.box, ink(draft.pixels, text.box)):
        return "link"
    letters = sum(character.isalpha() for character in text.text)
    large = font_size(draft.pixels, text) >= _LARGE * draft.typical.size
    return "heading" if large and letters > 0.5 * len(text.text.replace(" ", "")) else "text"


def _add_pictures(draft: _Draft, pictures: Sequence[Box]) -> None:
    """Add drawings that are part of no control and no rectangle's own look."""
    controls = [element.box for element in draft.elements if element.role not in ("box", "table", "cell")]
    for box in pictures:
        if min(box[2] - box[0], box[3] - box[1]) >= _ICON and not any(inside(box, other, 4.0) for other in controls):
            inner = [one for one in draft.elements if one.role == "box" and overlap(one.box, box) > 0.8]
            draft.elements = [one for one in draft.elements if one not in inner]
            _add(draft, "image", [], box)
