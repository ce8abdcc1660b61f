"""Finding a checkpoint and loading its parts, each checked before the weights are read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dg_sglang.config import CHECKPOINT_SETTINGS_FILE
from dg_sglang.errors import CheckpointError, ConfigError

BUNDLED = ("nano",)
MODEL_TYPE = "diffusion_gemma"
TURN_END = "<turn|>"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder that has what a text-to-text model needs."""

    path: Path
    config: dict[str, Any]
    generation: dict[str, Any]


def resolve(name: str | Path, *, download: bool = True) -> Path:
    """The folder of "nano" (bundled), of a local path, or of a Hugging Face id (downloaded to the hub's cache).

    Args:
        name: which checkpoint.
        download: whether a Hugging Face id that is not in the cache may be fetched.

    Raises:
        CheckpointError: there is no such checkpoint, or it can't be downloaded.
    """
    if not isinstance(name, str | Path) or not str(name).strip():
        raise CheckpointError(f"a checkpoint is a name or a folder, got {name!r}")
    if name in BUNDLED:
        folder = Path(__file__).resolve().parent / "checkpoints" / str(name)
        if not (folder / "config.json").is_file():
            raise CheckpointError(
                f"the bundled checkpoint {name!r} is not in this installation ({folder} is missing or empty): "
                "reinstall the package, or give a checkpoint folder or a Hugging Face id"
            )
        return folder
    try:
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder.resolve()
        if folder.exists():
            raise CheckpointError(f"{folder} is a file: give the checkpoint's folder")
    except (OSError, RuntimeError) as error:  # a name too long, a folder that may not be entered, ~ of nobody
        raise CheckpointError(f"no checkpoint folder at {name}: {error}") from error
    if isinstance(name, Path) or name.startswith((".", "~", "/")) or name.count("/") != 1:
        known = ", ".join(map(repr, BUNDLED))
        raise CheckpointError(
            f"no checkpoint folder at {name} (other choices: {known}, or a Hugging Face id owner/name)"
        )
    return _from_hub(name, download=download)


def _from_hub(name: str, *, download: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    patterns = ["*.json", "*.safetensors", "*.jinja", "*.model"]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=not download))
    except HFValidationError as error:
        raise CheckpointError(f"{name!r} is neither a folder nor a valid Hugging Face id") from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        if not download:
            raise CheckpointError(f"{name!r} is neither a folder nor in the Hugging Face cache: download it") from error
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CheckpointError(
            f"{name!r} is not a folder, and it could not be fetched from the Hugging Face hub: {reason} "
            "(check the name, the network, and `hf auth login` for gated models)"
        ) from error


def inspect(path: Path) -> Checkpoint:
    """Read the small files of a checkpoint folder and check that nothing is missing.

    Raises:
        CheckpointError: not a DiffusionGemma, no weights or no tokenizer.
    """
    config = _read_json(path / "config.json", required=True)
    if config.get("model_type") != MODEL_TYPE:
        raise CheckpointError(
            f"{path} is a {config.get('model_type')!r} checkpoint; this engine runs model_type {MODEL_TYPE!r} only"
        )
    if not any(path.glob("*.safetensors")):
        raise CheckpointError(f"{path} has no weights (*.safetensors)")
    if not (path / "tokenizer.json").is_file():
        raise CheckpointError(f"{path} has no tokenizer (tokenizer.json)")
    return Checkpoint(path, config, _read_json(path / "generation_config.json", required=False))


def _read_json(path: Path, *, required: bool) -> dict[str, Any]:
    if not path.is_file():
        if required:
            raise CheckpointError(f"{path.parent} is not a checkpoint: it has no {path.name}")
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} can't be read: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} must hold a JSON object")
    return value


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """The checkpoint's fast tokenizer."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(checkpoint.path)
    except Exception as error:  # transformers and tokenizers say "broken" in many ways
        raise CheckpointError(f"{checkpoint.path}: the tokenizer can't be loaded: {error}") from error


def sees(checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint reads pictures: it has an image processor, and doesn't say `"vision": false` (see
    `checkpoint_config`) because its vision tower was never trained.

    Raises:
        CheckpointError: its settings file is damaged.
    """
    settings = _read_json(checkpoint.path / CHECKPOINT_SETTINGS_FILE, required=False)
    return bool(settings.get("vision", True)) and _has_processor(checkpoint)


