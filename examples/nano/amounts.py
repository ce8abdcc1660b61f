"""Line items, tax and totals: tables of numbers that belong together."""

from dataclasses import dataclass

from layout import Pair
from lexicon import COLUMNS, PAGE_MARKS, UNITS
from writer import Writer

TAX_CODES = ("SR", "ZRL", "S", "Z", "A", "B", "T", "*", "SR*", "1", "2")


@dataclass(frozen=True)
class Money:
    """A net sum, its tax, and the breakdown: (rate in percent, base, tax) for each rate."""

    net: float
    tax: float
    rates: list[tuple[float, float, float]]

    @property
    def gross(self) -> float:
        """What is to be paid."""
        return round(self.net + self.tax, 2)


def item_table(writer: Writer, count: int, narrow: bool = False) -> float:
    """A table of line items, recorded as rows; returns their sum."""
    rng, style = writer.rng, writer.style
    columns = ["description", "quantity", "unit_price", "amount"]
    if rng.random() < 0.2:
        columns.remove("unit_price")
    if rng.random() < 0.12:
        columns.remove("quantity")
    if rng.random() < 0.15:
        columns.insert(0, "sku")
    if rng.random() < 0.25 and "quantity" in columns:
        columns.remove("quantity")
        columns.insert(0, "quantity")
    position = not narrow and rng.random() < 0.4
    tax_column = not narrow and rng.random() < 0.25
    whole = rng.random() < 0.75
    signed = rng.random() < 0.3
    unit = rng.choice(UNITS[writer.language]) if rng.random() < 0.35 else ""
    rows: list[dict[str, str | None]] = []
    table: list[list[str]] = []
    total = 0.0
    for i in range(count):
        quantity = float(rng.randint(1, 60)) if whole else round(rng.uniform(0.1, 60), 2)
        price = round(rng.uniform(0.5, 300), 2)
        amount = round(quantity * price, 2)
        total += amount
        row = {
            "description": style.spoiled(writer.product(), 0.5),
            "quantity": str(int(quantity)) if whole else style.number(quantity),
            "unit_price": style.number(price),
            "amount": style.number(amount),
            "sku": writer.identifier(),
        }
        kept: dict[str, str | None] = {column: row[column] for column in columns}
        rows.append(kept)
        cells = [
            style.priced(row[c], True)
            if signed and c in ("unit_price", "amount")
            else row[c] + (f" {unit}" if unit and c == "quantity" else "")
            for c in columns
        ]
        if tax_column:
            cells.insert(len(cells) - 1, rng.choice(("19 %", "7 %", "20%", "21%", "19,0")))
        table.append([str(i + 1), *cells] if position else cells)
    writer.rows, writer.columns = rows, tuple(columns)
    language = writer.language if rng.random() < 0.95 else "en"
    header = [style.cased(rng.choice(COLUMNS[column].labels[language])) for column in columns]
    numeric = [column not in ("description", "sku") for column in columns]
    if tax_column:
        header.insert(len(header) - 1, style.cased(rng.choice(("VAT", "Tax", "%")) if writer.language == "en" else "%"))
        numeric.insert(len(numeric) - 1, True)
    if position:
        header, numeric = [rng.choice(("Pos", "Pos.", "#", "No.")), *header], [False, *numeric]
    start = len(writer.sheet.lines)
    writer.sheet.table(header if rng.random() < 0.9 else None, table, numeric)
    if rng.random() < 0.15:  # a second line below each row, as article numbers or remarks are printed
        for offset in range(len(table), 0, -1):
            writer.sheet.lines.insert(
                len(writer.sheet.lines) - (len(table) - offset),
                "   " + rng.choice((f"{writer.digits(13)} (GTIN)", writer.remark(), f"Art. {writer.identifier()}")),
            )
    if rng.random() < 0.1 and len(writer.sheet.lines) > start + 2:
        writer.sheet.add("", PAGE_MARKS[writer.language].format(1, 2), "")
    return round(total, 2)


