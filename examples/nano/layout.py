"""How a document writes things: number and date formats, OCR noise, lines as a layout-preserving extractor has them."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lexicon import CONCEPTS, MONTHS

CURRENCIES = {
    "en": ("$", "$", "$", "£", "€", "USD", "GBP", "EUR", "CAD", "AUD", "RM", "MYR", "US$", ""),
    "de": ("€", "€", "EUR", "EUR", "CHF", ""),
    "fr": ("€", "€", "EUR", "CHF", ""),
    "es": ("€", "EUR", ""),
    "it": ("€", "EUR", "Euro", ""),
    "nl": ("€", "EUR", ""),
}
_MISREAD = {
    "O": "0Q",
    "0": "Oo",
    "1": "lI",
    "l": "1I",
    "I": "1l",
    "5": "S",
    "S": "5",
    "8": "B",
    "B": "8",
    "e": "c",
    "c": "e",
    "A": "ÀÁ",
    "U": "ÚÜ",
    "E": "É",
    "m": "n",
    "i": "l",
    "D": "O",
    "G": "6",
    ".": ",",
    ",": ".",
    ":": ".;",
}
MAX_GAP = 24


def collapse(text: str) -> str:
    """White-space runs, line breaks included, as one space: how stated values are written."""
    return " ".join(text.split())


@dataclass
class Style:
    """The habits of one document, drawn once."""

    rng: random.Random
    language: str
    noise: float = 0.0  # chance that OCR spoils a piece of text
    upper: bool = False
    label_case: int = field(init=False)
    separator: str = field(init=False)
    currency: str = field(init=False)
    currency_place: str = field(init=False)
    thousands: str = field(init=False)
    decimal: str = field(init=False)
    date_format: int = field(init=False)

    def __post_init__(self) -> None:
        rng = self.rng
        english = self.language == "en"
        self.label_case = 1 if self.upper else rng.choice((0, 0, 0, 1, 2))
        self.separator = rng.choice(
            (": ", ": ", ": ", ":", " ", "  ", " : ", "    ", " - ", ":   ", ":" + " " * rng.randint(4, 20))
        )
        self.currency = rng.choice(CURRENCIES[self.language])
        self.currency_place = (
            rng.choice(("before", "before ", "none", "none", "after "))
            if english
            else rng.choice(("after ", "after ", "after", "before ", "none", "none"))
        )
        if not self.currency:
            self.currency_place = "none"
        elif self.currency.isalpha():
            self.currency_place = {"before": "before ", "after": "after "}.get(self.currency_place, self.currency_place)
        pairs = (
            ((",", "."), (",", "."), ("", "."))
            if english
            else ((".", ","), (".", ","), ("", ","), (" ", ","), ("'", ".") if self.language == "de" else (".", ","))
        )
        self.thousands, self.decimal = rng.choice(pairs)
        self.date_format = rng.randrange(100)

    def number(self, value: float, digits: int = 2) -> str:
        """A number in this document's notation, without currency."""
        whole, _, part = f"{abs(value):.{digits}f}".partition(".")
        whole = f"{int(whole):,}".replace(",", self.thousands)
        return ("-" if value < 0 else "") + whole + (self.decimal + part if part else "")

    def priced(self, number: str, always: bool = False) -> str:
        """The number with the currency where this document puts it."""
        if self.currency_place == "none" or (not always and self.rng.random() < 0.12):
            return number
        place = self.currency_place
        return {
            "before": self.currency + number,
            "before ": f"{self.currency} {number}",
            "after": number + self.currency,
            "after ": f"{number} {self.currency}",
        }[place]

    def date(self, year: int, month: int, day: int) -> str:
        """A date in this document's format, seldom in another one."""
        rng, language = self.rng, self.language
        style = self.date_format if rng.random() < 0.92 else rng.randrange(100)
        full = MONTHS[language][month - 1]
        short = full[:3]
        if style < 12:
            return f"{year}-{month:02}-{day:02}"
        if language == "en":
            forms = (
                f"{month:02}/{day:02}/{year}",
                f"{day:02}/{month:02}/{year}",
                f"{day:02}/{month:02}/{year}",
                f"{month}/{day}/{year}",
                f"{month}/{day}/{year % 100:02}",
                f"{day:02}/{month:02}/{year % 100:02}",
                f"{full} {day}, {year}",
                f"{short} {day}, {year}",
                f"{day} {full} {year}",
                f"{day:02}-{short}-{year}",
                f"{day:02}-{short}-{year % 100:02}",
                f"{day:02}-{month:02}-{year}",
                f"{day:02}-{month:02}-{year % 100:02}",
                f"{day} {short} {year}",
                f"{day:02}.{month:02}.{year}",
                f"{short.upper()} {day:02} {year}",
                f"{year}/{month:02}/{day:02}",
            )
        elif language == "de":
            forms = (
                *(f"{day:02}.{month:02}.{year}",) * 5,
                f"{day}.{month}.{year}",
                f"{day:02}.{month:02}.{year % 100:02}",
                f"{day}. {full} {year}",
                f"{day:02}/{month:02}/{year}",
            )
        elif language == "fr":
            forms = (
                *(f"{day:02}/{month:02}/{year}",) * 4,
                f"{day} {full} {year}",
                f"{day:02}.{month:02}.{year}",
                f"{day:02}/{month:02}/{year % 100:02}",
            )
        elif language == "es":
            forms = (*(f"{day:02}/{month:02}/{year}",) * 3, f"{day} de {full} de {year}", f"{day:02}-{month:02}-{year}")
        elif language == "it":
            forms = (
                *(f"{day:02}/{month:02}/{year}",) * 3,
                f"{day} {full} {year}",
                f"{day:02}-{month:02}-{year}",
                f"{day:02}.{month:02}.{year}",
            )
        else:
            forms = (*(f"{day:02}-{month:02}-{year}",) * 3, f"{day} {full} {year}", f"{day:02}/{month:02}/{year}")
        return forms[(style * 7919) % len(forms)]

    def label(self, concept: str) -> str:
        """One of the concept's labels, seldom an English one in a document of another language."""
        labels = CONCEPTS[concept].labels
        return self.cased(self.rng.choice(labels[self.language if self.rng.random() < 0.94 else "en"]))

    def cased(self, label: str) -> str:
        """A label in this document's casing."""
        return label.upper() if self.label_case == 1 else label.capitalize() if self.label_case == 2 else label

    def spoiled(self, text: str, scale: float = 1.0) -> str:
        """The text as OCR may read it, at the style's rate: lost or added spaces, misread or lost characters."""
        rng = self.rng
        if self.upper:
            text = text.upper()
        if rng.random() >= self.noise * scale or len(text) < 3:
            return text
        spot = rng.randrange(1, len(text))
        if " " in text and rng.random() < 0.5:
            spot = rng.choice([match.start() for match in re.finditer(" ", text)])
            return text[:spot] + text[spot + 1 :]
        chance = rng.random()
        if chance < 0.08:
            return text[:spot] + text[spot + 1 :]
        if chance < 0.16 and text[spot - 1 : spot + 1].isalpha():
            return text[:spot] + " " + text[spot:]
        wrong = _MISREAD.get(text[spot])
        return text[:spot] + rng.choice(wrong) + text[spot + 1 :] if wrong else text


