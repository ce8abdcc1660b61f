"""Training examples: a document, the fields that a schema asks of it, and the answer.

Run as a script to look at some: `python generator.py --count 3 --seed 1`.
"""

import argparse
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from documents import write_document
from lexicon import COLUMNS, CONCEPTS, FORM_OBJECTS, FORM_SUBJECTS, LANGUAGES, LIST_NAMES
from pools import Pools, load_pools
from writer import Document, Fact

from dg_sglang.pipelines.prompt import Field, Kind, build_prompt

RUNS = Path(__file__).parent / "runs"
NULL_SHARE = 0.35
_CODES = {"$": "USD", "US$": "USD", "€": "EUR", "£": "GBP", "Euro": "EUR", "RM": "MYR"}
_INVOICE = (
    "invoice_number",
    "issue_date",
    "due_date",
    "currency",
    "seller_name",
    "buyer_name",
    "net_total",
    "tax_total",
    "grand_total",
)
_RECEIPT = {
    "company": "seller_name",
    "date": "issue_date",
    "address": "seller_address",
    "total": "grand_total",
    "currency": "currency",
    "time": "time",
    "payment_method": "payment_method",
}
_AMBIGUOUS = {  # could be answered by a free label or by another role
    "form": {"invoice_number", "receipt_number", "order_number", "reference", "delivery_note", "customer_number"},
    "any": {"person_name", "account_holder", "job_title", "employer", "passenger", "origin", "destination"},
}


