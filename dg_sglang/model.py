"""A thin wrapper over transformers' DiffusionGemma modules: encode tokens into a cache, decode a canvas over it.

Every request has a cache of its own and is encoded alone, without padding; only canvases are batched, over caches
stacked with padding on the left. So a request's context is the same in every batch, requests may stand at different
canvases, and a sliding layer's entries (the last W − 1 tokens) stay next to the canvas in every row.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dg_sglang.image_features import ImageFeatures
from dg_sglang.sampler import mean_embedding


@dataclass(frozen=True)
class Context:
    """What a batch of canvases attends to: encoded tokens of each request.

    Attributes:
        cache: transformers' DynamicCache, B rows; the decoder only reads it.
        mask: per layer type a bool mask [B, 1, L, K] (True: attend), or None where there is no padding.
        positions: int32 [B, L], the canvas' positions in the sequence.
    """

    cache: Any
    mask: Mapping[str, Tensor | None]
    positions: Tensor


class DiffusionModel:
    """The forward passes of one `DiffusionGemmaForBlockDiffusion`.

    Attributes:
        vocab_size: V, also the range of canvas noise.
        canvas_length: L.
        max_context: the longest sequence of prompt and answer.
        images: the vision tower, with a cache of the pictures that it has seen.
        device, dtype: of the weights; dtype is also that of the self-conditioning logits (upstream: the embeddings').
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self._text_config = module.config.get_text_config(decoder=True)
        self.vocab_size: int = self._text_config.vocab_size
        self.canvas_length: int = module.config.canvas_length
        self.max_context: int = self._text_config.max_position_embeddings
        self.device: torch.device = module.device
        self.dtype: torch.dtype = module.model.decoder.embed_tokens.weight.dtype
        self.images = ImageFeatures(module.model.encoder, module.config.vision_config.pooling_kernel_size)
        self._soft: Tensor | None = None
        module.model.decoder.self_conditioning.register_forward_pre_hook(self._condition)
        # transformers renamed the argument (and deprecated the old name) between 5.19 and 5.24.
        parameters = inspect.signature(module.forward).parameters
        self._cache_argument = "cache" if "cache" in parameters else "past_key_values"

    def new_cache(self) -> Any:
        """An empty cache for one request."""
        from transformers import DynamicCache

        return DynamicCache(config=self._text_config)

    @torch.inference_mode()
    def encode(self, tokens: Sequence[int], cache: Any, *, images: Mapping[str, Tensor] | None = None) -> Tensor:
        """Append tokens to a cache: the prompt, or a committed canvas (causal, without self-conditioning).

        Args:
            tokens: what follows the cached tokens.
            cache: one request's cache, changed in place.
            images: `pixel_values`, `image_position_ids` and `mm_token_type_ids` of these tokens.

        Returns:
            The encoder's hidden states of these tokens, [1, n, hidden].
        """
        images = {name: tensor.to(self.device) for name, tensor in (images or {}).items()}
        encoder = self.module.model.encoder
        start, count = cache.get_seq_length(), len(tokens)
        positions = torch.arange(start, start + count, dtype=torch.int32, device=self.device)[None]
        # The dictionary of masks is made as upstream's `_prepare_encoder_inputs` makes it: an encoder called with a
        # two-dimensional mask is causal over image tokens.
        mask = encoder.create_masks_for_generate(
            self.module.config,
            torch.empty(1, count, 0, dtype=self.module.dtype, device=self.device),
            torch.ones(1, start + count, dtype=torch.bool, device=self.device),
            cache,
            positions,
            images.get("mm_token_type_ids"),
        )
        ids = torch.tensor([list(tokens)], device=self.device)
        hidden: Tensor = encoder(
            **({"inputs_embeds": self.images.embed(ids, images)} if images else {"input_ids": ids}),
            attention_mask=mask,
            position_ids=positions,
            **{self._cache_argument: cache},
        ).last_hidden_state
        return hidden

    @torch.inference_mode()
    def head(self, hidden: Tensor) -> Tensor:
        """Logits of the next token after each hidden state of the encoder, float32 [..., V]."""
        cap = self.module.final_logit_softcapping
        logits: Tensor = torch.tanh(self.module.lm_head(hidden).float() / cap) * cap
        return logits

    @torch.inference_mode()
    def stack(self, caches: Sequence[Any]) -> Context:
        """The context of a batch, one row for each request's cache, padded on the left."""
        lengths = [cache.get_seq_length() for cache in caches]
        canvas = torch.arange(self.canvas_length, dtype=torch.int32, device=self.device)
        positions = torch.tensor(lengths, dtype=torch.int32, device=self.device)[:, None] + canvas
        if len(caches) == 1:
            return Context(caches[0], dict.fromkeys(set(self._text_config.layer_types)), positions)
        stacked = self.new_cache()
        mask: dict[str, Tensor | None] = {}
        for index, kind in enumerate(self._text_config.layer_types):
            rows = [cache.layers[index] for cache in caches]
            widths = [row.keys.shape[-2] for row in rows]
            widest = max(widths)
            keys, values = (
                torch.cat([F.pad(getattr(row, name), (0, 0, widest - row.keys.shape[-2], 0)) for row in rows])
                for name in ("keys", "values")
            )
            stacked.update(keys, values, index)
            if kind not in mask:
                mask[kind] = self._padding_mask(widths, widest)
        return Context(stacked, mask, positions)

    def _padding_mask(self, widths: Sequence[int], widest: int) -> Tensor | None:
        if min(widths) == widest:
            return None
        slots = torch.arange(widest + self.canvas_length, device=self.device)
        padding = torch.tensor([widest - width for width in widths], device=self.device)
        attend = slots[None] >= padding[:, None]
        return attend[:, None, None, :].expand(-1, 1, self.canvas_length, -1)

    @torch.inference_mode()
    def decode(
        self, tokens: Tensor, context: Context, conditioning: Tensor | None, conditioned: Tensor | None = None
    ) -> Tensor:
        """One forward pass over canvases.

        Args:
            tokens: int64 [B, L].
            context: of the same B requests.
            conditioning: [B, L, V] self-conditioning logits of the step before, None in everyone's first step.
            conditioned: bool [B], False for rows whose first step it is; None if there are no such rows.

        Returns:
            Logits, float32 [B, L, V].
        """
        self._soft = None if conditioning is None else self._soft_embedding(conditioning)
        if self._soft is not None and conditioned is not None:
            self._soft *= conditioned[:, None, None]
        output = self.module(
            decoder_input_ids=tokens,
            decoder_attention_mask=dict(context.mask),
            decoder_position_ids=context.positions,
            **{self._cache_argument: context.cache},
        )
        logits: Tensor = output.logits
        return logits

    def _soft_embedding(self, conditioning: Tensor) -> Tensor:
        """The mean embedding under softmax(conditioning), scaled as a token's is: [B, L, hidden].

        Upstream's decoder makes it from a float32 copy of all probabilities; the kernel never holds them.
        """
        table = self.module.model.decoder.embed_tokens
        mean = mean_embedding(conditioning.flatten(0, 1), table.weight).to(table.weight.dtype)
        scaled: Tensor = mean * table.embed_scale.to(mean.dtype)
        return scaled.view(*conditioning.shape[:2], -1)

    def _condition(self, block: Any, arguments: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        """Give the decoder's self-conditioning block the soft embedding in place of the zeros it is called with."""
        return None if self._soft is None else (arguments[0], self._soft)
