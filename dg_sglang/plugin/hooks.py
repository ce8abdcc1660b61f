"""Every place where the plugin reaches into SGLang, and why. One hook, one reason.

All go through SGLang's `HookRegistry`, which wraps the named function in every process. `tests/plugin/test_contract.py`
checks each against the installed SGLang.
"""

from __future__ import annotations

import inspect
import pkgutil
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dg_sglang.errors import ConfigError, DgError
from dg_sglang.plugin import GRAMMAR_BACKEND
from dg_sglang.plugin.service import served_of


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


def check_request(original: Any, scheduler: Any, req: Any) -> str | None:
    """Unknown or invalid settings are an HTTP 400 at the door; upstream's own refusals come first."""
    error: str | None = original(scheduler, req)
    backend = _backend(scheduler)
    if error or backend is None:
        return error
    params = req.sampling_params
    try:
        req.dg_settings = backend.service.settings(params.custom_params, params.sampling_seed)
    except DgError as refusal:
        return str(refusal)
    return None


def tell_whitespace(manager: Any, req: Any) -> None:
    """The grammar backend looks up by constraint and white space, but is told only the constraint."""
    if settings := getattr(req, "dg_settings", None):
        manager.grammar_backend.whitespace = settings.config.policy.whitespace


def start_request(original: Any, scheduler: Any, req: Any, is_retracted: bool = False) -> None:
    """Make the sequence once the grammar is compiled; what can't be served gets its 400 here, without a forward pass.

    Upstream would denoise a canvas for a refused request before it says so.
    """
    if hasattr(req, "dg_settings") and served_of(req) is None and req.to_finish is None:
        try:
            _start(scheduler, req)
        except DgError as refusal:
            req.set_finish_with_abort(str(refusal))
    if _backend(scheduler) is not None and req.to_finish is not None and not req.is_retracted:
        scheduler.retire_unadmitted_request(req)
        return
    original(scheduler, req, is_retracted)


def _start(scheduler: Any, req: Any) -> None:
    params = req.sampling_params
    req.dg_served = _backend(scheduler).service.start(
        req.dg_settings,
        name=req.rid,
        prompt=req.origin_input_ids,
        max_new_tokens=params.max_new_tokens,
        max_context=scheduler.model_config.context_len,
        automaton=None if req.grammar is None else req.grammar.automaton,
        thinking=req.require_reasoning,
        ignore_end=params.ignore_eos,
        device=scheduler.tp_worker.model_runner.device,
    )


def drain_grammars(scheduler: Any, running_batch: Any) -> None:
    """Upstream's diffusion path never takes requests out of the grammar queue: they would wait for ever."""
    if scheduler.grammar_manager.has_waiting_grammars():
        for req in scheduler.grammar_manager.get_ready_grammar_requests():
            scheduler._add_request_to_queue(req)


def name_requests(worker: Any, forward_batch: Any, batch: Any = None) -> None:
    """The algorithm works on requests, but is passed only the tensors of their batch."""
    worker.dllm_algorithm.requests = [] if batch is None else list(batch.reqs)


def commit_canvas(original: Any, req: Any, new_accepted_len: int = 1) -> None:
    """Upstream has appended a whole canvas: keep the part that belongs to the answer, and say how it ended.

    Thinking ends inside a canvas, and a constrained answer is complete before upstream's rules can tell.
    """
    served = served_of(req)
    if served is None or req.to_finish is not None or req.finished():
        original(req, new_accepted_len)
        return
    sequence = served.sequence
    before = len(req.output_ids) - new_accepted_len
    kept = sequence.committed[before:]
    req.output_ids[before:] = array("q", kept)
    req.customized_info = {
        "token_confidence": sequence.confidence,
        "canvas_index": served.canvas_index,
        "canvas_steps": served.canvas_steps,
    }
    if req.return_logprob:
        req.logprob.output_token_logprobs_val = served.logprobs()
        req.logprob.output_token_logprobs_idx = list(sequence.committed)
    if kept:
        original(req, len(kept))
    from sglang.srt.managers.schedule_batch import FINISH_LENGTH

    if sequence.finished and (not req.finished() or isinstance(req.finished_reason, FINISH_LENGTH)):
        req.finished_reason = _complete() if sequence.complete else FINISH_LENGTH(len(sequence.committed))


def stream_news(original: Any, streamer: Any, reqs: list[Any], return_logprob: bool, skip_req: Any = None) -> None:
    """Upstream sends every row on after every denoising step: empty chunks, and the first token's logprob is lost."""
    news = [req for req in reqs if req.finished() or len(req.output_ids) > req.send_token_offset]
    original(streamer, news, return_logprob, skip_req)


def _complete() -> Any:
    """The reason "stop" without a token or text that matched: nothing is trimmed from the answer."""
    from sglang.srt.managers.schedule_batch import FINISH_MATCHED_TOKEN

    return FINISH_MATCHED_TOKEN(matched=None)


def _backend(scheduler: Any) -> Any:
    """Our grammar backend, in a server that runs our algorithm; else None."""
    from dg_sglang.plugin.grammar_backend import CanvasGrammarBackend

    backend = scheduler.grammar_manager.grammar_backend
    return backend if isinstance(backend, CanvasGrammarBackend) else None


SERVING = (
    Hook(
        "sglang.srt.dllm.mixin.scheduler.SchedulerDllmMixin.validate_dllm_request",
        ("self", "req"),
        "around",
        check_request,
    ),
    Hook(
        "sglang.srt.constrained.grammar_manager.GrammarManager.process_req_with_grammar",
        ("self", "req"),
        "before",
        tell_whitespace,
    ),
    Hook(
        "sglang.srt.managers.scheduler.Scheduler._add_request_to_queue",
        ("self", "req", "is_retracted"),
        "around",
        start_request,
    ),
    Hook(
        "sglang.srt.dllm.mixin.scheduler.SchedulerDllmMixin.get_new_batch_dllm",
        ("self", "running_batch"),
        "before",
        drain_grammars,
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
)


def cpu_hooks() -> tuple[Hook, ...]:
    """What the CPU platform needs besides."""
    from dg_sglang.plugin.attention import mark_images
    from dg_sglang.plugin.operations import softcap

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

    from dg_sglang.plugin.algorithm import ALGORITHM, CanvasRenoise
    from dg_sglang.plugin.grammar_backend import make_grammar_backend

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

    from dg_sglang.plugin import CPU_PLATFORM
    from dg_sglang.plugin.attention import CanvasAttention
    from dg_sglang.plugin.operations import experts, gemma4_rms_norm
    from dg_sglang.plugin.platform import ATTENTION_BACKEND

    add_attention_backend_choices([ATTENTION_BACKEND])
    register_attention_backend(ATTENTION_BACKEND)(CanvasAttention)
    algorithm.required_attention_backend = ATTENTION_BACKEND
    algorithm.supported_attention_backends = (ATTENTION_BACKEND,)
    BaseFusedOp.register_oot_forward(UnquantizedFusedMoEMethod, experts, CPU_PLATFORM)
    BaseFusedOp.register_oot_forward(Gemma4RMSNorm, gemma4_rms_norm, CPU_PLATFORM)
