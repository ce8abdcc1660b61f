"""How much of a chart is read right: `python tests/benchmarks/charts.py [--count 63] [--spoil clean,blur,…]`.

Charts of seven kinds are drawn from known data in six styles. A value counts when a point of its series has its x (in
scatter charts one within 2 % of the axis) and a y within 2 % of the range of the values. Charts of other kinds are
drawn, too, one in each style: these must be refused.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from made_charts import KINDS, OTHER_KINDS, MadeChart, make_chart, make_other
from PIL import Image
from spoiled import SPOILS, spoil

from dg_sglang.errors import ChartError, DgError
from dg_sglang.vision.charts import analyze_chart
from dg_sglang.vision.charts.model import Chart

_NAMES = ("values", "kind", "title", "axis")


def right_values(made: MadeChart, chart: Chart) -> int:
    """How many of the chart's values were read."""
    ys = [y for points in made.series.values() for _, y in points]
    span = 100 if made.kind == "pie" else max(ys) - min(0, *ys)
    pool = [(series.name, point) for series in chart.series for point in series.points]
    right = 0
    for name, points in made.series.items():
        for x, y in points:
            reach = 2.0 if made.kind == "scatter" else 0.1
            for index, (read_name, point) in enumerate(pool):
                named = name is None or read_name == name
                placed = str(point.x) == str(x) or (
                    isinstance(point.x, float) and not isinstance(x, str) and abs(point.x - x) <= reach
                )
                if named and placed and abs(point.y - y) <= 0.02 * span:
                    right += 1
                    del pool[index]
                    break
    return right


def score(made: MadeChart, picture: Image.Image) -> tuple[Counter, str]:
    """What is right, and out of how many; what went wrong, in words."""
    counts = Counter({"values of": sum(map(len, made.series.values())), "kind of": 1, "title of": 1})
    counts["axis of"] = int(made.value_axis is not None)
    try:
        chart = analyze_chart(picture)
    except DgError as error:
        return counts, str(error)
    axis = chart.x_axis if made.kind == "horizontal bar" else chart.y_axis
    counts["values"] = right_values(made, chart)
    counts["kind"] = int(chart.kind == made.kind)
    counts["title"] = int(chart.title == made.title)
    counts["axis"] = int(made.value_axis is not None and axis is not None and axis.title == made.value_axis)
    wrong = [f"{counts[name]}/{counts[f'{name} of']} {name}" for name in _NAMES if counts[name] < counts[f"{name} of"]]
    return counts, ", ".join(wrong)


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


def main() -> None:
    """Draw, read, print tables."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=63, help="charts of the kinds that are read")
    parser.add_argument("--spoil", default=",".join(SPOILS), help="kinds, with commas between them")
    parser.add_argument("--styles", type=int, default=6, help="charts of each kind that must be refused")
    options = parser.parse_args()
    kinds = options.spoil.split(",")
    rows: dict[str, Counter] = {}
    with tempfile.TemporaryDirectory() as folder:
        done = 0
        with suppress(KeyboardInterrupt):  # an interrupted run says what it has
            for seed in range(options.count):
                made = make_chart(Path(folder) / "chart.png", KINDS[seed % len(KINDS)], seed)
                for how in kinds:
                    counts, wrong = score(made, spoil(Image.open(made.path), how)[0])
                    for name in (f"{how}: all", *((f"{how}: {made.kind}",) if how == kinds[0] else ())):
                        rows[name] = rows.get(name, Counter()) + counts
                    if wrong:
                        print(f"{how} {made.kind} (seed {seed}): {wrong}", file=sys.stderr)
                done += 1
        print(f"{done} charts".ljust(24) + "".join(f"{name:>19}" for name in _NAMES))
        for name, counts in sorted(rows.items(), key=lambda row: row[0].endswith(": all")):
            cells = ((counts[one], counts[f"{one} of"]) for one in _NAMES)
            print(f"{name:24}" + "".join(f"{f'{a}/{b} ({a / b:.1%})' if b else '':>19}" for a, b in cells))
        if options.styles:
            print(f"\nother kinds, refused of {options.styles}")
        for kind, right, read in refused(Path(folder), options.styles) if options.styles else ():
            print(f"{kind:24}{right}{f', read as {read}' if read else ''}")


if __name__ == "__main__":
    main()
