"""Readable views of electronic invoices: long documents in sections, with labelled values, notes and several parties.

The sections and amounts are those of EN 16931, the European norm of what an invoice says.
"""

from amounts import Money, tax_table, taxed
from layout import Pair
from lexicon import COLUMNS, CONCEPTS, PAGE_MARKS, SECTIONS, TITLES, TOTALS, UNITS
from writer import Writer

_LINKS = {
    "de": (("Nr.", "vom"), ("Nummer", "vom"), ("", "vom")),
    "fr": (("N°", "du"), ("n°", "en date du")),
    "en": (("No.", "dated"), ("#", "of"), ("number", "issued on")),
    "es": (("N°", "de"),),
    "it": (("n.", "del"),),
    "nl": (("nr.", "van"),),
}
_NUMBER = {"de": "Nummer", "fr": "Numéro", "en": "Number", "es": "Número", "it": "Numero", "nl": "Nummer"}
_NAME = {
    "de": ("Name", "Firma", "Firmenname", "Unternehmen"),
    "fr": ("Nom", "Raison sociale"),
    "en": ("Name", "Company name", "Trading name"),
    "es": ("Nombre", "Razón social"),
    "it": ("Nome", "Denominazione"),
    "nl": ("Naam", "Bedrijfsnaam"),
}
_OTHER_NUMBERS = {
    "de": (
        "Globale Nummer",
        "Weitere Nummer",
        "Interne Nummer",
        "Unsere Kennung",
        "Elektronische Adresse",
        "Register-Nr.",
    ),
    "fr": ("Numéro global", "Identifiant interne", "Adresse électronique", "Autre numéro", "Code interne"),
    "en": ("Global number", "Other ID", "Internal number", "Electronic address", "Legal registration", "Our code"),
    "es": ("Número global", "Código interno", "Dirección electrónica"),
    "it": ("Numero globale", "Codice interno", "Indirizzo elettronico"),
    "nl": ("Globaal nummer", "Interne code", "Elektronisch adres"),
}
_CODES = ("GLN", "GTIN", "EORI", "GLN", "DUNS", "ILN")


def e_invoice(writer: Writer, items: int) -> None:
    """An invoice in sections: head, parties, notes, items, taxes, totals, payment; over several pages if long."""
    rng, sheet, style = writer.rng, writer.sheet, writer.style
    style.currency_place = "none"
    style.separator = rng.choice((":" + " " * rng.randint(3, 24), ": ", " : ", "    ", ":  "))
    running = [writer.remark()] if rng.random() < 0.6 else []
    if running and rng.random() < 0.3:
        running += [writer.remark() for _ in range(rng.randint(1, 3))]
    sheet.add(*running, *([""] if running else []))
    for section in (_title, _parties, _notes):
        section(writer)
    _page_break(writer, running)
    net = _items(writer, items) if items else writer.price()
    money = taxed(writer, -net if rng.random() < 0.06 else net)
    _page_break(writer, running)
    blocks = [_breakdown, _totals, _payment]
    if rng.random() < 0.3:
        blocks = rng.choice(([_payment, _breakdown, _totals], [_totals, _breakdown, _payment]))
    for block in blocks:
        sheet.gap()
        block(writer, money)
    if rng.random() < 0.5:
        sheet.add("", PAGE_MARKS[writer.language].format(2, 2))


def _heading(writer: Writer, section: str, chance: float = 0.7) -> None:
    rng = writer.rng
    if rng.random() < chance:
        writer.sheet.add(
            "", writer.style.cased(rng.choice(SECTIONS[section][writer.language])) + rng.choice(("", ":", ""))
        )


def _page_break(writer: Writer, running: list[str]) -> None:
    """At times the end of a page, and the head of the next one."""
    rng = writer.rng
    if rng.random() < 0.35:
        first = rng.randint(1, 3)
        writer.sheet.add("", PAGE_MARKS[writer.language].format(first, first + rng.randint(1, 2)), "", *running, "")


