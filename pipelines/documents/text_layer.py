"""A PDF page's text layer: the words that a reader sees, those that are hidden from him, and the ticks of its form."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dg_sglang.pipelines.document import Box, Word
from dg_sglang.pipelines.documents.layout import Direction

if TYPE_CHECKING:
    import pymupdf

TINY = 2.0
"""Points: smaller letters are not for people."""
MIN_CONTRAST = 20
"""Of 255: a word whose box, as rendered, holds less difference between its lightest and darkest point isn't seen."""
MAX_RENDERED = 4_000_000
"""Pixels of the rendering that words are looked for in."""
_DRAWN = 0b110000  # MuPDF's char_flags: filled, stroked
_EVERYWHERE = (-1e5, -1e5, 1e5, 1e5)


@dataclass
class TextLayer:
    """One page's words in display coordinates.

    Attributes:
        words: by the direction in which they run.
        veiled: the same for words drawn invisibly on the page, as OCR programs put them over a scan.
        hidden: other words that nobody sees, by the reason.
    """

    words: dict[Direction, list[Word]] = field(default_factory=dict)
    veiled: dict[Direction, list[Word]] = field(default_factory=dict)
    hidden: dict[str, list[str]] = field(default_factory=dict)


def read_text_layer(page: "pymupdf.Page", *, render: bool = True) -> TextLayer:
    """Read the page's text. `render` also looks whether each word can be seen on the rendered page."""
    layer = TextLayer()
    ticks = list(_ticks(page))
    seen = _Rendering(page) if render else None
    width, height = page.rect.width, page.rect.height
    for word, way, size, drawn in _words(page):
        x, y = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
        if not (0 <= x <= width and 0 <= y <= height):
            layer.hidden.setdefault("outside the page", []).append(word.text)
        elif any(_inside(x, y, tick.box) for tick in ticks):
            continue  # the tick's own sign, a letter of a dingbat font
        elif size < TINY:
            layer.hidden.setdefault("tiny", []).append(word.text)
        elif not drawn:
            layer.veiled.setdefault(way, []).append(word)
        elif seen and not seen.shows(word.box):
            layer.hidden.setdefault("of its background's colour, or covered", []).append(word.text)
        else:
            layer.words.setdefault(way, []).append(word)
    if ticks:
        layer.words.setdefault((1, 0), []).extend(ticks)
    return layer


def _words(page: "pymupdf.Page") -> Iterator[tuple[Word, Direction, float, bool]]:
    """Every word with its direction, the size of its letters in points, and whether it is drawn at all."""
    import pymupdf

    flags = pymupdf.TEXTFLAGS_WORDS & ~pymupdf.TEXT_PRESERVE_LIGATURES
    turn = page.rotation_matrix if page.rotation else None
    rotation = page.rotation
    content: Any = page.get_textpage(clip=pymupdf.Rect(_EVERYWHERE), flags=flags).extractRAWDICT()
    for block in content["blocks"]:
        for line in block.get("lines", ()):
            way = direction(line["dir"], rotation)
            word: list[tuple[str, Box, float]] = []
            drawn = True
            for span in line["spans"]:
                visible = span["alpha"] > 0 and bool(span["char_flags"] & _DRAWN)
                for char in span["chars"]:
                    space = char["c"].isspace()
                    if word and (space or visible != drawn):
                        yield _word(word, turn), way, max(size for *_, size in word), drawn
                        word = []
                    drawn = visible
                    if not space:
                        word.append((char["c"], char["bbox"], span["size"]))
            if word:
                yield _word(word, turn), way, max(size for *_, size in word), drawn


def _word(characters: Sequence[tuple[str, Box, float]], turn: "pymupdf.Matrix | None") -> Word:
    boxes = [box for _, box, _ in characters]
    x0, y0 = min(box[0] for box in boxes), min(box[1] for box in boxes)
    x1, y1 = max(box[2] for box in boxes), max(box[3] for box in boxes)
    text = "".join(char for char, *_ in characters)
    text = text.encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace"
    )  # a font's table may hold half a character
    return Word(text, _displayed((x0, y0, x1, y1), turn))


def direction(vector: Sequence[float], rotation: int) -> Direction:
    """The nearest of the four directions, on the page as it is displayed (turned clockwise by `rotation` degrees)."""
    x, y = vector
    way: Direction = (1 if x > 0 else -1, 0) if abs(x) >= abs(y) else (0, 1 if y > 0 else -1)
    for _ in range(rotation // 90 % 4):
        way = (-way[1], way[0])
    return way


def _displayed(box: Box, turn: "pymupdf.Matrix | None") -> Box:
    import pymupdf

    if turn is None:
        return box
    rect = pymupdf.Rect(box) * turn
    rect.normalize()
    return tuple(rect)


def _ticks(page: "pymupdf.Page") -> Iterator[Word]:
    """Check boxes and radio buttons as ☒ and ☐; the form's other fields are on the page as text."""
    import pymupdf

    kinds = (pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON)
    for widget in page.widgets():
        if widget.field_type in kinds and widget.field_display in (0, 3):  # shown on the screen
            on = widget.field_value not in (False, None, "", "Off")
            if widget.field_type == pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON:
                on = on and widget.field_value in (True, widget.on_state())
            yield Word("☒" if on else "☐", _displayed(tuple(widget.rect), page.rotation_matrix))


def _inside(x: float, y: float, box: Box) -> bool:
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


class _Rendering:
    """The page in grey, to see what can be seen on it."""

    def __init__(self, page: "pymupdf.Page") -> None:
        import numpy as np
        import pymupdf

        area = max(page.rect.width * page.rect.height, 1.0)
        self._scale = min(1.0, (MAX_RENDERED / area) ** 0.5)
        pixmap = page.get_pixmap(
            matrix=pymupdf.Matrix(self._scale, self._scale), colorspace=pymupdf.csGRAY, alpha=False
        )
        self._grey: np.ndarray = np.frombuffer(pixmap.samples, dtype=np.uint8).reshape(pixmap.height, pixmap.width)

    def shows(self, box: Box) -> bool:
        """Whether there is anything in the box but one colour. True where the rendering is too small to tell."""
        x0, y0, x1, y1 = (round(edge * self._scale) for edge in box)
        part = self._grey[max(y0, 0) : y1 + 1, max(x0, 0) : x1 + 1]
        if part.size < 9 or y1 - y0 < 4:
            return True
        return int(part.max()) - int(part.min()) >= MIN_CONTRAST
