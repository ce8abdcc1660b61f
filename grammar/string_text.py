"""Sets of strings as JSON string bodies, and membership of single strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dg_sglang.errors import InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.formats import compile_format
from dg_sglang.grammar.regex import compile_search
from dg_sglang.grammar.rules import Atom, StringRule
from dg_sglang.grammar.text import complement_ranges, json_body, json_character, json_spelling, shown
from dg_sglang.grammar.verbatim import VerbatimSource, compile_verbatim


class StringTexts:
    """Expressions for string rules."""

    def __init__(self, table: Expressions, sources: Mapping[str, VerbatimSource]) -> None:
        self.table = table
        self.sources = sources
        self.character = json_character(table)
        self.plain = json_spelling(table, complement_ranges([]))
        self._atoms: dict[tuple[str, object], Expression] = {}

    def body(self, rule: StringRule) -> Expression:
        """The JSON spellings (without quotes) of the strings in `rule`."""
        table = self.table
        if rule.options is not None:
            parts = [table.union(table.literal(json_body(one)) for one in sorted(rule.options))]
        else:
            parts = [self.atom(atom) for atom in _ordered(rule) if atom.holds]
        excluded = [table.complement(self.atom(atom)) for atom in _ordered(rule) if not atom.holds]
        if rule.excluded:
            excluded.append(table.complement(table.union(table.literal(json_body(x)) for x in sorted(rule.excluded))))
        if rule.low > 0 or rule.high is not None:
            parts.append(table.repeat(self.plain if excluded else self.character, rule.low, rule.high))
        elif not parts:
            parts.append(table.repeat(self.plain if excluded else self.character))
        body = table.intersection([*parts, *excluded])
        return table.nothing if body.kind == "intersection" and table.is_empty(body) else body

    def atom(self, atom: Atom) -> Expression:
        """The bodies for which the atom, taken positively, holds. Raises for what can't be enforced."""
        key = (atom.kind, atom.argument)
        if key not in self._atoms:
            try:
                self._atoms[key] = self._compile(atom)
            except UnsupportedSchemaError as error:
                if error.pointer:
                    raise
                raise _located(error, atom) from None
            except InvalidSchemaError as error:
                if error.pointer:
                    raise
                message = str(error).removesuffix(" (at the root)")
                raise InvalidSchemaError(message, pointer=atom.pointer) from None
        return self._atoms[key]

    def _compile(self, atom: Atom) -> Expression:
        if atom.kind == "pattern":
            return compile_search(self.table, atom.argument, json_spelling)
        if atom.kind == "format":
            return compile_format(self.table, atom.argument)
        name, kind, words = atom.argument
        if name not in self.sources:
            known = f"sources={{{shown(name)}: VerbatimSource(…)}}"
            raise InvalidSchemaError(f"there is no source {shown(name)}; pass {known}", pointer=atom.pointer)
        return compile_verbatim(self.table, self.sources[name], kind, words=words)

    def contains(self, rule: StringRule, text: str) -> bool:
        """Whether `text` is one of the strings."""
        if rule.options is not None and text not in rule.options:
            return False
        if text in rule.excluded or len(text) < rule.low or (rule.high is not None and len(text) > rule.high):
            return False
        return all(self._holds(atom, text) == atom.holds for atom in rule.atoms)

    def _holds(self, atom: Atom, text: str) -> bool:
        return self.table.after(self.atom(atom), json_body(text)).nullable

    def filtered(self, rule: StringRule) -> StringRule | None:
        """A rule with options: those for which all atoms hold."""
        kept = frozenset(text for text in rule.options or () if self.contains(rule, text))
        return replace(rule, options=kept, atoms=frozenset()) if kept else None


def _ordered(rule: StringRule) -> list[Atom]:
    return sorted(rule.atoms, key=lambda atom: (atom.kind, repr(atom.argument), atom.holds))


def _located(error: UnsupportedSchemaError, atom: Atom) -> UnsupportedSchemaError:
    message = str(error).rpartition(" (keyword")[0]
    return UnsupportedSchemaError(message, pointer=atom.pointer, keyword=error.keyword)
