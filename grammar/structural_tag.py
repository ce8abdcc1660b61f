"""Free text with constrained regions, as SGLang, xgrammar and OpenAI-style APIs ask for it (`structural_tag`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dg_sglang.errors import GrammarTooLargeError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.basic import JsonSchema, Regex
from dg_sglang.grammar.constraint import Constraint, nested
from dg_sglang.grammar.ebnf import Ebnf
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.free_text import free_text, one_of
from dg_sglang.grammar.json_value import WhitespacePolicy
from dg_sglang.grammar.keywords import is_count
from dg_sglang.grammar.text import shown

_OF_TOKENS = ("token", "exclude_token", "any_tokens", "token_triggered_tags", "token_dispatch")
_TYPES: dict[type, str] = {str: "a string", list: "a list", bool: "true or false"}


@dataclass(frozen=True)
class StructuralTag(Constraint):
    """Texts of a structural tag: free text, and regions that a begin marks and an end closes.

    Free text holds no trigger other than where a region begins, and inside a tag no end string before the one that
    closes it. JSON in regions is closed-world, as JsonSchema is by default. Formats that speak of tokens rather than
    text are refused.

    Args:
        tag: `{"type": "structural_tag", "format": {…}}`, or the older form with "structures" and "triggers"; as a dict,
            as JSON text or as xgrammar's StructuralTag.
    """

    tag: Any

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        compiler, value = _Compiler(table, whitespace), self.resolved()
        if "format" in value:
            return compiler.format(value["format"], "/format")
        if "structures" in value:
            return compiler.legacy(value)
        raise InvalidSchemaError('a structural tag must have a "format", or "structures" and "triggers"')

    def key(self, whitespace: WhitespacePolicy) -> Hashable:
        """As `Constraint.key`."""
        return StructuralTag, whitespace, json.dumps(self.resolved())

    def resolved(self) -> Mapping[str, Any]:
        """The structural tag as plain data."""
        tag = self.tag.model_dump(by_alias=True) if hasattr(self.tag, "model_dump") else self.tag
        if isinstance(tag, str):
            try:
                tag = json.loads(tag)
            except ValueError as error:
                raise InvalidSchemaError(f"the structural tag is not valid JSON: {error}") from None
            except RecursionError:
                raise GrammarTooLargeError("the structural tag is nested too deeply") from None
        if not isinstance(tag, Mapping) or tag.get("type", "structural_tag") != "structural_tag":
            raise InvalidSchemaError('a structural tag must be an object of type "structural_tag"')
        return tag


class _Tag(NamedTuple):
    """A region: how it begins, the rest of it up to and with its end, and where it was declared."""

    begin: str
    rest: Expression
    pointer: str


class _Compiler:
    """Formats as expressions.

    Every method for a format takes the strings that close what stands around it (`ends`, none at the top) and returns
    the format followed by one of them: only so can free text know where it has to stop.
    """

    def __init__(self, table: Expressions, whitespace: WhitespacePolicy) -> None:
        self.table = table
        self.whitespace = whitespace
        self.kinds: dict[str, tuple[Callable[[Mapping[str, Any], str, Sequence[str]], Expression], tuple[str, ...]]] = {
            "const_string": (self.const_string, ("value",)),
            "json_schema": (self.json_schema, ("json_schema", "style", "any_order", "max_whitespace_cnt")),
            "grammar": (self.grammar, ("grammar",)),
            "regex": (self.regex, ("pattern",)),
            "any_text": (self.any_text, ("excludes", "max_chars", "max_tokens")),
            "sequence": (self.sequence, ("elements",)),
            "or": (self.either, ("elements",)),
            "optional": (self.optional, ("content",)),
            "star": (self.repeat, ("content",)),
            "plus": (self.repeat, ("content",)),
            "repeat": (self.repeat, ("content", "min", "max")),
            "tag": (self.tag, ("begin", "content", "end")),
            "triggered_tags": (
                self.triggered_tags,
                ("triggers", "tags", "at_least_one", "stop_after_first", "excludes"),
            ),
            "tags_with_separator": (self.separated_tags, ("tags", "separator", "at_least_one", "stop_after_first")),
            "dispatch": (self.dispatch, ("rules", "loop", "excludes")),
        }

    def format(self, value: Any, pointer: str, ends: Sequence[str] = ()) -> Expression:
        """What a format allows, and then one of `ends`."""
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            raise InvalidSchemaError("a format must be an object with a type", pointer=pointer)
        kind = value["type"]
        if kind in _OF_TOKENS:
            raise _unsupported(
                f"the format {kind!r} speaks of tokens, not of text, and is not supported", pointer, kind
            )
        if kind == "qwen_xml_parameter":
            raise _unsupported("JSON arguments written as XML are not supported", pointer, kind)
        if kind not in self.kinds:
            known = ", ".join(self.kinds)
            raise InvalidSchemaError(f"there is no format {shown(kind)}; the formats are {known}", pointer=pointer)
        compiled, keys = self.kinds[kind]
        for key in value:
            if key not in ("type", *keys):
                raise InvalidSchemaError(f"the format {kind!r} has no {shown(key)}", pointer=pointer)
        return compiled(value, pointer, ends)

    def legacy(self, value: Mapping[str, Any]) -> Expression:
        """The older form: triggered tags around JSON."""
        structures = _get(value, "structures", list, "")
        tags = [self.structure_of(one, f"/structures/{index}") for index, one in enumerate(structures)]
        return self.triggered(value, "", (), tags)

    # ---- leaves -------------------------------------------------------------------------------------------------

    def close(self, ends: Sequence[str]) -> Expression:
        return one_of(self.table, ends)

    def const_string(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        text = _get(value, "value", str, pointer)
        return self.table.concat(self.table.literal(text.encode()), self.close(ends))

    def json_schema(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        for keyword, plain in (("style", "json"), ("any_order", False), ("max_whitespace_cnt", None)):
            if value.get(keyword, plain) != plain:
                raise _unsupported(f"{keyword}={shown(value[keyword])} is not supported", pointer, keyword)
        schema = value.get("json_schema")
        # A tool without parameters may have none: SGLang then allows any JSON.
        return self.nested(JsonSchema({} if schema is None else schema), f"{pointer}/json_schema", ends)

    def grammar(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        return self.nested(Ebnf(value.get("grammar"), dialect="gbnf"), f"{pointer}/grammar", ends)  # type: ignore[arg-type]

    def regex(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        return self.nested(Regex(value.get("pattern")), f"{pointer}/pattern", ends)  # type: ignore[arg-type]

    def nested(self, constraint: Constraint, pointer: str, ends: Sequence[str]) -> Expression:
        """What another constraint allows; its errors get the pointer of the place."""
        inside = nested(constraint, self.table, self.whitespace, pointer=pointer)
        return self.table.concat(inside, self.close(ends))

    def any_text(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        if value.get("max_tokens") is not None:
            raise _unsupported(
                "a limit on the tokens of one region is not supported; max_chars is", pointer, "max_tokens"
            )
        limit = value.get("max_chars")
        if limit is not None and not is_count(limit):
            raise InvalidSchemaError(f"max_chars must be a non-negative integer, not {shown(limit)}", pointer=pointer)
        excludes = _strings(value, "excludes", pointer)
        return free_text(self.table, excludes=excludes, ends=ends, limit=None if limit is None else int(limit))

    # ---- combinations -------------------------------------------------------------------------------------------

    def sequence(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        elements = _filled(value, "elements", pointer)
        last = len(elements) - 1
        return self.table.concat(
            *(
                self.format(one, f"{pointer}/elements/{index}", ends if index == last else ())
                for index, one in enumerate(elements)
            )
        )

    def either(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        elements = _filled(value, "elements", pointer)
        return self.table.union(
            [self.format(one, f"{pointer}/elements/{index}", ends) for index, one in enumerate(elements)]
        )

    def optional(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        return self.table.union((self.format(value.get("content"), f"{pointer}/content", ends), self.close(ends)))

    def repeat(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        low: Any = 1 if value["type"] == "plus" else 0
        high: Any = -1
        if value["type"] == "repeat":
            low, high = value.get("min"), value.get("max")
            if not is_count(low) or not (high == -1 or (is_count(high) and low <= high)):
                message = (
                    f"min and max must be counts in order, max -1 for no bound, not {shown(low)} and {shown(high)}"
                )
                raise InvalidSchemaError(message, pointer=pointer)
        content = self.format(value.get("content"), f"{pointer}/content")
        return self.table.concat(
            self.table.repeat(content, int(low), None if high == -1 else int(high)), self.close(ends)
        )

    # ---- tags ---------------------------------------------------------------------------------------------------

    def region(self, value: Mapping[str, Any], pointer: str, content: Callable[[Sequence[str]], Expression]) -> _Tag:
        for key in ("begin", "end"):
            if isinstance(value.get(key), Mapping):
                raise _unsupported(f"a token as {key} is not supported, only a string", f"{pointer}/{key}", "token")
        begin, end = _get(value, "begin", str, pointer), value.get("end")
        ends = [end] if isinstance(end, str) else _filled(value, "end", pointer)
        if not all(isinstance(one, str) for one in ends):
            raise InvalidSchemaError("end must be a string or a list of strings", pointer=pointer)
        return _Tag(begin, content(ends), pointer)

    def tag_of(self, value: Any, pointer: str) -> _Tag:
        _check_object(value, pointer)
        return self.region(value, pointer, lambda ends: self.format(value.get("content"), f"{pointer}/content", ends))

    def structure_of(self, value: Any, pointer: str) -> _Tag:
        """A tag of the older form, always around JSON."""
        _check_object(value, pointer)
        content = {"json_schema": value.get("schema")}
        return self.region(value, pointer, lambda ends: self.json_schema(content, pointer, ends))

    def whole(self, tags: Iterable[_Tag]) -> Expression:
        """One of the tags, from its begin to its end."""
        table = self.table
        return table.union([table.concat(table.literal(tag.begin.encode()), tag.rest) for tag in tags])

    def tag(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        return self.table.concat(self.whole([self.tag_of(value, pointer)]), self.close(ends))

    def tags_of(self, value: Mapping[str, Any], pointer: str) -> list[_Tag]:
        return [self.tag_of(one, f"{pointer}/tags/{i}") for i, one in enumerate(_filled(value, "tags", pointer))]

    def separated_tags(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        table, tags = self.table, self.whole(self.tags_of(value, pointer))
        separator = table.literal(_get(value, "separator", str, pointer).encode())
        more = 0 if _get(value, "stop_after_first", bool, pointer) else None
        some = table.concat(tags, table.repeat(table.concat(separator, tags), 0, more))
        some = some if _get(value, "at_least_one", bool, pointer) else table.optional(some)
        return table.concat(some, self.close(ends))

    def triggered_tags(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        return self.triggered(value, pointer, ends, self.tags_of(value, pointer))

    def triggered(
        self, value: Mapping[str, Any], pointer: str, ends: Sequence[str], tags: Sequence[_Tag]
    ) -> Expression:
        """Free text with tags. With at_least_one, as in xgrammar, the text begins with a tag."""
        triggers = _strings(value, "triggers", pointer)
        regions = []
        for tag in tags:
            found = [trigger for trigger in triggers if tag.begin.startswith(trigger)]
            if len(found) != 1:
                message = f"exactly one trigger must begin {shown(tag.begin)}, not {len(found)} of {shown(triggers)}"
                raise InvalidSchemaError(message, pointer=tag.pointer)
            rest = self.table.literal(tag.begin[len(found[0]) :].encode())
            regions.append((found[0], self.table.concat(rest, tag.rest)))
        excludes = [*_strings(value, "excludes", pointer), *(one for one in triggers if one not in dict(regions))]
        loop = not _get(value, "stop_after_first", bool, pointer)
        if not _get(value, "at_least_one", bool, pointer):
            return free_text(self.table, regions, excludes=excludes, ends=ends, loop=loop)
        after = free_text(self.table, regions, excludes=excludes, ends=ends) if loop else self.close(ends)
        return self.table.concat(self.whole(tags), after)

    def dispatch(self, value: Mapping[str, Any], pointer: str, ends: Sequence[str]) -> Expression:
        regions = []
        for index, rule in enumerate(_filled(value, "rules", pointer)):
            at = f"{pointer}/rules/{index}"
            if not isinstance(rule, list | tuple) or len(rule) != 2 or not isinstance(rule[0], str) or not rule[0]:
                raise InvalidSchemaError("a rule must be [pattern, format], the pattern not empty", pointer=at)
            regions.append((rule[0], self.format(rule[1], f"{at}/1")))
        excludes = _strings(value, "excludes", pointer)
        loop = _get({"loop": True} | dict(value), "loop", bool, pointer)
        return free_text(self.table, regions, excludes=excludes, ends=ends, loop=loop)


def _unsupported(what: str, pointer: str, keyword: str) -> UnsupportedSchemaError:
    return UnsupportedSchemaError(what, pointer=pointer, keyword=keyword)


def _check_object(value: Any, pointer: str) -> None:
    if not isinstance(value, Mapping):
        raise InvalidSchemaError("a tag must be an object with begin, content and end", pointer=pointer)


def _get(value: Mapping[str, Any], key: str, kind: type, pointer: str) -> Any:
    """A value of the right type; flags may be missing."""
    found = value.get(key, False if kind is bool else None)
    if not isinstance(found, kind):
        raise InvalidSchemaError(f"{key} must be {_TYPES[kind]}, not {shown(found)}", pointer=pointer)
    return found


def _filled(value: Mapping[str, Any], key: str, pointer: str) -> Sequence[Any]:
    found: list[Any] = _get(value, key, list, pointer)
    if not found:
        raise InvalidSchemaError(f"{key} must not be empty", pointer=pointer)
    return found


def _strings(value: Mapping[str, Any], key: str, pointer: str) -> list[str]:
    found = value.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
        raise InvalidSchemaError(
            f"{key} must be a list of strings that aren't empty, not {shown(found)}", pointer=pointer
        )
    return found
