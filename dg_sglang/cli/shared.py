"""What the commands share: options, output, progress."""

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dg_sglang.errors import ConfigError

if TYPE_CHECKING:
    from dg_sglang.engine import Engine
    from dg_sglang.remote import SGLangEngine

model_option = click.option(
    "--model", default="nano", show_default=True, help='"nano" (bundled), a checkpoint folder, or a Hugging Face id.'
)
url_option = click.option("--url", help="Let the server there answer (dg-sglang serve) instead of loading a model.")
seed_option = click.option("--seed", type=click.IntRange(min=0), help="Same seed, same result.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
SCHEMA_HELP = "invoice, receipt, a JSON Schema file, or module:Class of a pydantic model."


def dump(value: Any, encoding: str | None) -> str:
    """JSON as it is read best; in ASCII where the encoding lacks a character, or the text is none (lone surrogates)."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return json.dumps(value, indent=2)
    return text


def progress(message: str) -> None:
    """One line on stderr."""
    click.echo(message, err=True)


def load_engine(model: str, url: str | None) -> "Engine | SGLangEngine":
    """The model in this process, or the server at `url`."""
    if url is not None:
        from dg_sglang.remote import SGLangEngine

        return SGLangEngine(url)
    from dg_sglang.engine import Engine

    hide_weight_bar()
    progress(f"loading {model}")
    return Engine.load(model)


def hide_weight_bar() -> None:
    """Leave out transformers' bar for reading weights, which takes moments, but not the hub's for downloads."""
    try:
        from huggingface_hub.utils import enable_progress_bars
        from transformers.utils import logging
    except ImportError:
        return  # the doctor's business
    logging.disable_progress_bar()
    enable_progress_bars()


def check_writable(option: str, path: Path, *inputs: Path) -> None:
    """Fail before any compute rather than after it, and never write over what is read."""
    try:
        if path.is_dir() or not path.parent.is_dir():
            problem = "is a folder" if path.is_dir() else f"can't be written, {path.parent} is not a folder"
            raise ConfigError(f"{option} {path} {problem}: name a file in an existing folder")
        if any(path.exists() and one.exists() and path.samefile(one) for one in inputs):
            raise ConfigError(f"{option} {path} is the file to be read: name another one")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise ConfigError(f"{option} {path} can't be written: no permission")
    except OSError as error:
        raise ConfigError(f"{option} {path} can't be written: {error.strerror}") from error


def write(option: str, path: Path, text: str) -> None:
    """The whole file or none of it: a new file takes the place of an old one only when it is complete."""
    data = (text + "\n").encode()
    try:
        plain = not path.exists() or (path.is_file() and not path.is_symlink())
        if not plain or not os.access(path.parent, os.W_OK):
            path.write_bytes(data)  # a device or a pipe has nothing to replace
            return
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".dg-sglang-", delete=False) as file:
            draft = Path(file.name)
            try:
                file.write(data)
                file.close()
                draft.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask())
                draft.replace(path)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise ConfigError(f"{option} {path} can't be written: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
