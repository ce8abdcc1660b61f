"""Typed data from documents by block diffusion, with a grammar over the whole canvas.

Public names load on first use, so `import dg_sglang` stays light (no torch, no transformers).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dg_sglang import errors

if TYPE_CHECKING:
    from dg_sglang.config import GenerationConfig as GenerationConfig
    from dg_sglang.config import Policy as Policy
    from dg_sglang.engine import Engine as Engine
    from dg_sglang.remote import SGLangEngine as SGLangEngine
    from dg_sglang.request import GenerationRequest as GenerationRequest
    from dg_sglang.results import GenerationResult as GenerationResult

_HOMES = {
    "Engine": "dg_sglang.engine",
    "GenerationConfig": "dg_sglang.config",
    "GenerationRequest": "dg_sglang.request",
    "GenerationResult": "dg_sglang.results",
    "Policy": "dg_sglang.config",
    "SGLangEngine": "dg_sglang.remote",
}

__all__ = ["Engine", "GenerationConfig", "GenerationRequest", "GenerationResult", "Policy", "SGLangEngine", "errors"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
