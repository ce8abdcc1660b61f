"""Receipts as OCR gives them: an unlabelled head, crowded lines, several amounts of which one is the total."""

from amounts import Money, receipt_items, tax_table, taxed
from layout import Pair, Sheet, Style
from lexicon import CONCEPTS, METHODS, REMARKS, STRAY, TITLES, TOTALS
from writer import Writer


def receipt(writer: Writer) -> None:
    """A narrow slip: the company on top, an address without label, date and time somewhere, total at the end."""
    rng = writer.rng
    noise = rng.choice((0.0, 0.0, 0.04, 0.1, 0.2))
    style = writer.style = Style(rng, writer.language, noise=noise, upper=rng.random() < 0.5)
    sheet = writer.sheet = Sheet(style)
    _head(writer)
    _numbers(writer)
    if rng.random() < 0.1:
        bill_to = writer.party("buyer_name", style.label("buyer_name"), "buyer_address")
        sheet.add(*bill_to, *([writer.drawn("phone")] if rng.random() < 0.3 else []))
    net = receipt_items(writer, rng.choice((1, 1, 2, 2, 3, 4, 6))) if rng.random() < 0.9 else writer.price()
    money = taxed(writer, net)
    _totals(writer, money)
    _payment(writer, money)
    if rng.random() < 0.4:
        sheet.gap()
        tax_table(writer, money)
    sheet.gap()
    writer.remarks(0, 4)


def _registration(writer: Writer) -> str:
    """The number of a company in a register, as it stands beside or below its name."""
    rng = writer.rng
    number = rng.choice((f"{writer.digits(6)}-{writer.letters(1)}", f"00{writer.digits(7)}-{writer.letters(1)}"))
    number = (
        number if rng.random() < 0.8 else writer.digits(rng.randint(6, 12)) + rng.choice(("", f" {writer.letters(1)}"))
    )
    mark = rng.choice(
        ("({})", "({})", "{}", "(CO.REG : {})", "REG NO {}", "Co. Reg. No: {}", "ROC NO. {}", "(Company No. {})")
    )
    return mark.format(number)


def _head(writer: Writer) -> None:
    """Company, register number, address and phone, in the usual order, with strays between them."""
    rng, style, sheet = writer.rng, writer.style, writer.sheet
    if rng.random() < 0.3:
        stray = (
            writer.identifier,
            lambda: writer.digits(rng.randint(2, 8)),
            lambda: rng.choice(STRAY),
            lambda: rng.choice(REMARKS[writer.language]),
            lambda: style.spoiled(rng.choice(TITLES["receipt"][writer.language])),
            writer.coined,
        )
        sheet.add(rng.choice(stray)(), *([""] if rng.random() < 0.4 else []))
    company = style.spoiled(writer.company(), 0.7)
    words = company.split(" ")
    lines = [company]
    if len(words) > 2 and rng.random() < 0.15:
        cut = rng.randint(1, len(words) - 1)
        lines = [" ".join(words[:cut]), " ".join(words[cut:])]
    writer.state("seller_name", company)
    register = rng.random()
    if register < 0.2:
        lines[-1] += rng.choice((" ", "  ")) + _registration(writer)
    sheet.add(*lines)
    between = [[_registration(writer)]] if 0.2 <= register < 0.6 else []
    if rng.random() < 0.1:
        between.append(
            [rng.choice((f"({writer.coined()})", f"{writer.coined()} Branch", writer.drawn("domain"), writer.coined()))]
        )
    for concept, chance in (("phone", 0.05), ("seller_tax_id", 0.1)):
        if rng.random() < chance:
            between.append(sheet.pair_lines([writer.pair(concept)], "line"))
    rng.shuffle(between)
    if rng.random() < 0.06:
        between.append([_moment(writer)])
    sheet.add(*(line for block in between for line in block))
    if rng.random() < 0.92:
        address = [style.spoiled(line, 0.7) for line in writer.address()]
        writer.state("seller_address", " ".join(address))
        sheet.add(*address)
    contacts = []
    for concept, chance in (("phone", 0.55), ("seller_tax_id", 0.45), ("email", 0.08)):
        if concept not in writer.mentioned and rng.random() < chance:
            contacts.append(sheet.pair_lines([writer.pair(concept)], "line"))
            if concept == "phone" and rng.random() < 0.3:
                contacts[-1][-1] += (
                    rng.choice(("   ", "  ", " ")) + rng.choice(("Fax:", "FAX : ", "Fax ")) + writer.drawn("phone")
                )
    if rng.random() < 0.08:
        days = rng.choice(("MON-SAT", "Mo-Fr", "Lun-Ven", "Daily"))
        contacts.append([f"{days} {rng.randint(7, 10)}.00-{rng.randint(17, 22)}.00"])
    rng.shuffle(contacts)
    sheet.add(*(line for block in contacts for line in block))


def _moment(writer: Writer) -> str:
    """Date and time without labels, often in one piece."""
    rng = writer.rng
    day, clock = writer.style.spoiled(writer.day(), 0.2), writer.clock()
    writer.state("issue_date", day)
    writer.state("time", clock)
    return day + rng.choice((" ", " ", "  ", "   ", "")) + clock if rng.random() < 0.85 else f"{clock} {day}"


