"""`dg-sglang extract`: one document in, one validated object out."""

import sys
from pathlib import Path

import click

from dg_sglang.cli.shared import (
    SCHEMA_HELP,
    check_writable,
    dump,
    hide_weight_bar,
    json_option,
    load_engine,
    model_option,
    progress,
    seed_option,
    url_option,
    write,
)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--schema", required=True, help=SCHEMA_HELP)
@model_option
@url_option
@seed_option
@click.option("--out", type=click.Path(path_type=Path), help="Also write the JSON to this file.")
@click.option(
    "--html", type=click.Path(path_type=Path), help="Also write a page that shows each value in the document."
)
@json_option
@click.option("--password", envvar="DG_SGLANG_PASSWORD", help="Of an encrypted PDF (or set DG_SGLANG_PASSWORD).")
def extract(
    file: Path,
    schema: str,
    model: str,
    url: str | None,
    seed: int | None,
    out: Path | None,
    html: Path | None,
    as_json: bool,
    password: str | None,
) -> None:
    """Extract a schema's fields from FILE (a PDF or an image), each with its evidence in the document."""
    from dg_sglang import pipelines
    from dg_sglang.report import render_extraction

    for option, path in (("--out", out), ("--html", html)):
        if path is not None:
            check_writable(option, path, file, Path(schema))
    target = pipelines.resolve_schema(schema)
    hide_weight_bar()
    engine = None if url is None else load_engine(model, url)
    result = pipelines.extract(
        file, target, engine=engine, model=model, seed=seed, password=password, progress=progress
    )
    tree = result.to_json()
    if out is not None:
        write("--out", out, dump(tree, "utf-8"))
    if html is not None:
        from dg_sglang.pipelines.review import review_html

        write("--html", html, review_html(tree, file, password=password))
    click.echo(dump(tree, sys.stdout.encoding) if as_json else render_extraction(result))
