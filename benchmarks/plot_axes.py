"""What the figures have in common: colours, titles, legends, axes, lines."""

import math
import textwrap

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

# Colours of Okabe and Ito, darkened or lightened to stand out from the page:
# those of `paged report`. In the order of STYLES, then two more.
_LIGHT = ("#0067a8", "#b84e00", "#00734f", "#a3407c", "#6b5b00", "#4a4a8c")
_DARK = ("#58b6f0", "#f09a4a", "#3fcf9c", "#e08bbf", "#e6d35c", "#a9a6f0")


def _theme(page, ink, faint, grid, cycle):
    return {
        "svg.fonttype": "none", "svg.hashsalt": "paged", "font.size": 11,
        "figure.facecolor": page, "savefig.facecolor": page,
        "axes.facecolor": page, "text.color": ink, "axes.edgecolor": faint,
        "axes.labelcolor": ink, "axes.titlesize": 11, "axes.titlecolor": faint,
        "axes.spines.top": False, "axes.spines.right": False,
        "axes.prop_cycle": plt.cycler(color=cycle), "axes.axisbelow": True,
        "figure.titlesize": 12, "figure.titleweight": "bold",
        "xtick.color": faint, "ytick.color": faint,
        "xtick.labelcolor": ink, "ytick.labelcolor": ink,
        "grid.color": grid, "grid.linewidth": 0.8, "legend.frameon": False,
        "legend.fontsize": 10,
    }


# What is added to a file's name -> what matplotlib is told.
THEMES = {
    "": _theme("#ffffff", "#1c2126", "#5a6570", "#dde2e7", _LIGHT),
    "-dark": _theme("#0d1117", "#e4e8ec", "#a3adb7", "#2c343c", _DARK),
}

# Told apart without colour as well: (colour, marker, dashes).
STYLES = {
    "v1": ("C0", "o", "-"),
    "split_k": ("C1", "s", "--"),
    "auto": ("C2", "o", "none"),
    "thrust": ("C3", "^", "-."),
    "ceiling": ("0.55", None, "-"),
}
LABELS = {
    "v1": "v1", "split_k": "split_k", "auto": "what dispatch chose",
    "thrust": "materialising (Thrust)", "ceiling": "ceiling: reading alone",
}


def sequences(count):
    return f"{count:g} sequence" + ("" if count == 1 else "s")


def tokens(count):
    return f"{count / 1024:g}k" if count >= 1024 else f"{count:g}"


def head(figure, title):
    """A title in as many lines as it takes: an inch has room for ten letters."""
    figure.suptitle(textwrap.fill(title, int(9.5 * figure.get_figwidth())))


def panels(count, title, width=3.9, height=3.2, share_y=False):
    """A figure of panels in a row under one title and one legend, which covers
    no data: figure, axes of the panels, axes that hold the legend."""
    # No narrower than most titles.
    figure = plt.figure(figsize=(max(width * count, 6.4), height + 0.6),
                        layout="constrained")
    grid = figure.add_gridspec(2, count, height_ratios=(0.3, height))
    legend_axes = figure.add_subplot(grid[0, :])
    legend_axes.set_axis_off()
    axes = []
    for i in range(count):
        axes.append(figure.add_subplot(
            grid[1, i], sharey=axes[0] if axes and share_y else None))
    head(figure, title)
    return figure, axes, legend_axes


def legend(legend_axes, axes, title=None):
    """One entry for each label that the panels have."""
    handles = {}
    for part in axes:
        for handle, label in zip(*part.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    # More rows where one would be wider than the figure.
    letters = sum(len(label) + 6 for label in handles)
    room = 11 * legend_axes.figure.get_figwidth()
    columns = math.ceil(len(handles) / math.ceil(letters / room))
    legend_axes.legend(handles.values(), handles, loc="center", ncol=columns,
                       title=title, handlelength=2.4, columnspacing=1.6,
                       borderpad=0, borderaxespad=0)


def ticks(axis, values):
    axis.set_ticks(values)
    axis.set_major_formatter(FuncFormatter(lambda x, _: tokens(x)))
    axis.set_minor_locator(plt.NullLocator())


def log2_x(axes, grid, label):
    axes.set_xscale("log", base=2)
    ticks(axes.xaxis, grid)
    axes.tick_params(axis="x", rotation=45 if len(grid) > 7 else 0)
    axes.set_xlabel(label)
    axes.grid(True)


def plain_log(axis):
    """A logarithmic axis with numbers as they are read, and with those at 2 and
    5 where there are few decades."""
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axis.set_major_formatter(plain)
    low, high = axis.get_view_interval()
    axis.set_minor_formatter(
        FuncFormatter(lambda value, _:
                      f"{value:g}" if f"{value:e}"[0] in "25" else "")
        if high < 100 * low else plt.NullFormatter())


def log_y(axes):
    axes.set_yscale("log")
    plain_log(axes.yaxis)


def line(axes, grid, values, tier, **more):
    if all(math.isnan(value) for value in values):
        return
    colour, marker, dashes = STYLES[tier]
    more.setdefault("linestyle", dashes)
    # A ring around the variant that it chose, so that both are seen.
    ring = dict(markersize=11, markerfacecolor="none", markeredgewidth=1.6)
    axes.plot(grid, values, color=colour, marker=marker, label=LABELS[tier],
              **(ring if tier == "auto" else dict(markersize=5)), **more)
