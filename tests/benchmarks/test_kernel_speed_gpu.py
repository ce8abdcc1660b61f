"""The GPU table's calls, in Triton's interpreter: they are ready to run, though nothing is measured here."""

import sys
from pathlib import Path

import pytest
import torch
from vocabularies import nano

from dg_sglang import kernels
from dg_sglang.grammar import Regex, TokenAutomaton, compile_constraint
from dg_sglang.kernels import gpu

sys.path.append(str(Path(__file__).parent))
import kernel_speed_gpu

CANVAS = 3


@pytest.fixture
def interpreted(monkeypatch):
    monkeypatch.setattr(kernel_speed_gpu, "CANVAS", CANVAS)
    monkeypatch.setattr(kernel_speed_gpu, "HIDDEN", 32)
    monkeypatch.setattr(kernel_speed_gpu, "EMBEDDING", torch.float16)  # the interpreter multiplies no bfloat16
    monkeypatch.setattr(gpu, "DEVICE", torch.device("cpu"))
    monkeypatch.setattr(kernels, "backend", lambda device: gpu)


@pytest.mark.slow
def test_every_line_of_the_table_runs(interpreted):
    tokens = nano()
    grammar = compile_constraint(Regex("[xyz]{1,2}"))
    automaton = TokenAutomaton(
        grammar, tokens.vocabulary, end_token_ids=tokens.end_token_ids, pad_token_id=tokens.pad_token_id
    )
    logits = torch.randn(2 * CANVAS, tokens.size, generator=torch.Generator().manual_seed(0))
    table = kernel_speed_gpu.rows_table(logits, automaton) | kernel_speed_gpu.grammar_table(logits, automaton)
    assert "  torch.compile" in table
    for name, (moved, step) in table.items():
        assert moved >= 0
        if "torch.compile" not in name and "FlashInfer" not in name:  # these need a compiler, and a GPU
            step()
