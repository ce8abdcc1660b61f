"""Names, streets, places and phone numbers from faker, drawn once and kept as JSON (a tenth of them is held out)."""

import json
import random
from pathlib import Path
from typing import Any

LOCALES = {
    "en": ("en_US", "en_GB", "en_AU", "en_CA"),
    "de": ("de_DE", "de_AT", "de_CH"),
    "fr": ("fr_FR", "fr_CH"),
    "es": ("es_ES",),
    "it": ("it_IT",),
    "nl": ("nl_NL",),
}
KINDS = ("company", "person", "street", "city", "zip", "phone", "email", "domain", "sentence")
Pools = dict[str, dict[str, list[str]]]


def build_pools(size: int = 3000, seed: int = 1) -> Pools:
    """Draw `size` names of each kind and language."""
    from faker import Faker

    rng = random.Random(seed)
    pools: Pools = {}
    for language, locales in LOCALES.items():
        fakers: list[Any] = [Faker(locale) for locale in locales]
        for fake in fakers:
            fake.seed_instance(seed)
        drawn: dict[str, set[str]] = {kind: set() for kind in KINDS}
        for _ in range(size):
            fake = rng.choice(fakers)
            drawn["company"].add(fake.company())
            drawn["person"].add(fake.name())
            drawn["street"].add(fake.street_address().replace("\n", ", "))
            drawn["city"].add(fake.city())
            drawn["zip"].add(fake.postcode())
            drawn["phone"].add(fake.phone_number())
            drawn["email"].add(fake.company_email())
            drawn["domain"].add("www." + fake.domain_name())
            drawn["sentence"].add(fake.sentence(nb_words=rng.randint(5, 14)))
        pools[language] = {kind: _shuffled(values, rng) for kind, values in drawn.items()}
    return pools


def _shuffled(values: set[str], rng: random.Random) -> list[str]:
    ordered = sorted(values)
    rng.shuffle(ordered)
    return ordered


def load_pools(path: Path) -> Pools:
    """The pools in `path`, drawn and written there first if it does not exist."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(build_pools(), ensure_ascii=False))
    pools: Pools = json.loads(path.read_text())
    return pools
