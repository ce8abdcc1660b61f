"""Invoices and their relatives, as PDF extractors give them."""

from amounts import item_table, tax_table, taxed, total_lines
from layout import collapse
from lexicon import METHODS, PAGE_MARKS, TITLES
from writer import Writer


def invoice(writer: Writer, kind: str, items: int) -> None:
    """An invoice or a relative of it as a PDF extractor gives it."""
    rng, sheet, style = writer.rng, writer.sheet, writer.style
    number = {"order": "order_number"}.get(kind, "invoice_number")
    title = rng.choice(TITLES[kind][writer.language])
    seller = writer.party("seller_name", style.label("seller_name") if rng.random() < 0.3 else "", "seller_address")
    buyer = (
        writer.party("buyer_name", style.label("buyer_name") if rng.random() < 0.7 else "", "buyer_address")
        if rng.random() < 0.93
        else []
    )
    if buyer and rng.random() < 0.15:
        buyer += ["", *writer.party("ship_to_name", style.label("ship_to_name"))]
    for concept, chance in (("phone", 0.3), ("email", 0.25), ("seller_tax_id", 0.3)):
        if rng.random() < chance:
            seller += sheet.pair_lines([writer.pair(concept)], "line")
    if rng.random() < 0.2:
        seller.append(writer.drawn("domain"))
    title_lines = [title]
    concepts = [number, "issue_date"]
    if rng.random() < 0.3:  # "Rechnung Nr. 4711 vom 05.03.2018" in one line
        value, day = writer.value(number), writer.day()
        writer.state(number, value, title)
        writer.state("issue_date", day)
        link = {
            "en": ("dated", "of", "-"),
            "de": ("vom", "vom", "von"),
            "fr": ("du",),
            "es": ("de",),
            "it": ("del",),
            "nl": ("van",),
        }[writer.language]
        mark = rng.choice(("Nr.", "No.", "#", "Nr", "")) if writer.language != "fr" else rng.choice(("N°", "n°", ""))
        title_lines = [collapse(f"{title} {mark} {value} {rng.choice(link)} ") + " " * rng.choice((1, 1, 2)) + day]
        concepts = []
    elif rng.random() < 0.15:  # "Facture FA-2017-0010"
        value = writer.value(number)
        writer.state(number, value, title)
        title_lines = [f"{title}{rng.choice((' ', ' # ', ': ', '  '))}{value}"]
        concepts = ["issue_date"]
    optional = (
        "due_date",
        "order_number",
        "customer_number",
        "payment_terms",
        "delivery_date",
        "order_date",
        "contact",
        "reference",
        "delivery_note",
        "currency",
    )
    often = rng.choice((0.15, 0.25, 0.5))
    concepts += [name for name in optional if rng.random() < often and name not in writer.mentioned]
    if rng.random() < 0.6:
        rng.shuffle(concepts)
    pairs = [writer.pair(concept) for concept in concepts]
    if rng.random() < 0.25:
        pairs.insert(rng.randint(0, len(pairs)), writer.near_miss())
    if rng.random() < 0.15:
        pairs.insert(rng.randint(0, len(pairs)), writer.blank(rng.choice(optional)))
    meta_layout = None if rng.random() < 0.5 else rng.choice(("colon column", "aligned"))
    footer: list[list[str]] = []
    if rng.random() < 0.2:  # the seller stands in the footer only, beside bank and court
        footer = [
            seller,
            [writer.remark() for _ in range(rng.randint(2, 4))],
            sheet.pair_lines([writer.pair("iban")], "below"),
        ]
        seller = []
    arrangement = rng.random()
    top = rng.random()
    if top < 0.12:
        sheet.add(rng.choice((writer.remark(), PAGE_MARKS[writer.language].format(1, 1), writer.drawn("sentence"))))
    if arrangement < 0.3 and pairs:  # sender left, metadata right
        sheet.columns(seller, [*title_lines, *sheet.pair_lines(pairs, "line" if meta_layout is None else meta_layout)])
        sheet.gap()
        sheet.add(*buyer)
    elif arrangement < 0.5 and pairs:  # buyer left, metadata right
        sheet.add(*seller)
        sheet.gap()
        sheet.columns(buyer, sheet.pair_lines(pairs, "line" if meta_layout is None else meta_layout))
        sheet.gap()
        sheet.add(*title_lines)
    elif arrangement < 0.58 and pairs and buyer:  # three columns
        sheet.columns(seller, buyer, [*title_lines, *sheet.pair_lines(pairs, meta_layout or "line")])
    elif arrangement < 0.68:  # both parties side by side
        sheet.add(*title_lines)
        sheet.columns(*((seller, buyer) if rng.random() < 0.75 else (buyer, seller)))
        sheet.gap()
        sheet.pairs(pairs, meta_layout)
    elif (
        arrangement < 0.8 and buyer
    ):  # German window address: the sender in one line above the buyer, seller block in the footer
        name = next(fact.value for fact in writer.facts if fact.concept == "seller_name")
        sheet.add(collapse(rng.choice((" - ", ", ", " ", " · ", " | ")).join([name, *writer.address()])))
        sheet.add(*buyer)
        sheet.gap()
        sheet.pairs(pairs, meta_layout)
        sheet.add(*title_lines)
    else:
        blocks = [title_lines, seller] if rng.random() < 0.5 else [seller, title_lines]
        for block in (*blocks, buyer):
            sheet.add(*block)
            sheet.gap()
        sheet.pairs(pairs, meta_layout)
    sheet.gap()
    if rng.random() < 0.3:
        writer.remarks(1, 2)
    for concept in ("order_date", "delivery_date"):
        if concept not in writer.mentioned and rng.random() < 0.1:
            writer.sentence(concept)
    net = item_table(writer, items) if items else writer.price()
    if rng.random() < 0.04:
        net = -net
    money = taxed(writer, net)
    sheet.gap()
    before = rng.random() < 0.5
    with_table = rng.random() < 0.35
    if with_table and before:
        tax_table(writer, money)
    total_lines(writer, money)
    if with_table and not before:
        tax_table(writer, money)
    sheet.gap()
    if rng.random() < 0.12:  # payments so far
        paid = style.number(round(money.gross * 0.3, 2))
        sheet.add(f"{rng.choice(METHODS)}    {writer.day()}    {paid}")
        writer.mentioned.add("paid_amount")
    closing(writer)
    if footer:
        sheet.gap()
        sheet.columns(*(footer if rng.random() < 0.7 else footer[:1]))


def closing(writer: Writer) -> None:
    """What stands below the totals: terms, bank, dates in prose, boilerplate, page mark."""
    rng, sheet = writer.rng, writer.sheet
    for concept in ("due_date", "contact"):
        if concept not in writer.mentioned and rng.random() < 0.15:
            writer.sentence(concept)
    tail = [
        name
        for name in ("iban", "seller_tax_id", "payment_terms", "payment_method", "email", "phone")
        if name not in writer.mentioned and rng.random() < 0.17
    ]
    sheet.pairs([writer.pair(name) for name in tail], "line")
    writer.remarks(0, 3)
    if rng.random() < 0.25:
        writer.legal_block()
    if rng.random() < 0.25:
        sheet.add(PAGE_MARKS[writer.language].format(1, rng.randint(1, 2)))
