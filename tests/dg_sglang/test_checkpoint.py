import json
import shutil
from pathlib import Path

import pytest

from dg_sglang import Engine, checkpoint
from dg_sglang.errors import CheckpointError, ConfigError


@pytest.mark.parametrize(
    "name", ["./nowhere", "/nowhere", "~/nowhere", "nowhere", "a/b/c", Path("a/b"), "", " ", 3, "x" * 5000]
)
def test_no_such_checkpoint(name: object) -> None:
    with pytest.raises(CheckpointError):
        checkpoint.resolve(name)  # type: ignore[arg-type]


def test_a_hub_id_that_is_not_cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(CheckpointError, match="neither a folder nor in the Hugging Face cache"):
        checkpoint.resolve("nobody/nothing", download=False)
    with pytest.raises(CheckpointError, match="valid Hugging Face id"):
        checkpoint.resolve("no body/nothing", download=False)


def test_a_file_is_not_a_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("x")
    with pytest.raises(CheckpointError, match="is a file"):
        checkpoint.resolve(tmp_path / "model")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("config.json", None, "no config.json"),
        ("config.json", "{", "can't be read"),
        ("config.json", "[]", "JSON object"),
        ("config.json", '{"model_type": "gemma4"}', "'gemma4'"),
        ("tokenizer.json", None, "no tokenizer"),
        ("model.safetensors", None, "no weights"),
        ("model.safetensors", "broken", "weights"),
        ("tokenizer.json", "{}", "tokenizer can't be loaded"),
        ("generation_config.json", '{"t_min": -1}', "t_min"),
        ("generation_config.json", '{"eos_token_id": "end"}', "eos_token_id"),
        ("generation_config.json", '{"eos_token_id": [1, 99999]}', "eos_token_id"),
        ("generation_config.json", '{"pad_token_id": "pad"}', "pad_token_id"),
        ("generation_config.json", '{"sampler_config": 3}', "sampler_config"),
        ("config.json", '{"model_type": "diffusion_gemma", "text_config": 5}', "can't be loaded"),
        ("tokenizer_config.json", "[]", "tokenizer can't be loaded"),
        ("processor_config.json", "[]", "image processor can't be loaded"),
    ],
)
def test_an_incomplete_checkpoint(tmp_path: Path, tiny_path: Path, file: str, text: str | None, message: str) -> None:
    path = shutil.copytree(tiny_path, tmp_path / "copy")
    (path / file).unlink()
    if text is not None:
        (path / file).write_text(text)
    with pytest.raises(CheckpointError, match=message):
        Engine.load(path)


def test_missing_weights_are_named(tmp_path: Path, tiny_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = shutil.copytree(tiny_path, tmp_path / "copy")
    weights = load_file(path / "model.safetensors")
    del weights[next(name for name in weights if "self_conditioning.up_proj" in name)]
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"self_conditioning\.up_proj"):
        Engine.load(path)


def test_a_tokenizer_of_another_model(tmp_path: Path, tiny_path: Path) -> None:
    path = shutil.copytree(tiny_path, tmp_path / "copy")
    tokenizer = json.loads((path / "tokenizer.json").read_text())
    tokenizer["added_tokens"] += [dict(tokenizer["added_tokens"][-1], id=300 + i, content=f"<x{i}>") for i in range(20)]
    (path / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(CheckpointError, match="the model only 304"):
        Engine.load(path)


def test_without_end_tokens_in_the_generation_config_the_tokenizer_names_them(tmp_path: Path, tiny_path: Path) -> None:
    path = shutil.copytree(tiny_path, tmp_path / "copy")
    settings = json.loads((path / "generation_config.json").read_text())
    del settings["eos_token_id"]
    (path / "generation_config.json").write_text(json.dumps(settings))
    assert Engine.load(path)._end_token_ids == {1, 5}


@pytest.mark.parametrize(
    "arguments", [{"device": "gpu"}, {"device": 1.5}, {"dtype": "fp8"}, {"dtype": 3}, {"device": "cuda:99"}]
)
def test_bad_devices_and_dtypes(tiny_path: Path, arguments: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        Engine.load(tiny_path, **arguments)  # type: ignore[arg-type]
