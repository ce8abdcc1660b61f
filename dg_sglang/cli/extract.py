"""`dg-sglang extract`: one document in, one validated object out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from dg_sglang.pipelines import PageExtraction


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
@click.option("--per-page", is_flag=True, help="Take every page for a document of its own; print one result a page.")
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
    per_page: bool,
    as_json: bool,
    password: str | None,
) -> None:
    """Extract a schema's fields from FILE (PDF, image, text, HTML, Word), each with its evidence."""
    from dg_sglang import pipelines
    from dg_sglang.report import render_extraction

    if per_page and html is not None:
        raise click.UsageError("--html shows one result: leave it out, or --per-page")
    for option, path in (("--out", out), ("--html", html)):
        if path is not None:
            check_writable(option, path, file, Path(schema))
    target = pipelines.resolve_schema(schema)
    hide_weight_bar()
    settings: dict[str, Any] = {
        "engine": None if url is None else load_engine(model, url),
        "model": model,
        "seed": seed,
        "password": password,
        "progress": progress,
    }
    if per_page:
        _per_page(list(pipelines.extract_pages(file, target, **settings)), out, as_json)
        return
    result = pipelines.extract(file, target, **settings)
    tree = result.to_json()
    if out is not None:
        write("--out", out, dump(tree, "utf-8"))
    if html is not None:
        from dg_sglang.pipelines.review import review_html

        write("--html", html, review_html(tree, file, password=password))
    click.echo(dump(tree, sys.stdout.encoding) if as_json else render_extraction(result))


def _per_page(pages: "list[PageExtraction]", out: Path | None, as_json: bool) -> None:
    from dg_sglang.report import printable, render_extraction

    tree = [page.to_json() for page in pages]
    if out is not None:
        write("--out", out, dump(tree, "utf-8"))
    if as_json:
        click.echo(dump(tree, sys.stdout.encoding))
        return
    for page in pages:
        shown = render_extraction(page.result) if page.result else f"error: {printable(str(page.error))}"
        click.echo(f"page {page.page}: {shown}")
