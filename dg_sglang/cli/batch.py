"""`dg-sglang batch`: many documents in, one row each out."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dg_sglang.cli.shared import SCHEMA_HELP, hide_weight_bar, model_option, progress, seed_option, url_option

if TYPE_CHECKING:
    from dg_sglang.pipelines import BatchSummary

EXIT_FAILURES, EXIT_STOPPED = 3, 4


def _budget(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    number = value.removesuffix("%")
    if not number.isdecimal() or (number != value and not 0 < int(number) < 100):
        raise click.BadParameter(f"{value!r} is neither a number of documents nor a share such as 5%")
    return int(number) / 100 if number != value else int(number)


@click.command()
@click.argument("inputs", nargs=-1, required=True)
@click.option("--schema", required=True, help=SCHEMA_HELP)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A .jsonl, .csv or .parquet file.")
@model_option
@url_option
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes.")
@click.option("--resume", is_flag=True, help="Go on with an earlier run, however it ended.")
@click.option("--retry-failed", is_flag=True, help="With --resume: try documents again that failed.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=600, show_default=True,
              help="Seconds for one attempt at a document.")  # fmt: skip
@click.option("--retries", type=click.IntRange(min=0), default=1, show_default=True,
              help="Further attempts after a crash, a timeout or an unexpected error.")  # fmt: skip
@click.option("--error-budget", callback=_budget, metavar="N|N%",
              help="Stop after more failed documents than this number, or this share of those done.")  # fmt: skip
@seed_option
@click.option("--password", envvar="DG_SGLANG_PASSWORD", help="Of encrypted PDFs (or set DG_SGLANG_PASSWORD).")
def batch(
    inputs: tuple[str, ...],
    schema: str,
    out: Path,
    model: str,
    url: str | None,
    workers: int,
    resume: bool,
    retry_failed: bool,
    timeout: float,
    retries: int,
    error_budget: float | None,
    seed: int | None,
    password: str | None,
) -> None:
    """Extract a schema's fields from many documents: files, folders, quoted patterns, or - for a list on stdin.

    One row per document goes to --out. Exit code: 0 every document gave a value, 3 some failed (their rows say why),
    4 the error budget was exceeded.
    """
    from dg_sglang import pipelines
    from dg_sglang.pipelines.batch import find_documents

    target = pipelines.resolve_schema(schema)
    hide_weight_bar()
    documents = list(find_documents(name for one in inputs for name in (_listed() if one == "-" else [one])))
    with _bar(len(documents)) as report:
        summary = pipelines.extract_many(
            documents,
            target,
            out=out,
            model=model,
            url=url,
            workers=workers,
            resume=resume,
            retry_failed=retry_failed,
            timeout=timeout,
            retries=retries,
            error_budget=error_budget,
            progress=report,
            seed=seed,
            password=password,
        )
    progress(_text(summary))
    if summary.stopped:
        raise SystemExit(EXIT_STOPPED)
    if summary.failed:
        raise SystemExit(EXIT_FAILURES)


def _listed() -> Iterator[str]:
    return (line.rstrip("\n") for line in sys.stdin if line.strip())


@contextmanager
def _bar(total: int) -> "Iterator[Any]":
    """A line with rate and time left on stderr: redrawn on a terminal, else one line every ten seconds or so."""
    from tqdm import tqdm

    from dg_sglang.report import printable

    live = sys.stderr.isatty()
    with tqdm(total=total, unit="doc", file=sys.stderr, mininterval=0.1 if live else 10, ascii=not live) as bar:

        def report(summary: "BatchSummary", row: Mapping[str, Any] | None) -> None:
            done = summary.documents - bar.n
            if row is None:  # of an earlier run: it took no time now
                bar.initial += done
                bar.n += done
                return
            if row["error"]:
                bar.write(f"{row['error']['category']}: {printable(row['error']['message'])}", file=sys.stderr)
            bar.set_postfix(failed=summary.failed, refresh=False)
            bar.update(done)

        yield report


def _text(summary: "BatchSummary") -> str:
    parts = [f"{summary.succeeded} extracted", f"{summary.failed} failed"]
    if summary.reused:
        parts.append(f"{summary.reused} done before")
    lines = [f"{summary.documents} documents: {', '.join(parts)}"]
    lines += [f"  {category}: {count}" for category, count in summary.categories.most_common()]
    if summary.stopped:
        lines.append(f"stopped: {summary.stopped}; go on with --resume")
    computed = summary.succeeded + summary.failed
    rate = f", {summary.seconds / computed:.2f} s a document" if computed else ""
    usage = summary.usage
    lines.append(
        f"{summary.seconds:.1f} s{rate}; canvases: {usage['canvases']}, denoising steps: {usage['denoising_steps']}, "
        f"tokens: {usage['completion_tokens']}"
    )
    lines.append(f"rows in {summary.out}")
    return "\n".join(lines)
