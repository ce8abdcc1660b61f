"""How much of a chart is read right: `python tests/benchmarks/charts.py [--count 63] [--spoil clean,blur,…] [--odd]`.

Charts of seven kinds are drawn from known data in six styles. A value counts as right when a point of its series has
its x (in scatter charts one within 2 % of the axis) and a y within 2 % of the range of the value axis. Values of a
chart that the reader refuses count as refused; a point that is none of the chart's counts as wrong, and is the worst.

Charts of other kinds are drawn, too, one in each style: these must be refused. `--odd` draws some eighty odd ones
instead (axes, numbers, labels, colours, kinds), which must be read right or refused.

`--model PATH` lets a checkpoint that sees read the first ones instead of text recognition and geometry.
"""

import argparse
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from made_charts import KINDS, OTHER_KINDS, MadeChart, make_chart, make_other
from odd_charts import make_odd, odd_names
from PIL import Image
from spoiled import SPOILS, spoil

from dg_sglang import Engine
from dg_sglang.errors import ChartError, DgError
from dg_sglang.vision.charts import analyze_chart
from dg_sglang.vision.charts.model import Chart

_NAMES = ("values", "wrong", "refused", "kind", "title", "axis")


def compare(made: MadeChart, chart: Chart) -> tuple[int, list[tuple]]:
    """How many of the chart's values were read, and the points that are none of them."""
    pool = [(series.name, point) for series in chart.series for point in series.points]
    logarithmic = any(axis and axis.scale == "logarithmic" for axis in (chart.x_axis, chart.y_axis))
    reach = 2.0 if chart.kind == "scatter" else 0.1
    right = 0
    for name, points in made.series.items():
        for x, y in points:
            for index, (read_name, point) in enumerate(pool):
                named = name is None or read_name == name
                placed = str(point.x) == str(x) or (
                    isinstance(point.x, float) and not isinstance(x, str) and abs(point.x - x) <= reach
                )
                apart = abs(math.log10(point.y / y)) if logarithmic else abs(point.y - y)
                if named and placed and apart <= 0.02 * made.span:
                    right += 1
                    del pool[index]
                    break
    return right, [(name, point.x, point.y) for name, point in pool]


def score(
    made: MadeChart, picture: Image.Image, read: Callable[[Image.Image], Chart] = analyze_chart
) -> tuple[Counter, str]:
    """What is right, and out of how many; what went wrong, in words."""
    values = sum(map(len, made.series.values()))
    counts = Counter({f"{name} of": values for name in ("values", "wrong", "refused")})
    counts.update({"kind of": 1, "title of": 1, "axis of": int(made.value_axis is not None)})
    try:
        chart = read(picture)
    except DgError as error:
        counts["refused"] = values
        return counts, str(error)
    axis = chart.x_axis if made.kind == "horizontal bar" else chart.y_axis
    counts["values"], others = compare(made, chart)
    counts["wrong"] = len(others)
    counts["kind"] = int(chart.kind == made.kind)
    counts["title"] = int(chart.title == made.title)
    counts["axis"] = int(made.value_axis is not None and axis is not None and axis.title == made.value_axis)
    missed = [
        f"{counts[name]}/{counts[f'{name} of']} {name}"
        for name in ("values", "kind", "title", "axis")
        if counts[name] < counts[f"{name} of"]
    ]
    return counts, ", ".join([*missed, *([f"wrong: {others[:3]}"] if others else [])])


def refused(folder: Path, styles: int) -> Iterator[tuple[str, int, str]]:
    """For each other kind how many of its charts were refused, and as what the others were read."""
    for kind in OTHER_KINDS:
        right, read = 0, []
        for seed in range(styles):
            make_other(folder / "other.png", kind, seed)
            try:
                read.append(analyze_chart(folder / "other.png").kind)
            except ChartError:
                right += 1
        yield kind, right, ", ".join(read)


def read_odd(path: Path, name: str) -> tuple[str, str]:
    """Whether an odd chart is "right" (all its values and no others), "refused" or "wrong"; and what was said of it."""
    odd = make_odd(path, name)
    try:
        chart = analyze_chart(path)
    except ChartError as error:
        return "refused", str(error)
    right, others = (0, [("any",)]) if odd.made is None else compare(odd.made, chart)
    whole = odd.made is not None and right == sum(map(len, odd.made.series.values())) and not others
    good = whole and (chart.warnings or not odd.warned)
    return "right" if good else "wrong", "; ".join([f"{chart.kind} chart", *chart.warnings])


def print_odd(only: list[str]) -> None:
    """Read the odd charts whose names contain one of some words; print what became of each, and the counts."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, suppress(KeyboardInterrupt):
        for name in odd_names():
            if not only or any(word in name for word in only):
                outcome, why = read_odd(Path(folder) / "odd.png", name)
                counts[outcome] += 1
                print(f"{name:44}{outcome:9}{why}", flush=True)
    print(f"{counts.total()} odd charts: {counts['right']} right, {counts['refused']} refused, {counts['wrong']} wrong")


def main() -> None:
    """Draw, read, print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=63, help="charts of the kinds that are read")
    parser.add_argument("--spoil", default=",".join(SPOILS), help="ways to spoil them, with commas between them")
    parser.add_argument("--only", default="", help="some kinds (or words in the names of odd charts), with commas")
    parser.add_argument("--styles", type=int, default=6, help="charts of each kind that must be refused")
    parser.add_argument("--odd", action="store_true", help="read odd charts instead")
    parser.add_argument("--model", help="a checkpoint that sees, to read them instead")
    options = parser.parse_args()
    if options.model and options.odd:
        parser.error("--odd asks what geometry refuses: leave out --model")
    read = partial(analyze_chart, engine=Engine.load(options.model), seed=0) if options.model else analyze_chart
    spoils, only = options.spoil.split(","), [word for word in options.only.split(",") if word]
    if options.odd:
        print_odd(only)
        return
    rows: dict[str, Counter] = {}
    with tempfile.TemporaryDirectory() as folder:
        done = 0
        with suppress(KeyboardInterrupt):  # an interrupted run says what it has
            for seed in range(options.count):
                kind = KINDS[seed % len(KINDS)]
                if only and kind not in only:
                    continue
                made = make_chart(Path(folder) / "chart.png", kind, seed)
                for how in spoils:
                    counts, wrong = score(made, spoil(Image.open(made.path), how)[0], read)
                    for name in (f"{how}: all", *((f"{how}: {made.kind}",) if how == spoils[0] else ())):
                        rows[name] = rows.get(name, Counter()) + counts
                    if wrong:
                        print(f"{how} {made.kind} (seed {seed}): {wrong}", file=sys.stderr)
                done += 1
        print(f"{done} charts".ljust(22) + "".join(f"{name:>18}" for name in _NAMES))
        for name, counts in sorted(rows.items(), key=lambda row: row[0].endswith(": all")):
            cells = ((counts[one], counts[f"{one} of"]) for one in _NAMES)
            print(f"{name:22}" + "".join(f"{f'{a}/{b} ({a / b:.1%})' if b else '':>18}" for a, b in cells))
        if not options.styles or options.model:
            return
        print(f"\nother kinds, refused of {options.styles}")
        for kind, right, taken in refused(Path(folder), options.styles):
            print(f"{kind:24}{right}{f', read as {taken}' if taken else ''}")


if __name__ == "__main__":
    main()
