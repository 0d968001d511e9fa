"""The figures. Each is a function (rows, name of the device) -> figure, or None
where the rows have nothing of it; its docstring is its caption: the question
that it answers."""

import math

import matplotlib.pyplot as plt

from plot_axes import LABELS, STYLES, line, log2_x, log_y, panels, sequences
from plot_rows import (NAN, ceilings, chosen, common_config, on_grid,
                       values_of)


def _contexts(rows):
    """(batch, grid of contexts, its rows) for the smallest and the largest batch
    with several contexts; of those with the baseline where there are any."""
    rows = common_config(rows)
    parts = list(_batches(rows))
    compared = [part for part in parts if len(chosen(part[2], "thrust")) > 1]
    parts = compared or parts
    return parts if len(parts) <= 2 else [parts[0], parts[-1]]


def _batches(rows):
    for num_seqs in values_of(rows, "num_seqs"):
        batch = [row for row in rows if row["num_seqs"] == num_seqs]
        grid = values_of([row for row in batch
                          if row["tier"] in ("v1", "split_k", "auto")],
                         "context_len")
        # A grid of one or two points is of another scan.
        if len(grid) >= 3:
            yield int(num_seqs), grid, batch


def _by_context(rows, device, y, ylabel, title, tiers, scale=1.0, log=True,
                with_ceiling=False):
    parts = _contexts(rows)
    if not parts:
        return None
    figure, parts_axes = panels(len(parts))
    for axes, (num_seqs, grid, batch) in zip(parts_axes, parts):
        for tier in tiers:
            values = on_grid(chosen(batch, tier), "context_len", y, grid)
            line(axes, grid, [value * scale for value in values], tier)
        if with_ceiling:
            values = on_grid(ceilings(batch), "context_len", y, grid)
            line(axes, grid, [value * scale for value in values], "ceiling")
        log2_x(axes, grid, "context length (tokens)")
        if log:
            log_y(axes)
        else:
            axes.set_ylim(bottom=0)
        axes.set_ylabel(ylabel)
        axes.set_title(sequences(num_seqs))
        axes.legend(fontsize="small")
    figure.suptitle(f"{title}: {device}")
    return figure


def time_by_context(rows, device):
    """How long does a decode step take, and what does not materialising the
    scores save? Median time against context, cold cache."""
    return _by_context(rows, device, "median_us", "time (µs)",
                       "Time of a decode step",
                       ("thrust", "v1", "split_k", "auto"))


def speedup(rows, device):
    """How many times faster than the materialising baseline is each variant?"""
    parts = [part for part in _contexts(rows) if chosen(part[2], "thrust")]
    if not parts:
        return None
    figure, parts_axes = panels(len(parts))
    for axes, (num_seqs, grid, batch) in zip(parts_axes, parts):
        base = on_grid(chosen(batch, "thrust"), "context_len", "median_us",
                       grid)
        for tier in ("v1", "split_k", "auto"):
            times = on_grid(chosen(batch, tier), "context_len", "median_us",
                            grid)
            line(axes, grid, [b / t for b, t in zip(base, times)], tier)
        log2_x(axes, grid, "context length (tokens)")
        log_y(axes)
        axes.set_ylabel("baseline's time / time (×)")
        axes.set_title(sequences(num_seqs))
        axes.legend(fontsize="small")
    figure.suptitle(f"Speed-up over materialised scores: {device}")
    return figure


def bandwidth(rows, device):
    """How close to the memory's limit is decode? Useful bytes of K and V per
    second; the grey line reads the same blocks and computes nothing."""
    return _by_context(rows, device, "gb_per_s", "K and V read (GB/s)",
                       "Bandwidth", ("v1", "split_k", "auto"), log=False,
                       with_ceiling=True)