def load_image_processor(checkpoint: Checkpoint) -> Any | None:
    """The checkpoint's image processor, or None where it has none.

    Only this part of Gemma 4's processor is loaded: the whole one needs torchvision for videos.
    """
    if not _has_processor(checkpoint):
        return None
    # Named directly: transformers' AutoImageProcessor needs torchvision before 5.19, even for this one.
    from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil

    try:
        return Gemma4ImageProcessorPil.from_pretrained(checkpoint.path)
    except Exception as error:
        raise CheckpointError(f"{checkpoint.path}: the image processor can't be loaded: {error}") from error


def _has_processor(checkpoint: Checkpoint) -> bool:
    return any((checkpoint.path / name).is_file() for name in ("processor_config.json", "preprocessor_config.json"))


def load_module(checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype) -> Any:
    """transformers' `DiffusionGemmaForBlockDiffusion` with these weights, ready for inference."""
    try:
        from transformers import DiffusionGemmaForBlockDiffusion
    except ImportError as error:
        raise CheckpointError(f"DiffusionGemma needs transformers 5.12 or newer: {error}") from error

    try:
        module, report = DiffusionGemmaForBlockDiffusion.from_pretrained(
            checkpoint.path, dtype=dtype, attn_implementation="sdpa", output_loading_info=True
        )
    except Exception as error:
        raise CheckpointError(f"{checkpoint.path}: the weights can't be loaded: {error}") from error
    if missing := sorted(report["missing_keys"]):
        raise CheckpointError(
            f"{checkpoint.path}: weights are missing: {', '.join(missing[:3])} ({len(missing)} in all)"
        )
    return module.to(device).eval()


def end_tokens(checkpoint: Checkpoint, tokenizer: Any) -> frozenset[int]:
    """What ends an answer: generation_config's eos_token_id, or the tokenizer's end of text and end of turn."""
    named = checkpoint.generation.get("eos_token_id")
    if named is None:
        turn_end = tokenizer.added_tokens_encoder.get(TURN_END)
        named = [token for token in (tokenizer.eos_token_id, turn_end) if token is not None]
    ends = named if isinstance(named, list) else [named]
    if not ends or not all(isinstance(token, int) and 0 <= token < len(tokenizer) for token in ends):
        raise CheckpointError(
            f"{checkpoint.path}: eos_token_id must name tokens of its tokenizer that end an answer, not {named}"
        )
    return frozenset(ends)


def pad_token(checkpoint: Checkpoint, tokenizer: Any) -> int | None:
    """What fills a canvas after the end token: generation_config's pad_token_id, or the tokenizer's."""
    named = checkpoint.generation.get("pad_token_id")
    pad: int | None = tokenizer.pad_token_id if named is None else named
    if pad is not None and not (isinstance(pad, int) and 0 <= pad < len(tokenizer)):
        raise CheckpointError(f"{checkpoint.path}: pad_token_id must be an id of its tokenizer, not {pad!r}")
    return pad


def choose_device(device: str | torch.device | None) -> torch.device:
    """The device asked for; None takes CUDA where there is a GPU, else the CPU.

    Raises:
        ConfigError: it is unknown, or not in this machine.
    """
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        target = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ConfigError(f"unknown device {device!r}: use 'cpu', 'cuda' or 'cuda:0'") from error
    if target.type == "cuda" and (target.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"device {device!r}: there is no such GPU here, or this build of torch can't use it; use 'cpu'"
        )
    return target


def choose_dtype(dtype: str | torch.dtype | None, device: torch.device) -> torch.dtype:
    """The dtype asked for; None takes float32 on a CPU, bfloat16 elsewhere.

    Raises:
        ConfigError: it is not one that the engine runs in.
    """
    if dtype is None:
        return torch.float32 if device.type == "cpu" else torch.bfloat16
    kind = DTYPES.get(dtype) if isinstance(dtype, str) else dtype
    if kind is None or kind not in DTYPES.values():
        raise ConfigError(f"unknown dtype {dtype!r}: use one of {', '.join(DTYPES)}")
    return kind
