"""Compile every Triton kernel ahead of time: `python compile_kernels.py 90` for sm_90. No GPU is needed.

Run it without TRITON_INTERPRET. Writes each kernel's name and the size of its binary.
"""

import inspect
import sys
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from dg_sglang.kernels import triton_chain, triton_rows

_TYPES = {
    **dict.fromkeys(("logits", "scaled", "embedding"), "*bf16"),
    **dict.fromkeys(("log_norm", "uniform"), "*fp64"),
    **dict.fromkeys(("best", "drawn", "picked", "label", "start", "bounds", "active_start", "edge_start"), "*i64"),
    **dict.fromkeys(("set_start", "canvas", "position", "table", "dominants", "column", "first_row", "first"), "*i64"),
    **dict.fromkeys(("list_start", "places", "canvases", "owner", "starts", "limits", "tails"), "*i64"),
    **dict.fromkeys(("token_class", "labels"), "*i16"),
    **dict.fromkeys(("tokens", "neighbour", "edge_set", "active", "pointer", "source", "target"), "*i32"),
    **dict.fromkeys(("place", "set_class", "set_classes", "chosen"), "*i32"),
    **dict.fromkeys(("width", "blocks", "classes", "rows", "hidden", "share", "stride"), "i32"),
    **dict.fromkeys(("length", "states", "sets", "groups"), "i32"),
    **dict.fromkeys(("floor", "lowest"), "fp32"),
}
_CONSTANTS = {
    "BLOCK": 4096, "BLOCKS": 64, "WRITE": True, "CLASSES": True, "DRAW": True,
    "ROWS": 64, "COLUMNS": 128, "TOKENS": 64, "FORWARD": True, "MAXIMUM": True, "EDGES": 128, "MEMBERS": 128,
}  # fmt: skip
# What differs from kernel to kernel under the same name, and the second variant of those with a switch.
_KERNELS: list[tuple[Any, dict[str, str], dict[str, Any]]] = [
    (triton_rows.row_statistics, {}, {}),
    (triton_rows.row_statistics, {}, {"WRITE": False, "CLASSES": False}),
    (triton_rows.row_statistics, {"token_class": "*i32", "logits": "*fp32", "scaled": "*fp32"}, {}),
    (triton_rows.class_statistics, {}, {"BLOCK": 1024}),
    (triton_rows.draw_tokens, {}, {}),
    (triton_rows.pick_in_classes, {}, {}),
    (triton_rows.pick_in_classes, {}, {"DRAW": False}),
    (triton_rows.tilt_rows, {"out": "*bf16"}, {}),
    (triton_rows.tilt_rows, {"out": "*fp32"}, {}),
    (triton_rows.soft_embedding, {}, {}),
    (triton_chain.walk, {}, {"BLOCK": 256, "FORWARD": False, "MAXIMUM": False}),
    (triton_chain.walk, {}, {"BLOCK": 256, "FORWARD": True, "MAXIMUM": False}),
    (triton_chain.walk, {}, {"BLOCK": 256, "FORWARD": False}),
    (triton_chain.set_weights, {}, {"BLOCK": 256}),
    (triton_chain.normalise, {"out": "*fp64"}, {"BLOCK": 256}),
    (triton_chain.entropies, {}, {"BLOCK": 256}),
    (triton_chain.group_sums, {"best": "*fp32", "members": "*i32"}, {"BLOCK": 256}),
    (triton_chain.group_sums, {"best": "*fp32", "members": "*i64"}, {"BLOCK": 256, "MAXIMUM": False}),
    (triton_chain.draw_path, {}, {}),
    (triton_chain.best_path, {}, {}),
]


def main() -> None:
    """Compile for the compute capability in the first argument."""
    target = GPUTarget("cuda", int(sys.argv[1]), 32)
    for kernel, types, switches in _KERNELS:
        names = inspect.signature(kernel.fn).parameters
        constants = {name: (_CONSTANTS | switches)[name] for name in names if name in _CONSTANTS}
        signature = {name: "constexpr" if name in constants else (_TYPES | types).get(name, "*fp32") for name in names}
        compiled = triton.compile(ASTSource(fn=kernel, signature=signature, constexprs=constants), target=target)
        sys.stdout.write(f"{kernel.fn.__name__} {len(compiled.asm['cubin'])}\n")


if __name__ == "__main__":
    main()
