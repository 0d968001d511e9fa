"""The figures by context. Each is a function (rows, name of the device) ->
figure, or None where the rows have nothing of it; its docstring is its caption:
the question that it answers."""

from matplotlib.ticker import FuncFormatter

from plot_axes import legend, line, log2_x, log_y, panels, sequences
from plot_choices import occupancy, regret, split_sweep
from plot_rows import ceilings, chosen, common_config, on_grid, values_of


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


def _by_context(parts, title, ylabel, values_at, tiers):
    """values_at(rows of a batch, tier, grid) -> a value, or a gap, for each
    context. The panels share the axis of the values."""
    if not parts:
        return None
    figure, parts_axes, legend_axes = panels(len(parts), title, share_y=True)
    for axes, (num_seqs, grid, batch) in zip(parts_axes, parts):
        for tier in tiers:
            line(axes, grid, values_at(batch, tier, grid), tier)
        log2_x(axes, grid, "context length (tokens)")
        axes.set_title(sequences(num_seqs))
    parts_axes[0].set_ylabel(ylabel)
    for axes in parts_axes[1:]:
        axes.tick_params(axis="y", labelleft=False)
    legend(legend_axes, parts_axes)
    return figure


def _measured(y, scale=1.0):
    def values_at(batch, tier, grid):
        rows = ceilings(batch) if tier == "ceiling" else chosen(batch, tier)
        return [scale * value for value in on_grid(rows, "context_len", y, grid)]
    return values_at


def time_by_context(rows, device):
    """How long does a decode step take, and what does not materialising the
    scores save? Median time against context, cold cache."""
    figure = _by_context(_contexts(rows), f"How long does a step take? {device}",
                         "time (µs)", _measured("median_us"),
                         ("thrust", "v1", "split_k", "auto"))
    if figure:
        log_y(figure.axes[1])
    return figure


def speedup(rows, device):
    """How many times faster than the materialising baseline is each variant?"""
    def values_at(batch, tier, grid):
        time = _measured("median_us")
        return [baseline / own for baseline, own in
                zip(time(batch, "thrust", grid), time(batch, tier, grid))]
    parts = [part for part in _contexts(rows) if chosen(part[2], "thrust")]
    figure = _by_context(
        parts, f"How many times faster than materialising? {device}",
        "baseline's time / time (×)", values_at, ("v1", "split_k", "auto"))
    if figure:
        figure.axes[1].set_ylim(bottom=0)
    return figure


def bandwidth(rows, device):
    """How close to the memory's limit is decode? Useful bytes of K and V per
    second; the grey line reads the same blocks and computes nothing."""
    figure = _by_context(_contexts(rows), f"How close to reading alone? {device}",
                         "K and V read (GB/s)", _measured("gb_per_s"),
                         ("ceiling", "v1", "split_k", "auto"))
    if figure:
        figure.axes[1].set_ylim(bottom=0)
    return figure


def memory(rows, device):
    """What does materialising the scores cost in memory? Device memory that a
    step needs beside its inputs and outputs: workspace and allocations."""
    # Without the baseline there is nothing to compare with.
    parts = [part for part in _contexts(rows) if chosen(part[2], "thrust")]
    figure = _by_context(parts,
                         f"What does materialising cost in memory? {device}",
                         "memory (MB)", _measured("peak_bytes", 1e-6),
                         ("thrust", "split_k", "v1"))
    if figure:
        # v1 needs none, which a logarithm cannot show.
        axes = figure.axes[1]
        axes.set_yscale("symlog", linthresh=0.01)
        axes.set_ylim(0, 3 * axes.get_ylim()[1])
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        for part in figure.axes[1:]:
            for drawn in part.lines:
                drawn.set_clip_on(False)
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
