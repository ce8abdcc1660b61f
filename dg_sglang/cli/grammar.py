"""`dg-sglang grammar`: what a schema becomes, before any model is involved."""

import json
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from dg_sglang.cli.grammar_arguments import load_vocabulary, read_constraint, read_text
from dg_sglang.cli.shared import dump, json_option, seed_option
from dg_sglang.errors import BudgetError

F = TypeVar("F", bound=Callable[..., Any])

_ROOM = 64  # tokens beyond the shortest answer


@click.group()
def grammar() -> None:
    """Look at a schema's grammar: what it enforces, what it accepts, what it would generate.

    SCHEMA is invoice, receipt, a JSON Schema file, module:Class of a pydantic model, a JSON Schema itself, or "-" for
    one on stdin.
    """


def _schema_options(command: F) -> F:
    """SCHEMA and how to read it."""
    ebnf = "SCHEMA is a context-free grammar (GBNF or Lark), or a file with one."
    command = click.option("--ebnf", "kind", flag_value="ebnf", help=ebnf)(command)
    command = click.option("--regex", "kind", flag_value="regex", help="SCHEMA is a regular expression.")(command)
    own = "A keyword or format of SCHEMA that restricts nothing, though no standard names it. May be repeated."
    command = click.option("--annotation", "annotations", multiple=True, metavar="NAME", help=own)(command)
    world = "Follow the standard to the letter: undeclared properties may appear."
    command = click.option("--open", "open_world", is_flag=True, help=world)(command)
    return click.argument("schema")(command)


tokenizer_option = click.option(
    "--tokenizer",
    default="nano",
    show_default=True,
    help='"nano" (bundled), a checkpoint folder, a tokenizer.json file, or a Hugging Face id.',
)


@grammar.command()
@_schema_options
@tokenizer_option
@json_option
def check(
    schema: str, kind: str | None, open_world: bool, annotations: tuple[str, ...], tokenizer: str, as_json: bool
) -> None:
    """Compile SCHEMA; say how large the automaton is, what is enforced, and how short an answer can be."""
    from time import perf_counter

    from dg_sglang.grammar import Choice, TokenAutomaton, compile_constraint

    constraint = read_constraint(schema, kind, open_world=open_world, annotations=annotations)
    vocabulary, ends = load_vocabulary(tokenizer)
    _ = vocabulary.trie  # once per tokenizer, not per schema
    warm_up = compile_constraint(Choice([""]))  # the first automaton also loads the kernels
    TokenAutomaton(warm_up, vocabulary, end_token_ids=ends)
    begin = perf_counter()
    automaton = TokenAutomaton(compile_constraint(constraint), vocabulary, end_token_ids=ends)
    milliseconds = (perf_counter() - begin) * 1000
    figures: dict[str, Any] = {
        "tokenizer": f"{tokenizer} ({len(vocabulary):,} tokens)",
        "states": automaton.states,
        "edges": automaton.edges,
        "table bytes": automaton.table_bytes,
        "compile ms": round(milliseconds, 1),
        "shortest answer, tokens": automaton.min_tokens(automaton.start),
    }
    if not kind:
        for status, keywords in _by_status(constraint).items():
            figures[status] = keywords
    if as_json:
        click.echo(dump(figures, sys.stdout.encoding))
        return
    for name, value in figures.items():
        text = ", ".join(value) if isinstance(value, list) else f"{value:,}" if isinstance(value, int) else value
        click.echo(f"{name:24} {text}")


@grammar.command()
@_schema_options
@json_option
def explain(schema: str, kind: str | None, open_world: bool, annotations: tuple[str, ...], as_json: bool) -> None:
    """Say for each keyword of SCHEMA, place by place, what is enforced."""
    if kind:
        raise click.UsageError(f"--{kind} has no keywords to explain.")
    from dg_sglang.grammar import compile_constraint
    from dg_sglang.grammar.keywords import ENFORCED

    constraint = read_constraint(schema, None, open_world=open_world, annotations=annotations)
    compile_constraint(constraint)  # which also tells a schema that allows nothing
    found = [
        {"pointer": pointer, "keyword": keyword, "status": status}
        | ({"how": ENFORCED[keyword].enforced} if status == "enforced" else {})
        for pointer, keyword, status in _explained(constraint)
    ]
    if as_json:
        click.echo(dump(found, sys.stdout.encoding))
        return
    from dg_sglang.report import printable

    place = None
    for one in found:
        if one["pointer"] != place:
            place = one["pointer"]
            click.echo(printable(place or "(the schema itself)"))
        how = f": {one['how']}" if "how" in one else ""
        click.echo(f"  {printable(one['keyword']):22} {one['status']}{how}")