@dataclass(frozen=True)
class Pair:
    """A label and what stands beside it."""

    label: str
    value: str


class Sheet:
    """Lines of text in reading order, with gaps between columns as runs of spaces."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.rng = style.rng
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        """Lines as they are."""
        self.lines.extend(lines)

    def gap(self) -> None:
        """A larger vertical gap, mostly shown as a blank line."""
        if self.lines and self.lines[-1] and self.rng.random() < 0.7:
            self.lines.append("")

    def text(self) -> str:
        """The text as an extractor gives it: no indent, runs of spaces capped, at most one blank line in a row."""
        text = "\n".join(re.sub(f" {{{MAX_GAP},}}", " " * MAX_GAP, line.strip()) for line in self.lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip("\n")

    def pair_lines(self, pairs: Sequence[Pair], layout: str | None = None) -> list[str]:
        """Label/value pairs in one of the usual layouts."""
        rng, separator = self.rng, self.style.separator
        layout = layout or rng.choice(
            ("line",) * 6 + ("aligned", "aligned", "below", "two", "table", "labels first", "dots", "mixed")
        )
        if layout == "aligned":
            width = max(len(pair.label) for pair in pairs) + rng.randint(2, 12)
            colon = rng.choice(("", ":"))
            return [(pair.label + colon).ljust(width) + pair.value for pair in pairs]
        if layout == "colon column":
            width = max(len(pair.label) for pair in pairs) + 1
            return [f"{pair.label.ljust(width)}: {pair.value}" for pair in pairs]
        if layout == "below":
            return [line for pair in pairs for line in (pair.label + rng.choice(("", ":")), pair.value)]
        if layout == "two":
            gap = " " * rng.randint(2, 16)
            inner = separator if separator.strip() else ": "
            return [
                gap.join(pair.label + inner + pair.value for pair in pairs[i : i + 2]) for i in range(0, len(pairs), 2)
            ]
        if layout == "table":
            lines = []
            for i in range(0, len(pairs), 4):
                row = pairs[i : i + 4]
                space = rng.randint(2, 9)
                widths = [max(len(pair.label), len(pair.value)) + space for pair in row]
                lines.append("".join(pair.label.ljust(width) for pair, width in zip(row, widths, strict=True)))
                lines.append("".join(pair.value.ljust(width) for pair, width in zip(row, widths, strict=True)))
            return lines
        if layout == "labels first" and len(pairs) <= 4:
            return [pair.label + rng.choice(("", ":")) for pair in pairs] + [pair.value for pair in pairs]
        if layout == "dots":
            return [f"{pair.label} {'.' * rng.randint(3, 14)} {pair.value}" for pair in pairs]
        if layout == "right":
            width = rng.randint(24, 60)
            return [pair.label + " " * max(2, width - len(pair.label) - len(pair.value)) + pair.value for pair in pairs]
        if layout == "far right":
            indent = " " * rng.randint(10, MAX_GAP)
            return [indent + line for line in self.pair_lines(pairs, "right")]
        if layout == "mixed":
            return [
                line
                for pair in pairs
                for line in self.pair_lines([pair], rng.choice(("line", "line", "below", "right")))
            ]
        return [
            pair.label + (" " if pair.label.endswith(("#", "°")) and rng.random() < 0.5 else separator) + pair.value
            for pair in pairs
        ]

    def pairs(self, pairs: Sequence[Pair], layout: str | None = None) -> None:
        """Add label/value pairs."""
        if pairs:
            self.add(*self.pair_lines(pairs, layout))

    def columns(self, *blocks: Sequence[str]) -> None:
        """Blocks side by side."""
        widths = [max(map(len, block), default=0) + self.rng.randint(3, 22) for block in blocks[:-1]] + [0]
        for i in range(max(map(len, blocks))):
            cells = [block[i] if i < len(block) else "" for block in blocks]
            self.add("".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())

    def table(self, header: Sequence[str] | None, rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> None:
        """A table; numeric columns mostly right-aligned, sometimes with ragged gaps as extractors make them."""
        rng = self.rng
        everything = [list(header)] if header else []
        everything += [list(row) for row in rows]
        space = rng.randint(2, 10)
        widths = [max(len(row[i]) for row in everything) + space for i in range(len(numeric))]
        ragged = rng.random() < 0.3
        right = rng.random() < 0.7
        for row in everything:
            if ragged:
                self.add((" " * space).join(cell for cell in row if cell))
            else:
                cells = [
                    cell.rjust(width) if right and number and i else cell.ljust(width)
                    for i, (cell, width, number) in enumerate(zip(row, widths, numeric, strict=True))
                ]
                self.add("".join(cells))
