"""Charts that differ from the plain ones: other axes, labels, colours and kinds, each with what may be read from it."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from made_charts import MadeChart

Points = list[tuple[str | float, float]]
Truth = dict[str | None, Points] | None
"""Points by the series' names; None where a reader of plain charts must refuse."""

_PLACES = ("North", "South", "East", "West", "Coast")
_VALUES = (42.0, 77.5, 13.0, 58.0, 91.0)
_OTHERS = (20.0, 35.0, 61.5, 12.0, 44.0)
_YEARS = tuple(range(2015, 2024))
_RISE = (3.1, 4.4, 3.9, 5.2, 6.8, 6.1, 7.7, 8.2, 9.4)
_FALL = (8.8, 8.1, 8.5, 6.9, 5.9, 4.8, 5.1, 3.3, 2.5)
_CHARTS: dict[str, Callable[..., Truth]] = {}
_OWN_FIGURE = frozenset({"radar", "rose", "3D bars", "broken axis"})
_DARK = frozenset({"dark bars", "dark lines"})
_WITH_WARNING = frozenset({"dates of days", "no bar at two labels", "three decimals", "bars and a line", "bubbles"})


@dataclass(frozen=True)
class OddChart:
    """What an odd chart says, None where it must be refused; and whether its reader must warn of something."""

    made: MadeChart | None
    warned: bool


def odd_names() -> tuple[str, ...]:
    """All of them."""
    return tuple(_CHARTS)


