"""Writes the parts of a document and records what they state."""

import random
import textwrap
from dataclasses import dataclass

from layout import CURRENCIES, Pair, Sheet, collapse
from lexicon import (
    CONCEPTS,
    FORM_OBJECTS,
    FORM_OBJECTS_DE,
    FORM_SUBJECTS,
    FORM_SUBJECTS_DE,
    REMARKS,
    SENTENCES,
    STATES,
)
from pools import Pools
from values import Values

from dg_sglang.pipelines.prompt import Kind

_OFFICIALS = ("Amtsgericht", "Registered at", "Geschäftsführer:", "Director:", "Bank:")


@dataclass(frozen=True)
class Fact:
    """A value that the document states in the role of `concept` ("form": a free label), with the label beside it."""

    concept: str
    kind: Kind
    value: str
    label: str = ""


@dataclass
class Document:
    """Text and everything it is known to state.

    `mentioned` holds concepts that must not be asked for as absent, `blank` those whose label stands there without a
    value.
    """

    text: str
    kind: str
    language: str
    facts: list[Fact]
    mentioned: set[str]
    rows: list[dict[str, str | None]] | None = None
    columns: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()


class Writer(Values):
    """Writes one document; every method that prints a value records it as a fact."""

    def __init__(self, rng: random.Random, pools: Pools, held_out: bool) -> None:
        super().__init__(rng, pools, held_out)
        self.sheet = Sheet(self.style)
        self.facts: list[Fact] = []
        self.mentioned: set[str] = set()
        self.rows: list[dict[str, str | None]] | None = None
        self.columns: tuple[str, ...] = ()
        self.blanks: list[str] = []
        self.due: float | None = None  # what a receipt's totals end in

    def state(self, concept: str, value: str, label: str = "", kind: Kind | None = None) -> None:
        """Record a fact; the first statement of a concept counts."""
        if concept in self.mentioned and concept != "form":
            return
        self.mentioned.add(concept)
        self.facts.append(Fact(concept, kind or CONCEPTS[concept].kind, collapse(value), label))

    def pair(self, concept: str, value: str | None = None) -> Pair:
        """A concept's label and value, recorded as a fact."""
        label = self.style.spoiled(self.style.label(concept))
        text = self.style.spoiled(value or self.value(concept), 0.5)
        self.state(concept, text, label)
        shown = self.style.priced(text) if CONCEPTS[concept].kind == "number" else text
        return Pair(label, shown)

    def blank(self, concept: str) -> Pair:
        """A label whose value was left empty."""
        if concept in self.mentioned:
            return self.near_miss()
        self.mentioned.add(concept)
        self.blanks.append(concept)
        return Pair(self.style.label(concept), "")

    def repeated(self, concept: str) -> str:
        """A stated value once more, or a new one."""
        return next((fact.value for fact in self.facts if fact.concept == concept), "") or self.value(concept)

    def near_miss(self) -> Pair:
        """A label/value pair that no field asks for but that resembles one."""
        rng = self.rng
        kind = rng.choice(("text", "date", "number"))
        label = (
            rng.choice(FORM_SUBJECTS_DE) + rng.choice(FORM_OBJECTS_DE[kind])
            if self.language == "de"
            else f"{rng.choice(FORM_SUBJECTS)} {rng.choice(FORM_OBJECTS[kind])}"
        )
        return Pair(
            self.style.cased(label),
            {"text": self.identifier, "date": self.day, "number": lambda: self.style.number(self.price())}[kind](),
        )

    def form_pair(self) -> Pair:
        """A free label with a value of its kind, recorded as a fact."""
        rng = self.rng
        kind: Kind = rng.choices(("text", "date", "number"), (5, 2, 3))[0]
        if self.language == "de" and rng.random() < 0.8:
            label = rng.choice(FORM_SUBJECTS_DE) + rng.choice(FORM_OBJECTS_DE[kind])
        else:
            label = (
                f"{rng.choice(FORM_SUBJECTS)} {rng.choice(FORM_OBJECTS[kind])}"
                if rng.random() < 0.85
                else rng.choice(FORM_SUBJECTS)
            )
        shown: str | None = None
        if kind == "date":
            value = self.day()
        elif kind == "number":
            value = self.style.number(self.price()) if rng.random() < 0.6 else str(rng.randint(1, 9999))
            shown = (
                self.style.priced(value)
                if "," in value or "." in value
                else value + rng.choice(("", " kg", " km", " h", "%", " Stk"))
            )
        else:
            value = rng.choice(
                (
                    self.identifier,
                    self.identifier,
                    lambda: self.drawn("person"),
                    self.company,
                    lambda: self.drawn("city"),
                    self.coined,
                    self.product,
                    lambda: rng.choice(STATES),
                )
            )()
        label = self.style.cased(label)
        if all(fact.label != label for fact in self.facts):
            self.state("form", value, label, kind)
        return Pair(label, shown or value)

    def party(self, concept: str, label: str, address: str = "") -> list[str]:
        """Name and address lines of a party; `address` names the concept of its address."""
        rng, style = self.rng, self.style
        name = style.spoiled(self.value(concept), 0.5)
        self.state(concept, name, label)
        lines = [name]
        if label:
            lines = [label + rng.choice(("", ":")), name] if rng.random() < 0.65 else [f"{label}: {name}"]
        if rng.random() < 0.08:
            lines.append(self.drawn("person"))
        if rng.random() < 0.85:
            street = [style.spoiled(line, 0.5) for line in self.address()]
            lines += street
            if address:
                self.state(address, " ".join(street))
        return lines

    def remark(self) -> str:
        """A line that states nothing of interest."""
        rng = self.rng
        return rng.choice(
            (
                lambda: rng.choice(REMARKS[self.language]),
                lambda: rng.choice(REMARKS[self.language]),
                lambda: self.drawn("sentence"),
                lambda: self.drawn("domain"),
                lambda: "Fax " + self.drawn("phone"),
                lambda: f"{rng.choice(('Reg. No.', 'HRB', 'BIC', 'SWIFT', 'BLZ', 'GLN', 'RCS'))} {self.identifier()}",
                lambda: f"{rng.choice(_OFFICIALS)} {self.drawn(rng.choice(('city', 'person')))}",
                self.version,
                lambda: f"BIC {self.letters(8)}{rng.choice(('', 'XXX'))}",
            )
        )()

    def version(self) -> str:
        """A version number with a date that is none of the document's."""
        rng = self.rng
        name, link = rng.choice(("Version", "Form", "Vers.", "Template", "Stand")), rng.choice(("", "vom ", "of "))
        return f"{name} {rng.randint(1, 9)}.{rng.randint(0, 9)} {link}{self.day()}"

    def remarks(self, low: int, high: int) -> None:
        """Some remarks."""
        self.sheet.add(*(self.style.spoiled(self.remark()) for _ in range(self.rng.randint(low, high))))

    def prose(self, sentences: int, width: int) -> None:
        """Sentences that state nothing of interest, wrapped at a width."""
        text = " ".join(self.remark() if self.rng.random() < 0.3 else self.drawn("sentence") for _ in range(sentences))
        self.sheet.add(*textwrap.wrap(text, width))

    def legal_block(self) -> None:
        """Boilerplate: long sentences, or a footer in columns."""
        rng = self.rng
        if rng.random() < 0.5:
            self.sheet.add(*(" ".join(self.drawn("sentence") for _ in range(2)) for _ in range(rng.randint(1, 3))))
        else:
            left = [self.drawn("company"), *self.address()]
            right = [self.remark() for _ in range(rng.randint(2, 4))]
            self.sheet.columns(left, right)

    def sentence(self, concept: str) -> None:
        """A fact in prose."""
        value = self.value(concept)
        self.state(concept, value)
        shown = self.style.priced(value) if CONCEPTS[concept].kind == "number" else value
        self.sheet.add(self.rng.choice(SENTENCES[concept][self.language]).format(shown))

    def currency_seen(self) -> None:
        """Record the currency as a fact where the text shows it."""
        style = self.style
        if style.currency and style.currency_place != "none" and style.currency in self.sheet.text():
            self.state("currency", style.currency)

    def finished(self, kind: str) -> Document:
        """The document, with only those facts that its text really shows."""
        text = self.sheet.text()
        self.currency_seen()
        shown = collapse(text)
        facts = [fact for fact in self.facts if fact.value in shown]
        rows = self.rows
        if rows and not all(value is None or value in shown for row in rows for value in row.values()):
            rows = None
        if (
            not facts
            or (self.style.currency and self.style.currency in shown)
            or any(code in shown for code in CURRENCIES["en"] if code)
        ):
            self.mentioned.add("currency")
        return Document(text, kind, self.language, facts, self.mentioned, rows, self.columns, tuple(self.blanks))
