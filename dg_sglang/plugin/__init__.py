"""SGLang serves DiffusionGemma with this package's sampler and constraints: entry points and hooks, no fork.

SGLang loads this package in each of its processes (entry point group `sglang.srt.plugins`) and, where
`SGLANG_PLATFORM=dg_cpu` asks for it, takes its CPU platform (group `sglang.srt.platforms`).
"""

import os

CPU_PLATFORM = "dg_cpu"
"""The value of SGLANG_PLATFORM that runs SGLang's torch-native paths on a CPU."""

GRAMMAR_BACKEND = "dg"
"""The value of `--grammar-backend`; the default for DiffusionGemma."""


def register() -> None:
    """Entry point: hook this process of SGLang.

    Raises:
        ConfigError: the installed SGLang is not one that the hooks were written for. SGLang logs it and goes on without
            the plugin, so that other models are still served; DiffusionGemma then refuses constraints as upstream does.
    """
    from dg_sglang.plugin import lifeline
    from dg_sglang.plugin.version import check_sglang

    lifeline.watch()
    check_sglang()
    from dg_sglang.plugin.hooks import install

    install(cpu=on_cpu_platform())


def cpu_platform() -> str | None:
    """Entry point: the CPU platform's class, or None where SGLANG_PLATFORM doesn't name it."""
    return "dg_sglang.plugin.platform.CpuPlatform" if on_cpu_platform() else None


def on_cpu_platform() -> bool:
    """Whether this process was started for the CPU platform."""
    return os.environ.get("SGLANG_PLATFORM") == CPU_PLATFORM
