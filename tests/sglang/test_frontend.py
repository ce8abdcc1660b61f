"""`sgl.function` programs: constrained generation, choices, forks and images."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

sgl = pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from PIL import Image
from sglang_client import Client

from dg_sglang.frontend import checked, endpoint

COLOUR = {"type": "object", "properties": {"colour": {"enum": ["red", "green"]}}, "required": ["colour"]}


@pytest.fixture(scope="module", autouse=True)
def backend(tiny: Client) -> Iterator[None]:
    sgl.set_default_backend(endpoint(tiny.url))
    yield
    sgl.set_default_backend(None)


@sgl.function
def report(s, question):
    s += sgl.user(question)
    s += sgl.assistant(sgl.gen("colour", max_tokens=48, json_schema=json.dumps(COLOUR)))
    s += sgl.user("In which week?")
    s += sgl.assistant(sgl.gen("week", max_tokens=32, regex="20[0-9]{2}-W[0-4][0-9]"))


def test_gen_with_a_schema_and_a_regex() -> None:
    state = report.run(question="A colour?")
    jsonschema.validate(json.loads(state["colour"]), COLOUR)
    assert re.fullmatch("20[0-9]{2}-W[0-4][0-9]", state["week"])


def test_a_batch_of_programs() -> None:
    states = report.run_batch([{"question": "One?"}, {"question": "Two?"}, {"question": "Three?"}], num_threads=3)
    for state in states:
        jsonschema.validate(json.loads(state["colour"]), COLOUR)


@sgl.function
def choose(s):
    s += sgl.user("Which?")
    s += sgl.assistant("It is " + sgl.gen("first", choices=["red", "green (a+b)"]) + ".")
    s += sgl.assistant(sgl.select("second", ["yes", "no"]))


def test_choices_and_select() -> None:
    state = choose.run()
    assert state["first"] in ("red", "green (a+b)")
    assert state["second"] in ("yes", "no")
    assert state.get_meta_info("second")["normalized_prompt_logprobs"]


@sgl.function
def forked(s):
    s += sgl.user("Two colours.")
    branches = s.fork(2)
    for branch in branches:
        branch += sgl.assistant(sgl.gen("colour", max_tokens=16, regex="red|green"))
    s += sgl.assistant(" and ".join(branch["colour"] for branch in branches))


def test_a_fork_runs_its_branches() -> None:
    assert re.search("(red|green) and (red|green)<turn\\|>", forked.run().text())


@sgl.function
def look(s, path):
    s += sgl.user(sgl.image(path) + "Which colour?")
    s += sgl.assistant(sgl.gen("colour", max_tokens=16, regex="red|green"))


def test_an_image_reaches_the_model(tmp_path: Path) -> None:
    path = tmp_path / "red.png"
    Image.new("RGB", (64, 48), "red").save(path)
    state = look.run(path=str(path))
    assert state["colour"] in ("red", "green")
    assert state.get_meta_info("colour")["prompt_tokens"] > 60, "the image's soft tokens are missing"


def test_a_refused_schema_is_the_programs_error() -> None:
    @sgl.function
    def refused(s):
        s += sgl.user("Go.")
        s += sgl.assistant(sgl.gen("x", max_tokens=16, json_schema='{"type": "array", "uniqueItems": true}'))

    with pytest.raises(RuntimeError, match="uniqueItems"):
        checked(refused.run())


def test_a_program_without_an_error_is_itself() -> None:
    state = report.run(question="A colour?")
    assert checked(state) is state
    assert json.loads(state["colour"])
