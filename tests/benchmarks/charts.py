"""How much of a chart is read right: `python tests/benchmarks/charts.py [--count 63] [--spoil blur|jpeg|turn|small]`.

Charts of seven kinds are drawn from known data in six styles. A value counts when a point of its series has its x (in
scatter charts one within 2 % of the axis) and a y within 2 % of the range of the values.
"""

import argparse
import sys
import tempfile
from collections import Counter
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from made_charts import KINDS, MadeChart, make_chart
from PIL import Image, ImageFilter

from dg_sglang.errors import DgError
from dg_sglang.vision.charts import analyze_chart
from dg_sglang.vision.charts.model import Chart


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


def spoiled(path: Path, how: str | None) -> Image.Image:
    """The picture after a blur, strong JPEG compression, a turn by two degrees, or at two thirds of its size."""
    image = Image.open(path).convert("RGB")
    if how == "blur":
        return image.filter(ImageFilter.GaussianBlur(1.0))
    if how == "jpeg":
        file = BytesIO()
        image.save(file, "JPEG", quality=40)
        return Image.open(file)
    if how == "turn":
        return image.rotate(2, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)
    if how == "small":
        return image.resize((image.width * 2 // 3, image.height * 2 // 3), Image.Resampling.LANCZOS)
    return image


def main() -> None:
    """Draw, read, print a table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=63)
    parser.add_argument("--spoil", choices=("blur", "jpeg", "turn", "small"))
    options = parser.parse_args()
    right, total, kinds, titles, axes = Counter(), Counter(), Counter(), Counter(), Counter()
    charts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.count):
            made = make_chart(Path(folder) / "chart.png", KINDS[seed % len(KINDS)], seed)
            total[made.kind] += sum(map(len, made.series.values()))
            charts[made.kind] += 1
            try:
                chart = analyze_chart(spoiled(made.path, options.spoil))
            except DgError as error:
                print(f"{made.kind} (seed {seed}): {error}", file=sys.stderr)
                continue
            right[made.kind] += right_values(made, chart)
            kinds[made.kind] += chart.kind == made.kind
            titles[made.kind] += chart.title == made.title
            axis = chart.x_axis if made.kind == "horizontal bar" else chart.y_axis
            axes[made.kind] += made.value_axis is None or (axis is not None and axis.title == made.value_axis)
    print("kind             values within 2 %     kind  title  value axis")
    for kind in KINDS:
        share = f"{right[kind]}/{total[kind]} ({right[kind] / max(1, total[kind]):.1%})"
        print(
            f"{kind:16} {share:20}",
            *(f"{counter[kind]:>3}/{charts[kind]}" for counter in (kinds, titles, axes)),
        )
    print(f"all              {right.total()}/{total.total()} ({right.total() / total.total():.1%})")


if __name__ == "__main__":
    main()
