"""Every kind of field that pydantic knows: extracted, or refused by name before anything is read."""

import datetime as dt
import enum
from decimal import Decimal
from typing import Annotated, Any, Literal, Union

import pytest
from made_documents import document_of
from pydantic import BaseModel, ConfigDict, Field, RootModel, conint, constr, create_model, model_validator

from dg_sglang import Engine
from dg_sglang.errors import ExtractionError, GrammarError
from dg_sglang.pipelines import extract
from dg_sglang.pipelines.reading import alternative
from dg_sglang.pipelines.schema_tree import schema_tree

DOCUMENT = document_of(
    ["Order 4711", "14.03.2025 10:22", "open 9:05", "42,00 EUR", "Oak Ltd   Elm GmbH", "info@oak.example", "17"]
)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 2


class Cash(BaseModel):
    kind: Literal["cash"]
    till: int | None


class Card(BaseModel):
    kind: Literal["card"]
    issuer: str
    till: int | None


class Person(BaseModel):
    name: str


class Company(BaseModel):
    firm: str
    city: str | None


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=False)
    number: int = Field(alias="orderNumber")


KINDS: list[Any] = [
    str,
    int,
    float,
    Decimal,
    bool,
    dt.date,
    dt.datetime,
    dt.time,
    dt.timedelta,
    Colour,
    Size,
    Literal["a", "b"],
    Literal[1, "x"],
    Annotated[Decimal, Field(gt=0, le=100)],
    conint(ge=1),
    constr(min_length=2, max_length=20),
    list[str],
    list[Person],
    set[str],
    frozenset[int],
    tuple[str, ...],
    Person,
    Aliased,
    list[list[str]],
    int | str,
    float | str,
    str | int,
    dt.date | str,
    dt.datetime | dt.date,
    bool | Decimal,
    Person | Company,
    Person | str,
    list[str] | str,
    list[Person | Company],
    Annotated[Union[Cash, Card], Field(discriminator="kind")],  # noqa: UP007
    list[Annotated[Cash | Card, Field(discriminator="kind")]],
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("optional", [False, True])
def test_a_random_answer_is_valid_and_grounded(engine: Engine, kind: Any, optional: bool) -> None:
    model = create_model("Model", field=(kind | None if optional else kind, ...))
    for seed in range(2):
        result = extract(DOCUMENT, model, engine=engine, seed=seed)
        assert optional or result.value.field is not None
        assert set(result.evidence) == {"field"}
        _check(result.evidence["field"])


def _check(tree: Any) -> None:
    if isinstance(tree, dict | list):
        for branch in tree.values() if isinstance(tree, dict) else tree:
            _check(branch)
    elif tree.match != "none":
        assert tree.boxes


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (dict[str, int], "field"),
        (Any, "field"),
        (bytes, "field"),
        (tuple[int, str], "field"),
        ("Node", "refers to itself"),
        (None, "field"),
    ],
    ids=str,
)
def test_what_cant_be_extracted_is_refused_by_name(engine: Engine, kind: Any, words: str) -> None:
    class Node(BaseModel):
        name: str
        next: "Node | None"

    model = create_model("Model", field=(Node if kind == "Node" else kind, ...))
    with pytest.raises(GrammarError, match=words):
        extract(DOCUMENT, model, engine=engine)


def test_a_root_model_is_refused(engine: Engine) -> None:
    with pytest.raises(GrammarError, match="root must be an object"):
        extract(DOCUMENT, RootModel[list[str]], engine=engine)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("14.03.2025 10:22", dt.datetime, dt.datetime(2025, 3, 14, 10, 22)),
        ("9:05", dt.time, dt.time(9, 5)),
        ("17", int | str, 17),
        ("17.5", int | str, "17.5"),
        ("Oak", int | str, "Oak"),
        ("14.03.2025", str | dt.date, dt.date(2025, 3, 14)),
        ("1,5", Decimal | str, Decimal("1.5")),
    ],
)
def test_the_only_piece_there_is_is_read_as_what_it_is(engine: Engine, text: str, kind: Any, value: Any) -> None:
    model = create_model("Model", field=(kind, ...))
    result = extract(document_of([text]), model, engine=engine, seed=1)
    if text in str(result.evidence["field"].verbatim):
        assert result.value.field == value
        assert type(result.value.field) is type(value)
    else:
        assert kind not in (dt.datetime, dt.time), "only one piece is of this kind"


def test_the_alternative_that_was_written_is_the_one_that_is_read(engine: Engine) -> None:
    class Paid(BaseModel):
        by: Annotated[Cash | Card, Field(discriminator="kind")]

    for seed in range(4):
        result = extract(DOCUMENT, Paid, engine=engine, seed=seed)
        assert set(result.evidence["by"]) == set(type(result.value.by).model_fields)


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        (Annotated[Cash | Card, Field(discriminator="kind")], {"kind": "cash", "till": None}, "kind till"),
        (Annotated[Cash | Card, Field(discriminator="kind")], {"kind": "card", "issuer": "x", "till": "1"}, Card),
        (Annotated[Cash | Card, Field(discriminator="kind")], {"kind": "card", "till": None}, None),
        (Person | Company, {"firm": "Oak", "city": None}, Company),
        (Person | str, "Oak", "text"),
        (Person | str, {"name": "Oak"}, Person),
        (int | str, "1.234", "number"),
        (int | str, "12,5", "text"),
        (int | list[str], ["a"], "list"),
        (bool | str, True, "boolean"),
        (bool | int, "7", "number"),
        (dt.date | dt.datetime | str, "14.03.2025 10:22", "datetime"),
        (dt.date | dt.datetime | str, "14.03.2025", "date"),
        (int | float | bool, "Oak", None),
    ],
)
def test_alternatives(kind: Any, value: Any, fits: Any) -> None:
    (node,) = schema_tree(create_model("Model", field=(kind, ...))).children
    chosen = alternative(node, value)
    if fits is None:
        assert chosen is None
        return
    assert chosen is not None
    assert chosen.name == "field"
    if isinstance(fits, type):
        assert {child.name for child in chosen.children} == set(fits.model_fields)
    else:
        assert fits in (chosen.kind, " ".join(child.name for child in chosen.children))


def test_a_validator_across_fields_names_the_whole(engine: Engine) -> None:
    class Pair(BaseModel):
        first: int
        second: int

        @model_validator(mode="after")
        def never(self) -> "Pair":
            raise ValueError("they never fit")

    with pytest.raises(ExtractionError, match="the document: Value error, they never fit"):
        extract(DOCUMENT, Pair, engine=engine, seed=1)
