"""`dg-sglang chart`: a picture of a chart in, its values out."""

import sys
from pathlib import Path

import click

from dg_sglang.cli.picture import check_overlay, load_eyes, picture_options, save_overlay, say_warnings
from dg_sglang.cli.shared import dump


@click.command()
@picture_options
def chart(image: Path, model: str | None, url: str | None, overlay: Path | None, as_json: bool) -> None:
    """Read a bar, line, scatter or pie chart from IMAGE by its text and its pixels, or by a model that sees."""
    from dg_sglang.vision.charts import analyze_chart

    check_overlay(overlay, image)
    read = analyze_chart(image, engine=load_eyes(model, url))
    say_warnings(read.warnings)
    points = ((series.name, point) for series in read.series for point in series.points)
    save_overlay(overlay, image, ((point.box, name or "", f"{point.y:.4g}") for name, point in points if point.box))
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
