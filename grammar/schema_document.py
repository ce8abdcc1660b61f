"""A schema document: its subschemas by JSON pointer, and what its references point to."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.keywords import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS, is_annotation
from dg_sglang.grammar.text import check_size, shown


class Subschema:
    """One place in a document. Compare with `is`: a document has one object per place."""

    __slots__ = ("base", "pointer", "serial", "value")
    _serials = itertools.count()

    def __init__(self, value: Any, pointer: str, base: str) -> None:
        self.serial = next(self._serials)  # a stable order for conjunctions
        self.value = value
        self.pointer = pointer
        self.base = base

    def __repr__(self) -> str:
        return f"<{self.pointer or 'root'}>"


class SchemaDocument:
    """Finds subschemas and resolves references ($id and draft 4's id, $anchor, $dynamicAnchor, JSON pointers).

    annotations: keywords and formats of one's own that restrict nothing.
    """

    def __init__(self, schema: Any, annotations: Collection[str] = ()) -> None:
        check_size("the schema", schema)
        self.annotations = annotations
        self.resources: dict[str, Subschema] = {}
        self.anchors: dict[str, Subschema] = {}
        self.dynamic: dict[str, list[Subschema]] = {}
        self.places: dict[str, Subschema] = {}
        declared = schema.get("$schema", "") if isinstance(schema, Mapping) else ""
        declared = declared if isinstance(declared, str) else ""
        self.id_keyword = "id" if "draft-04" in declared else "$id"
        self.is_before_draft_6 = any(f"draft-0{number}" in declared for number in (3, 4))
        self.is_before_2019 = any(f"draft-0{number}" in declared for number in (3, 4, 6, 7))
        self.root = Subschema(schema, "", "")
        self._register(self.root)
        self.resources.setdefault("", self.root)
        self._collect(self.root)
        self.declared = tuple(self.places.values())
        """The subschemas where the standard has them, whether anything refers to them or not."""

    def _collect(self, place: Subschema) -> None:
        for child in self._children(place):
            if child.pointer not in self.places:
                self._register(child)
                self._collect(child)

    def is_annotation(self, keyword: str) -> bool:
        """Whether a keyword never restricts an instance."""
        return is_annotation(keyword) or keyword in self.annotations

    def child(self, parent: Subschema, *steps: str | int) -> Subschema:
        """The subschema below `parent` at these keys and indices."""
        pointer, value = parent.pointer, parent.value
        for step in steps:
            value = value[step]
            pointer += f"/{escape(str(step))}"
        if pointer not in self.places:
            self.places[pointer] = Subschema(value, pointer, parent.base)
        return self.places[pointer]

    def resolve(self, at: Subschema, keyword: str) -> Subschema:
        """What the reference `keyword` of `at` points to.

        Raises UnsupportedSchemaError for another document, InvalidSchemaError when it points nowhere.
        """
        reference = at.value[keyword]
        resource_url, fragment = _split_url(at, reference)
        if keyword == "$dynamicRef" and len(self.dynamic.get(fragment, ())) > 1:
            message = f"{shown(reference)} depends on the path by which it is reached"
            raise UnsupportedSchemaError(message, pointer=at.pointer, keyword=keyword)
        if f"{resource_url}#{fragment}" in self.anchors:
            return self.anchors[f"{resource_url}#{fragment}"]
        resource = self.resources.get(resource_url)
        if resource is None:
            message = f"only references inside the document are supported, not {shown(reference)}"
            raise UnsupportedSchemaError(message, pointer=at.pointer, keyword=keyword)
        place = resource
        try:
            if fragment and not fragment.startswith("/"):
                raise KeyError(fragment)
            for raw in fragment.split("/")[1:]:
                step = unquote(raw).replace("~1", "/").replace("~0", "~")
                place = self.child(place, _index(step) if isinstance(place.value, list) else step)
        except (KeyError, IndexError, ValueError, TypeError):
            raise InvalidSchemaError(f"the reference {shown(reference)} points nowhere", pointer=at.pointer) from None
        return place

    def _register(self, place: Subschema) -> None:
        self.places[place.pointer] = place
        if not isinstance(place.value, Mapping):
            return
        identifier = place.value.get(self.id_keyword)
        if isinstance(identifier, str):
            url, fragment = _split_url(place, identifier)
            if fragment:  # draft 6: "$id": "#name" is an anchor
                self.anchors.setdefault(f"{place.base if identifier.startswith('#') else url}#{fragment}", place)
            else:
                place.base = url
                self.resources.setdefault(url, place)
        for keyword in ("$anchor", "$dynamicAnchor"):
            name = place.value.get(keyword)
            if isinstance(name, str):
                self.anchors.setdefault(f"{place.base}#{name}", place)
                if keyword == "$dynamicAnchor":
                    self.dynamic.setdefault(name, []).append(place)

    def _children(self, place: Subschema) -> Iterator[Subschema]:
        value = place.value
        if not isinstance(value, Mapping):
            return
        for keyword, below in value.items():
            steps: Iterator[Any] | list[Any] = []
            if keyword in SCHEMA_MAPS and isinstance(below, Mapping):
                steps = iter(below)
            elif keyword in SCHEMA_LISTS and isinstance(below, list):
                steps = iter(range(len(below)))
            elif keyword in SCHEMAS and isinstance(below, Mapping):
                yield Subschema(below, f"{place.pointer}/{escape(keyword)}", place.base)
            for step in steps:
                yield Subschema(below[step], f"{place.pointer}/{escape(keyword)}/{escape(str(step))}", place.base)


def _split_url(place: Subschema, reference: str) -> tuple[str, str]:
    """A reference's absolute URL without its fragment, and the fragment. Raises InvalidSchemaError."""
    try:
        url = place.base + reference if reference.startswith("#") else urljoin(place.base, reference)
        base, fragment = urldefrag(url)
    except ValueError as error:
        message = f"{shown(reference)} is not a URI reference: {error}"
        raise InvalidSchemaError(message, pointer=place.pointer) from None
    return base, fragment


def _index(step: str) -> int:
    """A step of a JSON pointer into a list. Raises ValueError."""
    if not (step.isascii() and step.isdigit()) or (step[0] == "0" and step != "0"):
        raise ValueError(f"{step!r} is no index")
    return int(step)


def escape(name: str) -> str:
    """A name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
