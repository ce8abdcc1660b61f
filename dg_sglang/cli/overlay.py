"""`--overlay`: what was read, drawn on the picture."""

from collections.abc import Iterable
from pathlib import Path

import click

from dg_sglang.cli.shared import check_writable
from dg_sglang.errors import ConfigError

overlay_option = click.option(
    "--overlay", type=click.Path(path_type=Path), help="Also draw what was read on the picture, as PNG."
)


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