@dataclass(frozen=True)
class Example:
    """What the model reads and what it should answer. `value` is the answer's JSON value, keys in prompt order."""

    fields: tuple[Field, ...]
    document: Document
    value: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The user message."""
        return build_prompt(self.fields, self.document.text)

    @property
    def answer(self) -> str:
        """The compact JSON answer."""
        return json.dumps(self.value, ensure_ascii=False, separators=(",", ":"))


def _styled(name: str, style: int) -> str:
    """A field name in one of the usual spellings."""
    words = re.sub(r"[^0-9A-Za-zÀ-ÿ]+", " ", name.replace("N°", "number").replace("#", "number")).split()
    words = [word.lower() for word in words] or ["field"]
    if style == 1:
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if style == 2:
        return " ".join(words).capitalize()
    if style == 3:
        return " ".join(word.capitalize() for word in words)
    if style == 4:
        return "-".join(words)
    return "_".join(words)


class _Schema:
    """Collects fields and values for one document."""

    def __init__(self, rng: random.Random, document: Document) -> None:
        self.rng, self.document = rng, document
        self.style = rng.choices(range(5), (70, 12, 7, 7, 4))[0]
        self.described = rng.choices((0.0, 0.3, 1.0), (55, 30, 15))[0]
        self.fields: list[Field] = []
        self.value: dict[str, Any] = {}
        self.facts = {fact.concept: fact for fact in document.facts if fact.concept != "form"}

    def note(self, descriptions: tuple[str, ...]) -> str:
        return self.rng.choice(descriptions) if self.rng.random() < self.described else ""

    def add(self, field: Field, value: Any) -> bool:
        if field.name in self.value:
            return False
        self.fields.append(field)
        self.value[field.name] = value
        return True

    def concept(self, concept: str, name: str | None = None) -> bool:
        """Ask for a concept: the stated value, or null where the document has none."""
        fact = self.facts.get(concept)
        if fact is None and concept in self.document.mentioned:
            return False
        info = CONCEPTS[concept]
        if name is None:
            name = self.rng.choice(info.names)
            if fact and fact.label and self.rng.random() < 0.15:
                name = fact.label
            name = _styled(name, self.style)
        return self.add(Field(name, info.kind, self.note(info.descriptions)), fact.value if fact else None)

    def free(self, fact: Fact) -> bool:
        """Ask for a form's free label."""
        return self.add(Field(_styled(fact.label, self.style), fact.kind), fact.value)

    def absent(self) -> bool:
        """Ask for something the document does not state: often for a label without value, or for an unheard-of one."""
        document = self.document
        if document.blank and self.rng.random() < 0.5:
            return self.missing(self.rng.choice(document.blank))
        if self.rng.random() < 0.3:
            return self.unheard_of()
        excluded = document.mentioned | _AMBIGUOUS["any"]
        if document.kind in ("form", "letter", "cv", "ticket"):
            excluded |= _AMBIGUOUS["form"]
        candidates = [name for name in CONCEPTS if name not in excluded]
        return bool(candidates) and self.missing(self.rng.choice(candidates))

    def missing(self, concept: str) -> bool:
        """Ask for a concept that is not stated."""
        info = CONCEPTS[concept]
        name = _styled(self.rng.choice(info.names), self.style)
        return self.add(Field(name, info.kind, self.note(info.descriptions)), None)

    def unheard_of(self) -> bool:
        """Ask for a free label whose subject the document doesn't name."""
        kind: Kind = self.rng.choice(("text", "text", "date", "number"))
        subject, thing = self.rng.choice(FORM_SUBJECTS), self.rng.choice(FORM_OBJECTS[kind])
        if subject.lower() in self.document.text.lower():
            return False
        return self.add(Field(_styled(f"{subject} {thing}", self.style), kind), None)

    def line_items(self, name: str | None = None, full: bool = False) -> bool:
        """Ask for the rows, with two to four of the columns."""
        rng, document = self.rng, self.document
        if document.rows is None and document.kind not in ("form", "letter"):  # it may have rows that were not recorded
            return False
        wanted = ["description", "quantity", "unit_price", "amount"]
        if not full:
            pool = list(document.columns) or wanted
            chosen = rng.sample(pool, min(len(pool), rng.randint(2, 4)))
            wanted = [column for column in ("date", "sku", *wanted) if column in chosen]
        names = {
            column: column if full else _styled(rng.choice(COLUMNS[column].names), self.style) for column in wanted
        }
        if len(set(names.values())) < len(names):
            return False
        children = tuple(
            Field(names[column], COLUMNS[column].kind, self.note(COLUMNS[column].descriptions)) for column in wanted
        )
        rows = [{names[column]: row.get(column) for column in wanted} for row in document.rows or ()]
        names_of = LIST_NAMES["entries" if document.kind == "statement" else "items"]
        list_name = name or _styled(rng.choice(names_of), self.style)
        return self.add(Field(list_name, "list", children=(Field("", "object", children=children),)), rows)

    def judged(self) -> bool:
        """A boolean or choice field that the document as a whole answers."""
        rng, document = self.rng, self.document
        question = rng.choice(("type", "language", "currency", "has", "has", "has"))
        if question == "type" and document.kind != "form":
            others = rng.sample(
                [
                    kind
                    for kind in (
                        "invoice",
                        "credit_note",
                        "order",
                        "quote",
                        "receipt",
                        "letter",
                        "ticket",
                        "statement",
                        "cv",
                    )
                    if kind != document.kind
                ],
                3,
            )
            choices = [document.kind, *others[: rng.randint(1, 3)]]
            rng.shuffle(choices)
            return self.add(
                Field(
                    _styled(rng.choice(("document_type", "type", "kind")), self.style), "choice", choices=tuple(choices)
                ),
                document.kind,
            )
        if question == "language":
            choices = list(LANGUAGES)
            rng.shuffle(choices)
            return self.add(
                Field(_styled(rng.choice(("language", "language_code")), self.style), "choice", choices=tuple(choices)),
                document.language,
            )
        if question == "currency" and "currency" in self.facts:
            code = _CODES.get(self.facts["currency"].value, self.facts["currency"].value)
            choices = sorted({code, *rng.sample(("EUR", "USD", "GBP", "CHF", "MYR", "CAD"), 3)})
            return self.add(
                Field(
                    _styled(rng.choice(("currency_code", "iso_currency")), self.style), "choice", choices=tuple(choices)
                ),
                code,
            )
        if question == "has":
            concept = rng.choice(
                ("discount", "iban", "due_date", "phone", "email", "delivery_date", "order_number", "seller_tax_id")
            )
            stated = concept in self.facts
            if not stated and concept in document.mentioned - set(document.blank):
                return False
            return self.add(Field(_styled(f"has_{concept}", self.style), "boolean"), stated)
        return False

    def nest(self) -> None:
        """Move some fields into an object, as schemas with parties or amounts do."""
        rng = self.rng
        flat = [i for i, field in enumerate(self.fields) if field.kind not in ("list", "object")]
        if len(flat) < 3:
            return
        start = rng.randrange(len(flat) - 1)
        chosen = [self.fields[i] for i in flat[start : start + rng.randint(2, 3)]]
        name = _styled(
            rng.choice(("details", "header", "data", "document", "info", "summary", "parties", "amounts")), self.style
        )
        if name in self.value:
            return
        inner = {field.name: self.value.pop(field.name) for field in chosen}
        position = self.fields.index(chosen[0])
        self.fields = [field for field in self.fields if field not in chosen]
        self.fields.insert(position, Field(name, "object", children=tuple(chosen)))
        self.value[name] = inner
        self.value = {field.name: self.value[field.name] for field in self.fields}


