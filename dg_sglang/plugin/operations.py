"""What the CPU platform does in place of SGLang's own functions, which can't run DiffusionGemma there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_GELU_TANH = partial(F.gelu, approximate="tanh")
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu_tanh": _GELU_TANH, "gelu": _GELU_TANH, "silu": F.silu}


def experts(self: Any, layer: Any, dispatch_output: Any) -> Any:
    """For `UnquantizedFusedMoEMethod`: upstream's `moe_forward_native` refuses gelu_tanh."""
    from sglang.srt.layers.moe.token_dispatcher import StandardCombineInput

    states = dispatch_output.hidden_states
    weights, chosen, _ = dispatch_output.topk_output
    activation = _ACTIVATIONS[self.moe_runner_config.activation]
    combined = torch.zeros_like(states)
    for expert in range(layer.w13_weight.shape[0]):
        token, slot = torch.where(chosen == expert)
        if token.numel():
            gate, up = F.linear(states[token], layer.w13_weight[expert]).chunk(2, dim=-1)
            out = F.linear(activation(gate) * up, layer.w2_weight[expert])
            combined.index_add_(0, token, (out * weights[token, slot, None]).to(states.dtype))
    return StandardCombineInput(hidden_states=combined)


def gemma4_rms_norm(self: Any, states: Tensor) -> Tensor:
    """For `Gemma4RMSNorm`: upstream's `forward_native` drops the weight of a norm made with `with_scale=False`.

    `Gemma4Router.fuse_scale` folds the router's scale into exactly that weight, and the CUDA kernel multiplies by it.
    """
    wide = states.float()
    normed = wide * torch.pow(wide.pow(2).mean(-1, keepdim=True) + self.eps, -0.5)
    weight: Tensor = self.weight.float() + self.scale_shift
    return (normed * weight).to(states.dtype)


def softcap(full_logits: Tensor, final_logit_softcapping: float) -> Tensor:
    """REPLACE `softcap_inplace_logits`: upstream's is a Triton kernel."""
    return full_logits.div_(final_logit_softcapping).tanh_().mul_(final_logit_softcapping)


def keep_sizes(model_config: Any, load_config: Any, tp_size: int) -> Any:
    """REPLACE `adjust_config_with_unaligned_cpu_tp`: upstream pads heads and intermediate sizes on a CPU.

    Only the weight loaders of its own CPU engine pad, too; elsewhere each rank would read other weights than its own.
    """
    return model_config


def bind_no_threads(*, device: str) -> None:
    """REPLACE `_bind_threads_if_cpu`: upstream wants a NUMA node for each rank, for an engine that isn't used here."""