@grammar.command()
@_schema_options
@click.argument("instance")
@json_option
def accepts(
    schema: str, kind: str | None, open_world: bool, annotations: tuple[str, ...], instance: str, as_json: bool
) -> None:
    """Say whether INSTANCE is in the grammar (exit code 0), or where it leaves it (exit code 1).

    INSTANCE is the text itself, a file, or "-" for stdin.
    """
    if schema == instance == "-":
        raise click.UsageError("SCHEMA and INSTANCE can't both be on stdin.")
    from dg_sglang.grammar import compile_constraint
    from dg_sglang.grammar.diagnosis import rejection
    from dg_sglang.report import printable

    constraint = read_constraint(schema, kind, open_world=open_world, annotations=annotations)
    text = read_text(instance, "INSTANCE")
    reason = rejection(compile_constraint(constraint), text)
    hint = "" if reason is None or kind else _hint(constraint, text)
    if as_json:
        result: dict[str, Any] = {"accepted": reason is None}
        if reason is not None:
            result |= {"offset": reason.offset, "expected": list(reason.expected), "complete": reason.complete}
            result |= {"hint": hint} if hint else {}
        click.echo(dump(result, sys.stdout.encoding))
    elif reason is None:
        click.echo("accepted")
    else:
        data = text.encode("utf-8", "surrogatepass")
        before, after = (
            printable(part.decode("utf-8", "backslashreplace"))
            for part in (data[: reason.offset], data[reason.offset :])
        )
        where = f"rejected at byte {reason.offset}"
        seen = f"here is `{after[:20]}{'…' if after[20:] else ''}`" if after else "the text ends"
        click.echo(f"{where}, after `{'…' if before[40:] else ''}{before[-40:]}`: {seen}")
        choices = [*(["the end"] if reason.complete else []), *map(printable, reason.expected)]
        click.echo(f"could follow: {', '.join(choices)}")
        if hint:
            click.echo(hint)
    if reason is not None:
        raise SystemExit(1)


@grammar.command()
@_schema_options
@click.option("-n", "--count", type=click.IntRange(min=1), default=5, show_default=True, help="How many.")
@seed_option
@click.option("--max-tokens", type=click.IntRange(min=1), help=f"Longest one. Default: the shortest one and {_ROOM}.")
@click.option("--canvas", type=click.IntRange(min=1), default=1, show_default=True, help="Tokens per canvas.")
@tokenizer_option
@json_option
def sample(
    schema: str,
    kind: str | None,
    open_world: bool,
    annotations: tuple[str, ...],
    count: int,
    seed: int | None,
    max_tokens: int | None,
    canvas: int,
    tokenizer: str,
    as_json: bool,
) -> None:
    """Draw members of the grammar at random, one a line.

    They come from the canvas posterior, canvas after canvas, of a model that knows nothing: at every position it gives
    a quarter of its probability to digits, to JSON punctuation, to other text and to the end, evenly within each.
    The longest that each may become is drawn evenly between the shortest one and --max-tokens. Larger canvases favour
    what few tokens can say.
    """
    import torch

    from dg_sglang.grammar import TokenAutomaton, compile_constraint
    from dg_sglang.grammar.samples import draw_text

    constraint = read_constraint(schema, kind, open_world=open_world, annotations=annotations, whitespace="compact")
    vocabulary, ends = load_vocabulary(tokenizer)
    automaton = TokenAutomaton(compile_constraint(constraint), vocabulary, end_token_ids=ends)
    shortest = automaton.min_tokens(automaton.start)
    budget = shortest + _ROOM if max_tokens is None else max_tokens
    if shortest > budget:
        raise BudgetError(f"the shortest one has {shortest:,} tokens; raise --max-tokens")
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed)
    budgets = torch.randint(shortest, budget + 1, (count,), generator=generator).tolist()
    texts = [draw_text(automaton, longest, generator, canvas=canvas) for longest in budgets]
    if as_json:
        click.echo(dump(texts if kind else list(map(json.loads, texts)), sys.stdout.encoding))
    else:
        click.echo("\n".join(texts))


def _explained(constraint: Any) -> list[tuple[str, str, str]]:
    from dg_sglang.grammar.json_schema import explain_schema

    return explain_schema(constraint.resolved(), open_world=constraint.open, annotations=constraint.annotations)


def _by_status(constraint: Any) -> dict[str, list[str]]:
    """Keywords by what happens to them."""
    found: dict[str, list[str]] = {}
    for _, keyword, status in _explained(constraint):
        keywords = found.setdefault(status, [])
        if keyword not in keywords:
            keywords.append(keyword)
    return found


def _hint(constraint: Any, text: str) -> str:
    """What to say where only the spelling is at fault, or the text is no JSON at all."""
    from jsonschema.validators import validator_for

    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"this is not JSON: {error}"
    schema = constraint.resolved()
    kind = validator_for(schema)
    try:
        valid = kind(schema, format_checker=kind.FORMAT_CHECKER).is_valid(value)
    except Exception:  # a reference to another document, a pattern that isn't Python's
        return ""
    if not valid:
        return ""
    world = "" if constraint.open else "; undeclared properties need --open"
    return (
        "the value is valid under the standard, but it isn't spelled as the grammar does: properties in schema order, "
        f"bounded white space, plain numbers{world}"
    )
