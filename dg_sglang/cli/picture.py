"""What the commands that read a picture share: their options, who looks at it, and the overlay."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dg_sglang.cli.shared import check_writable, json_option, load_engine, progress, url_option
from dg_sglang.errors import ConfigError

if TYPE_CHECKING:
    from dg_sglang.engine import Engine
    from dg_sglang.remote import SGLangEngine

_OPTIONS = (
    click.argument("image", type=click.Path(path_type=Path)),
    click.option("--model", help="Let this checkpoint look at the picture instead: a folder, or a Hugging Face id."),
    url_option,
    click.option("--overlay", type=click.Path(path_type=Path), help="Also draw what was read on the picture, as PNG."),
    json_option,
)


def picture_options(command: Any) -> Any:
    """Add IMAGE, --model, --url, --overlay and --json to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def load_eyes(model: str | None, url: str | None) -> "Engine | SGLangEngine | None":
    """The engine that shall look at a picture; None where text recognition and geometry shall."""
    return load_engine(model or "", url) if model or url else None


def say_warnings(warnings: Iterable[str]) -> None:
    """What was left out or may be misread, on stderr."""
    for warning in warnings:
        progress(f"warning: {warning}")


def check_overlay(overlay: Path | None, image: Path) -> None:
    """Fail before any reading where the drawing can't be written. Raises ConfigError."""
    if overlay is not None:
        check_writable("--overlay", overlay, image)


def save_overlay(
    overlay: Path | None, image: Path, marks: Iterable[tuple[tuple[float, float, float, float], str, str]]
) -> None:
    """Draw marks (box, kind, words) on the picture and save it, where an overlay is asked for. Raises ConfigError."""
    if overlay is None:
        return
    from dg_sglang.vision.images import load_image
    from dg_sglang.vision.overlay import draw_boxes

    try:
        draw_boxes(load_image(image), marks).save(overlay, "PNG")
    except OSError as error:
        raise ConfigError(f"--overlay {overlay} can't be written: {error.strerror}") from error
