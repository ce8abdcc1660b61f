"""Documents with known facts: forms, receipts, letters here, invoices in a module of their own."""

import random
from collections.abc import Sequence

from amounts import item_table, tax_table, taxed, total_lines
from invoices import e_invoice, invoice
from layout import Sheet, Style
from lexicon import CONCEPTS, METHODS, REMARKS, SENTENCES, TITLES
from pools import Pools
from writer import Document, Writer


def form(writer: Writer, short: bool) -> None:
    """Label/value pairs with little around them."""
    rng = writer.rng
    if rng.random() < 0.5:
        writer.sheet.add(rng.choice(TITLES["form"][writer.language]))
    count = rng.randint(2, 4) if short else rng.randint(4, 11)
    concepts = rng.sample([name for name in CONCEPTS if name not in ("seller_address", "buyer_address")], count)
    pairs = [writer.form_pair() if rng.random() < 0.5 else writer.pair(concept) for concept in concepts]
    if len(pairs) > 5 and rng.random() < 0.4:
        half = len(pairs) // 2
        writer.sheet.columns(
            writer.sheet.pair_lines(pairs[:half], "line"), writer.sheet.pair_lines(pairs[half:], "line")
        )
    else:
        writer.sheet.pairs(pairs)
    if not short and rng.random() < 0.5:
        writer.remarks(1, 3)


def receipt(writer: Writer) -> None:
    """A narrow slip: the company on top, an address without label, date and time somewhere, total at the end."""
    rng = writer.rng
    style = writer.style = Style(
        rng, writer.language, noise=rng.choice((0.0, 0.0, 0.05, 0.12)), upper=rng.random() < 0.6
    )
    sheet = writer.sheet = Sheet(style)
    if rng.random() < 0.12:
        sheet.add(
            rng.choice(
                (
                    writer.coined(),
                    rng.choice(REMARKS[writer.language]),
                    f"{rng.choice(('#', 'tan ', '*'))}{writer.identifier()}",
                )
            )
        )
    company = style.spoiled(writer.company())
    writer.state("seller_name", company)
    sheet.add(company)
    if rng.random() < 0.3:
        sheet.add(
            rng.choice(
                (
                    f"({writer.digits(6)}-{writer.letters(1)})",
                    f"(CO.REG : {writer.digits(6)}-{writer.letters(1)})",
                    f"REG NO {writer.digits(9)}",
                )
            )
        )
    address = [style.spoiled(line, 0.7) for line in writer.address()]
    if rng.random() < 0.92:
        writer.state("seller_address", " ".join(address))
        sheet.add(*address)
    for concept, chance in (("phone", 0.45), ("seller_tax_id", 0.35), ("email", 0.08)):
        if rng.random() < chance:
            sheet.pairs([writer.pair(concept)], "line")
    if rng.random() < 0.5:
        sheet.add(style.spoiled(rng.choice(TITLES["receipt"][writer.language])))
    meta: list[list[str]] = []
    day, clock = style.spoiled(writer.day(), 0.3), writer.clock()
    label = style.label("issue_date")
    form = rng.random()
    writer.state("issue_date", day, label if form < 0.5 else "")
    if form < 0.25:
        meta.append([f"{label}{style.separator}{day}"])
    elif form < 0.5:
        meta.append([f"{label}{style.separator}{day} {clock}"])
        writer.state("time", clock)
    elif form < 0.8:
        meta.append([day + rng.choice((" ", "  ", "   ")) + clock])
        writer.state("time", clock)
    else:
        meta.append([day])
    for concept, chance in (
        ("receipt_number", 0.6),
        ("contact", 0.35),
        ("time", 0.15),
        ("customer_number", 0.08),
        ("invoice_number", 0.2),
    ):
        if (
            rng.random() < chance
            and concept not in writer.mentioned
            and not {"receipt_number", "invoice_number"} <= writer.mentioned | {concept}
        ):
            meta.append(sheet.pair_lines([writer.pair(concept)], rng.choice(("line", "line", "right"))))
    if rng.random() < 0.4:
        meta.append(sheet.pair_lines([writer.near_miss()], "line"))
    rng.shuffle(meta)
    late = meta.pop() if rng.random() < 0.2 else []
    for lines in meta:
        sheet.add(*lines)
    net = item_table(writer, rng.randint(1, 6), narrow=True) if rng.random() < 0.85 else writer.price()
    money = taxed(writer, net)
    total_lines(writer, money, rng.choice(("right", "line", "right", "aligned", "below")))
    if rng.random() < 0.5:
        sheet.pairs(
            [writer.pair("paid_amount", style.number(money.gross + rng.choice((0, 0.35, 5)))), writer.pair("change")],
            "right",
        )
    if rng.random() < 0.45:
        method = rng.choice(METHODS)
        if rng.random() < 0.5:
            sheet.pairs([writer.pair("payment_method", method)])
        elif "payment_method" not in writer.mentioned:
            writer.state("payment_method", style.spoiled(method, 0.0))
            sheet.add(style.spoiled(method, 0.0) + " " * rng.randint(1, 12) + style.number(money.gross))
    if rng.random() < 0.2:
        tax_table(writer, money)
    sheet.add(*late)
    writer.remarks(0, 3)


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
    for concept in rng.sample(sorted(SENTENCES), rng.randint(1, 3)):
        if concept not in writer.mentioned:
            writer.sentence(concept)
    writer.remarks(1, 3)


def write_document(rng: random.Random, pools: Pools, level: int, held_out: bool = False) -> Document:
    """One document. Levels: 0 short forms (a few lines), 1 short documents with at most two rows, 2 everything."""
    writer = Writer(rng, pools, held_out)
    if level == 0:
        form(writer, short=True)
        return writer.finished("form")
    kinds: Sequence[str] = ("invoice", "credit_note", "order", "quote", "e_invoice", "receipt", "letter", "form")
    kind = rng.choices(kinds, (26, 3, 5, 3, 20, 28, 6, 9))[0]
    rows = rng.randint(0, 2) if level == 1 else rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6))
    if kind == "form":
        form(writer, short=False)
    elif kind == "receipt":
        receipt(writer)
    elif kind == "letter":
        letter(writer)
    elif kind == "e_invoice":
        e_invoice(writer, rows)
        kind = "invoice"
    else:
        invoice(writer, kind, rows)
    return writer.finished(kind)
