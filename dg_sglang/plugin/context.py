"""Hooks on context passes, whose logits upstream throws away: causal mode and the log-probabilities of prompts.

A context pass is the report's autoregressive mode: its hidden states under the language-model head are the next
tokens' distributions. SGLang's own code makes logits and log-probabilities of them once it is given them.
"""

from __future__ import annotations

from typing import Any

from sglang.srt.managers.schedule_batch import FINISH_LENGTH
from torch import Tensor

from dg_sglang.causal import CausalSequence
from dg_sglang.plugin.failures import fail
from dg_sglang.plugin.service import served_of


def expect_readers(model: Any, requests: list[Any]) -> None:
    """Tell the model whether one of the requests of its next pass needs the logits of its context.

    Not by way of the forward batch, which SGLang's runners copy field by field.
    """
    model.model.dg_keep = any(_causal(req) is not None or _reads_prompt(req) for req in requests)
    model.model.dg_kept = None


def keep_hidden_states(
    hidden: Tensor, model: Any, input_ids: Any, positions: Any, forward_batch: Any, input_embeds: Any = None
) -> None:
    """The model's forward pass returns nothing of a context pass; this is where its hidden states still exist."""
    if getattr(model, "dg_keep", False) and not forward_batch.forward_mode.is_dllm_extend():
        model.dg_kept = hidden


def make_logits(
    output: Any, model: Any, input_ids: Any, positions: Any, forward_batch: Any, input_embeds: Any = None, **_: Any
) -> Any:
    """The logits of a context pass that somebody reads."""
    hidden = getattr(model.model, "dg_kept", None)
    if output is not None or hidden is None:
        return output
    model.model.dg_kept = None
    return model.logits_processor(input_ids, hidden, model.lm_head, forward_batch)


def finish_context(original: Any, scheduler: Any, batch: Any, result: Any) -> None:
    """Upstream does nothing after a context pass: take causal tokens, hand out prompts' log-probabilities."""
    original(scheduler, batch, result)
    if batch.forward_mode.is_dllm_extend() or result.logits_output is None:
        return
    _store_prompt_logprobs(scheduler, batch, result)
    scheduler.token_to_kv_pool_allocator.free_group_begin()
    for row, req in enumerate(batch.reqs):
        if (served := _causal(req)) is not None:
            try:
                req.output_ids.append(served.take(result.logits_output.next_token_logits[row]))
            except Exception as error:
                fail(req, error)
            req.update_finish_state(new_accepted_len=1)
        elif req.sampling_params.max_new_tokens == 0:
            req.finished_reason = req.to_finish or FINISH_LENGTH(length=0)
            req.finished_len = 0
        scheduler._finish_dllm_request_if_needed(req)
    scheduler.output_streamer.stream_output(batch.reqs, batch.return_logprob)
    scheduler.token_to_kv_pool_allocator.free_group_end()


def share_turns(original: Any, manager: Any) -> list[Any]:
    """Upstream runs context passes before canvases; causal requests, which have nothing else, take every other turn."""
    requests: list[Any] = original(manager)
    others = [req for req in requests if _causal(req) is None or not req.output_ids]
    if others or not manager.get_decode_requests():
        return requests
    manager.dg_canvases_next = not getattr(manager, "dg_canvases_next", False)
    return [] if manager.dg_canvases_next else requests


def _store_prompt_logprobs(scheduler: Any, batch: Any, result: Any) -> None:
    if not batch.return_logprob:
        return
    processor, output = scheduler.batch_result_processor, result.logits_output
    processor.move_logprobs_to_cpu(batch=batch, logits_output=output)
    place = 0
    for row, req in enumerate(batch.reqs):
        place = processor._apply_prefill_logprobs(
            req=req,
            i=row,
            logits_output=output,
            extend_input_len_per_req=result.extend_input_len_per_req,
            extend_logprob_start_len_per_req=result.extend_logprob_start_len_per_req,
            next_token_ids=[],
            logprob_pt=place,
            store=not req.output_ids,
        )


def _causal(req: Any) -> Any:
    served = served_of(req)
    return served if served is not None and isinstance(served.sequence, CausalSequence) else None


def _reads_prompt(req: Any) -> bool:
    """Whether a request's first context pass must say how likely its prompt is, or ends it."""
    asks = req.return_logprob and 0 <= req.logprob_start_len < len(req.origin_input_ids)
    return not req.output_ids and (asks or req.sampling_params.max_new_tokens == 0)
