"""`dg-sglang screenshot`: a picture of a screen in, its elements out."""

import sys
from pathlib import Path

import click

from dg_sglang.cli.picture import check_overlay, load_eyes, picture_options, save_overlay, say_warnings
from dg_sglang.cli.shared import dump


@click.command()
@picture_options
def screenshot(image: Path, model: str | None, url: str | None, overlay: Path | None, as_json: bool) -> None:
    """List the elements on IMAGE, a screenshot, by its text and its pixels, or by a model that sees.

    One line an element, in reading order, indented under what it lies in: role, state, text in quotes, box in pixels.
    """
    from dg_sglang.vision.screens import analyze_screenshot

    check_overlay(overlay, image)
    screen = analyze_screenshot(image, engine=load_eyes(model, url))
    say_warnings(screen.warnings)
    marks = ((one.box, one.role, f"{index} {one.role}") for index, one in enumerate(screen.elements))
    save_overlay(overlay, image, marks)
    if as_json:
        click.echo(dump(screen.model_dump(), sys.stdout.encoding))
        return
    from dg_sglang.report import printable

    click.echo(f"screen of {screen.width} x {screen.height} pixels, {len(screen.elements)} elements")
    depths: list[int] = []
    for element in screen.elements:
        depths.append(0 if element.parent is None else depths[element.parent] + 1)
        words: list[str] = [element.role, *([element.state] if element.state else [])]
        words += [f'"{printable(element.text)}"'] if element.text else []
        words += [f"[{printable(element.label)}]"] if element.label else []
        place = ", ".join(f"{edge:.0f}" for edge in element.box)
        click.echo(f"{'  ' * depths[-1]}{' '.join(words)}  ({place})")
