"""Values that documents state: names, numbers, dates, addresses, in the language and the habits of one document."""

import random
import string

from layout import Style
from lexicon import CONCEPTS, METHODS, PRODUCTS, TERMS
from pools import Pools

_SUFFIXES = {
    "en": (
        "Ltd",
        "Ltd.",
        "Inc.",
        "LLC",
        "Corp.",
        "Co.",
        "Sdn Bhd",
        "SDN. BHD.",
        "Trading",
        "Enterprise",
        "Group",
        "& Sons",
        "PLC",
    ),
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
    *("ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "ka", "ke", "ki", "ko", "la", "le", "li", "lo", "lu", "ma"),
    *("me", "mi", "mo", "na", "ne", "no", "pa", "pe", "po", "ra", "re", "ri", "ro", "sa", "se", "si", "so", "ta", "te"),
    *("ti", "to", "va", "ve", "vi", "wa", "we", "zu", "tan", "lor", "mar", "vel", "ken", "dal", "ros", "tek", "nor"),
    *(
        "bel",
        "gan",
        "hil",
        "mer",
        "sol",
        "fin",
        "ler",
        "pro",
        "con",
        "tri",
        "gra",
        "sto",
        "kel",
        "an",
        "er",
        "el",
        "um",
    ),
)
_PREFIXES = ("INV", "RE", "R", "A", "F", "FA", "SO", "PO", "CUST", "K", "RG", "IN", "TX", "CS")


class Values:
    """Draws values for one document."""

    def __init__(self, rng: random.Random, pools: Pools, held_out: bool) -> None:
        self.rng, self.held_out = rng, held_out
        self.language = rng.choices(("en", "de", "fr", "es", "it", "nl"), (44, 26, 11, 7, 6, 6))[0]
        self.pool = pools[self.language]
        self.style = Style(rng, self.language)

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
        prefix = rng.choice((*_PREFIXES, self.letters(2), self.letters(3)))
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
            person, product = self.drawn("person").split()[-1], rng.choice(PRODUCTS[self.language]).capitalize()
            name = f"{person} {product} {rng.choice(_SUFFIXES[self.language])}"
        else:
            words = [
                self.coined() if rng.random() < 0.7 else rng.choice(PRODUCTS[self.language]).capitalize()
                for _ in range(rng.randint(1, 3))
            ]
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
            house = f"{rng.choice(('NO.', 'NO', 'LOT', ''))} {rng.randint(1, 299)}{rng.choice(('', 'A', '-G', '-1'))}"
            number = rng.choice(("", f" {rng.randint(1, 9)}", f" {rng.randint(1, 9)}/{rng.randint(1, 70)}"))
            lines = [
                f"{house}, {rng.choice(_ASIAN_STREETS)} {self.coined().upper()}{number},",
                f"{rng.choice(_ASIAN_AREAS)} {self.coined().upper()},",
                f"{self.digits(5)} {self.coined().upper()},",
                rng.choice(_ASIAN_STATES) + rng.choice((".", "", ".")),
            ]
            lines = [line.strip() for line in lines]
            if rng.random() < 0.5:
                lines[2:] = [f"{lines[2]} {lines[3]}"]
            return lines
        ending = rng.choice(("straße", "str.", "weg", "allee")) if self.language == "de" else " Street"
        coined = f"{self.coined()}{ending} {rng.randint(1, 199)}"
        street = self.drawn("street") if rng.random() < 0.7 else coined
        code, city = self.drawn("zip"), self.drawn("city")
        if rng.random() < 0.1:
            code = rng.choice(("D-", "DE ", "F-", "NL-")) + code
        town = f"{city}, {code}" if self.language == "en" else f"{code} {city}"
        lines = [street, town] if rng.random() < 0.85 else [f"{street}, {town}"]
        if rng.random() < 0.12:
            lines.insert(
                1,
                rng.choice(
                    (
                        f"Hof {rng.randint(1, 9)}",
                        f"Suite {rng.randint(1, 400)}",
                        f"Unit {rng.randint(1, 60)}",
                        "2nd Floor",
                        "Tor 1",
                    )
                ),
            )
        if rng.random() < 0.2:
            lines.append(
                rng.choice(
                    (
                        "Germany",
                        "Deutschland",
                        "France",
                        "USA",
                        "Italia",
                        "España",
                        "Nederland",
                        "United Kingdom",
                        "Österreich",
                    )
                )
            )
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
            (
                digits(9),
                digits(11),
                f"{digits(3)} {digits(3)} {digits(3)}",
                f"{digits(2)}-{digits(7)}",
                f"{digits(3)}/{digits(3)}/{digits(5)}",
                f"00{digits(10)}",
            )
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
            words.append(
                rng.choice(
                    (
                        f"{rng.randint(1, 900)}g",
                        f"{rng.randint(1, 99)}ml",
                        f"A{rng.randint(3, 5)}",
                        f"({rng.randint(2, 20)}x)",
                        f"{rng.randint(1, 99)} mm",
                        self.letters(2) + self.digits(3),
                        f"{rng.randint(2, 12)}er Pack",
                    )
                )
            )
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
            "subject": lambda: (
                self.product() if rng.random() < 0.6 else self.drawn("sentence").rstrip(".")[:48].rsplit(" ", 1)[0]
            ),
        }
        return makers.get(concept, self.identifier)()

    def clock(self) -> str:
        """A time of day."""
        rng = self.rng
        hour, minute, second = rng.randint(0, 23), rng.randint(0, 59), rng.randint(0, 59)
        return rng.choice(
            (
                f"{hour:02}:{minute:02}",
                f"{hour:02}:{minute:02}:{second:02}",
                f"{hour % 12 + 1}:{minute:02} {rng.choice(('AM', 'PM'))}",
                f"{hour % 12 + 1}:{minute:02}:{second:02} PM",
            )
        )
