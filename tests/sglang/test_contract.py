"""The plugin's contract with SGLang: every upstream name that it wraps, overrides, calls or reads.

An upgrade of SGLang that moves one of them fails here, by name.
"""

import inspect
import pkgutil
import re
from importlib.metadata import entry_points

import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from sglang.srt.dllm.algorithm.base import DllmAlgorithm
from sglang.srt.dllm.algorithm.gemma4_renoise import Gemma4Renoise
from sglang.srt.plugins.hook_registry import HookType

from dg_sglang.errors import ConfigError
from dg_sglang.plugin.algorithm import CanvasRenoise
from dg_sglang.plugin.hooks import SERVING, Hook, cpu_hooks

HOOKS = (*SERVING, *cpu_hooks())

OVERRIDDEN = {
    "sglang.srt.dllm.algorithm.gemma4_renoise.Gemma4Renoise": {
        "configure_server_args": ("server_args",),
        "validate_request": ("req",),
        "__init__": ("self", "config"),
        "max_steps": ("self", "block_size"),
        "init_step_state": ("self", "forward_batch"),
        "step": ("self", "forward_batch", "full_logits", "states"),
    },
    "sglang.srt.constrained.base_grammar_backend.BaseGrammarBackend": {
        "__init__": ("self",),
        "get_request_grammar_key": ("self", "key", "input_ids", "thinking_budget"),
        "_init_value_dispatch": ("self", "key", "require_reasoning"),
    },
    "sglang.srt.layers.attention.torch_native_backend.TorchNativeAttnBackend": {
        "__init__": ("self", "model_runner"),
        "init_forward_metadata": ("self", "forward_batch"),
        "forward_extend": ("self", "q", "k", "v", "layer", "forward_batch", "save_kv_cache"),
    },
    "sglang.srt.layers.quantization.unquant.UnquantizedFusedMoEMethod": {
        "forward_cpu": ("self", "layer", "dispatch_output")
    },
    "sglang.srt.layers.layernorm.Gemma4RMSNorm": {"forward_native": ("self", "x")},
    "sglang.srt.platforms.interface.SRTPlatform": {
        "get_default_attention_backend": ("self",),
        "get_dispatch_key_name": ("self",),
        "init_backend": ("self",),
        "get_compile_backend": ("self", "mode"),
        "get_torch_distributed_backend_str": ("self",),
        "is_pin_memory_available": ("self", "device"),
    },
}

CALLED = {
    "sglang.srt.managers.scheduler.Scheduler.retire_unadmitted_request": ("self", "req"),
    "sglang.srt.managers.schedule_batch.Req.set_finish_with_abort": ("self", "error_msg"),
    "sglang.srt.managers.schedule_batch.Req.finished": ("self",),
    "sglang.srt.managers.schedule_batch.FINISH_ABORT": ("message", "status_code", "err_type"),
    "sglang.srt.managers.schedule_batch.FINISH_LENGTH": ("length",),
    "sglang.srt.managers.schedule_batch.FINISH_MATCHED_TOKEN": ("matched",),
    "sglang.srt.constrained.grammar_manager.GrammarManager.has_waiting_grammars": ("self",),
    "sglang.srt.constrained.grammar_manager.GrammarManager.get_ready_grammar_requests": ("self",),
    "sglang.srt.constrained.base_grammar_backend.InvalidGrammarObject": ("error_message",),
    "sglang.srt.constrained.base_grammar_backend.register_grammar_backend": ("name", "init_func"),
    "sglang.srt.dllm.mixin.scheduler.SchedulerDllmMixin._finish_dllm_request_if_needed": ("self", "req"),
    "sglang.srt.dllm.mixin.scheduler.DllmManager.get_decode_requests": ("self",),
    "sglang.srt.dllm.config.DllmConfig.from_server_args": ("server_args",),
    "sglang.srt.dllm.algorithm.gemma4_renoise.Gemma4Renoise._write_input_ids": ("self", "forward_batch", "states"),
    "sglang.srt.distributed.tensor_model_parallel_all_reduce": ("input_",),
    "sglang.srt.dllm.algorithm.gemma4_renoise.Gemma4Renoise.prepare_inputs": (
        "self",
        "model_runner",
        "forward_batch",
        "states",
    ),
    "sglang.srt.managers.scheduler_components.batch_result_processor.SchedulerBatchResultProcessor"
    ".move_logprobs_to_cpu": ("self", "batch", "logits_output"),
    "sglang.srt.managers.scheduler_components.batch_result_processor.SchedulerBatchResultProcessor"
    "._apply_prefill_logprobs": (
        *("self", "req", "i", "logits_output", "extend_input_len_per_req", "extend_logprob_start_len_per_req"),
        *("next_token_ids", "logprob_pt", "store"),
    ),
    "sglang.srt.arg_groups.overrides.declare_resolution": ("server_args",),
    "sglang.srt.arg_groups.overrides.resolving_view": ("server_args",),
    "sglang.srt.model_executor.cuda_graph_config.with_phase": (),
    "sglang.srt.model_executor.forward_context.get_attn_backend": (),
    "sglang.srt.layers.attention.attention_registry.register_attention_backend": ("name",),
    "sglang.srt.layers.moe.token_dispatcher.StandardCombineInput": ("hidden_states",),
    "sglang.srt.mem_cache.memory_pool.KVWriteLoc": (),
    "sglang.srt.utils.common.get_image_bytes": ("image_file",),
    "sglang.srt.utils.common.ImageData": ("url",),
    "sglang.kernels.fused_op.BaseFusedOp.register_oot_forward": ("op_cls", "fn", "platform_key"),
}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.target.removeprefix("sglang."))
def test_a_wrapped_function_is_there_and_takes_what_we_pass(hook: Hook) -> None:
    hook.check()
    parameters = inspect.signature(hook.function).parameters.values()
    ours = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    passed = {"around": ["original"], "after": ["result"], "before": [], "replace": []}[HookType(hook.kind).value]
    assert len([name for name in ours if name != "_"]) == len(passed) + len(hook.parameters)


