"""The training forward of nano: DiffusionGemma's text model in plain torch, with transformers' parameter names.

transformers' own modules serve one prompt with a cache; training needs several canvases per encoded document, block
offsets, and little overhead. tests/examples/test_nano.py proves that both compute the same logits. Vision and
more than one expert are left out: nano has one expert, so its router has nothing to decide.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

KeyValues = list[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class NanoConfig:
    """Sizes. `layers` has one letter a layer: S for sliding-window attention, F for full attention."""

    vocab_size: int = 2048
    hidden_size: int = 128
    intermediate_size: int = 256
    expert_size: int = 128
    layers: str = "SSFSF"
    heads: int = 4
    head_dim: int = 32
    canvas_length: int = 128
    sliding_window: int = 2048
    sliding_theta: float = 10_000.0
    full_theta: float = 1_000_000.0
    full_rotary_fraction: float = 0.25
    softcap: float = 30.0


def _normed(x: Tensor, weight: Tensor | None = None) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, 1e-6)


class Norm(nn.Module):
    """RMSNorm with a learned scale."""

    def __init__(self, size: int, value: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((size,), value))

    def forward(self, x: Tensor) -> Tensor:
        return _normed(x, self.weight)


def _linear(inputs: int, outputs: int, gain: float = 0.8) -> nn.Linear:
    layer = nn.Linear(inputs, outputs, bias=False)
    nn.init.normal_(layer.weight, std=gain * inputs**-0.5)
    return layer


class GatedMlp(nn.Module):
    """down(gelu(gate(x)) * up(x)); with `pre_norm`, as the self-conditioning block has it."""

    def __init__(self, hidden: int, inner: int, pre_norm: bool = False) -> None:
        super().__init__()
        self.gate_proj = _linear(hidden, inner)
        self.up_proj = _linear(hidden, inner)
        self.down_proj = _linear(inner, hidden)
        self.pre_norm = Norm(hidden) if pre_norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        x = self.pre_norm(x)
        gate, up = F.linear(x, torch.cat([self.gate_proj.weight, self.up_proj.weight])).chunk(2, -1)
        return self.down_proj(F.gelu(gate, approximate="tanh") * up)


class Expert(nn.Module):
    """The single expert, in the packed layout of the mixture."""

    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.randn(1, 2 * inner, hidden) * 0.8 * hidden**-0.5)
        self.down_proj = nn.Parameter(torch.randn(1, hidden, inner) * 0.8 * inner**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = F.linear(x, self.gate_up_proj[0]).chunk(2, -1)
        return F.linear(F.gelu(gate, approximate="tanh") * up, self.down_proj[0])


class Attention(nn.Module):
    """Query/key-normalised attention with scale 1; full-attention layers take their values from the keys."""

    def __init__(self, config: NanoConfig, full: bool) -> None:
        super().__init__()
        width = config.heads * config.head_dim
        self.heads, self.head_dim = config.heads, config.head_dim
        self.q_proj = _linear(config.hidden_size, width)
        self.k_proj = _linear(config.hidden_size, width)
        self.v_proj = None if full else _linear(config.hidden_size, width)
        self.o_proj = _linear(width, config.hidden_size)
        norm_start = 1.2 * config.head_dim**-0.25  # logits start at the usual 1/sqrt(head_dim) scale, a little sharper
        self.q_norm = Norm(config.head_dim, norm_start)
        self.k_norm = Norm(config.head_dim, norm_start)

    def forward(
        self, x: Tensor, rotary: tuple[Tensor, Tensor], past: tuple[Tensor, Tensor] | None, mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch, length, _ = x.shape
        weights = [self.q_proj.weight, self.k_proj.weight] + ([] if self.v_proj is None else [self.v_proj.weight])
        parts = F.linear(x, torch.cat(weights)).view(batch, length, -1, self.head_dim).split(self.heads, 2)
        query, key, value = parts if len(parts) == 3 else (*parts, parts[1])
        query = _rotated(self.q_norm(query).transpose(1, 2), rotary)
        key = _rotated(self.k_norm(key).transpose(1, 2), rotary)
        value = _normed(value).transpose(1, 2)
        own = (key, value)
        if past is not None:
            key = torch.cat([past[0], key], 2)
            value = torch.cat([past[1], value], 2)
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=past is None, scale=1.0)
        return self.o_proj(out.transpose(1, 2).reshape(batch, length, -1)), own


def _rotated(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = rotary
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class Layer(nn.Module):
    """Attention, then dense and expert MLP side by side, each with norms before and after."""

    def __init__(self, config: NanoConfig, full: bool) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.self_attn = Attention(config, full)
        self.mlp = GatedMlp(hidden, config.intermediate_size)
        self.experts = Expert(hidden, config.expert_size)
        self.input_layernorm = Norm(hidden)
        self.post_attention_layernorm = Norm(hidden)
        self.pre_feedforward_layernorm = Norm(hidden)
        self.post_feedforward_layernorm = Norm(hidden)
        self.post_feedforward_layernorm_1 = Norm(hidden)
        self.post_feedforward_layernorm_2 = Norm(hidden)
        self.pre_feedforward_layernorm_2 = Norm(hidden)

    def forward(
        self, x: Tensor, rotary: tuple[Tensor, Tensor], past: tuple[Tensor, Tensor] | None, mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        attended, own = self.self_attn(self.input_layernorm(x), rotary, past, mask)
        x = x + self.post_attention_layernorm(attended)
        dense = self.post_feedforward_layernorm_1(self.mlp(self.pre_feedforward_layernorm(x)))
        expert = self.post_feedforward_layernorm_2(self.experts(self.pre_feedforward_layernorm_2(x)))
        return x + self.post_feedforward_layernorm(dense + expert), own


class Nano(nn.Module):
    """Encoder (causal, over prompt and answer) and decoder (bidirectional over a canvas) with shared weights."""

    def __init__(self, config: NanoConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        nn.init.normal_(self.embed_tokens.weight, std=0.04)
        self.layers = nn.ModuleList(Layer(config, kind == "F") for kind in config.layers)
        self.norm = Norm(config.hidden_size)
        self.self_conditioning = GatedMlp(config.hidden_size, config.intermediate_size, pre_norm=True)
        nn.init.normal_(self.self_conditioning.down_proj.weight, std=0.01)
        half = config.head_dim // 2
        sliding = config.sliding_theta ** (-torch.arange(half) / half)
        turning = int(config.full_rotary_fraction * half)  # the remaining frequencies stand still
        full = torch.zeros(half)
        full[:turning] = config.full_theta ** (-torch.arange(turning) / half)
        self.register_buffer("frequencies", torch.stack([sliding, full]), persistent=False)

    def _rotary(self, positions: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
        """Cosines and sines [B, 1, T, head_dim] of positions [B, T], for both kinds of layers."""
        tables = {}
        for kind, frequencies in zip("SF", self.frequencies, strict=True):
            angles = (positions[..., None].float() * frequencies).repeat(1, 1, 2)[:, None]
            tables[kind] = (angles.cos(), angles.sin())
        return tables

    def _embedded(self, ids: Tensor) -> Tensor:
        return self.embed_tokens(ids) * self.config.hidden_size**0.5

    def encode(self, ids: Tensor) -> tuple[Tensor, KeyValues]:
        """ids [B, T], padded at the end → hidden states [B, T, H], each layer's keys and values [B, heads, T, D]."""
        x = self._embedded(ids)
        rotary = self._rotary(torch.arange(ids.shape[1], device=ids.device)[None])
        cache: KeyValues = []
        for kind, layer in zip(self.config.layers, self.layers, strict=True):
            x, own = layer(x, rotary[kind], None, None)
            cache.append(own)
        return self.norm(x), cache

    def decode(self, canvas: Tensor, cache: KeyValues, context: Tensor, conditioning: Tensor | None = None) -> Tensor:
        """One denoising forward.

        canvas [B * n, C]: n canvases for each row of the cache; context [B * n]: how many encoded tokens each canvas
        sees (its own position starts there); conditioning [B * n, C, H]: expected embeddings of the last step, or
        None for zeros. → final hidden states [B * n, C, H].
        """
        rows, length = canvas.shape
        repeats = rows // cache[0][0].shape[0]
        seen = torch.arange(cache[0][0].shape[2], device=canvas.device)[None] < context[:, None]
        mask = torch.cat([seen, seen.new_ones(rows, length)], 1)[:, None, None, :]
        x = self._embedded(canvas)
        if conditioning is None:
            conditioning = torch.zeros_like(x)
        x = _normed(x + self.self_conditioning(conditioning))
        rotary = self._rotary(context[:, None] + torch.arange(length, device=canvas.device)[None])
        for kind, layer, (key, value) in zip(self.config.layers, self.layers, cache, strict=True):
            past = (key.repeat_interleave(repeats, 0), value.repeat_interleave(repeats, 0))
            x, _ = layer(x, rotary[kind], past, mask)
        return self.norm(x)

    def token_losses(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Cross-entropy [N] of targets [N] under the logits of hidden states [N, H]."""
        return F.cross_entropy(self.logits(hidden), targets, reduction="none")

    def logits(self, hidden: Tensor) -> Tensor:
        """Soft-capped logits [..., V] of final hidden states [..., H]."""
        cap = self.config.softcap
        return torch.tanh(F.linear(hidden, self.embed_tokens.weight) / cap) * cap

    def fuse(self) -> None:
        """Compile each layer (needs a C++ compiler): its small operations cost as much as its matrices."""
        torch._dynamo.config.recompile_limit = 64  # two kinds of layers, with and without past and gradients
        torch.fx.experimental._config.use_duck_shape = False  # sizes that happen to be equal are not the same
        for layer in self.layers:
            layer.compile(dynamic=True)

    def expected_embedding(self, logits: Tensor) -> Tensor:
        """What self-conditioning feeds back: the mean embedding under softmax(logits) [..., H]."""
        return logits.softmax(-1) @ self.embed_tokens.weight * self.config.hidden_size**0.5