def occupancy(rows, device):
    """Why do small batches want splits? Time per byte against programs per SM:
    where v1 leaves SMs idle (left of 1), a byte takes longer."""
    rows = common_config(rows)
    figure, (axes,) = panels(1, 6.4, 4.2)
    sizes = values_of(rows, "num_seqs")
    half = sizes[len(sizes) // 2] if sizes else 0
    drawn = False
    for tier in ("v1", "split_k"):
        for is_small in (True, False):
            part = [row for row in chosen(rows, tier)
                    if (row["num_seqs"] < half or len(sizes) == 1) == is_small]
            if not part:
                continue
            colour, marker, _ = STYLES[tier]
            batches = values_of(part, "num_seqs")
            span = "–".join(f"{n:g}" for n in
                            dict.fromkeys((batches[0], batches[-1])))
            axes.scatter([row["ctas"] / row["num_units"] for row in part],
                         [1e3 / row["gb_per_s"] for row in part],
                         color=colour if not is_small else "none",
                         edgecolors=colour, marker=marker,
                         label=f"{LABELS[tier]}, {span} sequences")
            drawn = True
    if not drawn:
        plt.close(figure)
        return None
    axes.axvline(1, color="0.5", linewidth=1, linestyle=":")
    axes.set_xscale("log")
    log_y(axes)
    axes.grid(True, alpha=0.3)
    axes.set_xlabel("programs (CTAs) per SM, or per thread")
    axes.set_ylabel("time per byte of K and V (ps)")
    axes.legend(fontsize="small")
    axes.set_title(f"Small against large batches: {device}")
    return figure


def split_sweep(rows, device):
    """Does the dispatch choose the right number of splits? Time against forced
    splits; the ring marks the automatic choice."""
    rows = common_config(rows)
    parts = []
    for key in dict.fromkeys((row["num_seqs"], row["context_len"])
                             for row in rows):
        point = [row for row in rows
                 if (row["num_seqs"], row["context_len"]) == key]
        forced = [row for row in point if row["requested_splits"] > 0]
        if len(forced) >= 3:
            parts.append((key, point, forced))
    if not parts:
        return None
    # Of many, those with the most counts, and of these the most spread out.
    most = max(len(forced) for _, _, forced in parts)
    parts = [part for part in parts if len(part[2]) == most]
    step = math.ceil(len(parts) / 6)
    parts = parts[::step]
    figure, (axes,) = panels(1, 6.4, 4.2)
    grid = values_of([row for _, _, part in parts for row in part],
                     "requested_splits")
    for i, ((num_seqs, context_len), point, forced) in enumerate(parts):
        values = on_grid(forced, "requested_splits", "median_us", grid)
        axes.plot(grid, values, marker="osD^v<"[i], color=f"C{i}",
                  label=f"{num_seqs:g} × {context_len:g}")
        for row in chosen(point, "auto"):
            axes.plot([max(row["splits"], grid[0])], [row["median_us"]], "o",
                      markersize=12, markerfacecolor="none",
                      markeredgecolor=f"C{i}", markeredgewidth=2)
    log2_x(axes, grid, "splits of a sequence")
    log_y(axes)
    axes.set_ylabel("time (µs)")
    axes.legend(title="sequences × context", fontsize="small")
    axes.set_title(f"Splits, and the choice: {device}")
    return figure


def regret(rows, device):
    """What does trusting the dispatch cost? Its time over the best of every
    variant and split count that was forced at that shape; 1.00 is no regret."""
    rows = common_config(rows)
    contexts = values_of(rows, "context_len")
    batches = values_of(rows, "num_seqs")
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
    if len(contexts) < 2 or all(math.isnan(c) for cell_row in cells for c in cell_row):
        return None
    figure, (axes,) = panels(1, 1.8 + 0.72 * len(contexts),
                              1.6 + 0.42 * len(batches))
    image = axes.imshow(cells, cmap="viridis_r", vmin=1.0, vmax=1.25,
                        aspect="auto", origin="lower")
    for y, cell_row in enumerate(cells):
        for x, cell in enumerate(cell_row):
            if not math.isnan(cell):
                axes.text(x, y, f"{cell:.2f}", ha="center", va="center",
                          fontsize=8, color="black" if cell < 1.12 else "white")
    axes.set_xticks(range(len(contexts)), [f"{c:g}" for c in contexts],
                    rotation=45 if len(contexts) > 7 else 0)
    axes.set_yticks(range(len(batches)), [f"{b:g}" for b in batches])
    axes.set_xlabel("context length (tokens)")
    axes.set_ylabel("sequences")
    axes.set_title(f"Dispatch / best forced: {device}")
    figure.colorbar(image, label="time / best time", extend="max")
    return figure


def memory(rows, device):
    """What does materialising the scores cost in memory? Device memory that a
    step needs beside its inputs and outputs: workspace and allocations."""
    figure = _by_context(rows, device, "peak_bytes", "memory (MB)",
                         "Memory of a step", ("thrust", "v1", "split_k"),
                         scale=1e-6)
    for axes in figure.axes if figure else ():
        # v1 needs none, which a logarithm cannot show.
        axes.set_yscale("symlog", linthresh=0.01)
        axes.set_ylim(bottom=0)
    return figure


FIGURES = {
    "time_by_context": time_by_context,
    "speedup": speedup,
    "bandwidth": bandwidth,
    "occupancy": occupancy,
    "split_sweep": split_sweep,
    "regret": regret,
    "memory": memory,
}
