"""Write nano as a transformers checkpoint: weights, configs, tokenizer, chat template, processor, generation config.

python export.py                       # runs/last.pt → dg_sglang/checkpoints/nano
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from generator import RUNS
from model import Nano, NanoConfig
from tokenizer import BOS, EOS, PAD, SPECIAL_TOKENS, TURN_END

CHECKPOINT = Path(__file__).parents[2] / "dg_sglang" / "checkpoints" / "nano"
MAX_POSITIONS = 4096
IMAGE_TOKENS = 70  # soft tokens an image: the least that Gemma 4's processor offers
GENERATION = {
    "max_new_tokens": 512,
    "max_denoising_steps": 144,
    "sampler_config": {"_cls_name": "EntropyBoundSamplerConfig", "entropy_bound": 0.1},
    "t_min": 0.4,
    "t_max": 0.8,
    "stability_threshold": 1,
    "confidence_threshold": 0.005,
    "bos_token_id": BOS,
    "pad_token_id": PAD,
    "eos_token_id": [EOS, TURN_END],
}
POLICY = {
    "accept": "raw",
    "condition": "raw",
    "stop": "mode",
    "stop_after": 4,
    "entropy_bound": 0.1,
    "frontier_window": 4,
    "frontier_threshold": 0.1,
    "tail": "scored",
    "whitespace": "compact",
}
NAMED_TOKENS = {
    "pad_token": "<pad>",
    "eos_token": "<eos>",
    "bos_token": "<bos>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
    "sot_token": "<|turn>",
    "eot_token": "<turn|>",
    "soc_token": "<|channel>",
    "eoc_token": "<channel|>",
    "think_token": "<|think|>",
    "boi_token": "<|image>",
    "image_token": "<|image|>",
    "eoi_token": "<image|>",
    "boa_token": "<|audio>",
    "audio_token": "<|audio|>",
    "eoa_token": "<audio|>",
    "video_token": "<|video|>",
    "std_token": "<|tool>",
    "etd_token": "<tool|>",
    "stc_token": "<|tool_call>",
    "etc_token": "<tool_call|>",
    "str_token": "<|tool_response>",
    "etr_token": "<tool_response|>",
    "escape_token": '<|"|>',
}
_MAIN_NAMES = ("pad_token", "eos_token", "bos_token", "unk_token", "mask_token")


def transformers_config(config: NanoConfig) -> Any:
    """The DiffusionGemmaConfig of these sizes, with a vision tower that is as small as it can be."""
    from transformers import DiffusionGemmaConfig, DiffusionGemmaTextConfig
    from transformers.models.gemma4.configuration_gemma4 import Gemma4VisionConfig

    text = DiffusionGemmaTextConfig(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=len(config.layers),
        num_attention_heads=config.heads,
        num_key_value_heads=config.heads,
        num_global_key_value_heads=config.heads,
        head_dim=config.head_dim,
        global_head_dim=config.head_dim,
        sliding_window=config.sliding_window,
        layer_types=["full_attention" if kind == "F" else "sliding_attention" for kind in config.layers],
        num_experts=1,
        top_k_experts=1,
        moe_intermediate_size=config.expert_size,
        max_position_embeddings=MAX_POSITIONS,
        final_logit_softcapping=config.softcap,
        use_bidirectional_attention="vision",
        pad_token_id=PAD,
        eos_token_id=EOS,
        bos_token_id=BOS,
        rope_parameters={
            "sliding_attention": {"rope_type": "default", "rope_theta": config.sliding_theta},
            "full_attention": {
                "rope_type": "proportional",
                "partial_rotary_factor": config.full_rotary_fraction,
                "rope_theta": config.full_theta,
            },
        },
    )
    vision = Gemma4VisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        position_embedding_size=256,
    )
    special = SPECIAL_TOKENS.index
    return DiffusionGemmaConfig(
        text_config=text.to_dict(),
        vision_config=vision.to_dict(),
        boi_token_id=special("<|image>"),
        eoi_token_id=special("<image|>"),
        image_token_id=special("<|image|>"),
        canvas_length=config.canvas_length,
    )


def to_transformers(model: Nano) -> Any:
    """transformers' DiffusionGemmaForBlockDiffusion with the model's weights; its vision tower stays random."""
    from transformers import DiffusionGemmaForBlockDiffusion

    torch.manual_seed(0)
    module = DiffusionGemmaForBlockDiffusion(transformers_config(model.config))
    weights = {f"model.decoder.{name}": weight for name, weight in model.state_dict().items()}
    report = module.load_state_dict(weights, strict=False)
    if report.unexpected_keys:
        raise ValueError(f"transformers has no such weights: {report.unexpected_keys}")
    module.tie_weights()
    return module.eval()


def load_model(path: Path) -> Nano:
    """The model in a training checkpoint."""
    saved = torch.load(path, map_location="cpu")
    model = Nano(NanoConfig(**saved["config"]))
    model.load_state_dict(saved["model"])
    return model.eval()


def write_tokenizer(tokenizer: Path, folder: Path) -> None:
    """tokenizer.json, its config with every special token named, and the chat template."""
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    extra = {name: token for name, token in NAMED_TOKENS.items() if name not in _MAIN_NAMES}
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **NAMED_TOKENS,
        "extra_special_tokens": extra,
        "model_max_length": MAX_POSITIONS,
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
        "model_specific_special_tokens": extra,
    }
    _write_json(folder / "tokenizer_config.json", settings)
    (folder / "chat_template.jinja").write_text((Path(__file__).parent / "chat_template.jinja").read_text())


def write_processor(folder: Path) -> None:
    """processor_config.json, as transformers' Gemma4Processor writes it."""
    image = {"image_processor_type": "Gemma4ImageProcessor", "patch_size": 16, "pooling_kernel_size": 3}
    image |= {"max_soft_tokens": IMAGE_TOKENS, "do_normalize": False, "do_rescale": True, "rescale_factor": 1 / 255}
    settings = {
        "processor_class": "Gemma4Processor",
        "image_processor": image,
        "feature_extractor": {"feature_extractor_type": "Gemma4AudioFeatureExtractor"},
        "video_processor": {"video_processor_type": "Gemma4VideoProcessor"},
        "image_seq_length": IMAGE_TOKENS,
        "audio_seq_length": 750,
        "audio_ms_per_token": 40,
    }
    _write_json(folder / "processor_config.json", settings)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def export(model: Nano, tokenizer: Path, folder: Path) -> None:
    """Write the whole checkpoint folder, weights in bfloat16."""
    folder.mkdir(parents=True, exist_ok=True)
    module = to_transformers(model).to(torch.bfloat16)
    module.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes it for its owner only
    write_tokenizer(tokenizer, folder)
    write_processor(folder)
    _write_json(folder / "generation_config.json", GENERATION)
    _write_json(folder / "dg_sglang_config.json", {"mode": "auto", "policy": POLICY, "vision": False})


def main() -> None:
    """Export a training checkpoint."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--runs", type=Path, default=RUNS, help="folder of tokenizer and weights")
    parser.add_argument("--out", type=Path, default=CHECKPOINT)
    options = parser.parse_args()
    export(load_model(options.runs / "last.pt"), options.runs / "tokenizer.json", options.out)
    size = sum(path.stat().st_size for path in options.out.iterdir())
    print(f"{options.out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