def _title(writer: Writer) -> None:
    """The kind of document with number and date, in one line or as pairs, then references."""
    rng, sheet = writer.rng, writer.sheet
    title = rng.choice(TITLES["invoice"][writer.language])
    pairs = []
    if rng.random() < 0.6:
        value, day = writer.value("invoice_number"), writer.day()
        writer.state("invoice_number", value, title)
        writer.state("issue_date", day)
        mark, link = rng.choice(_LINKS[writer.language])
        code = rng.choice(("", "", f" ({rng.randint(300, 400)})"))
        gap = rng.choice((" ", " ", "  "))
        line = gap.join(part for part in (title + code, mark, value, link, day) if part)
        sheet.add(*([line] if rng.random() < 0.85 else [line[: -len(day)].rstrip(), day]), "")
    else:
        sheet.add(title, "")
        pairs = [writer.pair("invoice_number"), writer.pair("issue_date")]
    if rng.random() < 0.85:
        pairs.append(writer.pair("currency", rng.choice(("EUR", "EUR", "EUR", "USD", "GBP", "CHF"))))
    optional = (
        *("delivery_date", "order_number", "order_date", "reference", "delivery_note", "customer_number", "due_date"),
        *("period_start", "period_end", "contact"),
    )
    pairs += [writer.pair(name) for name in optional if rng.random() < 0.25]
    pairs += [writer.near_miss() for _ in range(rng.choice((0, 0, 1, 2)))]
    pairs += [writer.blank(rng.choice(optional)) for _ in range(rng.choice((0, 0, 1)))]
    if rng.random() < 0.5:
        rng.shuffle(pairs)
    cut = rng.randint(0, len(pairs))
    layout = rng.choice(("line", "line", "aligned", "colon column"))
    for group in (pairs[:cut], pairs[cut:]):
        sheet.pairs(group, layout)
        sheet.gap()


def _party(writer: Writer, concept: str, heading: str) -> list[str]:
    """A party's section: numbers, name and address with labels, or as a block of lines."""
    rng, sheet, style = writer.rng, writer.sheet, writer.style
    name, address = writer.value(concept), writer.address()
    writer.state(concept, name, heading)
    if concept in ("seller_name", "buyer_name") and rng.random() < 0.6:
        writer.state(concept.replace("name", "address"), " ".join(address))
    lines = [heading + rng.choice(("", ":"))]
    if rng.random() < 0.4:
        lines.append("")
    numbers = []
    if rng.random() < 0.5:
        numbers.append(Pair(rng.choice((_NUMBER[writer.language], "ID")), writer.identifier()))
    if rng.random() < 0.4:
        code = rng.choice(_CODES)
        number = writer.digits(13)
        numbers.append(rng.choice((Pair(code, number), Pair(_NUMBER[writer.language], f"{number} ({code})"))))
    if rng.random() < 0.4:
        number = rng.choice((writer.identifier(), writer.digits(13), f"{writer.digits(13)} ({rng.choice(_CODES)})"))
        other = Pair(rng.choice(_OTHER_NUMBERS[writer.language]), number)
        numbers.append(other if rng.random() < 0.8 else writer.near_miss())
    lines += sheet.pair_lines(numbers, "line") if numbers else []
    if rng.random() < 0.5:
        lines += sheet.pair_lines([Pair(rng.choice(_NAME[writer.language]), name)], "line")
        label = rng.choice(CONCEPTS["seller_address"].labels[writer.language])
        lines += sheet.pair_lines([Pair(label, address[0])], "line")
        indent = " " * rng.choice((0, 0, len(style.separator) + 8))
        lines += [indent + line for line in address[1:]]
    else:
        person = [writer.drawn("person")] if rng.random() < 0.25 else []
        lines += [name, *person, *address]
    if rng.random() < 0.6:
        label = rng.choice(CONCEPTS["seller_tax_id"].labels[writer.language])
        tax = writer.pair("seller_tax_id") if concept == "seller_name" else Pair(label, writer.tax_id())
        lines += sheet.pair_lines([tax], "line")
    for extra in ("phone", "email"):
        if concept == "seller_name" and rng.random() < 0.3:
            lines += sheet.pair_lines([writer.pair(extra)], "line")
    return lines


