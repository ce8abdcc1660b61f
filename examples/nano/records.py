"""Documents about people, journeys and accounts: tickets, statements, CVs."""

from layout import Pair
from lexicon import COLUMNS, DEGREES, JOBS, SECTIONS, STUDIES, TITLES
from writer import Writer


def ticket(writer: Writer) -> None:
    """A ticket or a booking: who travels when from where to where, and what it costs."""
    rng, sheet, style = writer.rng, writer.sheet, writer.style
    blocks: list[list[str]] = []
    carrier = writer.company()
    writer.state("seller_name", carrier)
    top = [carrier, rng.choice(TITLES["ticket"][writer.language])]
    rng.shuffle(top)
    sheet.add(*top)
    concepts = [
        "booking_reference",
        "passenger",
        "departure_date",
        "departure_time",
        "seat",
        "issue_date",
        "grand_total",
    ]
    concepts = [name for name in concepts if rng.random() < 0.75]
    if rng.random() < 0.4:
        start, end = (style.spoiled(writer.station()) for _ in range(2))
        writer.state("origin", start)
        writer.state("destination", end)
        link = rng.choice((" - ", " → ", " – ", " > ", " / "))
        blocks.append([start + link + end])
    else:
        concepts += ["origin", "destination"]
    concepts += [name for name in ("payment_method", "contact", "phone", "email", "tax_total") if rng.random() < 0.15]
    if rng.random() < 0.6:
        rng.shuffle(concepts)
    pairs = [writer.pair(name) for name in concepts]
    pairs += [writer.near_miss() for _ in range(rng.choice((0, 0, 1, 2)))]
    pairs += [writer.form_pair() for _ in range(rng.choice((0, 0, 1)))]
    cut = rng.randint(0, len(pairs))
    blocks += [sheet.pair_lines(part) for part in (pairs[:cut], pairs[cut:]) if part]
    if rng.random() < 0.5:
        rng.shuffle(blocks)
    for block in blocks:
        sheet.gap()
        sheet.add(*block)
    sheet.gap()
    writer.remarks(0, 4)


def statement(writer: Writer) -> None:
    """An account statement: holder, account, period, balances, and the entries between them."""
    rng, sheet, style = writer.rng, writer.sheet, writer.style
    bank = writer.company()
    writer.state("seller_name", bank)
    head = [bank, *(writer.address() if rng.random() < 0.5 else [])]
    title = rng.choice(TITLES["statement"][writer.language])
    holder = writer.party("account_holder", "", "buyer_address")
    if rng.random() < 0.4:
        sheet.columns(holder, [*head, title])
    else:
        for block in (head, [title], holder) if rng.random() < 0.5 else (head, holder, [title]):
            sheet.add(*block)
            sheet.gap()
    concepts = ["iban", "issue_date", "period_start", "period_end", "customer_number", "reference"]
    sheet.pairs([writer.pair(name) for name in concepts if rng.random() < 0.7])
    sheet.gap()
    balance = writer.price()
    opening = writer.pair("opening_balance", style.number(balance))
    early = rng.random() < 0.7
    if early:
        sheet.pairs([opening], rng.choice(("line", "right", "far right")))
    columns = ("date", "description", "amount")
    rows: list[dict[str, str | None]] = []
    for _ in range(rng.randint(1, 6)):
        amount = round(rng.choice((-1, -1, 1)) * writer.price(), 2)
        balance = round(balance + amount, 2)
        text = rng.choice((writer.company, writer.product, lambda: writer.drawn("person")))()
        sign = "+" if amount > 0 and rng.random() < 0.2 else ""
        rows.append({"date": writer.day(), "description": text, "amount": sign + style.number(amount)})
    header = [style.cased(rng.choice(COLUMNS[name].labels[writer.language])) for name in columns]
    table = [[row[name] or "" for name in columns] for row in rows]
    sheet.table(header if rng.random() < 0.9 else None, table, (False, False, True))
    writer.rows, writer.columns = rows, columns
    pairs = ([] if early else [opening]) + [writer.pair("closing_balance", style.number(balance))]
    sheet.pairs(pairs, rng.choice(("line", "right", "far right")))
    sheet.gap()
    writer.remarks(0, 3)


