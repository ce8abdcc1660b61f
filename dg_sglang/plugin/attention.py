"""SGLang's attention backend of the CPU platform: SDPA over gathered paged keys and values."""

from __future__ import annotations

from typing import Any

import torch
from sglang.srt.layers.attention.torch_native_backend import TorchNativeAttnBackend
from sglang.srt.layers.radix_attention import AttentionType
from sglang.srt.mem_cache.memory_pool import KVWriteLoc
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

Spans = list[tuple[int, int]]


class CanvasAttention(TorchNativeAttnBackend):
    """Causal context passes, and canvases that see all of themselves and their context.

    A sliding layer's window is SGLang's (W = transformers' − 1): a context token sees the W before it, a canvas the W
    last tokens of its context. Images in a context pass see all of themselves.
    """

    def __init__(self, model_runner: Any) -> None:
        super().__init__(model_runner)
        self.image_spans: list[Spans] = []

    def init_forward_metadata(self, forward_batch: Any) -> None:
        """Forget the images of the pass before; `mark_images` tells those of this one."""
        super().init_forward_metadata(forward_batch)
        self.image_spans = [[]] * forward_batch.batch_size

    def forward_extend(
        self, q: Tensor, k: Tensor, v: Tensor, layer: Any, forward_batch: Any, save_kv_cache: bool = True, **_: Any
    ) -> Tensor:
        """Attention of all rows' new tokens, one row after the other: q is [tokens, heads · head size]."""
        if save_kv_cache:
            places = KVWriteLoc(forward_batch.out_cache_loc, self.swa_out_cache_loc)
            self.token_to_kv_pool.set_kv_buffer(layer, places, k, v)
        queries = q.view(-1, layer.tp_q_head_num, layer.qk_head_dim)
        output = torch.empty_like(queries)
        canvas = layer.attn_type == AttentionType.DECODER_BIDIRECTIONAL and forward_batch.forward_mode.is_dllm_extend()
        window = layer.sliding_window_size if (layer.sliding_window_size or -1) > -1 else None
        start = 0
        for row, (end, prefix) in enumerate(
            zip(forward_batch.seq_lens.tolist(), forward_batch.extend_prefix_lens.tolist(), strict=True)
        ):
            low = 0 if window is None else max(0, prefix - window)
            keys, values = self._cached(layer, forward_batch.req_pool_indices[row], low, end, window)
            mask = None if canvas else _causal(low, prefix, end, window, self.image_spans[row])
            stop = start + end - prefix
            output[start:stop] = scaled_dot_product_attention(
                queries[start:stop].movedim(0, 1)[None],
                keys.to(q.dtype).movedim(0, 1)[None],
                values.to(q.dtype).movedim(0, 1)[None],
                attn_mask=mask,
                scale=layer.scaling,
                enable_gqa=layer.tp_q_head_num != layer.tp_k_head_num,
            )[0].movedim(0, 1)
            start = stop
        return output.view(q.shape[0], -1)

    def _cached(self, layer: Any, row: Tensor, low: int, end: int, window: int | None) -> tuple[Tensor, Tensor]:
        """Keys and values of one request's positions low … end − 1."""
        places = self.req_to_token_pool.req_to_token[row, low:end].to(torch.int64)
        if window is not None and self.use_sliding_window_kv_pool:
            places = self.token_to_kv_pool.translate_loc_from_full_to_swa(places).to(torch.int64)
        pool = self.token_to_kv_pool
        return pool.get_key_buffer(layer.layer_id)[places], pool.get_value_buffer(layer.layer_id)[places]


def _causal(low: int, prefix: int, end: int, window: int | None, images: Spans) -> Tensor:
    """Bool [end − prefix, end − low]: which keys the new tokens of a context see."""
    query = torch.arange(prefix, end)[:, None]
    key = torch.arange(low, end)[None]
    mask = key <= query
    if window is not None:
        mask &= key >= query - window
    for first, last in images:
        mask |= (query >= first) & (query <= last) & (key >= first) & (key <= last)
    return mask


def mark_images(original: Any, model: Any, forward_batch: Any, input_ids: Tensor, mask_dtype: torch.dtype) -> None:
    """AROUND `Gemma4ForConditionalGeneration.prepare_attn_masks`: upstream's is for Triton and FA4 only."""
    from sglang.srt.model_executor.forward_context import get_attn_backend

    backend = get_attn_backend()
    if not isinstance(backend, CanvasAttention):
        original(model, forward_batch, input_ids, mask_dtype)
        return
    backend.image_spans = [
        [span for item in inputs.mm_items if item.is_image() for span in item.offsets] if inputs is not None else []
        for inputs in forward_batch.mm_inputs
    ]
