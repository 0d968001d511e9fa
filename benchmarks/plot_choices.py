"""The figures of the choice between v1 and split_k, as plot_figures.py has
them."""

import math

import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.ticker import FuncFormatter

from plot_axes import (LABELS, STYLES, head, legend, line, log2_x, log_y, panels,
                       plain_log, tokens)
from plot_rows import (NAN, ceilings, chosen, common_config, on_grid,
                       values_of)


def _at_contexts(rows):
    """(context, its rows) for the middle and the longest of the contexts that
    the most batches were measured at."""
    batches = {}
    for context_len in values_of(rows, "context_len"):
        point = [row for row in rows if row["context_len"] == context_len]
        count = len(values_of(chosen(point, "v1"), "num_seqs"))
        if count and chosen(point, "split_k"):
            batches.setdefault(count, []).append((context_len, point))
    if not batches:
        return []
    parts = batches[max(batches)]
    return list(dict([parts[(len(parts) - 1) // 2], parts[-1]]).items())


def _per_unit(rows, batches):
    """Programs per unit and picoseconds per byte at each batch; NaN is a gap."""
    ratio = [row | {"per_unit": row["ctas"] / row["num_units"],
                    "ps_per_byte": 1e3 / row["gb_per_s"]} for row in rows]
    return (on_grid(ratio, "num_seqs", "per_unit", batches),
            on_grid(ratio, "num_seqs", "ps_per_byte", batches))


def _draw_occupancy(axes, rows):
    batches = values_of(chosen(rows, "v1"), "num_seqs")
    places = {tier: _per_unit(chosen(rows, tier), batches)
              for tier in ("v1", "split_k")}
    fastest = min((1e3 / row["gb_per_s"] for row in ceilings(rows)),
                  default=NAN)
    if not math.isnan(fastest):
        axes.axhline(fastest, color=STYLES["ceiling"][0], linewidth=1.5,
                     label=LABELS["ceiling"])
    axes.axvline(1, color=STYLES["ceiling"][0], linewidth=1, linestyle=":")
    for batch, x1, y1, x2, y2 in zip(batches, *places["v1"],
                                     *places["split_k"]):
        # Below the falling line; splits lie right of it.
        axes.annotate(f"{batch:g}", (x1, y1), textcoords="offset points",
                      xytext=(-3, -6), ha="right", va="top", fontsize=9)
        if math.hypot(math.log(x2 / x1), math.log(y2 / y1)) > 0.25:
            axes.annotate("", (x2, y2), (x1, y1), arrowprops=dict(
                arrowstyle="->", color=STYLES["ceiling"][0], linewidth=0.8,
                shrinkA=4, shrinkB=5))
    line(axes, *places["v1"], "v1")
    line(axes, *places["split_k"], "split_k", linestyle="none")


def occupancy(rows, device):
    """Why do small batches want splits? Time per byte against programs per SM:
    left of 1, v1 leaves SMs idle and a byte takes longer. A number is the
    sequences of the batch; an arrow leads from it to the same batch in
    splits."""
    parts = _at_contexts(common_config(rows))
    if not parts:
        return None
    figure, parts_axes, legend_axes = panels(
        len(parts), f"Why do small batches want splits? {device}",
        share_y=True)
    for axes, (context_len, point) in zip(parts_axes, parts):
        _draw_occupancy(axes, point)
        axes.set_xscale("log")
        plain_log(axes.xaxis)
        axes.grid(True)
        axes.margins(0.12, 0.15)
        axes.set_title(f"context {tokens(context_len)}")
        unit = "thread" if point[0]["backend"] == "cpu" else "SM"
        axes.set_xlabel("programs (CTAs) per SM" if unit == "SM"
                        else "programs (work items) per thread")
    parts_axes[0].set_ylabel("time per byte of K and V (ps)")
    for axes in parts_axes[1:]:
        axes.tick_params(axis="y", which="both", labelleft=False)
    log_y(parts_axes[0])
    legend(legend_axes, parts_axes,
           title="number: sequences; arrow: the same batch in splits")
    return figure


def _sweeps(rows):
    """(sequences, context), its rows, and those of forced splits, where there
    are several; at most six."""
    parts = []
    for key in dict.fromkeys((row["num_seqs"], row["context_len"])
                             for row in rows):
        point = [row for row in rows
                 if (row["num_seqs"], row["context_len"]) == key]
        forced = [row for row in point if row["requested_splits"] > 0]
        if len(forced) >= 3:
            parts.append((key, point, forced))
    # Of many, those with the most counts, and of these the most spread out.
    most = max((len(forced) for _, _, forced in parts), default=0)
    parts = [part for part in parts if len(part[2]) == most]
    return parts[::math.ceil(len(parts) / 6) or 1]


def split_sweep(rows, device):
    """Does the dispatch choose the right number of splits? Time against forced
    splits; the ring marks the automatic choice, at 1 where that is v1."""
    parts = _sweeps(common_config(rows))
    if not parts:
        return None
    figure, (axes,), legend_axes = panels(
        1, f"Is the chosen number of splits right? {device}", 6.4, 3.4)
    grid = values_of([row for _, _, part in parts for row in part],
                     "requested_splits")
    for i, ((num_seqs, context_len), point, forced) in enumerate(parts):
        values = on_grid(forced, "requested_splits", "median_us", grid)
        axes.plot(grid, values, marker="osD^v<"[i], color=f"C{i}",
                  label=f"{num_seqs:g} × {tokens(context_len)}")
        for row in chosen(point, "auto"):
            axes.plot([max(row["splits"], grid[0])], [row["median_us"]], "o",
                      markersize=13, markerfacecolor="none",
                      markeredgecolor=f"C{i}", markeredgewidth=2)
    log2_x(axes, grid, "splits of a sequence")
    log_y(axes)
    axes.set_ylabel("time (µs)")
    legend(legend_axes, [axes], title="sequences × context (tokens)")
    return figure


def _regret_cells(rows, batches, contexts):
    cells = []
    for num_seqs in batches:
        cell_row = []
        for context_len in contexts:
            where = {"num_seqs": num_seqs, "context_len": context_len}
            point = [row["median_us"] for row in rows
                     if all(row[k] == v for k, v in where.items())
                     and row["tier"] in ("v1", "split_k")]
            auto = [row["median_us"] for row in chosen(rows, "auto", **where)]
            cell_row.append(auto[0] / min(point) if auto and point else NAN)
        cells.append(cell_row)
    return cells


def regret(rows, device):
    """What does trusting the dispatch cost? Its time over the best of every
    variant and split count that was forced at that shape; 1.00 is no regret."""
    rows = common_config(rows)
    contexts = values_of(rows, "context_len")
    batches = values_of(rows, "num_seqs")
    cells = _regret_cells(rows, batches, contexts)
    if len(contexts) < 2 or all(math.isnan(cell)
                                for cell_row in cells for cell in cell_row):
        return None
    figure, axes = plt.subplots(
        figsize=(1.8 + 0.72 * max(len(contexts), 6),
                 1.3 + 0.42 * max(len(batches), 4)), layout="constrained")
    head(figure, f"What does trusting the dispatch cost? {device}")
    # A gap is as the page; no regret is not.
    page = to_rgb(plt.rcParams["axes.facecolor"])
    warm = to_rgb(plt.rcParams["axes.prop_cycle"].by_key()["color"][1])
    cool = to_rgb(plt.rcParams["axes.prop_cycle"].by_key()["color"][2])
    colours = LinearSegmentedColormap.from_list("regret", [
        [0.88 * p + 0.12 * c for p, c in zip(page, cool)],
        [0.35 * p + 0.65 * w for p, w in zip(page, warm)], warm])
    image = axes.pcolormesh(cells, cmap=colours, vmin=1.0, vmax=1.25,
                            edgecolors=page, linewidth=2)
    for y, cell_row in enumerate(cells):
        for x, cell in enumerate(cell_row):
            if not math.isnan(cell):
                axes.text(x + 0.5, y + 0.5, f"{cell:.2f}", ha="center",
                          va="center", fontsize=9)
    axes.set_xticks([x + 0.5 for x in range(len(contexts))],
                    [tokens(c) for c in contexts],
                    rotation=45 if len(contexts) > 9 else 0)
    axes.set_yticks([y + 0.5 for y in range(len(batches))],
                    [f"{b:g}" for b in batches])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("context length (tokens)")
    axes.set_ylabel("sequences")
    bar = figure.colorbar(image, label="time / best time", extend="max")
    bar.outline.set_visible(False)
    return figure
