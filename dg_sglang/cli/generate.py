"""`dg-sglang generate`: one prompt in, one answer out."""

import sys
from typing import Any

import click

from dg_sglang.cli.grammar_arguments import read_text
from dg_sglang.cli.shared import (
    SCHEMA_HELP,
    dump,
    json_option,
    load_engine,
    model_option,
    progress,
    seed_option,
    url_option,
)
from dg_sglang.errors import InputError


@click.command()
@click.argument("prompt")
@click.option("--schema", help=f"The answer's schema: {SCHEMA_HELP}")
@click.option("--regex", help="A pattern that the whole answer matches.")
@click.option("--ebnf", help="A context-free grammar (GBNF or Lark) of the answer, or a file with one.")
@click.option("--choice", "choices", multiple=True, help="A possible answer; give the option once for each.")
@model_option
@url_option
@click.option("--max-new-tokens", type=click.IntRange(min=1), help="Longest answer, in tokens.")
@seed_option
@json_option
def generate(
    prompt: str,
    schema: str | None,
    regex: str | None,
    ebnf: str | None,
    choices: tuple[str, ...],
    model: str,
    url: str | None,
    max_new_tokens: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Answer PROMPT ("-" reads it from stdin), under a constraint where one is given."""
    given = [option for option in (schema, regex, ebnf, choices or None) if option is not None]
    if len(given) > 1:
        raise click.UsageError("--schema, --regex, --ebnf and --choice exclude one another.")
    constraint: Any = None
    if given:
        from dg_sglang import grammar, pipelines

        if schema is not None:
            constraint = grammar.JsonSchema(pipelines.resolve_schema(schema))
        elif regex is not None:
            constraint = grammar.Regex(regex)
        else:
            constraint = grammar.Choice(choices) if ebnf is None else grammar.Ebnf(read_text(ebnf, "--ebnf"))
        grammar.compile_constraint(constraint)  # a bad one fails here, before a model is loaded
    text = _read_stdin() if prompt == "-" else prompt
    engine = load_engine(model, url)
    result = engine.generate(text, constraint=constraint, max_new_tokens=max_new_tokens, seed=seed)
    click.echo(dump(result.to_json(), sys.stdout.encoding) if as_json else result.text)
    usage = result.usage
    progress(
        f"{usage.seconds:.1f} s; canvases: {usage.canvases}, denoising steps: {usage.denoising_steps}, "
        f"tokens: {usage.completion_tokens}, finish reason: {result.finish_reason}"
    )


def _read_stdin() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InputError(f"the prompt on stdin is not {error.encoding} text: {error.reason}") from error
