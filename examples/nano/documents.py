"""Documents with known facts: forms and letters here, the others in modules of their own."""

import random

from e_invoices import e_invoice
from invoices import invoice
from lexicon import CONCEPTS, SENTENCES, TITLES
from pools import Pools
from receipts import receipt
from records import cv, statement, ticket
from writer import Document, Writer

KINDS = {
    "invoice": 20,
    "credit_note": 2,
    "order": 3,
    "quote": 2,
    "e_invoice": 30,
    "receipt": 26,
    "letter": 5,
    "form": 5,
    "ticket": 3,
    "statement": 2,
    "cv": 2,
}
"""How often each kind is drawn, in percent."""


def form(writer: Writer, short: bool) -> None:
    """Label/value pairs with little around them."""
    rng = writer.rng
    if rng.random() < 0.5:
        writer.sheet.add(rng.choice(TITLES["form"][writer.language]))
    count = rng.randint(2, 4) if short else rng.randint(4, 11)
    concepts = rng.sample([name for name in CONCEPTS if name not in ("seller_address", "buyer_address")], count)
    pairs = [writer.form_pair() if rng.random() < 0.5 else writer.pair(concept) for concept in concepts]
    if rng.random() < 0.2:
        free = [name for name in CONCEPTS if name not in writer.mentioned]
        pairs.insert(rng.randint(0, len(pairs)), writer.blank(rng.choice(free)))
    if len(pairs) > 5 and rng.random() < 0.4:
        half = len(pairs) // 2
        writer.sheet.columns(
            writer.sheet.pair_lines(pairs[:half], "line"), writer.sheet.pair_lines(pairs[half:], "line")
        )
    else:
        writer.sheet.pairs(pairs)
    if not short and rng.random() < 0.5:
        writer.remarks(1, 3)


def letter(writer: Writer) -> None:
    """A letter with facts in its head and in prose."""
    rng, sheet = writer.rng, writer.sheet
    sheet.add(*writer.party("seller_name", "", "seller_address"))
    sheet.pairs([writer.pair(name) for name in rng.sample(("phone", "email"), rng.randint(0, 2))], "line")
    sheet.gap()
    sheet.add(*writer.party("buyer_name", "", "buyer_address"))
    day = writer.day()
    writer.state("issue_date", day)
    sheet.add(rng.choice((day, f"{writer.drawn('city')}, {day}", f"{writer.style.label('issue_date')}: {day}")))
    sheet.pairs(
        [
            writer.pair(name)
            for name in rng.sample(("subject", "reference", "customer_number", "order_number"), rng.randint(1, 3))
        ],
        "line",
    )
    sheet.gap()
    writer.remarks(0, 2)
    for concept in rng.sample(sorted(SENTENCES), rng.randint(1, 5)):
        if concept not in writer.mentioned:
            writer.sentence(concept)
        if rng.random() < 0.3:
            writer.prose(rng.randint(1, 3), rng.randint(60, 100))
    writer.remarks(1, 3)


def write_document(rng: random.Random, pools: Pools, level: int, held_out: bool = False) -> Document:
    """One document. Levels: 0 short forms (a few lines), 1 short documents with at most two rows, 2 everything."""
    writer = Writer(rng, pools, held_out)
    if level == 0:
        form(writer, short=True)
        return writer.finished("form")
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    rows = rng.randint(0, 2) if level == 1 else rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8))
    if kind == "form":
        form(writer, short=False)
    elif kind == "e_invoice":
        e_invoice(writer, rows)
        kind = "invoice"
    elif kind in ("invoice", "credit_note", "order", "quote"):
        invoice(writer, kind, rows)
    else:
        {"receipt": receipt, "letter": letter, "ticket": ticket, "statement": statement, "cv": cv}[kind](writer)
    return writer.finished(kind)