def _ask(rng: random.Random, document: Document, level: int) -> Example | None:
    schema = _Schema(rng, document)
    kind = rng.random()
    if kind < 0.5 and rng.random() < 0.5:
        schema.described = 1.0
    if document.kind in ("invoice", "credit_note") and level > 0 and kind < 0.5:  # a typical schema, or a part of it
        if kind < 0.1 and level == 2:
            schema.line_items("line_items", full=True)
        else:
            count = rng.randint(3, len(_INVOICE))
            start = rng.randint(0, len(_INVOICE) - count)
            for concept in _INVOICE[start : start + count]:
                schema.concept(concept, concept)
            if rng.random() < 0.3:
                schema.absent()
    elif document.kind == "receipt" and level > 0 and kind < 0.5:
        count = rng.choice((4, 5, 5, len(_RECEIPT)))
        for name in list(_RECEIPT)[:count]:
            schema.concept(_RECEIPT[name], name)
        if rng.random() < 0.3:
            schema.absent()
    else:
        facts = rng.sample(document.facts, len(document.facts))
        count = rng.choice((1, 1, 2, 2, 3)) if level == 0 else rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
        for fact in facts:
            if len(schema.fields) >= count:
                break
            if rng.random() < NULL_SHARE:
                schema.absent()
            if fact.concept == "form":
                schema.free(fact)
            else:
                schema.concept(fact.concept)
        if rng.random() < 0.06:
            schema.judged()
        if level > 0 and rng.random() < 0.22:
            schema.line_items()
        if level > 0 and rng.random() < 0.06:
            schema.nest()
    if not schema.fields:
        return None
    return Example(tuple(schema.fields), document, schema.value)


def make_example(rng: random.Random, pools: Pools, level: int, held_out: bool = False) -> Example:
    """One example of the given level (see write_document)."""
    while True:
        example = _ask(rng, write_document(rng, pools, level, held_out), level)
        if example is not None:
            return example


def stated_values(value: Any) -> list[str]:
    """All strings of an answer."""
    if isinstance(value, dict):
        return [text for child in value.values() for text in stated_values(child)]
    if isinstance(value, list):
        return [text for child in value for text in stated_values(child)]
    return [value] if isinstance(value, str) else []


def main() -> None:
    """Print examples."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", type=int, default=2)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    pools = load_pools(RUNS / "pools.json")
    for _ in range(options.count):
        example = make_example(rng, pools, options.level)
        print(example.prompt, example.answer, "=" * 80, sep="\n")


if __name__ == "__main__":
    main()
