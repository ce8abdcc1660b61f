"""Lists longer than one answer: nothing is lost, nothing doubled, whatever the model says about each window."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from made_documents import document_of
from pydantic import BaseModel

from dg_sglang import Engine
from dg_sglang.errors import BudgetError, DgError
from dg_sglang.pipelines import extract
from dg_sglang.pipelines.document import Document


class Row(BaseModel):
    name: str
    amount: int


class Order(BaseModel):
    number: str | None
    rows: list[Row]


class Copyist:
    """An engine that copies what stands in its prompt, and closes a list when its answer is full, as a budget does."""

    def __init__(
        self, engine: Engine, max_context: int, most: int = 10_000, skipped: int = 1, circles: int = 1
    ) -> None:
        """It closes a list after `most` records, too, copies every `skipped`th, and all of that `circles` times."""
        self._engine, self.max_context = engine, max_context
        self.most, self.skipped, self.circles = most, skipped, circles
        self.canvas_length, self.vocabulary = engine.canvas_length, engine.vocabulary
        self.count_tokens, self.config = engine.count_tokens, engine.config
        self.asked = 0

    def generate_batch(self, requests: Sequence[Mapping[str, Any]]) -> Any:
        """Real results of the engine's, with the copied text in place of the random one."""
        from dataclasses import replace

        results = []
        for request in requests:
            self.asked += 1
            text = json.dumps(self._answer(str(request["prompt"]), request["max_new_tokens"]))
            blank = self._engine.generate("x", max_new_tokens=1, max_denoising_steps=1, seed=0)
            tokens = self.count_tokens(text)
            usage = replace(blank.usage, completion_tokens=tokens)
            results.append(replace(blank, text=text, token_ids=[], token_confidence=[], usage=usage))
        return results

    def _answer(self, prompt: str, budget: int) -> dict[str, Any]:
        asked, _, text = prompt.partition("Document:\n")
        if "rows:" not in asked:
            found = re.search(r"Order (\d+)", text)
            return {"number": found[1] if found else None}
        rows = [{"name": name, "amount": amount} for name, amount in re.findall(r"(\w+-\w+) +(\d+)", text)]
        rows = rows[:: self.skipped][: self.most] * self.circles
        while self.count_tokens(json.dumps({"rows": rows})) > budget:
            rows.pop()
        return {"rows": rows}


def order_of(count: int) -> tuple[Document, list[Row]]:
    rows = [Row(name=f"item-{'abcdefg'[i % 7]}", amount=10 + i % 5) for i in range(count)]  # many real repeats
    lines = ["Order 4711", *(f"{row.name}   {row.amount}" for row in rows)]
    return document_of(*(lines[start : start + 50] for start in range(0, len(lines), 50))), rows


def test_a_list_longer_than_its_answer_is_read_in_halves(engine: Engine) -> None:
    document, rows = order_of(90)
    copyist = Copyist(engine, 100_000)
    result = extract(document, Order, engine=copyist)  # type: ignore[arg-type]
    assert result.value.number == "4711"
    assert result.value.rows == rows
    assert copyist.asked > 4
    assert result.warnings == ()


def test_long_documents_and_long_lists_together(engine: Engine) -> None:
    document, rows = order_of(230)
    result = extract(document, Order, engine=Copyist(engine, 1100))  # type: ignore[arg-type]
    assert result.value.rows == rows
    places = [(leaf["name"].page, leaf["name"].boxes) for leaf in result.evidence["rows"]]
    assert len(set(places)) == len(rows)


def test_what_fills_the_answer_to_few_lines_is_told(engine: Engine) -> None:
    line = "   ".join(f"item-{letter} {number}" for letter in "abcdefg" for number in range(10, 22))
    result = extract(document_of(["Order 1", line]), Order, engine=Copyist(engine, 100_000))  # type: ignore[arg-type]
    assert any("rows may lack records" in warning for warning in result.warnings)


def test_records_that_the_model_leaves_out_are_asked_for_again(engine: Engine) -> None:
    rows = [Row(name=f"item-{'abcdefg'[i % 7]}", amount=10 + i % 5) for i in range(40)]
    lines = ["Order 4711", *(f"{row.name}   {row.amount}   7 pieces" for row in rows), "Total   99"]
    for reader in ({"most": 15}, {"skipped": 2}):
        result = extract(document_of(lines), Order, engine=Copyist(engine, 100_000, **reader))  # type: ignore[arg-type]
        assert result.value.rows == rows
        assert result.warnings == ()


def test_what_it_leaves_out_again_is_told(engine: Engine) -> None:
    document, _ = order_of(20)
    copyist = Copyist(engine, 100_000, most=2)
    result = extract(document, Order, engine=copyist)  # type: ignore[arg-type]
    assert copyist.asked == 2  # number and rows: lines of two cells below the last record may be anything
    assert result.warnings == ()
    document = document_of([f"item-{letter}   {i}   7 pieces" for i, letter in enumerate("abcdefghijklmnopq", 10)])
    copyist = Copyist(engine, 100_000, most=2)
    result = extract(document, Order, engine=copyist)  # type: ignore[arg-type]
    assert len(result.value.rows) == 10
    assert result.warnings == (
        "rows: 7 lines look like its records, but none was read there (page 1, 'item-k 20 7 pieces')",
    )


def test_a_list_that_goes_round_in_circles_is_not_asked_for_again(engine: Engine) -> None:
    document, rows = order_of(5)
    copyist = Copyist(engine, 100_000, circles=60)
    result = extract(document, Order, engine=copyist)  # type: ignore[arg-type]
    assert result.value.rows == rows
    assert copyist.asked == 2  # number, rows
    assert any("said the same" in warning for warning in result.warnings)


class Babbler(Copyist):
    """It has an answer to the first question about rows only, to those after it nonsense, or an error."""

    def __init__(self, engine: Engine, error: DgError | None) -> None:
        super().__init__(engine, 100_000, most=2)
        self.error = error

    def generate_batch(self, requests: Sequence[Mapping[str, Any]]) -> Any:
        """The copyist's results; from the third request on their texts are cut, or `error` is raised."""
        from dataclasses import replace

        late = self.asked >= 2
        results = super().generate_batch(requests)
        if late and results and self.error:
            raise self.error
        return [replace(result, text=result.text[:-3]) for result in results] if late else results


@pytest.mark.parametrize("error", [None, BudgetError("too long")], ids=["no JSON", "error"])
def test_asking_again_costs_nothing_that_was_read(engine: Engine, error: DgError | None) -> None:
    document = document_of([f"item-{letter}   {i}   7 pieces" for i, letter in enumerate("abcde", 10)])
    result = extract(document, Order, engine=Babbler(engine, error))  # type: ignore[arg-type]
    assert result.value.rows == [Row(name="item-a", amount=10), Row(name="item-b", amount=11)]
    assert any("3 lines look like its records" in warning for warning in result.warnings)
