"""A random DiffusionGemma small enough to build in every test session (about 100,000 parameters, mixture of experts,
sliding and full layers, vision tower) with a tokenizer, a chat template and an image processor like Gemma 4's."""

import json
from pathlib import Path
from typing import Any

import torch

SPECIAL_TOKENS = (
    *("<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>"),
    *("<|image>", "<image|>", "<|image|>", "<|audio>", "<audio|>", "<|audio|>", "<|video|>", "<|tool_call>"),
)
MERGES = (
    *('{"', '":', '":"', ',"', '","', '"}', "],", "nu", "ll", "null", "tr", "ue", "true"),
    *("20", "12", "ab", "th", "in"),
)
CHAT_TEMPLATE = """{{ bos_token }}{% for message in messages %}<|turn>{{ message['role'] }}
{% if enable_thinking and loop.first %}<|think|>{% endif -%}
{% if message['content'] is string %}{{ message['content'] }}{% else -%}
{% for part in message['content'] %}{% if part['type'] == 'image' %}<|image|>{% else %}{{ part['text'] }}{% endif %}\
{% endfor %}{% endif %}<turn|>
{% endfor %}{% if add_generation_prompt %}<|turn>model
{% endif %}"""


def make_tokenizer(folder: Path) -> None:
    """A byte-level BPE whose few merges cross JSON's structure, as Gemma's do."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate((*SPECIAL_TOKENS, *alphabet))}
    merges = []
    for merged in MERGES:
        split = next(i for i in range(1, len(merged)) if merged[:i] in vocabulary and merged[i:] in vocabulary)
        merges.append((merged[:split], merged[split:]))
        vocabulary[merged] = len(vocabulary)
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS])
    names = {"image": ("<|image|>", "<|image>", "<image|>"), "audio": ("<|audio|>", "<|audio>", "<audio|>")}
    extra = {}
    for (name, letter), tokens in zip((("image", "i"), ("audio", "a")), names.values(), strict=True):
        extra |= dict(zip((f"{name}_token", f"bo{letter}_token", f"eo{letter}_token"), tokens, strict=True))
    extra["video_token"] = "<|video|>"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        unk_token="<unk>",
        extra_special_tokens=extra,
        chat_template=CHAT_TEMPLATE,
    )
    tokenizer.save_pretrained(folder)


def make_model(*, canvas_length: int, sliding_window: int, seed: int, bidirectional_images: bool) -> Any:
    """Random weights, with every norm and scale away from its neutral value and logits sharp enough to accept."""
    from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion, DiffusionGemmaTextConfig
    from transformers.models.gemma4.configuration_gemma4 import Gemma4VisionConfig

    text = DiffusionGemmaTextConfig(
        vocab_size=304,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=3,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        global_head_dim=32,
        num_global_key_value_heads=1,
        sliding_window=sliding_window,
        num_experts=3,
        top_k_experts=2,
        moe_intermediate_size=16,
        max_position_embeddings=1024,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=2,
        use_bidirectional_attention="vision" if bidirectional_images else None,
    )
    vision = Gemma4VisionConfig(
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        position_embedding_size=224,
    )
    tokens = {f"{name}_token_id": SPECIAL_TOKENS.index(token) for name, token in
              (("boi", "<|image>"), ("eoi", "<image|>"), ("image", "<|image|>"))}  # fmt: skip
    config = DiffusionGemmaConfig(
        text_config=text.to_dict(), vision_config=vision.to_dict(), canvas_length=canvas_length, **tokens
    )
    generator = torch.Generator().manual_seed(seed)
    model = DiffusionGemmaForBlockDiffusion(config).eval()
    with torch.no_grad():
        for name, weight in (*model.named_parameters(), *model.named_buffers()):
            if not weight.is_floating_point() or "embed_scale" in name or "inv_freq" in name:
                continue
            noise = torch.randn(weight.shape, generator=generator)
            if "embed_tokens" in name:
                weight.copy_(noise * 0.5)
            elif "self_conditioning.down_proj" in name:
                weight.copy_(noise * 0.03)  # felt, but weak enough for rounding not to grow from step to step
            elif weight.dim() >= 2:
                weight.copy_(noise * 0.15)
            elif "norm" in name or name.endswith(("scale", "scalar")):
                weight.copy_(1 + noise * 0.1)
    return model


def make_tiny_checkpoint(
    folder: Path,
    *,
    canvas_length: int = 16,
    sliding_window: int = 24,
    seed: int = 0,
    bidirectional_images: bool = True,
    policy: dict[str, Any] | None = None,
    **generation: Any,
) -> Path:
    """Write the whole checkpoint to `folder` and return it.

    `generation` overrides keys of generation_config.json; `policy` is written to dg_sglang_config.json.
    """
    from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil

    folder.mkdir(parents=True, exist_ok=True)
    model = make_model(
        canvas_length=canvas_length,
        sliding_window=sliding_window,
        seed=seed,
        bidirectional_images=bidirectional_images,
    )
    model.save_pretrained(folder)
    make_tokenizer(folder)
    settings = {
        "bos_token_id": 2,
        "pad_token_id": 0,
        "eos_token_id": [1, SPECIAL_TOKENS.index("<turn|>")],
        "max_new_tokens": 48,
        "max_denoising_steps": 12,
        "sampler_config": {"entropy_bound": 0.5, "_cls_name": "EntropyBoundSamplerConfig"},
        "t_max": 0.8,
        "t_min": 0.4,
        "stability_threshold": 1,
        "confidence_threshold": 0.05,
    } | generation
    (folder / "generation_config.json").write_text(json.dumps(settings))
    images = Gemma4ImageProcessorPil(max_soft_tokens=70).to_dict() | {"resample": 3}
    processor = {
        "processor_class": "Gemma4Processor",
        "image_seq_length": 70,
        "image_processor": images,
        "feature_extractor": {"feature_extractor_type": "Gemma4AudioFeatureExtractor"},
        "video_processor": {"video_processor_type": "Gemma4VideoProcessor"},
    }
    (folder / "processor_config.json").write_text(json.dumps(processor))
    if policy is not None:
        (folder / "dg_sglang_config.json").write_text(json.dumps({"policy": policy}))
    return folder
