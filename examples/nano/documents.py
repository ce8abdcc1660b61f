"""Documents with known facts: forms, receipts, invoices and their kin, e-invoices, letters."""

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass, field

from layout import CURRENCIES, Pair, Sheet, Style, collapse
from lexicon import (
    COLUMNS,
    CONCEPTS,
    FORM_OBJECTS,
    FORM_OBJECTS_DE,
    FORM_SUBJECTS,
    FORM_SUBJECTS_DE,
    METHODS,
    PAGE_MARKS,
    PRODUCTS,
    REMARKS,
    SENTENCES,
    STATES,
    TERMS,
    TITLES,
    UNITS,
)
from pools import Pools

from dg_sglang.pipelines.prompt import Kind

_SUFFIXES = {
    "en": ("Ltd", "Ltd.", "Inc.", "LLC", "Corp.", "Co.", "Sdn Bhd", "SDN. BHD.", "Trading", "Enterprise", "Group", "& Sons", "PLC"),
    "de": ("GmbH", "GmbH", "AG", "GmbH & Co. KG", "KG", "e.K.", "UG", "OHG", "eG"),
    "fr": ("SARL", "SAS", "SA", "EURL", "& Fils"),
    "es": ("S.L.", "S.A.", "SL", "S.L.U."),
    "it": ("S.r.l.", "SpA", "S.p.A.", "SNC", "& Figli"),
    "nl": ("B.V.", "BV", "VOF", "N.V."),
}
_ASIAN_STREETS = ("JALAN", "LORONG", "JLN", "PERSIARAN")
_ASIAN_AREAS = ("TAMAN", "BANDAR", "KAMPUNG", "KAWASAN PERINDUSTRIAN", "TMN")
_ASIAN_STATES = ("SELANGOR", "JOHOR", "KUALA LUMPUR", "PERAK", "PENANG", "MELAKA", "SABAH", "W.P. KUALA LUMPUR")
_SYLLABLES = (
    "ba be bi bo bu da de di do ka ke ki ko la le li lo lu ma me mi mo na ne no pa pe po ra re ri ro sa se si so ta te ti to va ve vi "
    "wa we zu tan lor mar vel ken dal ros tek nor bel gan hil mer sol fin ler pro con tri gra sto kel an er el um in"
).split()


@dataclass(frozen=True)
class Fact:
    """A value that the document states, in the role of `concept` ("form" for free labels); `label` is what stands beside it."""

    concept: str
    kind: Kind
    value: str
    label: str = ""


@dataclass
class Document:
    """Text and everything it is known to state; `mentioned` holds concepts that must not be asked for as absent."""

    text: str
    kind: str
    language: str
    facts: list[Fact]
    mentioned: set[str]
    rows: list[dict[str, str | None]] | None = None
    columns: tuple[str, ...] = ()


@dataclass
class _Money:
    net: float
    tax: float
    rates: list[tuple[float, float, float]] = field(default_factory=list)  # rate, base, tax

    @property
    def gross(self) -> float:
        return round(self.net + self.tax, 2)


