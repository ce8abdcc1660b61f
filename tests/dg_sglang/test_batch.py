"""Rows of a batch: each with its own schema, coming and going between two steps."""

from typing import Any

import pytest

from dg_sglang import Engine
from dg_sglang.batch import Batch
from dg_sglang.grammar import Choice, JsonSchema, Regex

REQUESTS: list[dict[str, Any]] = [
    {"prompt": "one", "seed": 1, "max_new_tokens": 40, "constraint": {"type": "array", "items": {"type": "integer"}}},
    {"prompt": "another one", "seed": 2, "max_new_tokens": 32, "constraint": Regex("[xyz]{20,30}")},
    {"prompt": "free", "seed": 3, "max_new_tokens": 20},
    {"prompt": "chosen", "seed": 4, "max_new_tokens": 16, "constraint": Choice(["yes", "no"])},
    {
        "prompt": "an object",
        "seed": 5,
        "max_new_tokens": 48,
        "constraint": JsonSchema({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}),
    },
]


@pytest.mark.parametrize("aborted", [(), (1,), (0, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("after", [1, 3])
def test_rows_that_are_aborted_leave_the_others_as_they_are(
    engine: Engine, aborted: tuple[int, ...], after: int
) -> None:
    alone = [engine.generate(**request).token_ids for request in REQUESTS]
    rows = {index: engine._prepare(request) for index, request in enumerate(REQUESTS)}
    batch = Batch(engine._model)
    for sequence in rows.values():
        batch.start(sequence)
    steps, taken, gone = 0, dict.fromkeys(rows, 0), {}
    running, found = dict(rows), {}
    while running:
        if steps == after:
            gone = {index: (running.pop(index), taken[index]) for index in aborted if index in running}
        if not running:
            break
        batch.step(list(running.values()))
        steps += 1
        for index, sequence in list(running.items()):
            taken[index] += 1
            if sequence.canvas.done:
                batch.commit(sequence)
            if sequence.finished:
                found[index] = running.pop(index).result(engine._chat).token_ids
    assert {index: alone[index] for index in found} == found
    assert set(found) == set(rows) - set(gone)
    assert len(gone) == len(aborted) or after > 1  # a row may have been finished before
    for sequence, count in gone.values():
        assert sequence.canvas.steps <= count <= after  # no step of a row that has left
