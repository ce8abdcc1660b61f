"""Hooks on the scheduler's door: settings are checked, grammars compiled, sequences made, refusals answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sglang.srt.constants import HEALTH_CHECK_RID_PREFIX

from dg_sglang.errors import DgError
from dg_sglang.plugin.failures import fail
from dg_sglang.plugin.grammar_backend import CanvasGrammarBackend
from dg_sglang.plugin.service import named, served_of


def check_request(original: Any, scheduler: Any, req: Any) -> str | None:
    """Invalid settings and token ids are an HTTP 400 at once; upstream's own refusals come first.

    Upstream would look up any token id in the embeddings, and end the server where there is none.
    """
    error: str | None = original(scheduler, req)
    backend = _backend(scheduler)
    if error or backend is None:
        return error
    params = req.sampling_params
    try:
        backend.service.check_prompt(req.origin_input_ids_unpadded)  # before images take their tokens' places
        req.dg_settings = backend.service.settings(params.custom_params, params.sampling_seed)
    except DgError as refusal:
        return named(refusal)
    return None


def tell_whitespace(manager: Any, req: Any) -> None:
    """The grammar backend looks up by constraint and white space, but is told only the constraint."""
    if settings := getattr(req, "dg_settings", None):
        manager.grammar_backend.whitespace = settings.config.policy.whitespace


def drain_grammars(scheduler: Any, running_batch: Any) -> None:
    """Upstream's diffusion path never takes requests out of the grammar queue: they would wait for ever."""
    if scheduler.grammar_manager.has_waiting_grammars():
        for req in scheduler.grammar_manager.get_ready_grammar_requests():
            scheduler._add_request_to_queue(req)


def start_request(original: Any, scheduler: Any, req: Any, is_retracted: bool = False) -> None:
    """Make the sequence once the grammar is compiled; what can't be served gets its 400 here, without a forward pass.

    Upstream would denoise a canvas for a refused request before it says so.
    """
    backend = _backend(scheduler)
    if backend is None:
        original(scheduler, req, is_retracted)
        return
    if hasattr(req, "dg_settings") and served_of(req) is None and req.to_finish is None:
        try:
            _start(scheduler, backend, req)
        except DgError as refusal:
            req.set_finish_with_abort(named(refusal))
        except Exception as error:
            fail(req, error)
    if req.to_finish is not None and not req.is_retracted:
        scheduler.retire_unadmitted_request(req)
        return
    original(scheduler, req, is_retracted)


def _start(scheduler: Any, backend: CanvasGrammarBackend, req: Any) -> None:
    params = req.sampling_params
    if params.max_new_tokens == 0:  # only its prompt is read: `context.finish_context`
        return
    settings = req.dg_settings
    if req.rid.startswith(HEALTH_CHECK_RID_PREFIX):  # any token will do: one step instead of a canvas' dozens
        settings = replace(settings, config=settings.config.replace({"max_denoising_steps": 1}))
    req.dg_served = backend.service.start(
        settings,
        name=req.rid,
        prompt=req.origin_input_ids,
        max_new_tokens=params.max_new_tokens,
        max_context=scheduler.model_config.context_len,
        automaton=None if req.grammar is None else req.grammar.automaton,
        thinking=req.require_reasoning,
        ignore_end=params.ignore_eos,
        device=scheduler.tp_worker.model_runner.device,
    )


def _backend(scheduler: Any) -> CanvasGrammarBackend | None:
    """Our grammar backend in a server that runs our algorithm, else None."""
    backend = scheduler.grammar_manager.grammar_backend
    return backend if isinstance(backend, CanvasGrammarBackend) else None
