"""`dg-sglang evaluate`: predictions against the truth."""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from dg_sglang.cli.shared import dump, json_option, progress


@click.command()
@click.argument("pred", type=click.Path(path_type=Path))
@click.argument("gold", type=click.Path(path_type=Path))
@json_option
def evaluate(pred: Path, gold: Path, as_json: bool) -> None:
    """Score PRED (a batch's rows, or JSON) against GOLD: JSON or JSONL records such as {"source": …, "value": {…}}.

    Documents are joined by file name. Strings must be equal after white-space collapse, numbers in value; list items
    are paired as they agree best; a failed or missing document scores 0.
    """
    from dg_sglang.pipelines.comparison import compare_files

    scores = compare_files(pred, gold)
    if as_json:
        click.echo(dump(asdict(scores), sys.stdout.encoding))
        return
    rows: list[tuple[str, float | None]] = [("value F1", scores.value_f1)]
    rows += [(f"  {kind}", f1) for kind, f1 in scores.by_kind.items()]
    rows += [
        ("grounded", scores.grounded),
        ("null correct", scores.null_correct),
        ("fully right", scores.fully_right),
        ("box F1", scores.box_f1),
        *((f"{name.replace('_', ' ')} per document", value) for name, value in scores.usage.items()),
    ]
    for name, value in rows:
        click.echo(f"{name:<30}{'-' if value is None else format(value, '.3f'):>9}")
    counts = f"{scores.documents} documents, of them {scores.failed} failed and {scores.missing} missing"
    progress(f"{counts}; {scores.surplus} predictions without truth were not scored")
