"""Both implementations, one after the other; the Triton kernels run in Triton's interpreter, with small blocks."""

import pytest

from dg_sglang.kernels import cpu


@pytest.fixture(params=["cpu", "gpu"])
def backend(request, monkeypatch):
    if request.param == "cpu":
        return cpu
    from dg_sglang.kernels import gpu

    monkeypatch.setattr(gpu, "BLOCK", 64)  # the interpreter is slow, and small blocks have more borders
    monkeypatch.setattr(gpu, "_LISTED", 16)
    monkeypatch.setattr(gpu, "_LANES", 16)
    monkeypatch.setattr(gpu, "_TILE", {"ROWS": 16, "COLUMNS": 16, "TOKENS": 16})
    return gpu