def receipt_items(writer: Writer, count: int) -> float:
    """Rows of a receipt: one table, or two lines an item, with tax codes; returns their sum."""
    rng, style, sheet = writer.rng, writer.style, writer.sheet
    if rng.random() < 0.45:
        return item_table(writer, count, narrow=True)
    code = rng.choice(TAX_CODES) if rng.random() < 0.5 else ""
    sku, crossed = rng.random() < 0.4, rng.random() < 0.35
    signed = rng.random() < 0.3
    header = ("description", "quantity", "unit_price", "amount")
    if rng.random() < 0.8:
        labels = [style.spoiled(style.cased(rng.choice(COLUMNS[name].labels[writer.language]))) for name in header]
        sheet.add((" " * rng.randint(2, 7)).join(labels))
    rows: list[dict[str, str | None]] = []
    total = 0.0
    for _ in range(count):
        quantity, price = rng.randint(1, 9), round(rng.uniform(0.2, 90), 2)
        total += quantity * price
        name = style.spoiled(writer.product(), 0.5)
        row = {
            "description": name,
            "quantity": str(quantity),
            "unit_price": style.number(price),
            "amount": style.number(quantity * price),
        }
        shown = [style.priced(row[part], True) if signed else row[part] for part in ("unit_price", "amount")]
        numbers = f"{quantity}{' x ' if crossed else '    '}{shown[0]}    {shown[1]}".rstrip()
        top = f"{writer.identifier()} " if sku else ""
        if sku and rng.random() < 0.5:
            sheet.add(f"{top}    {numbers}  {code}".rstrip(), name)
        else:
            sheet.add(top + name, f"{numbers}  {code}".rstrip())
        rows.append(dict(row))
    writer.rows, writer.columns = rows, header
    return round(total, 2)


def taxed(writer: Writer, net: float) -> Money:
    """Tax on a net sum, split over one or two rates."""
    rates = [writer.rng.choice((19, 20, 7, 21, 8.25, 10, 5.5, 0, 7.7, 22, 6))]
    if writer.rng.random() < 0.25:
        rates.append(writer.rng.choice((7, 5.5, 10, 9)))
    bases = [net] if len(rates) == 1 else [round(net * 0.4, 2), round(net - round(net * 0.4, 2), 2)]
    parts = [(rate, base, round(base * rate / 100, 2)) for rate, base in zip(rates, bases, strict=True)]
    return Money(net, round(sum(tax for _, _, tax in parts), 2), parts)


def tax_table(writer: Writer, money: Money) -> None:
    """A breakdown with one row a tax rate."""
    number = writer.style.number
    heads = {
        "en": ("VAT", "Rate", "Net", "Tax"),
        "de": ("Art (Kategorie)", "Steuersatz", "Basisbetrag", "Steuerbetrag"),
        "fr": ("Taxe", "Taux", "Base", "Montant"),
    }.get(writer.language, ("IVA", "%", "Base", "Total IVA"))
    rows = [[heads[0], f"{rate:g} %", number(base), number(tax)] for rate, base, tax in money.rates]
    if writer.rng.random() < 0.4:
        rows = [[row[0], row[2], row[1], row[3]] for row in rows]
        heads = (heads[0], heads[2], heads[1], heads[3])
    writer.sheet.table(heads if writer.rng.random() < 0.8 else None, rows, (False, True, True, True))


def total_lines(writer: Writer, money: Money, layout: str | None = None) -> None:
    """Net, tax and gross with their labels, and the amounts that stand between them."""
    rng, style = writer.rng, writer.style
    pairs: list[Pair] = []
    if rng.random() < 0.75:
        pairs.append(writer.pair("net_total", style.number(money.net)))
    for concept, chance in (("discount", 0.12), ("shipping", 0.12)):
        if rng.random() < chance:
            pairs.append(writer.pair(concept))
    if rng.random() < 0.75:
        pair = writer.pair("tax_total", style.number(money.tax))
        if rng.random() < 0.5:
            rate = f"{money.rates[0][0]:g}%" if rng.random() < 0.5 else f"{money.rates[0][0]:g} %"
            pair = Pair(
                rng.choice((f"{pair.label} {rate}", f"{rate} {pair.label}", f"{pair.label} ({rate})")), pair.value
            )
        pairs.append(pair)
    pairs.append(writer.pair("grand_total", style.number(money.gross)))
    if rng.random() < 0.12:
        pairs.append(
            writer.pair("paid_amount", style.number(rng.choice((0.0, money.gross, round(money.gross * 0.3, 2)))))
        )
        if rng.random() < 0.5:  # the total once more, under another name
            pairs.append(Pair(style.label("grand_total"), style.priced(style.number(money.gross))))
    writer.sheet.pairs(
        pairs,
        layout or rng.choice(("line", "right", "right", "far right", "far right", "aligned", "dots", "below")),
    )
