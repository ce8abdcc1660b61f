"""Values that documents state: names, numbers, dates, addresses, in the language and the habits of one document."""

import datetime as dt
import random
import string

from layout import Style, collapse
from lexicon import CONCEPTS, DEGREES, JOBS, METHODS, PRODUCTS, STUDIES, TERMS
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
        "Sdn Bhd",
        "S/B",
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
_TRADES = {
    "en": ("Restaurant", "Restoran", "Kedai", "Syarikat", "The", "Hotel", "Bakery", "Café", "Perniagaan", "Pharmacy"),
    "de": ("Bäckerei", "Autohaus", "Gasthof", "Praxis", "Schreinerei", "Hotel", "Buchhandlung", "Elektro"),
    "fr": ("Le petit", "Boulangerie", "La Maison", "Chez", "Les Jardins de", "Atelier", "Garage", "Hôtel"),
    "es": ("Casa", "Todo", "El", "Talleres", "Bodegas", "Hotel", "Librería"),
    "it": ("La Bottega di", "Il", "Ristorante", "Officina", "Tipografia", "Casa"),
    "nl": ("De", "Bakkerij", "Het", "Garage", "Hotel", "Boekhandel"),
}
"""First words of a shop's name."""
_ROLES = {
    "en": ("Supplier", "Vendor", "Seller", "Customer", "Client", "Buyer", "Company", "Sample"),
    "de": ("Verkäufer", "Käufer", "Händler", "Auftraggeber", "Empfänger", "Absender", "Handel", "Firma"),
    "fr": ("Fournisseur", "Vendeur", "Client", "Acheteur", "Société", "Entreprise"),
    "es": ("Proveedor", "Vendedor", "Cliente", "Comprador", "Empresa"),
    "it": ("Fornitore", "Venditore", "Cliente", "Acquirente", "Ditta"),
    "nl": ("Leverancier", "Verkoper", "Klant", "Koper", "Bedrijf"),
}
_SAMPLES = {
    "en": ("Sample", "Demo", "Acme", "Example", "Test"),
    "de": ("Beispiel", "Test", "Demo", "Mustermann", "Vorlage"),
    "fr": ("Exemple", "Test", "Démo"),
    "es": ("Ejemplo", "Muestra", "Demo"),
    "it": ("Esempio", "Prova", "Demo"),
    "nl": ("Voorbeeld", "Test", "Demo"),
}
"""Sample documents name parties by their roles, with the words that are labels elsewhere."""
_BRANCHES = {
    "en": ("(M)", "(KL)", "(UK)", "(Asia)", "(S)"),
    "de": ("Mitte", "Nord", "Süd", "(Deutschland)", "International"),
    "fr": ("(France)", "France", "Sud-Est"),
    "es": ("(España)", "Iberia", "Norte"),
    "it": ("Italia", "(Italia)", "Nord"),
    "nl": ("Nederland", "(Nederland)", "Benelux"),
}
"""Parts of a company's name that say where it is, before its legal form or behind it."""
_ASIAN_STREETS = ("Jalan", "Jalan", "Lorong", "Jln", "Persiaran", "Lebuh", "Orchard Road", "Soi")
_ASIAN_AREAS = ("Taman", "Bandar", "Kampung", "Kawasan Perindustrian", "Tmn", "Seksyen", "Pusat Bandar", "Batu", "Desa")
_ASIAN_STATES = (
    *(
        "Selangor",
        "Johor",
        "Kuala Lumpur",
        "Perak",
        "Penang",
        "Melaka",
        "Sabah",
        "W.P. Kuala Lumpur",
        "Kedah",
        "Pahang",
    ),
    *("Selangor Darul Ehsan", "Johor Darul Takzim", "Negeri Sembilan", "Singapore", "Sarawak", "KL"),
)
_COUNTRIES = (
    *(
        "Germany",
        "Deutschland",
        "France",
        "USA",
        "Italia",
        "España",
        "Nederland",
        "United Kingdom",
        "Österreich",
        "Schweiz",
    ),
    *("DE", "FR", "AT", "Belgique", "Ireland", "Canada"),
)
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
_SCHOOLS = {
    "en": ("University of", "College", "Institute"),
    "de": ("Universität", "Hochschule", "TU", "Gymnasium"),
    "fr": ("Université de", "Lycée", "IUT"),
    "es": ("Universidad de", "Instituto"),
    "it": ("Università di", "Politecnico di"),
    "nl": ("Universiteit", "Hogeschool"),
}
_PREFIXES = ("INV", "RE", "R", "A", "F", "FA", "SO", "PO", "CUST", "K", "RG", "IN", "TX", "CS")