def _numbers(writer: Writer) -> None:
    """Title, date, time, numbers and people, at times two of them in one line."""
    rng, style, sheet = writer.rng, writer.style, writer.sheet
    if rng.random() < 0.65:
        title = style.spoiled(rng.choice(TITLES["receipt"][writer.language]))
        sheet.add(rng.choice(("{}", "{}", "* {} *", "*** {} ***")).format(title))
    if rng.random() < 0.2:
        sheet.add(style.spoiled(rng.choice(METHODS), 0.3))
    cells: list[str] = []
    if "issue_date" not in writer.mentioned:
        form = rng.random()
        if form < 0.45:
            cells.append(_moment(writer))
            if form < 0.2:
                cells[-1] = style.label("issue_date") + style.separator + cells[-1]
        else:
            cells += sheet.pair_lines([writer.pair("issue_date")], "line")
            if form < 0.75:
                cells += sheet.pair_lines([writer.pair("time")], "line")
    number = rng.choice(("receipt_number", "receipt_number", "invoice_number"))
    for concept, chance in ((number, 0.8), ("contact", 0.3), ("customer_number", 0.06)):
        if rng.random() < chance:
            cells += sheet.pair_lines([writer.pair(concept)], "line")
    for _ in range(rng.choice((0, 0, 1, 2))):
        cells += sheet.pair_lines([writer.near_miss()], "line")
    if rng.random() < 0.25:
        cells += sheet.pair_lines(
            [writer.blank(rng.choice(("reference", "customer_number", "contact", "order_number")))], "line"
        )
    if rng.random() < 0.7:
        rng.shuffle(cells)
    while cells:
        taken = 2 if len(cells) > 1 and rng.random() < 0.3 else 1
        sheet.add((" " * rng.randint(1, 12)).join(cells[:taken]))
        del cells[:taken]


def _other(writer: Writer, name: str, amount: float) -> Pair:
    """An amount that is none of the totals, under one of its labels."""
    label = writer.style.spoiled(writer.style.cased(writer.rng.choice(TOTALS[name][writer.language])))
    return Pair(label, writer.style.priced(writer.style.number(amount)))


def _totals(writer: Writer, money: Money) -> None:
    """Sums before and after service, tax and rounding: what is to be paid in the end is the total."""
    rng, style = writer.rng, writer.style
    pairs: list[Pair] = []
    if rng.random() < 0.3:
        label = style.cased(rng.choice(TOTALS["quantity"][writer.language]))
        writer.sheet.pairs([Pair(label, str(rng.randint(1, 20)))], "line")
    due = money.gross
    if rng.random() < 0.65:
        pairs.append(writer.pair("net_total", style.number(money.net)))
    if rng.random() < 0.15:
        service = round(money.net * 0.1, 2)
        pairs.append(_other(writer, "service", service))
        due = round(due + service, 2)
    for concept, chance in (("discount", 0.2),):
        if rng.random() < chance:
            amount = 0.0 if rng.random() < 0.6 else min(writer.price(), due / 2)
            pairs.append(writer.pair(concept, style.number(amount)))
            due = round(due - amount, 2)
    contained: list[Pair] = []
    if rng.random() < 0.65:
        pair = writer.pair("tax_total", style.number(money.tax))
        rate = f"{money.rates[0][0]:g}%"
        form = rng.choice(("{0}", "{0} {1}", "{1} {0}", "{0} @{1}", "{0} ({1})"))
        taxes = contained if rng.random() < 0.2 else pairs  # at times below the total that it is part of
        taxes.append(Pair(form.format(pair.label, rate), pair.value))
    if rng.random() < 0.35:  # rounding: the sum before it is a near miss if another one follows
        rounded = round(round(due * 20) / 20, 2)
        before = Pair(style.label("grand_total"), style.priced(style.number(due)))
        adjustment = _other(writer, "rounding", round(rounded - due, 2))
        due = rounded
        final = writer.pair("grand_total", style.number(due))
        if rng.random() < 0.5:
            final = Pair(style.cased(rng.choice(TOTALS["rounded"][writer.language])), final.value)
        pairs += [before, adjustment, final] if rng.random() < 0.5 else [adjustment, final]
    else:
        pairs.append(writer.pair("grand_total", style.number(due)))
        if rng.random() < 0.2:
            pairs.append(Pair(style.label("grand_total"), style.priced(style.number(due))))
    pairs += contained
    writer.due = due
    writer.sheet.pairs(pairs, rng.choice(("right", "line", "right", "right", "aligned", "far right", "below")))


def _payment(writer: Writer, money: Money) -> None:
    """What was paid, how, and the change."""
    rng, style, sheet = writer.rng, writer.style, writer.sheet
    due = writer.due if writer.due is not None else money.gross
    note = rng.choice((0.0, 0.0, 0.35, 5, 10, 50)) if rng.random() < 0.7 else 0.0
    paid = round(due + note, 2)
    method = style.spoiled(rng.choice(METHODS), 0.2)
    form = rng.random()
    pairs = []
    if form < 0.35:
        writer.state("payment_method", method)
        pairs.append(Pair(method, style.priced(style.number(paid))))
    elif form < 0.7:
        pairs.append(writer.pair("paid_amount", style.number(paid)))
        if rng.random() < 0.3:
            sheet.pairs([writer.pair("payment_method", method)], "line")
    if pairs and rng.random() < 0.7:
        pairs.append(writer.pair("change", style.number(round(paid - due, 2))))
    elif rng.random() < 0.2:
        pairs.append(Pair(rng.choice(CONCEPTS["change"].labels[writer.language]), style.number(0)))
        writer.mentioned.add("change")
    sheet.pairs(pairs, rng.choice(("right", "right", "line", "far right")))
