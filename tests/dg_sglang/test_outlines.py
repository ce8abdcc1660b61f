"""outlines' own front end on our engine. The model has learnt nothing: validity must not depend on it."""

import json
import re
from typing import Literal

import outlines
import pytest
from outlines.inputs import Chat
from outlines.types import CFG, date
from outlines.types import Regex as OutlinesRegex
from pydantic import BaseModel

from dg_sglang import Engine
from dg_sglang.errors import GrammarError, InputError
from dg_sglang.grammar import Choice
from dg_sglang.outlines import DiffusionGemma


class Answer(BaseModel):
    colour: Literal["red", "green"]
    count: int


@pytest.fixture(scope="module")
def model(engine: Engine) -> DiffusionGemma:
    return DiffusionGemma(engine)


def test_output_types(model: DiffusionGemma) -> None:
    settings = {"seed": 1, "max_new_tokens": 60}
    Answer.model_validate_json(model("go", Answer, **settings))
    assert outlines.Generator(model, Literal["yes", "no"])("go", **settings) in ("yes", "no")
    assert model("go", bool, **settings) in ("True", "False")  # as outlines writes it
    assert re.fullmatch(date.pattern, model("go", date, **settings))
    assert re.fullmatch("[ab]{3}c", model("go", OutlinesRegex("[ab]{3}c"), **settings))
    assert re.fullmatch("a+b", model("go", CFG('start: "a" start | "ab"'), **settings))
    assert model("go", Choice(["only"]), **settings) == "only"
    assert isinstance(model("go", **settings), str)


def test_the_same_as_the_engine(model: DiffusionGemma, engine: Engine) -> None:
    settings = {"seed": 3, "max_new_tokens": 60}
    expected = engine.generate("go", constraint=Answer, **settings).text
    assert model("go", Answer, **settings) == expected
    assert model(Chat([{"role": "user", "content": "go"}]), Answer, **settings) == expected
    assert model.batch(["go", "go"], Answer, **settings) == [expected, expected]


def test_pieces_of_a_stream_make_the_answer(model: DiffusionGemma) -> None:
    kind = OutlinesRegex("([xyz]é){40}")
    pieces = list(model.stream("go", kind, seed=0, max_new_tokens=200))
    assert len(pieces) > 1
    assert "".join(pieces) == model("go", kind, seed=0, max_new_tokens=200)


def test_images(model: DiffusionGemma) -> None:
    from io import BytesIO

    from PIL import Image

    file = BytesIO()
    Image.new("RGB", (48, 48), "red").save(file, "PNG")
    picture = outlines.inputs.Image(Image.open(file))
    for model_input in (["what is this?", picture], Chat([{"role": "user", "content": ["what?", picture]}])):
        assert json.loads(model(model_input, Answer, seed=0, max_new_tokens=60))


def test_refused(model: DiffusionGemma) -> None:
    with pytest.raises(InputError, match="a Chat, not int"):
        model(5, Answer)
    with pytest.raises(InputError, match="holds texts and Images, not int"):
        model([5], Answer)
    with pytest.raises(GrammarError, match="outlines has no output type for"):
        model("go", object())