class Values:
    """Draws values for one document."""

    def __init__(self, rng: random.Random, pools: Pools, held_out: bool) -> None:
        self.rng, self.held_out = rng, held_out
        self.language = rng.choices(("en", "de", "fr", "es", "it", "nl"), (44, 26, 11, 7, 6, 6))[0]
        self.pool = pools[self.language]
        self.style = Style(rng, self.language)
        self.around = dt.date(2006, 1, 1) + dt.timedelta(days=rng.randrange(8000))

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
                lambda: prefix + " " + digits(4) + "/" + digits(rng.randint(3, 5)),
                self.segments,
            )
        )()

    def segments(self) -> str:
        """A number of several parts, as policies and contracts have it."""
        rng = self.rng
        text = self.digits(rng.randint(2, 10))
        for _ in range(rng.randint(2, 4)):
            part = self.letters(rng.randint(1, 2)) if rng.random() < 0.3 else str(rng.randint(0, 9999)).zfill(2)
            text += rng.choice("-/.") + part
        return text

    def company(self) -> str:
        """A company name: of a pool, of people and products, coined; with trade, branch and legal form at times."""
        rng = self.rng
        choice = rng.random()
        if choice < 0.3:
            name = self.drawn("company")
        elif choice < 0.42:
            person, product = self.drawn("person").split()[-1], rng.choice(PRODUCTS[self.language]).capitalize()
            name = f"{person} {product} {rng.choice(_SUFFIXES[self.language])}"
        elif choice < 0.47:
            name = f"{self.coined()}-{rng.choice(PRODUCTS[self.language]).capitalize()}"
            name += rng.choice(("", f" {rng.choice(_SUFFIXES[self.language])}"))
        elif choice < 0.59:
            name = self.sample_company()
        else:
            words = [
                self.coined() if rng.random() < 0.7 else rng.choice(PRODUCTS[self.language]).capitalize()
                for _ in range(rng.randint(1, 3))
            ]
            if rng.random() < 0.2:
                words.insert(0, rng.choice(_TRADES[self.language]))
            if rng.random() < 0.12:
                words.insert(1, rng.choice(("&", "+", "-", "und" if self.language == "de" else "&")))
            if rng.random() < 0.08:
                words.insert(0, rng.choice((f"{rng.randint(1, 99)}", f"{self.letters(1)}.{self.letters(1)}.")))
            branch = rng.random()
            place = f"({self.coined()})" if rng.random() < 0.4 else rng.choice(_BRANCHES[self.language])
            if branch < 0.15:
                words.append(place)
            if rng.random() < 0.75:
                words.append(rng.choice(_SUFFIXES[self.language]))
            if 0.15 <= branch < 0.2:
                words.append(place)
            name = " ".join(words)
        return name.upper() if rng.random() < 0.15 else name

    def sample_company(self) -> str:
        """A party of a sample document, called by its role."""
        rng = self.rng
        role, suffix = rng.choice(_ROLES[self.language]), rng.choice(_SUFFIXES[self.language])
        sample = rng.choice(_SAMPLES[self.language]) if rng.random() < 0.7 else self.coined()
        name = rng.choice(
            (
                f"{role} {suffix}",
                f"{role} {suffix} {rng.choice(_BRANCHES[self.language])}",
                f"{sample}-{role} {suffix}",
                f"{sample}{role.lower()} {suffix}",
                f"{sample} {role} {suffix}",
                f"{sample}-{rng.choice(PRODUCTS[self.language]).capitalize()}",
                f"{role} {self.coined()} {suffix}",
            )
        )
        return name.upper() if rng.random() < 0.3 else name

    def address(self) -> list[str]:
        """Two to five lines of an address."""
        rng = self.rng
        if self.language == "en" and rng.random() < 0.45:
            return self.wrapped(self.asian_address())
        ending = rng.choice(("straße", "str.", "weg", "allee")) if self.language == "de" else " Street"
        coined = f"{self.coined()}{ending} {rng.randint(1, 199)}"
        street = self.drawn("street") if rng.random() < 0.7 else coined
        code, city = self.drawn("zip"), self.drawn("city")
        if rng.random() < 0.15:
            code = rng.choice(("D-", "DE ", "F-", "NL-", "AT ", "CH-", "FR ", "DE-")) + code
        if rng.random() < 0.1:
            city += rng.choice((" Cedex", f"/{self.coined()}", f" {rng.randint(2, 20)}", f"-{self.coined()}"))
        town = rng.choice((f"{city}, {code}", f"{city} {code}")) if self.language == "en" else f"{code} {city}"
        lines = [street, town] if rng.random() < 0.85 else [f"{street}, {town}"]
        if rng.random() < 0.15:
            lines.insert(
                rng.randint(0, 1),
                rng.choice(
                    (
                        f"Hof {rng.randint(1, 9)}",
                        f"Suite {rng.randint(1, 400)}",
                        f"Unit {rng.randint(1, 60)}",
                        "2nd Floor",
                        f"{self.coined()} Centre",
                        f"Postfach {self.digits(4)}",
                        f"Tor {rng.randint(1, 9)}",
                    )
                ),
            )
        if rng.random() < 0.25:
            lines.append(rng.choice(_COUNTRIES))
        if rng.random() < 0.1:
            return self.wrapped(lines)
        if self.style.upper and rng.random() < 0.3:
            lines = [line + "," if rng.random() < 0.6 else line for line in lines[:-1]] + lines[-1:]
        return lines

    def asian_address(self) -> list[str]:
        """The parts of an address in a country of long ones: house, street, area, town, state."""
        rng = self.rng

        def coined(words: int = 1) -> str:
            return " ".join(self.coined() for _ in range(words))

        house = rng.choice(("No. ", "No ", "Lot ", "LOT NO. ", "", "No: ", "Unit "))
        house += rng.choice(("", "", "A", "G-", "P.T. "))
        house += f"{rng.randint(1, 2999)}{rng.choice(('', '', 'A', '-G', '-1', ' & ' + str(rng.randint(2, 99))))}"
        number = rng.choice(
            ("", f" {rng.randint(1, 9)}", f" {rng.randint(1, 40)}/{rng.randint(1, 70)}", f" {rng.randint(1, 9)}A")
        )
        street = f"{rng.choice(_ASIAN_STREETS)} {coined(rng.randint(1, 2))}{number}"
        parts = [collapse(f"{house}{rng.choice((', ', ' ', ','))}{street}")]
        if rng.random() < 0.25:
            floor = f"{rng.choice(('Ground', 'First', '2nd', 'Level 3'))} Floor"
            parts.insert(
                0, rng.choice((floor, f"{coined()} Tower", f"{coined()} {coined()} Mall", f"Block {self.letters(1)}"))
            )
        if rng.random() < 0.8:
            area = f"{rng.choice(_ASIAN_AREAS)} {coined(rng.randint(1, 2))}"
            parts.append(area + rng.choice(("", "", f" {rng.randint(2, 30)}")))
        if rng.random() < 0.9:
            parts.append(
                f"{self.digits(5)}{rng.choice((' ', ' ', ', ', ''))}{coined()}{rng.choice(('', '', ' ' + coined()))}"
            )
        if rng.random() < 0.75:
            parts.append(rng.choice(_ASIAN_STATES))
        if rng.random() < 0.1:
            parts.append(rng.choice(("Malaysia", "Singapore", "Thailand", "Indonesia")))
        return [part.upper() for part in parts] if rng.random() < 0.6 else parts

    def wrapped(self, parts: list[str]) -> list[str]:
        """Parts of an address in lines: each part on its own or several in a line, with or without commas."""
        rng = self.rng
        comma, break_chance = rng.choice((", ", ", ", ", ", ",", " ")), rng.choice((0.3, 0.6, 0.95))
        dangling = comma.strip() if rng.random() < 0.75 else ""
        lines = [parts[0]]
        for part in parts[1:]:
            if rng.random() < break_chance:
                lines[-1] += dangling
                lines.append(part)
            else:
                lines[-1] += comma + part
        if rng.random() < 0.35:
            lines[-1] += rng.choice((".", ".", ","))
        return lines

    def day(self) -> str:
        """A date in the document's format, mostly close to its other dates."""
        rng = self.rng
        spread = rng.choice((0, 3, 15, 40, 40, 90, 4000))
        day = self.around + dt.timedelta(days=rng.randint(-spread, spread))
        return self.style.date(day.year, day.month, day.day)

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
            "passenger": lambda: self.drawn("person"),
            "account_holder": lambda: self.drawn("person") if rng.random() < 0.6 else self.company(),
            "person_name": lambda: self.drawn("person"),
            "origin": self.station,
            "destination": self.station,
            "departure_time": self.clock,
            "seat": lambda: rng.choice(
                (
                    f"{rng.randint(1, 99)}{self.letters(1)}",
                    str(rng.randint(1, 120)),
                    f"{rng.randint(1, 30)} / {rng.randint(1, 90)}",
                )
            ),
            "booking_reference": lambda: self.letters(6) if rng.random() < 0.3 else self.identifier(),
            "job_title": lambda: rng.choice(JOBS[self.language]),
            "employer": self.company,
            "degree": lambda: f"{rng.choice(DEGREES[self.language])} {rng.choice(STUDIES[self.language])}",
            "school": lambda: f"{rng.choice(_SCHOOLS[self.language])} {self.drawn('city')}",
            "subject": lambda: (
                self.product() if rng.random() < 0.6 else self.drawn("sentence").rstrip(".")[:48].rsplit(" ", 1)[0]
            ),
        }
        return makers.get(concept, self.identifier)()

    def station(self) -> str:
        """A place that journeys start from or lead to."""
        rng = self.rng
        return self.drawn("city") + rng.choice(
            ("", "", "", " Hbf" if self.language == "de" else " Central", f" ({self.letters(3)})")
        )

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
