"""What documents say: the words in `words/concepts.toml` and `words/phrases.toml`.

A concept is a role that a value can have: what a schema may call it, how a schema may describe it, and what a document
prints beside it, in six languages. Columns are the same for tables. Phrases are the words around them.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dg_sglang.pipelines.prompt import Kind

LANGUAGES = ("en", "de", "fr", "es", "it", "nl")
_WORDS = Path(__file__).parent / "words"
Words = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Concept:
    """One role a value can have in a document."""

    kind: Kind
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    labels: Words


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_WORDS / name).read_text(encoding="utf-8"))


def _concepts(table: dict[str, Any]) -> dict[str, Concept]:
    return {
        name: Concept(
            entry["kind"],
            tuple(entry["names"]),
            tuple(entry["descriptions"]),
            {language: tuple(entry[language]) for language in LANGUAGES},
        )
        for name, entry in table.items()
    }


def _words(table: dict[str, Any]) -> Words:
    return {key: tuple(words) for key, words in table.items()}


_ROLES, _PHRASES = _read("concepts.toml"), _read("phrases.toml")

CONCEPTS = _concepts(_ROLES["concepts"])
COLUMNS = _concepts(_ROLES["columns"])

TERMS: tuple[str, ...] = tuple(_PHRASES["terms"])
METHODS: tuple[str, ...] = tuple(_PHRASES["methods"])
STATES: tuple[str, ...] = tuple(_PHRASES["states"])
STRAY: tuple[str, ...] = tuple(_PHRASES["stray"])
FORM_SUBJECTS: tuple[str, ...] = tuple(_PHRASES["form_subjects"])
FORM_SUBJECTS_DE: tuple[str, ...] = tuple(_PHRASES["form_subjects_de"])
"""Free labels of forms: two parts in English, a compound in German."""
FORM_OBJECTS, FORM_OBJECTS_DE = _words(_PHRASES["form_objects"]), _words(_PHRASES["form_objects_de"])
LIST_NAMES = _words(_PHRASES["list_names"])
PRODUCTS, UNITS, REMARKS, MONTHS, JOBS, DEGREES, STUDIES = (
    _words(_PHRASES[name]) for name in ("products", "units", "remarks", "months", "jobs", "degrees", "fields_of_study")
)
PAGE_MARKS: dict[str, str] = _PHRASES["page_marks"]
TITLES: dict[str, Words] = {kind: _words(table) for kind, table in _PHRASES["titles"].items()}
SENTENCES: dict[str, Words] = {concept: _words(table) for concept, table in _PHRASES["sentences"].items()}
"""Facts inside sentences: {0} is the value."""
SECTIONS: dict[str, Words] = {section: _words(table) for section, table in _PHRASES["sections"].items()}
"""Headings of the parts of a document."""
TOTALS: dict[str, Words] = {name: _words(table) for name, table in _PHRASES["totals"].items()}
"""Labels of amounts that stand around the totals and are not them."""