def _parties(writer: Writer) -> None:
    """Seller, buyer and others, below or beside each other."""
    rng, sheet, style = writer.rng, writer.sheet, writer.style
    blocks = [_party(writer, concept, style.label(concept)) for concept in ("seller_name", "buyer_name")]
    if rng.random() < 0.12:
        blocks.reverse()
    if rng.random() < 0.3:
        blocks.append(_party(writer, "ship_to_name", style.label("ship_to_name")))
    if rng.random() < 0.2:
        heading = rng.choice(SECTIONS["other_party"][writer.language])
        blocks.append([heading + rng.choice(("", ":")), writer.company(), *writer.address()])
    if rng.random() < 0.2:
        sheet.columns(*blocks[:2])
        blocks = blocks[2:]
    for block in blocks:
        sheet.gap()
        sheet.add(*block)


def _notes(writer: Writer) -> None:
    """Free text: references in prose, legal facts of the seller once more, terms."""
    rng, sheet = writer.rng, writer.sheet
    if rng.random() < 0.15:
        return
    _heading(writer, "notes")
    label = rng.choice(SECTIONS["notes"][writer.language])
    for concept in ("order_date", "delivery_date", "order_number"):
        if concept not in writer.mentioned and rng.random() < 0.15:
            writer.sentence(concept)
    if rng.random() < 0.6:  # the seller again, with its legal facts
        name = writer.repeated("seller_name")
        block = [name, *writer.address()] if rng.random() < 0.6 else [name]
        block += [writer.remark() for _ in range(rng.randint(1, 6))]
        if rng.random() < 0.3:
            block[rng.randrange(len(block))] = rng.choice((f"{label}   ", f"{label}: ")) + block[0]
        sheet.gap()
        sheet.add(*block)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        sheet.gap()
        if rng.random() < 0.4:
            sheet.pairs([writer.near_miss() for _ in range(rng.randint(1, 4))], "line")
        else:
            writer.prose(rng.randint(1, 4), rng.randint(50, 110))


