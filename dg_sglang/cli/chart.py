"""`dg-sglang chart`: a picture of a chart in, its values out."""

import sys
from pathlib import Path

import click

from dg_sglang.cli.shared import check_writable, dump, json_option
from dg_sglang.errors import ConfigError


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option("--overlay", type=click.Path(path_type=Path), help="Also draw what was read on the picture, as PNG.")
@json_option
def chart(image: Path, overlay: Path | None, as_json: bool) -> None:
    """Read a bar, line, scatter or pie chart from IMAGE by its text and its pixels; no model is involved."""
    from dg_sglang.vision.charts import analyze_chart

    if overlay is not None:
        check_writable("--overlay", overlay, image)
    read = analyze_chart(image)
    if overlay is not None:
        from dg_sglang.vision.charts.overlay import draw_chart
        from dg_sglang.vision.images import load_image

        try:
            draw_chart(load_image(image), read).save(overlay, "PNG")
        except OSError as error:
            raise ConfigError(f"--overlay {overlay} can't be written: {error.strerror}") from error
    if as_json:
        click.echo(dump(read.model_dump(), sys.stdout.encoding))
        return
    from dg_sglang.report import printable

    axes = [
        f"{name} axis: {axis.title}" for name, axis in (("x", read.x_axis), ("y", read.y_axis)) if axis and axis.title
    ]
    click.echo(printable("; ".join([f"{read.kind} chart", *([read.title] if read.title else []), *axes])))
    header, rows = read.table()
    cells = [header, *([f"{cell:.6g}" if isinstance(cell, float) else str(cell or "") for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        click.echo("  ".join(printable(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
