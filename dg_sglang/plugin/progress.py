"""Hooks on requests under way: which rows run, what is committed, how an answer ends, what the client is told."""

from __future__ import annotations

from array import array
from typing import Any

from sglang.srt.managers.schedule_batch import FINISH_LENGTH, FINISH_MATCHED_TOKEN

from dg_sglang.plugin.context import expect_readers
from dg_sglang.plugin.service import served_of


def name_requests(worker: Any, forward_batch: Any, batch: Any = None) -> None:
    """The algorithm and the model work on requests, but are passed only the tensors of their batch."""
    requests = [] if batch is None else list(batch.reqs)
    worker.dllm_algorithm.requests = requests
    expect_readers(worker.model_runner.model, requests)


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
    if sequence.finished and (not req.finished() or isinstance(req.finished_reason, FINISH_LENGTH)):
        # "stop" without a token or text that matched: nothing is trimmed from the answer.
        complete = FINISH_MATCHED_TOKEN(matched=None)
        req.finished_reason = complete if sequence.complete else FINISH_LENGTH(len(sequence.committed))


def stream_news(original: Any, streamer: Any, reqs: list[Any], return_logprob: bool, skip_req: Any = None) -> None:
    """Upstream sends every row on after every denoising step: empty chunks, and the first token's logprob is lost."""
    news = [req for req in reqs if req.finished() or len(req.output_ids) > req.send_token_offset]
    original(streamer, news, return_logprob, skip_req)
