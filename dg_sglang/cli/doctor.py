"""`dg-sglang doctor`: is everything here?"""

import sys

import click

from dg_sglang.cli.shared import dump, hide_weight_bar, json_option, model_option


@click.command()
@model_option
@json_option
def doctor(model: str, as_json: bool) -> None:
    """Show versions, device and model; say what is missing and how to get it (exit code 1 if anything is)."""
    from dataclasses import asdict

    from dg_sglang.doctor import inspect

    hide_weight_bar()
    checks = []
    click.echo("checking; a model's first answer also compiles kernels, once, for up to a minute", err=True)
    for check in inspect(model):
        checks.append(check)
        if not as_json:
            click.echo(check.line())
    if as_json:
        click.echo(dump([asdict(check) for check in checks], sys.stdout.encoding))
    if not all(check.ok for check in checks):
        raise SystemExit(1)
