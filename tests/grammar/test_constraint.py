"""Constraints that can't be used are refused by name, in bounded time, whatever people pass."""

import pytest
from pydantic import BaseModel

from dg_sglang.errors import GrammarError, GrammarTooLargeError, InvalidSchemaError
from dg_sglang.grammar import Choice, JsonSchema, Regex, compile_constraint


class Hooked(BaseModel):
    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema, handler):
        raise KeyError("no schema for this one")


class Open(BaseModel):
    later: "Nowhere"  # noqa: F821


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (Choice(["\ud800"]), "lone surrogate"),
        (Choice("yes"), "list of texts"),
        (Choice(5), "list of texts"),
        (Choice(None), "list of texts"),
        (Choice(["a", 1]), "list of texts"),
        (JsonSchema(BaseModel), "BaseModel has no JSON Schema"),
        (JsonSchema(Hooked), "Hooked has no JSON Schema: .*no schema for this one"),
        (JsonSchema(Open), "Open has no JSON Schema: .*Nowhere"),
        (JsonSchema("{"), "not valid JSON"),
        (Regex(["a"]), "must be a string"),
    ],
)
def test_malformed(constraint, message):
    with pytest.raises(InvalidSchemaError, match=message):
        compile_constraint(constraint)


@pytest.mark.parametrize("constraint", [None, "yes", 5, Choice])
def test_no_constraint(constraint):
    with pytest.raises(GrammarError, match="must be one of dg_sglang"):
        compile_constraint(constraint)


def test_unknown_white_space():
    with pytest.raises(GrammarError, match="whitespace must be one of"):
        compile_constraint(JsonSchema({"type": "null"}, whitespace="none"))


def test_nested_too_deeply():
    circle = {"type": "array"}
    circle["items"] = circle
    for constraint in (JsonSchema(circle), JsonSchema("[" * 10**5), Regex("(" * 300 + "a" + ")?" * 300)):
        with pytest.raises(GrammarTooLargeError, match=r"nested too deeply|or itself"):
            compile_constraint(constraint)
