"""Fixed text with typed holes: infilling."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from string import Formatter
from typing import Any

from dg_sglang.errors import InvalidSchemaError
from dg_sglang.grammar.coercion import as_constraint
from dg_sglang.grammar.constraint import Constraint, Grammar, compile_constraint, nested
from dg_sglang.grammar.expression import Expression, Expressions
from dg_sglang.grammar.json_value import WhitespacePolicy


class Template(Constraint):
    """A text with holes, `Template("Dear {name}, you owe {amount}.", name=Regex("[A-Z][a-z]+"), amount=float)`.

    `result.parsed` holds the holes' values by name: the JSON value of a JSON hole, a dict for a template inside the
    template, else the text. Where a text can be cut into holes in several ways, earlier holes are as short as they can
    be; where that matters, give a hole a constraint that the text behind it can't run into.

    Args:
        text: the text, each hole as `{name}`; `{{` and `}}` stand for braces. A name may occur once.
        holes: the constraint of each hole: whatever `as_constraint` takes.
    """

    has_value = True

    def __init__(self, text: str, /, **holes: Any) -> None:
        """Raises InvalidSchemaError where text and holes don't fit together."""
        self.text = text
        self.holes = {name: as_constraint(hole) for name, hole in holes.items()}
        self.parts = list(_parts(text))
        """Fixed texts and the names of holes, alternately, beginning and ending with a text."""
        names = self.parts[1::2]
        for name in names:
            if name not in holes:
                raise InvalidSchemaError(f"the template's hole {{{name}}} has no constraint; pass {name}=…")
            if names.count(name) > 1:
                raise InvalidSchemaError(f"the template has the hole {{{name}}} twice; a name stands for one hole")
        for name in holes:
            if name not in names:
                raise InvalidSchemaError(f"the template has no hole {{{name}}}")

    def __repr__(self) -> str:
        return f"Template({', '.join([repr(self.text), *(f'{name}={hole!r}' for name, hole in self.holes.items())])})"

    def expression(self, table: Expressions, whitespace: WhitespacePolicy) -> Expression:
        """As `Constraint.expression`."""
        expressions = [table.literal(self.parts[0].encode())]
        for name, text in zip(self.parts[1::2], self.parts[2::2], strict=True):
            hole = nested(self.holes[name], table, whitespace, pointer=f"/{name}")
            expressions += [hole, table.literal(text.encode())]
        return table.concat(*expressions)

    def key(self, whitespace: WhitespacePolicy) -> Hashable:
        """As `Constraint.key`."""
        return Template, self.text, *((name, hole.key(whitespace)) for name, hole in self.holes.items())

    def parse(self, text: str) -> Any:
        """As `Constraint.parse`: the value of each hole by name."""
        values: dict[str, Any] = {}
        at = 0
        for index, end in enumerate(self._ends(text)):
            at += len(self.parts[2 * index])
            name = self.parts[2 * index + 1]
            hole, piece = self.holes[name], text[at:end]
            values[name] = hole.parse(piece) if hole.has_value else piece
            at = end
        return values

    @cached_property
    def _grammars(self) -> list[Grammar]:
        return [compile_constraint(self.holes[name]) for name in self.parts[1::2]]

    def _ends(self, text: str) -> list[int]:
        """Where the holes of a member end: depth first, shortest first. Raises ValueError when it is no member."""
        failed: set[tuple[int, int]] = set()

        def search(index: int, at: int) -> list[int] | None:
            """The ends of the holes from `index` on, when the fixed text before it begins at `at`."""
            fixed = self.parts[2 * index]
            if (index, at) in failed or not text.startswith(fixed, at):
                return None
            at, begun = at + len(fixed), at
            if index == len(self._grammars):
                return [] if at == len(text) else None
            for length in self._grammars[index].prefixes(text[at:]):
                rest = search(index + 1, at + length)
                if rest is not None:
                    return [at + length, *rest]
            failed.add((index, begun))
            return None

        ends = search(0, 0)
        if ends is None:
            raise ValueError(f"{text!r} does not fit the template")
        return ends


def _parts(text: Any) -> Iterator[str]:
    if not isinstance(text, str):
        raise InvalidSchemaError(f"a template must be a string, not {type(text).__name__}")
    fixed = ""
    try:
        fields: Sequence[Any] = list(Formatter().parse(text))
    except ValueError as error:
        raise InvalidSchemaError(f"the template is malformed: {error}; write {{{{ and }}}} for braces") from None
    for literal, name, spec, conversion in fields:
        fixed += literal
        if name is None:
            continue
        if not name.isidentifier() or spec or conversion:
            written = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
            raise InvalidSchemaError(f"a hole is written {{name}}, not {{{written}}}; write {{{{ and }}}} for braces")
        yield fixed
        yield name
        fixed = ""
    yield fixed