def make_odd(path: Path, name: str) -> OddChart:
    """Draw one."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with plt.style.context("dark_background") if name in _DARK else nullcontext():
        figure = plt.figure(figsize=(7, 4.6), dpi=110)
        target = figure if name in _OWN_FIGURE else figure.add_subplot()
        series = _CHARTS[name](target)
        if name not in ("no title", *_OWN_FIGURE):
            target.set_title("Yearly report")
        made = None
        if series is not None:
            made = MadeChart(path, "", "" if name == "no title" else "Yearly report", None, series)
            if not any(word in name for word in ("pie", "donut")):
                low, high = sorted(target.get_xlim() if "lying" in name else target.get_ylim())
                made.span = math.log10(high / low) if target.get_yscale() == "log" else high - low
        figure.tight_layout()
        figure.savefig(path)
        plt.close(figure)
    return OddChart(made, name in _WITH_WARNING)


def _odd(name: str) -> Callable[[Callable[..., Truth]], Callable[..., Truth]]:
    def keep(draw: Callable[..., Truth]) -> Callable[..., Truth]:
        _CHARTS[name] = draw
        return draw

    return keep


def _pairs(xs, ys) -> Points:
    return list(zip(xs, ys, strict=True))


def _bars(axes, values=_VALUES, **how) -> Truth:
    axes.bar(_PLACES, values, **how)
    return {None: _pairs(_PLACES, values)}


def _lines(axes, **how) -> Truth:
    axes.plot(_YEARS, _RISE, label="Rise", **how)
    axes.plot(_YEARS, _FALL, label="Fall", **how)
    return {"Rise": _pairs(_YEARS, _RISE), "Fall": _pairs(_YEARS, _FALL)}


# ---- axes


@_odd("bars on a log axis")
def _(axes) -> Truth:
    axes.set_yscale("log")
    return _bars(axes, (12.0, 480.0, 3500.0, 70.0, 150.0))


@_odd("line on a log axis")
def _(axes) -> Truth:
    values = [10 ** (level / 2) for level in _RISE]
    axes.plot(_YEARS, values)
    axes.set_yscale("log")
    return {None: _pairs(_YEARS, values)}


@_odd("log axis of two labels")
def _(axes) -> Truth:
    axes.plot(_YEARS, [10 ** (level / 9) for level in _RISE])
    axes.set_yscale("log")
    axes.set_yticks([1, 10], ["1", "10"])
    return None


@_odd("symmetric log axis")
def _(axes) -> Truth:
    axes.plot(_YEARS, [-120, -30, -5, 0, 4, 20, 60, 300, 700])
    axes.set_yscale("symlog")
    return None


@_odd("powers as labels of a linear axis")
def _(axes) -> Truth:
    axes.plot(_YEARS, [100 + level / 2 for level in _RISE])
    axes.set_yticks([101, 102, 103, 104, 105])
    return {None: _pairs(_YEARS, [100 + level / 2 for level in _RISE])}


@_odd("negative bars")
def _(axes) -> Truth:
    axes.axhline(0, color="black", linewidth=0.8)
    return _bars(axes, (42.0, -27.5, 13.0, -58.0, 61.0))


@_odd("stacked bars on both sides of zero")
def _(axes) -> Truth:
    losses = [-value for value in _OTHERS]
    axes.bar(_PLACES, _VALUES, label="Gains")
    axes.bar(_PLACES, losses, label="Losses")
    axes.legend()
    return {"Gains": _pairs(_PLACES, _VALUES), "Losses": _pairs(_PLACES, losses)}


@_odd("lying stacked bars")
def _(axes) -> Truth:
    axes.barh(_PLACES, _VALUES, label="First")
    axes.barh(_PLACES, _OTHERS, left=_VALUES, label="Second")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return {"First": _pairs(_PLACES, _VALUES), "Second": _pairs(_PLACES, _OTHERS)}


@_odd("bars of a hundred percent")
def _(axes) -> Truth:
    shares = [100 * one / (one + other) for one, other in zip(_VALUES, _OTHERS, strict=True)]
    axes.bar(_PLACES, shares, label="Yes")
    axes.bar(_PLACES, [100 - share for share in shares], bottom=shares, label="No")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)
    return {"Yes": _pairs(_PLACES, shares), "No": _pairs(_PLACES, [100 - share for share in shares])}


@_odd("axis that begins at fifty")
def _(axes) -> Truth:
    axes.set_ylim(50, 100)
    return _bars(axes, (62.0, 77.5, 93.0, 58.0, 91.0))


@_odd("axis upside down")
def _(axes) -> Truth:
    axes.invert_yaxis()
    axes.plot(_YEARS, _RISE, marker="o")
    return {None: _pairs(_YEARS, _RISE)}


@_odd("axis at the right")
def _(axes) -> Truth:
    axes.yaxis.tick_right()
    return _bars(axes)


@_odd("axis at the top")
def _(axes) -> Truth:
    axes.xaxis.tick_top()
    return _bars(axes)


@_odd("two axes")
def _(axes) -> Truth:
    _bars(axes)
    axes.twinx().plot(_PLACES, [1000 * value for value in _OTHERS], color="red")
    return None


@_odd("broken axis")
def _(figure) -> Truth:
    above, below = figure.subplots(2, 1, sharex=True)
    for axes, limits in ((above, (900, 1000)), (below, (0, 100))):
        axes.bar(_PLACES, (42, 77, 950, 58, 91))
        axes.set_ylim(limits)
    above.spines.bottom.set_visible(False)
    above.tick_params(bottom=False)
    below.spines.top.set_visible(False)
    return None


@_odd("dates of days")
def _(axes) -> Truth:
    days = [datetime(2024, 1, 1) + timedelta(days=5 * number) for number in range(40)]
    axes.plot(days, [50 + (number * 37) % 29 + number for number in range(40)])
    return {None: [("2024-01", 50.0), ("2024-02", 76.6), ("2024-03", 71.0), ("2024-04", 92.2), ("2024-05", 93.6),
                   ("2024-06", 91.8), ("2024-07", 105.4)]}  # fmt: skip


@_odd("dates of months")
def _(axes) -> Truth:
    months = [f"2024-{number:02}" for number in range(1, 7)]
    values = (42.0, 77.5, 13.0, 58.0, 91.0, 66.0)
    axes.plot(months, values, marker="o")
    return {None: _pairs(months, values)}


# ---- numbers


def _format(axes, write: Callable[[float], str]) -> None:
    axes.yaxis.set_major_formatter(lambda value, _: write(value))


@_odd("thousands with commas")
def _(axes) -> Truth:
    _format(axes, lambda value: f"{value:,.0f}")
    return _bars(axes, [100 * value for value in _VALUES])


@_odd("thousands with points")
def _(axes) -> Truth:
    _format(axes, lambda value: f"{value:,.0f}".replace(",", "."))
    return _bars(axes, [100 * value for value in _VALUES])


@_odd("thousands with points, some below")
def _(axes) -> Truth:
    _format(axes, lambda value: f"{value:,.0f}".replace(",", "."))
    return _bars(axes, [20 * value for value in _VALUES])


@_odd("thousands with spaces")
def _(axes) -> Truth:
    _format(axes, lambda value: f"{value:,.0f}".replace(",", " "))
    return _bars(axes, [1000 * value for value in _VALUES])


@_odd("three decimals")
def _(axes) -> Truth:
    values = [1 + value / 1000 for value in _VALUES]
    axes.set_ylim(1, 1.1)
    axes.set_yticks([1, 1.025, 1.05, 1.075, 1.1])
    return _bars(axes, values)


@_odd("percent")
def _(axes) -> Truth:
    _format(axes, lambda value: f"{value:.0f}%")
    return _bars(axes)


@_odd("dollars")
def _(axes) -> Truth:
    _format(axes, lambda value: f"-${-value / 1000:.0f}k" if value < 0 else f"${value / 1000:.0f}k")
    return _bars(axes, (42_000.0, -77_500.0, 13_000.0, -58_000.0, 91_000.0))


@_odd("euros")
def _(axes) -> Truth:
    _format(axes, lambda value: f"{value:.1f} €".replace(".", ","))
    return _bars(axes, [value / 10 for value in _VALUES])


@_odd("millions in words")
def _(axes) -> Truth:
    _format(axes, lambda value: f"{value / 1e6:.0f} Mio.")
    return _bars(axes, [1e6 * value for value in _VALUES])


@_odd("factor above the axis")
def _(axes) -> Truth:
    return _bars(axes, [1e6 * value for value in _VALUES])


@_odd("offset above the axis")
def _(axes) -> Truth:
    values = [1e6 + level for level in _RISE]
    axes.plot(_YEARS, values)
    return {None: _pairs(_YEARS, values)}


# ---- labels, legends, colours


@_odd("labels at 45 degrees")
def _(axes) -> Truth:
    truth = _bars(axes)
    axes.set_xticks(range(5), _PLACES, rotation=45, ha="right")
    return truth


@_odd("labels at 45 degrees, centred")
def _(axes) -> Truth:
    truth = _bars(axes)
    axes.set_xticks(range(5), [f"{place} county" for place in _PLACES], rotation=45)
    return {None: [(f"{place} county", value) for place, value in truth[None]]}


@_odd("labels upright")
def _(axes) -> Truth:
    truth = _bars(axes)
    axes.tick_params(axis="x", rotation=90)
    return truth


@_odd("every fifth bar has a label")
def _(axes) -> Truth:
    years = range(2000, 2021)
    axes.bar(years, [20 + (year * 17) % 31 for year in years])
    axes.set_xticks(range(2000, 2021, 5))
    return {None: [(year, 20 + (year * 17) % 31) for year in years]}


@_odd("no bar at two labels")
def _(axes) -> Truth:
    _bars(axes, (42.0, 0.0, 13.0, 0.0, 91.0))
    return {None: [("North", 42.0), ("East", 13.0), ("Coast", 91.0)]}


@_odd("legend outside")
def _(axes) -> Truth:
    truth = _lines(axes)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return truth


@_odd("legend below")
def _(axes) -> Truth:
    truth = _lines(axes, marker="s")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
    return truth


@_odd("legend of one entry, bars")
def _(axes) -> Truth:
    truth = _bars(axes, label="Sales")
    axes.set_ylim(0, 120)
    axes.legend()
    return {"Sales": truth[None]}


@_odd("legend of one entry, line")
def _(axes) -> Truth:
    axes.plot(_YEARS, _RISE, label="Sales")
    axes.legend(loc="lower right")
    return {"Sales": _pairs(_YEARS, _RISE)}


@_odd("no title")
def _(axes) -> Truth:
    return _bars(axes)


@_odd("each bar in its colour")
def _(axes) -> Truth:
    return _bars(axes, color=("#8172b3", "#55a868", "#c44e52", "#4c72b0", "#ccb974"))


@_odd("one bar in another colour")
def _(axes) -> Truth:
    return _bars(axes, color=("#bbbbbb", "#bbbbbb", "#bbbbbb", "#bbbbbb", "#c44e52"))


@_odd("grey bars")
def _(axes) -> Truth:
    return _bars(axes, color="#999999")


@_odd("hatched bars")
def _(axes) -> Truth:
    return _bars(axes, color="#9ecae1", hatch="//", edgecolor="black")


@_odd("outlined bars")
def _(axes) -> Truth:
    return _bars(axes, color="white", edgecolor="black")


@_odd("bars with their values")
def _(axes) -> Truth:
    truth = _bars(axes)
    axes.bar_label(axes.containers[0])
    axes.set_ylim(0, 110)
    return truth


@_odd("dark bars")
def _(axes) -> Truth:
    return _bars(axes)


@_odd("dark lines")
def _(axes) -> Truth:
    truth = _lines(axes)
    axes.legend()
    axes.grid(color="#444444")
    return truth


@_odd("black line")
def _(axes) -> Truth:
    axes.plot(_YEARS, _RISE, color="black")
    axes.grid()
    return {None: _pairs(_YEARS, _RISE)}


@_odd("black line and a blue one")
def _(axes) -> Truth:
    axes.plot(_YEARS, _RISE, color="black")
    axes.plot(_YEARS, _FALL)
    return {None: _pairs(_YEARS, _FALL) + _pairs(_YEARS, _RISE)}


@_odd("black dashes and a blue line with a legend")
def _(axes) -> Truth:
    axes.plot(_YEARS, _RISE, color="black", linestyle="--", label="Rise")
    axes.plot(_YEARS, _FALL, label="Fall")
    axes.legend()
    return {"Rise": _pairs(_YEARS, _RISE), "Fall": _pairs(_YEARS, _FALL)}


# ---- marks beside the marks


@_odd("bars with error bars")
def _(axes) -> Truth:
    return _bars(axes, yerr=(4, 6, 3, 5, 8), capsize=4)


@_odd("line with error bars")
def _(axes) -> Truth:
    axes.errorbar(_YEARS, _RISE, yerr=0.8, capsize=3)
    return None


@_odd("bars and a line")
def _(axes) -> Truth:
    axes.plot(_PLACES, _OTHERS, color="tab:red", marker="o")
    return _bars(axes)


@_odd("bars and a coloured limit")
def _(axes) -> Truth:
    axes.axhline(60, color="tab:red", linestyle="--")
    return _bars(axes)


@_odd("line and a coloured limit")
def _(axes) -> Truth:
    axes.axvline(2019, color="tab:red")
    axes.plot(_YEARS, _RISE)
    return {None: _pairs(_YEARS, _RISE)}


@_odd("line in a band")
def _(axes) -> Truth:
    axes.plot(_YEARS, _RISE)
    axes.fill_between(_YEARS, [y - 1 for y in _RISE], [y + 1 for y in _RISE], alpha=0.25)
    return {None: _pairs(_YEARS, _RISE)}


@_odd("dots and a trend")
def _(axes) -> Truth:
    axes.scatter(_YEARS, _RISE)
    axes.plot(_YEARS, [3 + 0.75 * number for number in range(9)], color="tab:red")
    return None


@_odd("dots of many colours")
def _(axes) -> Truth:
    xs = [(37 * number) % 100 for number in range(25)]
    ys = [(61 * number) % 97 for number in range(25)]
    axes.scatter(xs, ys, c=ys, cmap="viridis")
    return None


@_odd("dots with names")
def _(axes) -> Truth:
    axes.scatter(_VALUES, _OTHERS)
    for x, y, place in zip(_VALUES, _OTHERS, _PLACES, strict=True):
        axes.annotate(place, (x, y), xytext=(5, 5), textcoords="offset points")
    return {None: _pairs(_VALUES, _OTHERS)}


@_odd("dots over names")
def _(axes) -> Truth:
    axes.plot(_PLACES, _VALUES, "o")
    return {None: _pairs(_PLACES, _VALUES)}


# ---- other kinds


@_odd("donut")
def _(axes) -> Truth:
    values = (40, 25, 20, 15)
    axes.pie(values, labels=_PLACES[:4], wedgeprops={"width": 0.4})
    return {None: _pairs(_PLACES[:4], map(float, values))}


@_odd("donut in a donut")
def _(axes) -> Truth:
    axes.pie((40, 25, 20, 15), labels=_PLACES[:4], radius=1, wedgeprops={"width": 0.35})
    axes.pie((30, 30, 40), radius=0.65, wedgeprops={"width": 0.35}, colors=("tab:cyan", "tab:olive", "tab:pink"))
    return None


@_odd("half a donut")
def _(axes) -> Truth:
    axes.pie((30, 50, 20, 100), colors=("tab:red", "tab:orange", "tab:green", "white"), wedgeprops={"width": 0.4})
    return None


@_odd("pie with a slice apart")
def _(axes) -> Truth:
    axes.pie((40, 25, 20, 15), labels=_PLACES[:4], explode=(0, 0.15, 0, 0), autopct="%1.0f%%")
    return {None: _pairs(_PLACES[:4], (40.0, 25.0, 20.0, 15.0))}


@_odd("pie with a legend")
def _(axes) -> Truth:
    wedges, _ = axes.pie((40, 25, 20, 15))
    axes.legend(wedges, _PLACES[:4], loc="center left", bbox_to_anchor=(1, 0.5))
    return {None: _pairs(_PLACES[:4], (40.0, 25.0, 20.0, 15.0))}


@_odd("pie with shared colours")
def _(axes) -> Truth:
    axes.pie((40, 25, 20, 15), labels=_PLACES[:4], colors=("tab:blue", "tab:orange"), wedgeprops={"edgecolor": "white"})
    return {None: _pairs(_PLACES[:4], (40.0, 25.0, 20.0, 15.0))}


@_odd("pie of one colour")
def _(axes) -> Truth:
    axes.pie((40, 25, 20, 15), labels=_PLACES[:4], colors=("tab:blue",), wedgeprops={"edgecolor": "white"})
    return None


@_odd("bubbles")
def _(axes) -> Truth:
    axes.scatter(_VALUES, _OTHERS, s=[40, 900, 200, 2500, 500])
    return {None: _pairs(_VALUES, _OTHERS)}


@_odd("transparent bubbles that overlap")
def _(axes) -> Truth:
    axes.scatter((10, 14, 30, 33, 60), (10, 14, 40, 36, 50), s=[400, 900, 2000, 2500, 500], alpha=0.5)
    return None


@_odd("area")
def _(axes) -> Truth:
    axes.fill_between(_YEARS, _RISE)
    return None


@_odd("transparent areas")
def _(axes) -> Truth:
    axes.fill_between(_YEARS, _RISE, alpha=0.4)
    axes.fill_between(_YEARS, _FALL, alpha=0.4)
    return None


@_odd("histogram with gaps")
def _(axes) -> Truth:
    axes.hist([(37 * number * number) % 101 for number in range(300)], bins=12, rwidth=0.8)
    return None


@_odd("two histograms")
def _(axes) -> Truth:
    axes.hist([(37 * number * number) % 101 for number in range(300)], bins=12, alpha=0.5)
    axes.hist([(17 * number * number) % 83 + 30 for number in range(300)], bins=12, alpha=0.5)
    return None


@_odd("boxes")
def _(axes) -> Truth:
    axes.boxplot([[1, 2, 3, 4, 9], [2, 3, 4, 5, 6], [1, 5, 6, 7, 8]])
    return None


@_odd("radar")
def _(figure) -> Truth:
    axes = figure.add_subplot(projection="polar")
    angles = [2 * 3.14159 * number / 5 for number in range(6)]
    axes.plot(angles, (*_VALUES, _VALUES[0]))
    axes.fill(angles, (*_VALUES, _VALUES[0]), alpha=0.3)
    axes.set_xticks(angles[:-1], _PLACES)
    return None


@_odd("rose")
def _(figure) -> Truth:
    axes = figure.add_subplot(projection="polar")
    axes.bar([2 * 3.14159 * number / 5 for number in range(5)], _VALUES, width=1.2)
    return None


@_odd("3D bars")
def _(figure) -> Truth:
    axes = figure.add_subplot(projection="3d")
    axes.bar3d(range(5), [0] * 5, [0] * 5, 0.6, 0.6, _VALUES)
    return None


@_odd("steps")
def _(axes) -> Truth:
    axes.step(_YEARS, _RISE, where="mid")
    return None


@_odd("bars behind bars")
def _(axes) -> Truth:
    axes.bar(_PLACES, [value + 8 for value in _VALUES], label="Plan")
    axes.bar(_PLACES, _VALUES, width=0.4, label="Real")
    axes.legend()
    return None


@_odd("spans")
def _(axes) -> Truth:
    axes.barh(_PLACES, (3, 4, 2, 5, 3), left=(0, 2, 5, 6, 10))
    return None


@_odd("waterfall of three colours")
def _(axes) -> Truth:
    colours = ("grey", "tab:green", "tab:red", "tab:red", "grey")
    axes.bar(_PLACES, (40, 20, 15, 30, 45), bottom=(0, 40, 45, 15, 0), color=colours)
    return None


@_odd("candles")
def _(axes) -> Truth:
    for x, (low, start, end, high) in enumerate(((1, 2, 4, 5), (3, 4, 6, 7), (4, 6, 5, 8), (2, 5, 3, 6), (1, 3, 4, 5))):
        colour = "tab:green" if end > start else "tab:red"
        axes.vlines(x, low, high, color=colour)
        axes.bar(x, end - start, 0.6, bottom=start, color=colour)
    return None


@_odd("pyramid of ages")
def _(axes) -> Truth:
    axes.barh(_PLACES, [-value for value in _VALUES])
    axes.barh(_PLACES, _OTHERS)
    axes.set_xticks([-100, -50, 0, 50, 100], ["100", "50", "0", "50", "100"])
    return None


@_odd("map of heat")
def _(axes) -> Truth:
    axes.imshow([[(7 * x + 5 * y) % 11 for x in range(8)] for y in range(6)], aspect="auto")
    return None


@_odd("hexagons")
def _(axes) -> Truth:
    xs = [(37 * number * number) % 101 for number in range(800)]
    axes.hexbin(xs, [(x * number) % 89 for number, x in enumerate(xs)], gridsize=12)
    return None


@_odd("contours")
def _(axes) -> Truth:
    axes.contourf([[((x - 9) ** 2 + (y - 7) ** 2) ** 0.5 for x in range(20)] for y in range(16)])
    return None


@_odd("slopes")
def _(axes) -> Truth:
    for one, other in zip(_VALUES, _OTHERS, strict=True):
        axes.plot(("2020", "2024"), (one, other), marker="o", color="tab:blue")
    return None


@_odd("many lines")
def _(axes) -> Truth:
    for number in range(9):
        axes.plot(_YEARS, [(level * (number + 3) * 1.7) % 11 for level in _RISE])
    return None


@_odd("no chart")
def _(axes) -> Truth:
    axes.axis("off")
    axes.text(0.1, 0.5, "Nothing to see here,\nbut a few words.", fontsize=20)
    return None
