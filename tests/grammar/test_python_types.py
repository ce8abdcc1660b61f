"""Python types as constraints: the JSON of their values, or the texts that they enumerate."""

import datetime as dt
import functools
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, NewType

import pytest
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypeAliasType, TypedDict

from dg_sglang.errors import EmptyLanguageError, GrammarError, InvalidSchemaError, UnsupportedSchemaError
from dg_sglang.grammar import Choice, JsonObject, JsonSchema, Regex, as_constraint, compile_constraint


class Colour(Enum):
    RED = "red"
    GREEN = "light green"


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Point(BaseModel):
    x: int
    colour: Colour = Colour.RED


@dataclass
class Pair:
    left: bool
    right: list[str]


class Movie(TypedDict):
    title: str
    year: int


class Row(NamedTuple):
    name: str
    price: float


def book(title: str, pages: Annotated[int, Field(ge=1)], *, tag: Literal["a", "b"] = "a") -> None:
    """What a model may call."""


@pytest.mark.parametrize(
    ("kind", "members", "others"),
    [
        (int, ["-7", "0"], ["07", "1.5", "x"]),
        (float, ["1.5", "-2e3", "3"], ["x", "1."]),
        (bool, ["true", "false"], ["True"]),
        (str, ['"x"', '""'], ["x"]),
        (dt.date, ['"2024-02-29"'], ['"2023-02-29"', "2024-02-29"]),
        (list[int], ["[]", "[1, 2]"], ['["a"]']),
        (dict[str, bool], ['{"a": true}', "{}"], ['{"a": 1}']),
        (tuple[int, str], ['[1,"a"]'], ["[1]"]),
        (int | None, ["1", "null"], ["x"]),
        (Annotated[int, Field(ge=3)], ["3", "40"], ["2"]),
        (NewType("Age", int), ["3"], ["x"]),
        (TypeAliasType("Ages", list[int]), ["[3]"], ["3"]),
        (Point, ['{"x":1}', '{"x": 1, "colour": "light green"}'], ['{"colour":"red"}']),
        (list[Point], ['[{"x":1}]'], ['{"x":1}']),
        (Pair, ['{"left":true,"right":["a"]}'], ['{"left":true}']),
        (Movie, ['{"title":"a","year":1}'], ["{}"]),
        (Row, ['["a",1.5]'], ["[]"]),
        (book, ['{"title":"a","pages":2}', '{"title":"a","pages":2,"tag":"b"}'], ['{"title":"a","pages":0}', "{}"]),
        (functools.partial(book, pages=2), ['{"title":"a"}'], []),
        (Literal["yes", "no, never"], ["yes", "no, never"], ['"yes"', "no"]),
        (Literal["a", 1, 2.5, True, None], ["a", "1", "2.5", "true", "null"], ["True"]),
        (Colour, ["red", "light green"], ["RED", '"red"']),
        (Level, ["1", "10"], ["LOW"]),
        (Literal[Colour.RED, "x"], ["red", "x"], ["light green"]),
        (re.compile(r"\d{3}-[ab]"), ["123-a"], ["123-c", "x123-a"]),
        (re.compile(r"\d \d . # two, and any", re.VERBOSE | re.DOTALL), ["12\n"], ["1 2\n"]),
        ({"type": "integer"}, ["1"], ["x"]),
        (JsonObject(), ["{}", '{"a": [1, {"b": null}]}'], ["[]", "1"]),
    ],
    ids=str,
)
def test_types(kind, members, others):
    grammar = compile_constraint(kind)
    assert [text for text in (*members, *others) if grammar.accepts(text)] == members
    if isinstance(as_constraint(kind), JsonSchema | JsonObject):
        assert [grammar.parse(text) for text in members] == [json.loads(text) for text in members]
    else:
        assert grammar.parse(members[0]) is None


def test_what_pydantic_makes_of_a_member():
    for kind, text in ((Pair, '{"left":true,"right":["a"]}'), (Row, '["a",1.5]'), (Movie, '{"title":"a","year":1}')):
        assert compile_constraint(kind).accepts(text)
        TypeAdapter(kind).validate_json(text)


def test_what_they_become():
    assert as_constraint(Literal["a"]) == Choice(["a"])
    assert as_constraint(re.compile("a", re.ASCII | re.IGNORECASE)) == Regex("(?ai)a")
    assert as_constraint({"type": "null"}) == JsonSchema({"type": "null"})
    constraint = Regex("a")
    assert as_constraint(constraint) is constraint


def test_bytes_are_checked_as_utf8():
    grammar = compile_constraint(Choice(["é"]))
    assert grammar.accepts("é".encode()) and grammar.accepts(bytearray("é".encode())) and grammar.accepts("é")
    assert not grammar.accepts(b"\xc3")
    for wrong in (None, 5, ["é"]):
        with pytest.raises(GrammarError, match="a text to check must be str or bytes, not"):
            grammar.accepts(wrong)


class Empty(Enum):
    pass


class Odd(Enum):
    A = (1, 2)


class Plain:
    pass


def untyped(*args: Any, **kwargs: Any) -> None: ...


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        (Odd, InvalidSchemaError, r"Odd.* holds \(1, 2\)"),
        (Literal[b"x"], InvalidSchemaError, "holds b'x', which is no text"),
        (Empty, EmptyLanguageError, "no text satisfies"),
        (re.compile(b"a"), InvalidSchemaError, r"must be a string, not re\.compile"),
        (re.compile(r"(a)\1"), UnsupportedSchemaError, "a backreference"),
        (Plain, InvalidSchemaError, "Plain has no JSON Schema"),
        (list["Nowhere"], InvalidSchemaError, "has no JSON Schema"),  # noqa: F821
        (untyped, InvalidSchemaError, "untyped has no JSON Schema"),
        (Decimal("1"), GrammarError, "not Decimal"),
        (Choice, GrammarError, "not the class Choice; make one"),
        (5, GrammarError, "not int"),
        ("text", GrammarError, "not str"),
        (None, GrammarError, "not NoneType"),
        (["a", "b"], GrammarError, "not list"),
    ],
    ids=str,
)
def test_refused(kind, error, message):
    with pytest.raises(error, match=message):
        compile_constraint(kind)