class Writer:
    """Writes one document; every method that prints a value records it as a fact."""

    def __init__(self, rng: random.Random, pools: Pools, held_out: bool) -> None:
        self.rng, self.held_out = rng, held_out
        self.language = rng.choices(("en", "de", "fr", "es", "it", "nl"), (44, 26, 11, 7, 6, 6))[0]
        self.pool = pools[self.language]
        self.style = Style(rng, self.language)
        self.sheet = Sheet(self.style)
        self.facts: list[Fact] = []
        self.mentioned: set[str] = set()
        self.rows: list[dict[str, str | None]] | None = None
        self.columns: tuple[str, ...] = ()

    # -- values ------------------------------------------------------------------------------------------------

    def drawn(self, kind: str) -> str:
        """A pool entry: from the last tenth for held-out documents, from the rest otherwise."""
        entries = self.pool[kind]
        cut = len(entries) * 9 // 10
        return entries[self.rng.randrange(cut, len(entries)) if self.held_out else self.rng.randrange(cut)]

    def coined(self) -> str:
        """A made-up name, so that values can't be guessed."""
        return "".join(self.rng.choices(_SYLLABLES, k=self.rng.randint(2, 4))).capitalize()

    def digits(self, count: int) -> str:
        """A number string without leading zero."""
        return self.rng.choice("123456789") + "".join(self.rng.choices(string.digits, k=count - 1))

    def letters(self, count: int) -> str:
        """Capital letters."""
        return "".join(self.rng.choices(string.ascii_uppercase, k=count))

    def identifier(self) -> str:
        """A document, order or customer number."""
        rng, digits = self.rng, self.digits
        year, mark = str(rng.randint(2009, 2027)), rng.choice(("-", "-", "/", "", ".", " ", "_"))
        prefix = rng.choice(("INV", "RE", "R", "A", "F", "FA", "SO", "PO", "CUST", "K", "RG", "IN", "TX", "CS", self.letters(2), self.letters(3)))
        return rng.choice(
            (
                lambda: digits(rng.randint(1, 4)),
                lambda: digits(rng.randint(4, 10)),
                lambda: digits(rng.randint(5, 8)),
                lambda: prefix + mark + digits(rng.randint(3, 7)),
                lambda: prefix + digits(rng.randint(4, 13)),
                lambda: prefix + rng.choice("-/") + year + rng.choice("-/") + digits(rng.randint(2, 6)),
                lambda: prefix + "-" + year + f"{rng.randint(1, 12):02}{rng.randint(1, 28):02}" + "/" + digits(3),
                lambda: year + mark + digits(rng.randint(2, 6)),
                lambda: "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789", k=rng.randint(5, 12))),
                lambda: digits(rng.randint(2, 4)) + rng.choice("-/ ") + digits(rng.randint(3, 6)),
                lambda: "0" * rng.randint(1, 4) + digits(rng.randint(2, 6)),
                lambda: prefix + digits(rng.randint(2, 5)) + rng.choice("-/") + self.letters(rng.randint(1, 3)),
                lambda: "-".join(digits(rng.randint(2, 5)) for _ in range(3)),
            )
        )()

    def company(self) -> str:
        """A company name."""
        rng = self.rng
        choice = rng.random()
        if choice < 0.35:
            name = self.drawn("company")
        elif choice < 0.5:
            name = f"{self.drawn('person').split()[-1]} {rng.choice(PRODUCTS[self.language]).capitalize()} {rng.choice(_SUFFIXES[self.language])}"
        else:
            words = [self.coined() if rng.random() < 0.7 else rng.choice(PRODUCTS[self.language]).capitalize() for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.12:
                words.insert(1, rng.choice(("&", "+", "-", "und" if self.language == "de" else "&")))
            if rng.random() < 0.8:
                words.append(rng.choice(_SUFFIXES[self.language]))
            name = " ".join(words)
        if rng.random() < 0.08 and self.language == "en":
            name += f" ({self.digits(rng.randint(5, 7))}-{self.letters(1)})"
        return name.upper() if rng.random() < 0.15 else name

    def address(self) -> list[str]:
        """Two to five lines of an address."""
        rng = self.rng
        if self.language == "en" and rng.random() < 0.4:
            lines = [
                rng.choice(("NO.", "NO", "LOT", "")) + f" {rng.randint(1, 299)}{rng.choice(('', 'A', '-G', '-1'))}, {rng.choice(_ASIAN_STREETS)} {rng.choice((self.coined().upper(), self.coined().upper() + ' ' + str(rng.randint(1, 9)), f'{rng.randint(1, 9)}/{rng.randint(1, 70)}'))},",
                f"{rng.choice(_ASIAN_AREAS)} {self.coined().upper()},",
                f"{self.digits(5)} {self.coined().upper()},",
                rng.choice(_ASIAN_STATES) + rng.choice((".", "", ".")),
            ]
            lines = [line.strip() for line in lines]
            if rng.random() < 0.5:
                lines[2:] = [f"{lines[2]} {lines[3]}"]
            return lines
        street = self.drawn("street") if rng.random() < 0.7 else f"{self.coined()}{rng.choice(('straße', 'str.', 'weg', 'allee')) if self.language == 'de' else ' Street'} {rng.randint(1, 199)}"
        code, city = self.drawn("zip"), self.drawn("city")
        if rng.random() < 0.1:
            code = rng.choice(("D-", "DE ", "F-", "NL-")) + code
        town = f"{city}, {code}" if self.language == "en" else f"{code} {city}"
        lines = [street, town] if rng.random() < 0.85 else [f"{street}, {town}"]
        if rng.random() < 0.12:
            lines.insert(1, rng.choice((f"Hof {rng.randint(1, 9)}", f"Suite {rng.randint(1, 400)}", f"Unit {rng.randint(1, 60)}", "2nd Floor", "Tor 1")))
        if rng.random() < 0.2:
            lines.append(rng.choice(("Germany", "Deutschland", "France", "USA", "Italia", "España", "Nederland", "United Kingdom", "Österreich")))
        return lines

    def day(self) -> str:
        """A date in the document's format."""
        rng = self.rng
        return self.style.date(rng.randint(2006, 2028), rng.randint(1, 12), rng.randint(1, 28))

    def price(self) -> float:
        """An amount of money, spread over the magnitudes."""
        rng = self.rng
        low, high = rng.choice(((0.5, 10), (1, 100), (10, 1000), (100, 1000), (1000, 10_000), (10_000, 250_000)))
        return round(rng.uniform(low, high), 2) if rng.random() < 0.85 else float(rng.randint(int(low) + 1, int(high)))

    def tax_id(self) -> str:
        """A tax number."""
        rng, digits = self.rng, self.digits
        return rng.choice(("DE", "ATU", "GB", "FR", "ESB", "NL", "IT", "", "")) + rng.choice(
            (digits(9), digits(11), f"{digits(3)} {digits(3)} {digits(3)}", f"{digits(2)}-{digits(7)}", f"{digits(3)}/{digits(3)}/{digits(5)}", f"00{digits(10)}")
        )

    def account(self) -> str:
        """An IBAN-like number."""
        rng = self.rng
        code = rng.choice(("DE", "AT", "FR", "NL", "ES", "GB", "IT", "CH")) + self.digits(rng.choice((18, 20, 22)))
        return code if rng.random() < 0.4 else " ".join(code[i : i + 4] for i in range(0, len(code), 4))

    def product(self) -> str:
        """An item text of one to five words, at times with sizes or brackets."""
        rng = self.rng
        words = rng.sample(PRODUCTS[self.language], rng.randint(1, 3))
        if rng.random() < 0.25:
            words.append(self.coined())
        if rng.random() < 0.25:
            words.append(rng.choice((f"{rng.randint(1, 900)}g", f"{rng.randint(1, 99)}ml", f"A{rng.randint(3, 5)}", f"({rng.randint(2, 20)}x)", f"{rng.randint(1, 99)} mm", self.letters(2) + self.digits(3), f"{rng.randint(2, 12)}er Pack")))
        return " ".join(words)

    def value(self, concept: str) -> str:
        """A value for a concept that stands alone."""
        rng = self.rng
        kind = CONCEPTS[concept].kind
        if kind == "date":
            return self.day()
        if kind == "number":
            return self.style.number(self.price())
        if kind == "currency":
            return self.style.currency or rng.choice(("EUR", "USD", "GBP", "CHF"))
        makers = {
            "seller_name": self.company,
            "buyer_name": lambda: self.company() if rng.random() < 0.75 else self.drawn("person"),
            "ship_to_name": lambda: self.company() if rng.random() < 0.75 else self.drawn("person"),
            "seller_address": lambda: ", ".join(self.address()),
            "buyer_address": lambda: ", ".join(self.address()),
            "seller_tax_id": self.tax_id,
            "iban": self.account,
            "payment_terms": lambda: rng.choice(TERMS),
            "payment_method": lambda: rng.choice(METHODS),
            "contact": lambda: self.drawn("person"),
            "email": lambda: self.drawn("email"),
            "phone": lambda: self.drawn("phone"),
            "time": self.clock,
            "subject": lambda: self.product() if rng.random() < 0.6 else self.drawn("sentence").rstrip(".")[:48].rsplit(" ", 1)[0],
        }
        return makers.get(concept, self.identifier)()

    def clock(self) -> str:
        """A time of day."""
        rng = self.rng
        hour, minute, second = rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59)
        return rng.choice((f"{hour:02}:{minute:02}", f"{hour:02}:{minute:02}:{second:02}", f"{hour % 12 + 1}:{minute:02} {rng.choice(('AM', 'PM'))}", f"{hour % 12 + 1}:{minute:02}:{second:02} PM"))

    # -- facts -------------------------------------------------------------------------------------------------

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

    def near_miss(self) -> Pair:
        """A label/value pair that no field asks for but that resembles one."""
        rng = self.rng
        kind = rng.choice(("text", "date", "number"))
        label = rng.choice(FORM_SUBJECTS_DE) + rng.choice(FORM_OBJECTS_DE[kind]) if self.language == "de" else f"{rng.choice(FORM_SUBJECTS)} {rng.choice(FORM_OBJECTS[kind])}"
        return Pair(self.style.cased(label), {"text": self.identifier, "date": self.day, "number": lambda: self.style.number(self.price())}[kind]())

    def form_pair(self) -> Pair:
        """A free label with a value of its kind, recorded as a fact."""
        rng = self.rng
        kind: Kind = rng.choices(("text", "date", "number"), (5, 2, 3))[0]
        if self.language == "de" and rng.random() < 0.8:
            label = rng.choice(FORM_SUBJECTS_DE) + rng.choice(FORM_OBJECTS_DE[kind])
        else:
            label = f"{rng.choice(FORM_SUBJECTS)} {rng.choice(FORM_OBJECTS[kind])}" if rng.random() < 0.85 else rng.choice(FORM_SUBJECTS)
        shown: str | None = None
        if kind == "date":
            value = self.day()
        elif kind == "number":
            value = self.style.number(self.price()) if rng.random() < 0.6 else str(rng.randint(1, 9999))
            shown = self.style.priced(value) if "," in value or "." in value else value + rng.choice(("", " kg", " km", " h", "%", " Stk"))
        else:
            value = rng.choice((self.identifier, self.identifier, lambda: self.drawn("person"), self.company, lambda: self.drawn("city"), self.coined, self.product, lambda: rng.choice(STATES)))()
        label = self.style.cased(label)
        if all(fact.label != label for fact in self.facts):
            self.state("form", value, label, kind)
        return Pair(label, shown or value)

    # -- blocks ------------------------------------------------------------------------------------------------

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
                lambda: f"{rng.choice(('Amtsgericht', 'Registered at', 'Geschäftsführer:', 'Director:', 'Bank:'))} {rng.choice((self.drawn('city'), self.drawn('person')))}",
            )
        )()

    def remarks(self, low: int, high: int) -> None:
        """Some remarks."""
        self.sheet.add(*(self.style.spoiled(self.remark()) for _ in range(self.rng.randint(low, high))))

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

    def items(self, count: int, narrow: bool = False) -> float:
        """A table of line items, recorded as rows; returns their sum."""
        rng, style = self.rng, self.style
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
        unit = rng.choice(UNITS[self.language]) if rng.random() < 0.35 else ""
        rows: list[dict[str, str | None]] = []
        table: list[list[str]] = []
        total = 0.0
        for i in range(count):
            quantity = float(rng.randint(1, 60)) if whole else round(rng.uniform(0.1, 60), 2)
            price = round(rng.uniform(0.5, 300), 2)
            amount = round(quantity * price, 2)
            total += amount
            row = {
                "description": style.spoiled(self.product(), 0.5),
                "quantity": str(int(quantity)) if whole else style.number(quantity),
                "unit_price": style.number(price),
                "amount": style.number(amount),
                "sku": self.identifier(),
            }
            kept: dict[str, str | None] = {column: row[column] for column in columns}
            rows.append(kept)
            cells = [style.priced(row[c], True) if signed and c in ("unit_price", "amount") else row[c] + (f" {unit}" if unit and c == "quantity" else "") for c in columns]
            if tax_column:
                cells.insert(len(cells) - 1, rng.choice(("19 %", "7 %", "20%", "21%", "19,0")))
            table.append([str(i + 1), *cells] if position else cells)
        self.rows, self.columns = rows, tuple(columns)
        language = self.language if rng.random() < 0.95 else "en"
        header = [style.cased(rng.choice(COLUMNS[column].labels[language])) for column in columns]
        numeric = [column not in ("description", "sku") for column in columns]
        if tax_column:
            header.insert(len(header) - 1, style.cased(rng.choice(("VAT", "Tax", "%")) if self.language == "en" else "%"))
            numeric.insert(len(numeric) - 1, True)
        if position:
            header, numeric = [rng.choice(("Pos", "Pos.", "#", "No.")), *header], [False, *numeric]
        start = len(self.sheet.lines)
        self.sheet.table(header if rng.random() < 0.9 else None, table, numeric)
        if rng.random() < 0.15:  # a second line below each row, as article numbers or remarks are printed
            for offset in range(len(table), 0, -1):
                self.sheet.lines.insert(len(self.sheet.lines) - (len(table) - offset), "   " + rng.choice((f"{self.digits(13)} (GTIN)", self.remark(), f"Art. {self.identifier()}")))
        if rng.random() < 0.1 and len(self.sheet.lines) > start + 2:
            self.sheet.add("", PAGE_MARKS[self.language].format(1, 2), "")
        return round(total, 2)

    def money(self, net: float) -> _Money:
        """Tax on a net sum, split over one or two rates."""
        rates = [self.rng.choice((19, 20, 7, 21, 8.25, 10, 5.5, 0, 7.7, 22, 6))]
        if self.rng.random() < 0.25:
            rates.append(self.rng.choice((7, 5.5, 10, 9)))
        bases = [net] if len(rates) == 1 else [round(net * 0.4, 2), round(net - round(net * 0.4, 2), 2)]
        parts = [(rate, base, round(base * rate / 100, 2)) for rate, base in zip(rates, bases, strict=True)]
        return _Money(net, round(sum(tax for _, _, tax in parts), 2), parts)

    def tax_table(self, money: _Money) -> None:
        """A breakdown with one row a tax rate."""
        number = self.style.number
        heads = {
            "en": ("VAT", "Rate", "Net", "Tax"),
            "de": ("Art (Kategorie)", "Steuersatz", "Basisbetrag", "Steuerbetrag"),
            "fr": ("Taxe", "Taux", "Base", "Montant"),
        }.get(self.language, ("IVA", "%", "Base", "Total IVA"))
        rows = [[heads[0], f"{rate:g} %", number(base), number(tax)] for rate, base, tax in money.rates]
        if self.rng.random() < 0.4:
            rows = [[row[0], row[2], row[1], row[3]] for row in rows]
            heads = (heads[0], heads[2], heads[1], heads[3])
        self.sheet.table(heads if self.rng.random() < 0.8 else None, rows, (False, True, True, True))

    def totals(self, money: _Money, layout: str | None = None) -> None:
        """Net, tax and gross with their labels, and the amounts that stand between them."""
        rng, style = self.rng, self.style
        pairs: list[Pair] = []
        if rng.random() < 0.75:
            pairs.append(self.pair("net_total", style.number(money.net)))
        for concept, chance in (("discount", 0.12), ("shipping", 0.12)):
            if rng.random() < chance:
                pairs.append(self.pair(concept))
        if rng.random() < 0.75:
            pair = self.pair("tax_total", style.number(money.tax))
            if rng.random() < 0.5:
                rate = f"{money.rates[0][0]:g}%" if rng.random() < 0.5 else f"{money.rates[0][0]:g} %"
                pair = Pair(rng.choice((f"{pair.label} {rate}", f"{rate} {pair.label}", f"{pair.label} ({rate})")), pair.value)
            pairs.append(pair)
        pairs.append(self.pair("grand_total", style.number(money.gross)))
        if rng.random() < 0.12:
            pairs.append(self.pair("paid_amount", style.number(rng.choice((0.0, money.gross, round(money.gross * 0.3, 2))))))
            if rng.random() < 0.5:  # the total once more, under another name
                pairs.append(Pair(style.label("grand_total"), style.priced(style.number(money.gross))))
        self.sheet.pairs(pairs, layout or rng.choice(("line", "right", "right", "far right", "far right", "aligned", "dots", "below")))

    def currency_seen(self) -> None:
        """Record the currency as a fact where the text shows it."""
        style = self.style
        if style.currency and style.currency_place != "none" and style.currency in self.sheet.text():
            self.state("currency", style.currency)

    # -- documents ---------------------------------------------------------------------------------------------

    def form(self, short: bool) -> None:
        """Label/value pairs with little around them."""
        rng = self.rng
        if rng.random() < 0.5:
            self.sheet.add(rng.choice(TITLES["form"][self.language]))
        count = rng.randint(2, 4) if short else rng.randint(4, 11)
        concepts = rng.sample([name for name in CONCEPTS if name not in ("seller_address", "buyer_address")], count)
        pairs = [self.form_pair() if rng.random() < 0.5 else self.pair(concept) for concept in concepts]
        if len(pairs) > 5 and rng.random() < 0.4:
            half = len(pairs) // 2
            self.sheet.columns(self.sheet.pair_lines(pairs[:half], "line"), self.sheet.pair_lines(pairs[half:], "line"))
        else:
            self.sheet.pairs(pairs)
        if not short and rng.random() < 0.5:
            self.remarks(1, 3)

    def receipt(self) -> None:
        """A narrow slip: the company on top, an address without label, date and time somewhere, total at the end."""
        rng = self.rng
        style = self.style = Style(rng, self.language, noise=rng.choice((0.0, 0.0, 0.05, 0.12)), upper=rng.random() < 0.6)
        sheet = self.sheet = Sheet(style)
        if rng.random() < 0.12:
            sheet.add(rng.choice((self.coined(), rng.choice(REMARKS[self.language]), f"{rng.choice(('#', 'tan ', '*'))}{self.identifier()}")))
        company = style.spoiled(self.company())
        self.state("seller_name", company)
        sheet.add(company)
        if rng.random() < 0.3:
            sheet.add(rng.choice((f"({self.digits(6)}-{self.letters(1)})", f"(CO.REG : {self.digits(6)}-{self.letters(1)})", f"REG NO {self.digits(9)}")))
        address = [style.spoiled(line, 0.7) for line in self.address()]
        if rng.random() < 0.92:
            self.state("seller_address", " ".join(address))
            sheet.add(*address)
        for concept, chance in (("phone", 0.45), ("seller_tax_id", 0.35), ("email", 0.08)):
            if rng.random() < chance:
                sheet.pairs([self.pair(concept)], "line")
        if rng.random() < 0.5:
            sheet.add(style.spoiled(rng.choice(TITLES["receipt"][self.language])))
        meta: list[list[str]] = []
        day, clock = style.spoiled(self.day(), 0.3), self.clock()
        label = style.label("issue_date")
        form = rng.random()
        self.state("issue_date", day, label if form < 0.5 else "")
        if form < 0.25:
            meta.append([f"{label}{style.separator}{day}"])
        elif form < 0.5:
            meta.append([f"{label}{style.separator}{day} {clock}"])
            self.state("time", clock)
        elif form < 0.8:
            meta.append([day + rng.choice((" ", "  ", "   ")) + clock])
            self.state("time", clock)
        else:
            meta.append([day])
        for concept, chance in (("receipt_number", 0.6), ("contact", 0.35), ("time", 0.15), ("customer_number", 0.08), ("invoice_number", 0.2)):
            if rng.random() < chance and concept not in self.mentioned and not {"receipt_number", "invoice_number"} <= self.mentioned | {concept}:
                meta.append(sheet.pair_lines([self.pair(concept)], rng.choice(("line", "line", "right"))))
        if rng.random() < 0.4:
            meta.append(sheet.pair_lines([self.near_miss()], "line"))
        rng.shuffle(meta)
        late = meta.pop() if rng.random() < 0.2 else []
        for lines in meta:
            sheet.add(*lines)
        net = self.items(rng.randint(1, 6), narrow=True) if rng.random() < 0.85 else self.price()
        money = self.money(net)
        self.totals(money, rng.choice(("right", "line", "right", "aligned", "below")))
        if rng.random() < 0.5:
            sheet.pairs([self.pair("paid_amount", style.number(money.gross + rng.choice((0, 0.35, 5)))), self.pair("change")], "right")
        if rng.random() < 0.45:
            method = rng.choice(METHODS)
            if rng.random() < 0.5:
                sheet.pairs([self.pair("payment_method", method)])
            elif "payment_method" not in self.mentioned:
                self.state("payment_method", style.spoiled(method, 0.0))
                sheet.add(style.spoiled(method, 0.0) + " " * rng.randint(1, 12) + style.number(money.gross))
        if rng.random() < 0.2:
            self.tax_table(money)
        sheet.add(*late)
        self.remarks(0, 3)

    def invoice(self, kind: str, items: int) -> None:
        """An invoice or a relative of it as a PDF extractor gives it."""
        rng, sheet, style = self.rng, self.sheet, self.style
        number = {"order": "order_number"}.get(kind, "invoice_number")
        title = rng.choice(TITLES[kind][self.language])
        seller = self.party("seller_name", style.label("seller_name") if rng.random() < 0.3 else "", "seller_address")
        buyer = self.party("buyer_name", style.label("buyer_name") if rng.random() < 0.7 else "", "buyer_address") if rng.random() < 0.93 else []
        if buyer and rng.random() < 0.15:
            buyer += ["", *self.party("ship_to_name", style.label("ship_to_name"))]
        for concept, chance in (("phone", 0.3), ("email", 0.25), ("seller_tax_id", 0.3)):
            if rng.random() < chance:
                seller += sheet.pair_lines([self.pair(concept)], "line")
        if rng.random() < 0.2:
            seller.append(self.drawn("domain"))
        title_lines = [title]
        concepts = [number, "issue_date"]
        if rng.random() < 0.3:  # "Rechnung Nr. 4711 vom 05.03.2018" in one line
            value, day = self.value(number), self.day()
            self.state(number, value, title)
            self.state("issue_date", day)
            link = {"en": ("dated", "of", "-"), "de": ("vom", "vom", "von"), "fr": ("du",), "es": ("de",), "it": ("del",), "nl": ("van",)}[self.language]
            mark = rng.choice(("Nr.", "No.", "#", "Nr", "")) if self.language != "fr" else rng.choice(("N°", "n°", ""))
            title_lines = [collapse(f"{title} {mark} {value} {rng.choice(link)} ") + " " * rng.choice((1, 1, 2)) + day]
            concepts = []
        elif rng.random() < 0.15:  # "Facture FA-2017-0010"
            value = self.value(number)
            self.state(number, value, title)
            title_lines = [f"{title}{rng.choice((' ', ' # ', ': ', '  '))}{value}"]
            concepts = ["issue_date"]
        optional = ("due_date", "order_number", "customer_number", "payment_terms", "delivery_date", "order_date", "contact", "reference", "delivery_note", "currency")
        concepts += [name for name in optional if rng.random() < 0.2 and name not in self.mentioned]
        if rng.random() < 0.6:
            rng.shuffle(concepts)
        pairs = [self.pair(concept) for concept in concepts]
        if rng.random() < 0.25:
            pairs.insert(rng.randint(0, len(pairs)), self.near_miss())
        meta_layout = None if rng.random() < 0.5 else rng.choice(("colon column", "aligned"))
        arrangement = rng.random()
        top = rng.random()
        if top < 0.12:
            sheet.add(rng.choice((self.remark(), PAGE_MARKS[self.language].format(1, 1), self.drawn("sentence"))))
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
        elif arrangement < 0.65:  # both parties side by side
            sheet.add(*title_lines)
            sheet.columns(*((seller, buyer) if rng.random() < 0.75 else (buyer, seller)))
            sheet.gap()
            sheet.pairs(pairs, meta_layout)
        elif arrangement < 0.78 and buyer:  # German window address: the sender in one line above the buyer, seller block in the footer
            name = next(fact.value for fact in self.facts if fact.concept == "seller_name")
            sheet.add(collapse(rng.choice((" - ", ", ", " ", " · ", " | ")).join([name, *self.address()])))
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
            self.remarks(1, 2)
        for concept in ("order_date", "delivery_date"):
            if concept not in self.mentioned and rng.random() < 0.1:
                self.sentence(concept)
        net = self.items(items) if items else self.price()
        if rng.random() < 0.04:
            net = -net
        money = self.money(net)
        sheet.gap()
        before = rng.random() < 0.5
        with_table = rng.random() < 0.35
        if with_table and before:
            self.tax_table(money)
        self.totals(money)
        if with_table and not before:
            self.tax_table(money)
        sheet.gap()
        self.closing()

    def closing(self) -> None:
        """What stands below the totals: terms, bank, dates in prose, boilerplate, page mark."""
        rng, sheet = self.rng, self.sheet
        for concept in ("due_date", "contact"):
            if concept not in self.mentioned and rng.random() < 0.15:
                self.sentence(concept)
        tail = [name for name in ("iban", "seller_tax_id", "payment_terms", "payment_method", "email", "phone") if name not in self.mentioned and rng.random() < 0.17]
        sheet.pairs([self.pair(name) for name in tail], "line")
        self.remarks(0, 3)
        if rng.random() < 0.25:
            self.legal_block()
        if rng.random() < 0.25:
            sheet.add(PAGE_MARKS[self.language].format(1, rng.randint(1, 2)))

    def e_invoice(self, items: int) -> None:
        """The readable view of an XML invoice: sections with labelled values, currency stated once, amounts bare."""
        rng, sheet, style = self.rng, self.sheet, self.style
        style.currency_place = "none"
        style.separator = rng.choice((":" + " " * rng.randint(3, 24), ": ", " : "))
        if rng.random() < 0.5:
            sheet.add(self.remark(), "")
        value, day = self.value("invoice_number"), self.day()
        code = rng.choice(("", f" ({rng.randint(300, 400)})"))
        title = rng.choice(TITLES["invoice"][self.language])
        self.state("invoice_number", value, title)
        self.state("issue_date", day)
        joint = {"de": ("Nr.", "vom"), "fr": ("N°", "du"), "en": ("No.", "dated"), "es": ("N°", "de"), "it": ("n.", "del"), "nl": ("nr.", "van")}[self.language]
        sheet.add(f"{title}{code}  {joint[0]} {value} {joint[1]}  {day}", "")
        pairs = [self.pair("currency", rng.choice(("EUR", "EUR", "EUR", "USD", "GBP", "CHF")))]
        pairs += [self.pair(name) for name in ("delivery_date", "order_number", "reference", "delivery_note", "customer_number") if rng.random() < 0.35]
        sheet.pairs(pairs, "line")
        number = {"de": "Nummer", "fr": "Numéro", "en": "Number", "es": "Número", "it": "Numero", "nl": "Nummer"}[self.language]
        name_label = {"de": "Name", "fr": "Nom", "en": "Name", "es": "Nombre", "it": "Nome", "nl": "Naam"}[self.language]
        parties = ["seller_name", "buyer_name"] + (["ship_to_name"] if rng.random() < 0.25 else [])
        for concept in parties:
            sheet.add("", style.label(concept) + rng.choice(("", ":")))
            name, lines = self.value(concept), self.address()
            self.state(concept, name)
            if rng.random() < 0.7:
                block = [Pair(number, self.identifier())] if rng.random() < 0.7 else []
                block.append(Pair(name_label, name))
                if rng.random() < 0.2:
                    block.append(Pair(rng.choice(CONCEPTS["contact"].labels[self.language]), self.drawn("person")))
                    self.mentioned.add("contact")
                block.append(Pair(rng.choice(CONCEPTS["seller_address"].labels[self.language]), lines[0]))
                sheet.pairs(block, "line")
                indent = " " * rng.choice((0, len(style.separator) + 8, 20))
                sheet.add(*(indent + line for line in lines[1:]))
            else:
                sheet.add(name, *lines)
            if rng.random() < 0.6:
                tax = self.pair("seller_tax_id") if concept == "seller_name" else Pair(rng.choice(CONCEPTS["seller_tax_id"].labels[self.language]), self.tax_id())
                sheet.pairs([tax], "line")
        sheet.gap()
        if rng.random() < 0.5:
            self.remarks(1, 3)
        if rng.random() < 0.2 and "order_date" not in self.mentioned:
            self.sentence("order_date")
        if rng.random() < 0.3:
            self.legal_block()
        sheet.gap()
        money = self.money(self.items(items) if items else self.price())
        sheet.gap()
        self.tax_table(money)
        sheet.gap()
        totals = [self.pair("net_total", style.number(money.net)), self.pair("tax_total", style.number(money.tax)), self.pair("grand_total", style.number(money.gross))]
        zero = Pair({"de": "Gesamtbetrag der Zuschläge"}.get(self.language, "Charges"), style.number(0))
        if rng.random() < 0.5:
            totals.insert(rng.randint(0, 2), zero)
        if rng.random() < 0.4:
            totals.append(Pair(rng.choice(CONCEPTS["paid_amount"].labels[self.language]), style.number(0)))
            self.mentioned.add("paid_amount")
        if rng.random() < 0.5:
            totals.append(Pair({"de": "Zahlbetrag", "fr": "Solde à payer"}.get(self.language, "Amount payable"), style.number(money.gross)))
        sheet.pairs(totals, rng.choice(("far right", "right", "aligned", "line")))
        sheet.gap()
        if rng.random() < 0.4 and "due_date" not in self.mentioned:
            self.sentence("due_date")
        self.closing()

    def letter(self) -> None:
        """A letter with facts in its head and in prose."""
        rng, sheet = self.rng, self.sheet
        sheet.add(*self.party("seller_name", "", "seller_address"))
        sheet.pairs([self.pair(name) for name in rng.sample(("phone", "email"), rng.randint(0, 2))], "line")
        sheet.gap()
        sheet.add(*self.party("buyer_name", "", "buyer_address"))
        day = self.day()
        self.state("issue_date", day)
        sheet.add(rng.choice((day, f"{self.drawn('city')}, {day}", f"{self.style.label('issue_date')}: {day}")))
        sheet.pairs([self.pair(name) for name in rng.sample(("subject", "reference", "customer_number", "order_number"), rng.randint(1, 3))], "line")
        sheet.gap()
        self.remarks(0, 2)
        for concept in rng.sample(sorted(SENTENCES), rng.randint(1, 3)):
            if concept not in self.mentioned:
                self.sentence(concept)
        self.remarks(1, 3)

    def finished(self, kind: str) -> Document:
        """The document, with only those facts that its text really shows."""
        text = self.sheet.text()
        self.currency_seen()
        shown = collapse(text)
        facts = [fact for fact in self.facts if fact.value in shown]
        rows = self.rows
        if rows and not all(value is None or value in shown for row in rows for value in row.values()):
            rows = None
        if not facts or (self.style.currency and self.style.currency in shown) or any(code in shown for code in CURRENCIES["en"] if code):
            self.mentioned.add("currency")
        return Document(text, kind, self.language, facts, self.mentioned, rows, self.columns)


def write_document(rng: random.Random, pools: Pools, level: int, held_out: bool = False) -> Document:
    """One document. Levels: 0 short forms (a few lines), 1 short documents with at most two rows, 2 everything."""
    writer = Writer(rng, pools, held_out)
    if level == 0:
        writer.form(short=True)
        return writer.finished("form")
    kinds: Sequence[str] = ("invoice", "credit_note", "order", "quote", "e_invoice", "receipt", "letter", "form")
    kind = rng.choices(kinds, (26, 3, 5, 3, 20, 28, 6, 9))[0]
    rows = rng.randint(0, 2) if level == 1 else rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6))
    if kind == "form":
        writer.form(short=False)
    elif kind == "receipt":
        writer.receipt()
    elif kind == "letter":
        writer.letter()
    elif kind == "e_invoice":
        writer.e_invoice(rows)
        kind = "invoice"
    else:
        writer.invoice(kind, rows)
    return writer.finished(kind)
