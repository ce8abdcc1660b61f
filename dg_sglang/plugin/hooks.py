"""Every place where the plugin reaches into SGLang, and why. One hook, one reason.

All go through SGLang's `HookRegistry`, which wraps the named function in every process. `tests/sglang/test_contract.py`
checks each against the installed SGLang.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dg_sglang.errors import ConfigError
from dg_sglang.plugin import CPU_PLATFORM, GRAMMAR_BACKEND
from dg_sglang.plugin.admission import check_request, drain_grammars, start_request, tell_whitespace
from dg_sglang.plugin.algorithm import ALGORITHM, CanvasRenoise
from dg_sglang.plugin.context import finish_context, keep_hidden_states, make_logits, share_turns
from dg_sglang.plugin.grammar_backend import make_grammar_backend
from dg_sglang.plugin.pictures import read_pictures
from dg_sglang.plugin.progress import commit_canvas, name_requests, stream_news


@dataclass(frozen=True)
class Hook:
    """One wrapped function of SGLang.

    Attributes:
        target: its dotted name.
        parameters: the names that ours relies on, `self` included.
        kind: when ours runs (`sglang.srt.plugins.hook_registry.HookType`).
        function: ours.
    """

    target: str
    parameters: tuple[str, ...]
    kind: Literal["before", "after", "around", "replace"]
    function: Callable[..., Any]

    def check(self) -> None:
        """Raises ConfigError when SGLang has no such function, or one with other parameters."""
        try:
            found = tuple(inspect.signature(pkgutil.resolve_name(self.target)).parameters)
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                f"this SGLang has no {self.target} ({error}); install the version that dg-sglang names"
            ) from error
        if found[: len(self.parameters)] != self.parameters:
            raise ConfigError(
                f"{self.target} takes {found} in this SGLang, expected {self.parameters}; install the version that "
                "dg-sglang names"
            )


_SCHEDULER = "sglang.srt.dllm.mixin.scheduler"
_MODEL = "sglang.srt.models.gemma4_diffusion"

SERVING = (
    Hook(f"{_SCHEDULER}.SchedulerDllmMixin.validate_dllm_request", ("self", "req"), "around", check_request),
    Hook(
        "sglang.srt.constrained.grammar_manager.GrammarManager.process_req_with_grammar",
        ("self", "req"),
        "before",
        tell_whitespace,
    ),
    Hook(f"{_SCHEDULER}.SchedulerDllmMixin.get_new_batch_dllm", ("self", "running_batch"), "before", drain_grammars),
    Hook(
        "sglang.srt.managers.scheduler.Scheduler._add_request_to_queue",
        ("self", "req", "is_retracted"),
        "around",
        start_request,
    ),
    Hook(
        "sglang.srt.managers.tp_worker.TpModelWorker._forward_batch_generation_dllm",
        ("self", "forward_batch", "batch"),
        "before",
        name_requests,
    ),
    Hook(
        "sglang.srt.managers.schedule_batch.Req.update_finish_state",
        ("self", "new_accepted_len"),
        "around",
        commit_canvas,
    ),
    Hook(
        "sglang.srt.managers.scheduler_components.output_streamer.SchedulerOutputStreamer.stream_output",
        ("self", "reqs", "return_logprob", "skip_req"),
        "around",
        stream_news,
    ),
    Hook(
        f"{_MODEL}.DiffusionGemmaModel.forward",
        ("self", "input_ids", "positions", "forward_batch", "input_embeds"),
        "after",
        keep_hidden_states,
    ),
    Hook(
        f"{_MODEL}.DiffusionGemmaForBlockDiffusion.forward",
        ("self", "input_ids", "positions", "forward_batch", "input_embeds"),
        "after",
        make_logits,
    ),
    Hook(
        f"{_SCHEDULER}.SchedulerDllmMixin.process_batch_result_dllm",
        ("self", "batch", "result"),
        "around",
        finish_context,
    ),
    Hook(f"{_SCHEDULER}.DllmManager.get_prefill_requests", ("self",), "around", share_turns),
    Hook(
        "sglang.srt.multimodal.processors.diffusion_gemma.DiffusionGemmaSGLangProcessor.process_mm_data_async",
        ("self", "image_data"),
        "around",
        read_pictures,
    ),
)


def cpu_hooks() -> tuple[Hook, ...]:
    """What the CPU platform needs besides."""
    from dg_sglang.plugin.attention import mark_images
    from dg_sglang.plugin.operations import bind_no_threads, keep_sizes, softcap

    return (
        Hook(
            "sglang.srt.models.gemma4_mm.Gemma4ForConditionalGeneration.prepare_attn_masks",
            ("self", "forward_batch", "input_ids", "mask_dtype"),
            "around",
            mark_images,
        ),
        Hook(
            "sglang.kernels.ops.activation.softcap.softcap_inplace_logits",
            ("full_logits", "final_logit_softcapping"),
            "replace",
            softcap,
        ),
        Hook(
            "sglang.srt.model_executor.model_runner.adjust_config_with_unaligned_cpu_tp",
            ("model_config", "load_config", "tp_size"),
            "replace",
            keep_sizes,
        ),
        Hook("sglang.srt.distributed.bootstrap._bind_threads_if_cpu", ("device",), "replace", bind_no_threads),
    )


def install(*, cpu: bool) -> None:
    """Register everything with SGLang in this process.

    Raises:
        ConfigError: SGLang has changed where a hook belongs. Nothing is registered then.
    """
    hooks = (*SERVING, *cpu_hooks()) if cpu else SERVING
    for hook in hooks:
        hook.check()
    from sglang.srt.constrained.base_grammar_backend import register_grammar_backend
    from sglang.srt.dllm.algorithm import algo_name_to_cls
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    from sglang.srt.server_args import add_grammar_backend_choices

    for hook in hooks:
        HookRegistry.register(hook.target, hook.function, HookType(hook.kind))
    algo_name_to_cls[ALGORITHM] = CanvasRenoise
    add_grammar_backend_choices([GRAMMAR_BACKEND])
    register_grammar_backend(GRAMMAR_BACKEND, make_grammar_backend)
    if cpu:
        _install_cpu_backends(CanvasRenoise)


def _install_cpu_backends(algorithm: Any) -> None:
    from sglang.kernels.fused_op import BaseFusedOp
    from sglang.srt.layers.attention.attention_registry import register_attention_backend
    from sglang.srt.layers.layernorm import Gemma4RMSNorm
    from sglang.srt.layers.quantization.unquant import UnquantizedFusedMoEMethod
    from sglang.srt.server_args import add_attention_backend_choices

    from dg_sglang.plugin.attention import CanvasAttention
    from dg_sglang.plugin.operations import experts, gemma4_rms_norm
    from dg_sglang.plugin.platform import ATTENTION_BACKEND

    add_attention_backend_choices([ATTENTION_BACKEND])
    register_attention_backend(ATTENTION_BACKEND)(CanvasAttention)
    algorithm.required_attention_backend = ATTENTION_BACKEND
    algorithm.supported_attention_backends = (ATTENTION_BACKEND,)
    BaseFusedOp.register_oot_forward(UnquantizedFusedMoEMethod, experts, CPU_PLATFORM)
    BaseFusedOp.register_oot_forward(Gemma4RMSNorm, gemma4_rms_norm, CPU_PLATFORM)
