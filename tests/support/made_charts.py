"""Charts with known data, drawn by matplotlib in several styles."""

import random
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("bar", "horizontal bar", "grouped bar", "stacked bar", "line", "scatter", "pie")
OTHER_KINDS = (
    "box plot", "filled box plot", "area", "stacked area", "error bars", "dots with error bars", "histogram", "violin",
    "stem", "two axes", "heat map", "line with gaps", "two charts", "waterfall",
)  # fmt: skip
"""What a reader of plain charts must refuse."""
_PLACES = ("North", "South", "East", "West", "Central", "Coast", "Hills", "Lakes")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAMES = ("Alpha", "Beta", "Gamma", "Delta")
_TITLES = (
    "Sales by region",
    "Monthly revenue",
    "Energy use in 2024",
    "Visitors per day",
    "Average price",
    "Survey results",
)
_UNITS = ("EUR", "kWh", "USD (thousands)", "visitors", "units", "percent")
_STYLES = ("default", "ggplot", "seaborn-v0_8-whitegrid", "bmh", "seaborn-v0_8", "fivethirtyeight")
_SIZES = ((6.4, 4.8), (8, 5), (7, 4), (9, 6))


@dataclass
class MadeChart:
    """A drawn chart and what it says. `series` maps a name (None for a single one) to (x, y) pairs.

    `span` is the range of the value axis from end to end, in decades where it is logarithmic; of a pie 100.
    """

    path: Path
    kind: str
    title: str
    value_axis: str | None = None
    series: dict[str | None, list[tuple[str | float, float]]] = field(default_factory=dict)
    span: float = 100.0


def make_chart(path: Path, kind: str, seed: int) -> MadeChart:
    """Draw a chart of a kind; the seed decides data, style, size and resolution."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rng = random.Random(seed)
    made = MadeChart(path, kind, rng.choice(_TITLES))
    with plt.style.context(_STYLES[seed % len(_STYLES)]):
        figure, axes = plt.subplots(figsize=rng.choice(_SIZES), dpi=rng.choice((90, 100, 120, 150)))
        {"line": _line, "scatter": _scatter, "pie": _pie}.get(kind, _bars)(axes, made, rng)
        axes.set_title(made.title)
        if kind != "pie":
            low, high = axes.get_xlim() if kind == "horizontal bar" else axes.get_ylim()
            made.span = abs(high - low)
        figure.tight_layout()
        figure.savefig(path)
        plt.close(figure)
    return made


def make_other(path: Path, kind: str, seed: int) -> None:
    """Draw a chart of one of OTHER_KINDS."""
    import matplotlib as mpl
    import numpy as np

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rng = np.random.default_rng(seed)
    xs, ys = range(10), rng.uniform(3, 9, 10)
    samples = [rng.normal(5 + number, 1, 60) for number in range(5)]
    with plt.style.context(_STYLES[seed % len(_STYLES)]):
        figure, many = plt.subplots(1, 2 if kind == "two charts" else 1, figsize=(7.5, 4.6), dpi=100, squeeze=False)
        axes = many[0][0]
        if kind in ("box plot", "filled box plot"):
            axes.boxplot(samples, patch_artist=kind != "box plot")
        elif kind == "area":
            axes.fill_between(xs, ys)
        elif kind == "stacked area":
            axes.stackplot(xs, rng.uniform(3, 9, (3, 10)))
        elif kind in ("error bars", "dots with error bars"):
            axes.errorbar(
                xs, ys, yerr=rng.uniform(0.4, 1.5, (2, 10)), fmt="-" if kind == "error bars" else "o", capsize=3
            )
        elif kind == "histogram":
            axes.hist(rng.normal(0, 1, 500), bins=20)
        elif kind == "violin":
            axes.violinplot(samples)
        elif kind == "stem":
            axes.stem(xs, ys)
        elif kind == "two axes":
            axes.plot(xs, ys)
            axes.twinx().plot(xs, 100 * ys[::-1], color="red")
        elif kind == "heat map":
            figure.colorbar(axes.imshow(rng.uniform(0, 1, (6, 8))))
        elif kind == "line with gaps":
            axes.plot(xs, [*ys[:3], None, None, *ys[5:]])
        elif kind == "two charts":
            for one in many[0]:
                one.plot(xs, rng.uniform(3, 9, 10))
        elif kind == "waterfall":
            axes.bar(_PLACES[:5], ys[:5], bottom=np.cumsum(ys[:5]) - ys[:5])
        axes.set_title("Survey results")
        figure.tight_layout()
        figure.savefig(path)
        plt.close(figure)


def _bars(axes, made, rng) -> None:
    names = rng.choice((_PLACES, _MONTHS))[: rng.randint(3, 7)]
    count = rng.randint(2, 3) if made.kind in ("grouped bar", "stacked bar") else 1
    scale, below, places = 10 * rng.choice((1, 10, 100, 1000)), [0.0] * len(names), range(len(names))
    for number in range(count):
        values = [round(rng.uniform(0.1, 1) * scale, 1) for _ in names]
        label = _NAMES[number] if count > 1 else None
        made.series[label] = list(zip(names, values, strict=True))
        if made.kind == "horizontal bar":
            axes.barh(names, values)
        elif made.kind == "stacked bar":
            axes.bar(names, values, bottom=below, label=label)
            below = [one + other for one, other in zip(below, values, strict=True)]
        elif made.kind == "grouped bar":
            shift = (number - (count - 1) / 2) * 0.8 / count
            axes.bar([place + shift for place in places], values, width=0.8 / count, label=label)
        else:
            axes.bar(names, values, color=rng.choice((None, "tab:green", "#444444", "orange")))
    if made.kind == "grouped bar":
        axes.set_xticks(places, names)
    _finish(axes, made, rng, count, across=made.kind == "horizontal bar")


def _line(axes, made, rng) -> None:
    count, length, scale = rng.randint(1, 3), rng.randint(5, 12), 10 * rng.choice((1, 10, 100, 1000))
    xs = _MONTHS[:length] if rng.random() < 0.5 else [2010 + number for number in range(length)]
    for number in range(count):
        level, values = rng.uniform(0.2, 0.8), []
        for _ in xs:
            level = min(1, max(0.05, level + rng.uniform(-0.2, 0.2)))
            values.append(round(level * scale, 1))
        label = _NAMES[number] if count > 1 else None
        made.series[label] = list(zip(xs, values, strict=True))
        axes.plot(xs, values, marker=rng.choice((None, "o", "s")), label=label)
    _finish(axes, made, rng, count)


def _scatter(axes, made, rng) -> None:
    count, scale = rng.randint(1, 2), 10 * rng.choice((1, 10, 100, 1000))
    for number in range(count):
        points = [(round(rng.uniform(0, 100), 1), round(rng.random() * scale, 1)) for _ in range(rng.randint(8, 20))]
        label = _NAMES[number] if count > 1 else None
        made.series[label] = points
        axes.scatter(*zip(*points, strict=True), label=label)
    axes.set_xlabel("Score")
    _finish(axes, made, rng, count)


def _pie(axes, made, rng) -> None:
    names = _PLACES[: rng.randint(3, 6)]
    values = [rng.randint(5, 40) for _ in names]
    axes.pie(values, labels=names, autopct=rng.choice((None, "%1.1f%%")))
    made.series[None] = [(name, 100 * value / sum(values)) for name, value in zip(names, values, strict=True)]


def _finish(axes, made, rng, count, across=False) -> None:
    made.value_axis = rng.choice(_UNITS)
    (axes.set_xlabel if across else axes.set_ylabel)(made.value_axis)
    if count > 1:
        axes.legend()
