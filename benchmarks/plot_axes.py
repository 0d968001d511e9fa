"""What the figures have in common: styles, axes, lines."""

import math

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

# Told apart without colour as well.
STYLES = {
    "v1": ("C0", "o", "-"),
    "split_k": ("C1", "s", "--"),
    "auto": ("C2", "D", ":"),
    "thrust": ("C3", "^", "-."),
    "ceiling": ("0.5", None, "-"),
}
LABELS = {
    "v1": "v1", "split_k": "split_k", "auto": "dispatch",
    "thrust": "materialising (Thrust)", "ceiling": "ceiling: reading alone",
}


def sequences(count):
    return f"{count:g} sequence" + ("" if count == 1 else "s")


def panels(count, width=4.6, height=3.6):
    figure, axes = plt.subplots(1, count, figsize=(width * count, height),
                                squeeze=False, layout="constrained")
    return figure, list(axes[0])


def ticks(axis, values):
    axis.set_ticks(values)
    axis.set_major_formatter(FuncFormatter(
        lambda x, _: f"{x / 1024:g}k" if x >= 1024 else f"{x:g}"))
    axis.set_minor_locator(plt.NullLocator())


def log2_x(axes, grid, label):
    axes.set_xscale("log", base=2)
    ticks(axes.xaxis, grid)
    axes.tick_params(axis="x", rotation=45 if len(grid) > 7 else 0)
    axes.set_xlabel(label)
    axes.grid(True, alpha=0.3)


def log_y(axes):
    axes.set_yscale("log")
    plain = FuncFormatter(lambda y, _: f"{y:g}")
    axes.yaxis.set_major_formatter(plain)
    low, high = axes.get_ylim()
    # Few decades have few ticks of their own.
    axes.yaxis.set_minor_formatter(
        FuncFormatter(lambda y, _: f"{y:g}" if f"{y:e}"[0] in "25" else "")
        if high < 100 * low else plt.NullFormatter())


def line(axes, grid, values, tier):
    if all(math.isnan(value) for value in values):
        return
    colour, marker, dashes = STYLES[tier]
    axes.plot(grid, values, color=colour, marker=marker, linestyle=dashes,
              markersize=5, label=LABELS[tier])
