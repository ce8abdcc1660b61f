"""docs/constraints.md: its examples run, and no constraint is missing."""

import re
from pathlib import Path

import pytest

from dg_sglang import errors, grammar

PAGE = (Path(__file__).parents[2] / "docs" / "constraints.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_examples_run():
    names = {}
    for block in BLOCKS:
        exec(compile(block, "docs/constraints.md", "exec"), names)  # noqa: S102
    assert len(BLOCKS) >= 11


def test_wrong_examples_would_be_noticed():
    names = {}
    exec(BLOCKS[0], names)  # noqa: S102
    with pytest.raises(AssertionError):
        exec(BLOCKS[1].replace("12.5", '"12.5"'), names)  # noqa: S102


def test_every_constraint_and_every_error_is_there():
    kinds = [
        name for name, kind in vars(grammar).items() if isinstance(kind, type) and issubclass(kind, grammar.Constraint)
    ]
    named = set(re.findall(r"\*\*(\w+)\*\* —", PAGE))
    assert set(kinds) - {"Constraint"} <= named
    for name, error in vars(errors).items():
        if isinstance(error, type) and issubclass(error, errors.GrammarError) and error is not errors.GrammarError:
            assert f"`{name}`" in PAGE
