"""The numeric inner loops, each three times: as a plain specification, for a CPU, and for a GPU.

`reference` is the specification in torch, `cpu` compiled by numba, `gpu` written in Triton; all three have the same
functions. `backend` picks one by device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def backend(device: torch.device) -> Any:
    """The module whose functions serve tensors on a device: `gpu` for CUDA, else `cpu`.

    Its DEVICE says where it wants them: what lives on any other device has to be brought to the CPU.
    """
    if device.type == "cuda":
        from dg_sglang.kernels import gpu

        return gpu
    from dg_sglang.kernels import cpu

    return cpu


def describe(device: torch.device) -> str:
    """What `backend` picks for a device, with the compiler's version."""
    from importlib import metadata

    compiler = "triton" if backend(device).DEVICE.type == "cuda" else "numba"
    return f"{compiler} {metadata.version(compiler)}, for tensors on {device.type}"
