"""An out-of-tree SGLang platform on which every operation takes its torch-native path, on a CPU."""

from __future__ import annotations

import os
from typing import Any

import torch
from sglang.srt.platforms.cpu import CpuDeviceMixin
from sglang.srt.platforms.device_mixin import PlatformEnum
from sglang.srt.platforms.interface import PlatformCapabilities, SRTPlatform

from dg_sglang.plugin import CPU_PLATFORM

ATTENTION_BACKEND = "dg_torch"


class CpuPlatform(CpuDeviceMixin, SRTPlatform):
    """A CPU without Triton, graphs or a vendor's kernels (SGLang's own CPU engine needs AMX)."""

    _enum = PlatformEnum.OOT
    device_name = "cpu"
    device_type = "cpu"
    capabilities = PlatformCapabilities()

    def is_pin_memory_available(self, device: Any = None) -> bool:
        """Never: there is no device to copy to."""
        return False

    def get_default_attention_backend(self) -> str:
        """`dg_sglang.plugin.attention.CanvasAttention`."""
        return ATTENTION_BACKEND

    def get_dispatch_key_name(self) -> str:
        """The key of `BaseFusedOp.register_oot_forward`; operations without an entry run `forward_native`."""
        return CPU_PLATFORM

    def init_backend(self) -> None:
        """Take as many threads as OMP_NUM_THREADS says, else one: OpenMP's barriers are ruinous on a busy machine."""
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))

    def get_compile_backend(self, mode: str | None = None) -> str:
        """`eager`: nothing is worth compiling for tests."""
        return "eager"

    def get_torch_distributed_backend_str(self) -> str:
        """`gloo`."""
        return "gloo"
