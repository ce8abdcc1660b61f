"""Finding a checkpoint and loading its parts, each checked before the weights are read."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dg_sglang.errors import CheckpointError

BUNDLED = ("nano",)
MODEL_TYPE = "diffusion_gemma"


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
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if folder.exists():
        raise CheckpointError(f"{folder} is a file: give the checkpoint's folder")
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
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(f"{checkpoint.path}: the tokenizer can't be loaded: {error}") from error


def load_image_processor(checkpoint: Checkpoint) -> Any | None:
    """The checkpoint's image processor, or None where it has none.

    Only this part of Gemma 4's processor is loaded: the whole one needs torchvision for videos.
    """
    if not any((checkpoint.path / name).is_file() for name in ("processor_config.json", "preprocessor_config.json")):
        return None
    # Named directly: transformers' AutoImageProcessor needs torchvision before 5.19, even for this one.
    from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil

    try:
        return Gemma4ImageProcessorPil.from_pretrained(checkpoint.path)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise CheckpointError(f"{checkpoint.path}: the image processor can't be loaded: {error}") from error


def load_module(checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype) -> Any:
    """transformers' `DiffusionGemmaForBlockDiffusion` with these weights, ready for inference."""
    try:
        from transformers import DiffusionGemmaForBlockDiffusion
    except ImportError as error:
        raise CheckpointError(f"DiffusionGemma needs transformers 5.12 or newer: {error}") from error

    from safetensors import SafetensorError

    try:
        module, report = DiffusionGemmaForBlockDiffusion.from_pretrained(
            checkpoint.path, dtype=dtype, attn_implementation="sdpa", output_loading_info=True
        )
    except (OSError, ValueError, LookupError, RuntimeError, TypeError, AttributeError, SafetensorError) as error:
        raise CheckpointError(f"{checkpoint.path}: the weights can't be loaded: {error}") from error
    if missing := sorted(report["missing_keys"]):
        raise CheckpointError(
            f"{checkpoint.path}: weights are missing: {', '.join(missing[:3])} ({len(missing)} in all)"
        )
    return module.to(device).eval()