def cv(writer: Writer) -> None:
    """A curriculum vitae: the latest post and degree are the facts, earlier ones stand below them."""
    rng, sheet = writer.rng, writer.sheet
    title = rng.choice(TITLES["cv"][writer.language])
    name = writer.drawn("person")
    writer.state("person_name", name)
    head = [[title], [name]] if rng.random() < 0.5 else [[name]]
    for block in head:
        sheet.add(*block)
    job = rng.choice(JOBS[writer.language])
    labelled = rng.random() < 0.5
    if labelled:
        concepts = [name for name in ("birth_date", "phone", "email") if rng.random() < 0.7]
        sheet.pairs([writer.pair(name) for name in concepts], "line")
    else:
        parts = [writer.value(name) for name in ("phone", "email")]
        for concept, value in zip(("phone", "email"), parts, strict=True):
            writer.state(concept, value)
        sheet.add(rng.choice((" | ", "  ", " · ", ", ")).join(parts))
    writer.mentioned |= {
        "seller_address",
        "buyer_address",
        "contact",
        "subject",
        "school",
        "degree",
        "period_start",
        "period_end",
    }
    sections = [_experience(writer, job), _education(writer)]
    if rng.random() < 0.3:
        sections.reverse()
    for lines in sections:
        sheet.gap()
        sheet.add(*lines)
    sheet.gap()
    sheet.pairs(
        [Pair(pair.label, pair.value) for pair in (writer.form_pair() for _ in range(rng.randint(0, 3)))], "line"
    )
    if rng.random() < 0.5:
        writer.prose(rng.randint(1, 2), rng.randint(60, 100))


def _years(writer: Writer, last: int) -> tuple[str, int]:
    rng = writer.rng
    start = last - rng.randint(1, 6)
    form = rng.random()
    if form < 0.5:
        return f"{start}{rng.choice(('-', ' - ', '–'))}{last}", start
    return f"{rng.randint(1, 12):02}/{start} - {rng.randint(1, 12):02}/{last}", start


def _experience(writer: Writer, job: str) -> list[str]:
    """Posts, the latest first."""
    rng = writer.rng
    lines = [rng.choice(SECTIONS["experience"][writer.language])]
    year = rng.randint(2012, 2027)
    for i in range(rng.randint(1, 3)):
        employer = writer.company()
        years, year = _years(writer, year)
        if i == 0:
            writer.state("job_title", job)
            writer.state("employer", employer)
        form = rng.random()
        if form < 0.4:
            lines.append(f"{years}   {job}, {employer}")
        elif form < 0.7:
            lines += [f"{job}   {years}", employer]
        else:
            lines += [years, f"{employer}, {writer.drawn('city')}", job]
        if rng.random() < 0.4:
            lines.append(f"- {writer.remark()}")
        job = rng.choice(JOBS[writer.language])
    return lines


def _education(writer: Writer) -> list[str]:
    """Degrees, the latest first."""
    rng = writer.rng
    lines = [rng.choice(SECTIONS["education"][writer.language])]
    year = rng.randint(2000, 2020)
    for i in range(rng.randint(1, 2)):
        degree = f"{rng.choice(DEGREES[writer.language])} {rng.choice(STUDIES[writer.language])}"
        school = writer.value("school")
        years, year = _years(writer, year)
        if i == 0:
            writer.mentioned -= {"degree", "school"}
            writer.state("degree", degree)
            writer.state("school", school)
        lines += [f"{years}   {degree}, {school}"] if rng.random() < 0.5 else [f"{degree} ({years})", school]
    return lines