def _items(writer: Writer, count: int) -> float:
    """A table whose rows take one to six lines; returns the sum."""
    rng, style, sheet = writer.rng, writer.style, writer.sheet
    _heading(writer, "items", 0.4)
    order = ["description", "unit_price", "quantity", "tax", "amount"]
    if rng.random() < 0.4:
        order = rng.choice(
            (["description", "quantity", "unit_price", "amount"], ["description", "quantity", "tax", "amount"])
        )
    labels = [
        style.cased(
            rng.choice(COLUMNS[c].labels[writer.language]) if c != "tax" else rng.choice(("%", "USt. %", "VAT"))
        )
        for c in order
    ]
    gap = " " * rng.randint(2, 24)
    number = rng.choice(("Pos", "Pos.", "#", "No.", "", ""))
    head = gap.join([number, *labels] if number else labels)
    if rng.random() < 0.35:  # a header in several lines
        sheet.add(rng.choice(("Art-Nr", "Code", "Item no.", "(Typ)")) + gap + rng.choice(("Netto", "net", "")))
    sheet.add(head, "")
    rows: list[dict[str, str | None]] = []
    total = 0.0
    unit = rng.choice(("", " " + rng.choice(UNITS[writer.language])))
    sign = -1 if rng.random() < 0.05 else 1
    for i in range(count):
        quantity, price = sign * rng.randint(1, 60), round(rng.uniform(0.5, 200), 2)
        name = writer.product()
        row: dict[str, str | None] = {
            "description": name,
            "quantity": style.number(quantity, 0) if rng.random() < 0.7 else style.number(quantity, 2),
            "unit_price": style.number(price, rng.choice((2, 2, 4))),
            "amount": style.number(quantity * price),
        }
        total += quantity * price
        cells = [
            f"{rng.choice((7, 19, 20, 21, 10))} %" if c == "tax" else f"{row[c]}{unit if c == 'quantity' else ''}"
            for c in order
        ]
        last = cells.pop() if rng.random() < 0.2 else ""
        sheet.add(gap.join([str(i + 1), *cells] if number else cells))
        if last:  # the amount on a line of its own, beside an article number
            sheet.add(f"{rng.choice((writer.digits(13), writer.identifier()))}{gap}{last}")
        below = (
            lambda: f"({rng.choice(_CODES)})",
            lambda: f"{writer.digits(13)} ({rng.choice(_CODES)})",
            writer.remark,
            lambda: f"{rng.choice(('Brutto', 'Gross', 'EAN', 'Charge', 'Ref'))}: {style.number(writer.price(), 4)}",
            lambda: f"{writer.near_miss().label}: {writer.identifier()}",
            writer.product,
        )
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
            sheet.add(rng.choice(below)())
        if rng.random() < 0.6:
            sheet.add("")
        rows.append({key: row[key] for key in ("description", "quantity", "unit_price", "amount") if key in order})
    writer.rows, writer.columns = rows, tuple(rows[0])
    return round(total, 2)


def _breakdown(writer: Writer, money: Money) -> None:
    """Taxes by rate, and at times allowances."""
    rng, style = writer.rng, writer.style
    if rng.random() < 0.25:
        _heading(writer, "allowances")
        for _ in range(rng.randint(1, 3)):
            amounts = [style.number(writer.price()) for _ in range(rng.randint(2, 3))]
            writer.sheet.add(f"{writer.product()}    {'    '.join(amounts)}")
        writer.sheet.gap()
    _heading(writer, "tax")
    tax_table(writer, money)


def _totals(writer: Writer, money: Money) -> None:
    """The sums of the norm, with those that are zero or repeat another one."""
    rng, style = writer.rng, writer.style
    _heading(writer, "totals")

    def other(name: str, amount: float) -> Pair:
        zero = rng.choice(("", "-")) if amount == 0 else ""
        return Pair(style.cased(rng.choice(TOTALS[name][writer.language])), zero + style.number(amount))

    pairs = [other("lines", money.net)] if rng.random() < 0.5 else []
    pairs += [other(name, 0) for name in ("charges", "allowances") if rng.random() < 0.5]
    pairs += [
        writer.pair("net_total", style.number(money.net)),
        writer.pair("tax_total", style.number(money.tax)),
        writer.pair("grand_total", style.number(money.gross)),
    ]
    prepaid = rng.choice((0.0, 0.0, round(money.gross * 0.3, 2)))
    if rng.random() < 0.5:
        pairs.append(other("prepaid", prepaid))
        writer.mentioned.add("paid_amount")
    if rng.random() < 0.6:
        pairs.append(other("due", round(money.gross - prepaid, 2)))
    writer.sheet.pairs(pairs, rng.choice(("far right", "right", "aligned", "line", "colon column")))


def _payment(writer: Writer, money: Money) -> None:
    """Terms in prose, due date, bank data."""
    rng, sheet = writer.rng, writer.sheet
    _heading(writer, "payment")
    if rng.random() < 0.4 and "due_date" not in writer.mentioned:
        writer.sentence("due_date")
    pairs = [writer.pair(name) for name in ("iban", "payment_terms", "payment_method") if rng.random() < 0.3]
    sheet.pairs(pairs, "line")
    if rng.random() < 0.3:
        writer.prose(rng.randint(1, 3), rng.randint(50, 100))