@pytest.mark.parametrize(
    ("owner", "method"),
    [(owner, method) for owner, methods in OVERRIDDEN.items() for method in methods],
    ids=lambda part: part.rsplit(".", 1)[-1],
)
def test_an_overridden_method_is_there_with_its_parameters(owner: str, method: str) -> None:
    found = tuple(inspect.signature(getattr(pkgutil.resolve_name(owner), method)).parameters)
    expected = OVERRIDDEN[owner][method]
    assert found[: len(expected)] == expected


@pytest.mark.parametrize("target", CALLED, ids=lambda target: target.removeprefix("sglang."))
def test_a_called_function_is_there_with_its_parameters(target: str) -> None:
    found = list(inspect.signature(pkgutil.resolve_name(target)).parameters)
    assert [name for name in found if name in CALLED[target]] == list(CALLED[target])


def test_upstream_reads_no_more_of_a_rows_state_than_we_keep() -> None:
    functions = (Gemma4Renoise.prepare_inputs, Gemma4Renoise._write_input_ids, DllmAlgorithm._run_fdfo)
    read = {key for one in functions for key in re.findall(r'state\["(\w+)"\]', inspect.getsource(one))}
    kept = set(re.findall(r'^\s+"(\w+)":', inspect.getsource(CanvasRenoise._state), re.MULTILINE))
    assert read and read <= kept


def test_upstream_reads_the_same_of_the_embedding_table() -> None:
    """`CanvasRenoise._soft_embedding` does what upstream's does, on this rank's part of the table."""
    source = inspect.getsource(Gemma4Renoise._soft_embeddings)
    for name in ("weight", "shard_indices", "org_vocab_start_index", "org_vocab_end_index", "tp_size", "embed_scale"):
        assert f".{name}" in source


def test_upstream_names_the_features_that_we_unlock() -> None:
    source = inspect.getsource(Gemma4Renoise.validate_request)
    for name in ("json_schema", "regex", "ebnf", "structural_tag", "sampling_seed", "return_logprob"):
        assert f'"{name}"' in source


def test_health_checks_are_known_by_their_name() -> None:
    from sglang.srt.constants import HEALTH_CHECK_RID_PREFIX
    from sglang.srt.entrypoints import http_server

    assert HEALTH_CHECK_RID_PREFIX and "HEALTH_CHECK_RID_PREFIX" in inspect.getsource(http_server)


def test_the_entry_points_are_installed() -> None:
    assert entry_points(group="sglang.srt.plugins")["dg_sglang"].value == "dg_sglang.plugin:register"
    assert entry_points(group="sglang.srt.platforms")["dg_cpu"].value == "dg_sglang.plugin:cpu_platform"


@pytest.mark.parametrize(
    "hook",
    [
        Hook("sglang.srt.no_such_module.f", (), "before", print),
        Hook("sglang.srt.managers.schedule_batch.Req.no_such_method", (), "before", print),
        Hook("sglang.srt.managers.schedule_batch.Req.finished", ("self", "more"), "before", print),
    ],
    ids=["module", "method", "parameters"],
)
def test_a_hook_that_does_not_fit_says_so(hook: Hook) -> None:
    with pytest.raises(ConfigError, match="install the version that"):
        hook.check()


def test_encoded_pictures_are_kept_in_as_much_memory_as_the_docs_say() -> None:
    """What is kept is asked by tests/sglang/test_images.py."""
    from sglang.srt.environ import envs

    assert envs.SGLANG_VLM_CACHE_SIZE_MB.default == 100


def test_the_picture_that_a_server_warms_up_with_is_known() -> None:
    from sglang.srt.entrypoints import http_server

    assert http_server._get_vlm_warmup_image_base64({}) == http_server.MINIMUM_PNG_PICTURE_BASE64
