"""SGLang's diffusion algorithm for DiffusionGemma: its forward passes and KV cache, this package's sampler."""

from __future__ import annotations

import copy
from typing import Any, cast

import msgspec
import torch
from sglang.srt.arg_groups.overrides import declare_resolution, resolving_view
from sglang.srt.distributed import tensor_model_parallel_all_reduce
from sglang.srt.dllm.algorithm.gemma4_renoise import Gemma4Renoise
from sglang.srt.model_executor.cuda_graph_config import Backend, Phase, with_phase
from torch import Tensor

from dg_sglang.canvas import CanvasState
from dg_sglang.errors import DgError
from dg_sglang.plugin import GRAMMAR_BACKEND
from dg_sglang.plugin.failures import fail
from dg_sglang.plugin.service import Served, served_of
from dg_sglang.sampler import denoise_step, mean_embedding

ALGORITHM = "Gemma4Renoise"
"""The name that `DllmConfig` demands for DiffusionGemma; `--dllm-algorithm` must say it."""

_SUPPORTED = ("json_schema", "regex", "ebnf", "structural_tag", "sampling_seed")


class CanvasRenoise(Gemma4Renoise):
    """Denoises canvases with `denoise_step`, each request with its own settings, constraint and random numbers.

    A row's state is upstream's dictionary, which `prepare_inputs` reads, with the request's `Served` in it.

    Attributes:
        requests: SGLang's requests of the batch that runs next; the hook on `_forward_batch_generation_dllm` sets them.
    """

    @classmethod
    def configure_server_args(cls, server_args: Any) -> None:
        """What upstream demands of the server, or on a CPU what is left of it; and our grammar backend."""
        settings = resolving_view(server_args)
        if settings.grammar_backend not in (GRAMMAR_BACKEND, "xgrammar"):  # xgrammar is SGLang's default
            raise ValueError(f"DiffusionGemma needs --grammar-backend {GRAMMAR_BACKEND}")
        if settings.skip_tokenizer_init:
            raise ValueError("DiffusionGemma's requests are made with its tokenizer: leave out --skip-tokenizer-init")
        declare_resolution(server_args, cls.__name__, grammar_backend=GRAMMAR_BACKEND)
        if settings.device != "cpu":
            super().configure_server_args(server_args)
            return
        graphs = settings.cuda_graph_config
        for phase in (Phase.PREFILL, Phase.DECODE):
            graphs = with_phase(graphs, phase, backend=Backend.DISABLED)
        declare_resolution(
            server_args, cls.__name__, disable_radix_cache=True, chunked_prefill_size=-1, cuda_graph_config=graphs
        )

    @classmethod
    def validate_request(cls, req: Any) -> str | None:
        """Upstream's refusals, without those of features that are supported here."""
        shown = copy.copy(req)
        shown.sampling_params = msgspec.structs.replace(req.sampling_params, **dict.fromkeys(_SUPPORTED))
        shown.return_logprob = False
        error: str | None = super().validate_request(shown)
        return error

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.requests: list[Any] = []

    def max_steps(self, block_size: int) -> int:
        """The step cap of the synchronous loop, which ends when every row is done."""
        served = filter(None, map(served_of, self.requests))
        return max((one.sequence.job.config.max_denoising_steps for one in served), default=1)

    def init_step_state(self, forward_batch: Any) -> list[Any]:
        """A state for every row. Of those that carry one already (upstream drops it) nothing is changed."""
        return [self._state(served_of(req), forward_batch.input_ids.device) for req in self.requests]

    def _state(self, served: Served | None, device: Any) -> dict[str, Any]:
        blank = torch.zeros(self.block_size, dtype=torch.int64, device=device)
        return {
            "served": served,
            "step": self.max_denoising_steps,  # upstream's sign of a fresh state
            "current": blank if served is None else served.canvas.tokens[0],
            "self_conditioning": None,
            "finished": served is None,  # aborted before it began
        }

    @torch.no_grad()
    def step(self, forward_batch: Any, full_logits: Tensor, states: list[Any]) -> list[bool]:
        """One denoising step of every canvas that isn't finished; `full_logits` is [B · L, V]."""
        rows = [row for row, state in enumerate(states) if not state["finished"]]
        if rows:
            self._denoise(full_logits.view(len(states), self.block_size, -1), [states[row] for row in rows], rows)
        self._write_input_ids(forward_batch, states)
        return [state["finished"] for state in states]

    def _denoise(self, logits: Tensor, states: list[Any], rows: list[int]) -> None:
        """Advance the canvases of `states`, which are the rows `rows` of `logits` [B, L, V]."""
        canvases: list[CanvasState] = [state["served"].canvas for state in states]
        errors: dict[int, DgError] = {}
        own = logits if len(rows) == len(logits) else logits[rows]
        try:
            output = denoise_step(own, canvases, dtype=self.embed_tokens.weight.dtype, errors=errors)
        except Exception as error:  # whose fault it is isn't known: these requests end, the server goes on
            for state, row in zip(states, rows, strict=True):
                self._end(state, row, error)
            return
        for place, (state, canvas) in enumerate(zip(states, canvases, strict=True)):
            try:
                if place in errors:
                    raise errors[place]
                self._take(state, canvas, output.tokens[place])
            except Exception as error:  # one request's trouble is not the others'
                self._end(state, rows[place], error)
        going = [place for place, state in enumerate(states) if not state["finished"]]
        if going:
            read = output.conditioning if len(going) == len(rows) else output.conditioning[going]
            signals = self._soft_embedding(read.flatten(0, 1)).view(len(going), self.block_size, -1)
            for place, signal in zip(going, signals, strict=True):
                states[place]["self_conditioning"] = signal

    def _end(self, state: dict[str, Any], row: int, error: Exception) -> None:
        """End the request of a row with an error."""
        fail(self.requests[row], error)
        state["finished"] = True

    def _take(self, state: dict[str, Any], canvas: CanvasState, tokens: Tensor) -> None:
        """What a step makes of one row: its next canvas `tokens` [L], or the finished one."""
        state["step"] -= 1
        state["self_conditioning"] = None
        state["finished"] = canvas.done
        state["current"] = torch.tensor(state["served"].commit(), device=tokens.device) if canvas.done else tokens

    def _soft_embedding(self, conditioning: Tensor) -> Tensor:
        """The mean embedding under the softmax of `conditioning` [R, V], scaled as a token's is: [R, hidden].

        Each rank sums over its own part of the vocabulary, normalised over all of it.
        """
        table = self.embed_tokens
        own = slice(table.shard_indices.org_vocab_start_index, table.shard_indices.org_vocab_end_index)
        weight = table.weight[: own.stop - own.start]
        sums = mean_embedding(conditioning, weight, own)
        if table.tp_size > 1:
            sums = tensor_model_parallel_all_reduce(sums)
        return cast("Tensor", sums.to(weight.dtype) * table.embed_scale.to(weight.dtype))
