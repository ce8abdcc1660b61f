"""Whether a page's text layer can be believed: garbled text is noticed, and a layer is compared with what OCR reads."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from dg_sglang.pipelines.document import Word

MIN_LETTERS = 20
"""Fewer letters say nothing about a text."""
MAX_BROKEN = 0.1
"""Share of replacement, private and control characters from which on a text is garbled."""
MIN_VOWELS = 0.2
"""Share of vowels among Latin letters; every language written so has more (English .38, Polish .40, Czech .38)."""
MIN_AGREEMENT = 0.5
"""Share of the layer that OCR must see too; OCR misreads some, and a lie shares little."""
MIN_COMPLETE = 0.6
"""Share of what OCR sees that the layer must have; a stamp on a scan has little of it."""

Verdict = Literal["layer", "lies", "incomplete"]


def is_suspicious(text: str) -> bool:
    """Whether a text layer looks garbled, as fonts with a wrong or missing Unicode table make it."""
    characters = [char for char in text if not char.isspace()]
    if len(characters) < MIN_LETTERS:
        return False
    if sum(map(_is_broken, characters)) > MAX_BROKEN * len(characters):
        return True
    latin = [base for char in characters if char.isalpha() and (base := _base(char)).isascii()]
    vowels = sum(base in "aeiouy" for base in latin)
    return len(latin) >= 3 * MIN_LETTERS and vowels < MIN_VOWELS * len(latin)


def judge(layer: Iterable[Word], seen: Iterable[Word]) -> Verdict:
    """Compare a text layer with what OCR reads on the same page.

    "layer": they agree; "lies": the layer says what the page doesn't show; "incomplete": it lacks most of the page.
    Scripts that the OCR doesn't know are left to the layer.
    """
    told, found = _pieces(layer), _pieces(seen)
    letters = [char for word in layer for char in word.text if char.isalpha()]
    if sum(not _is_readable(char) for char in letters) > len(letters) / 2:
        return "layer"
    common = (told & found).total()
    if common < MIN_AGREEMENT * told.total():
        return "lies"
    return "incomplete" if common < MIN_COMPLETE * found.total() else "layer"


def _pieces(words: Iterable[Word]) -> Counter[str]:
    """Groups of three letters and digits; word by word, since both sides have their own order of words."""
    pieces: Counter[str] = Counter()
    for word in words:
        text = f" {''.join(char for char in word.text.casefold() if char.isalnum())} "
        if len(text) > 2:
            pieces.update(text[i : i + 3] for i in range(len(text) - 2))
    return pieces


def _is_broken(char: str) -> bool:
    return char == "\ufffd" or unicodedata.category(char) in ("Co", "Cc", "Cn")


def _base(char: str) -> str:
    return unicodedata.normalize("NFD", char)[0].lower()


def _is_readable(char: str) -> bool:
    name = unicodedata.name(char, "")
    return name.startswith(("LATIN", "CJK", "HIRAGANA", "KATAKANA", "FULLWIDTH"))
