#!/usr/bin/env python3
"""Draws what `paged scan` measured, and fills the table.

  benchmarks/plot_results.py --csv results.csv --out-dir figs --gpu NAME

Several files may be given. Writes NAME.svg for print and light pages and
NAME-dark.svg for dark ones, and figures.md: the table, and every figure with
the question that it answers. A point that was not measured is a gap; a figure
without any row is left out, and said.

Exit code: 0 good, 2 bad usage or input, 3 no matplotlib.
"""

import argparse
import math
import pathlib
import sys

from plot_rows import ceilings, chosen, common_config, main_rows, read_rows, \
    values_of

def number(value, digits=1):
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"


def one(rows, key):
    return rows[0][key] if rows else math.nan


def markdown_table(rows):
    """One line for each batch and context of the most common configuration."""
    rows = common_config(rows)
    lines = [
        "| sequences x context | K and V (MB) | materialising (µs) | v1 (µs) |"
        " split_k (µs) | dispatch (µs) | chose | GB/s | of ceiling |"
        " speed-up |",
        "| --- " * 10 + "|"]
    shapes = sorted({(row["num_seqs"], row["context_len"]) for row in rows})
    for num_seqs, context_len in shapes:
        where = {"num_seqs": num_seqs, "context_len": context_len}
        thrust, v1, split_k, auto = (
            chosen(rows, tier, **where)
            for tier in ("thrust", "v1", "split_k", "auto"))
        time = one(auto, "median_us")
        choice = "–"
        if auto:
            choice = auto[0]["variant"]
            if choice == "split_k":
                choice += f", {auto[0]['splits']:g}"
        any_row = (auto or v1 or split_k or thrust or ceilings(rows, **where))
        lines.append(
            f"| {num_seqs:g} x {context_len:g} "
            f"| {number(one(any_row, 'kv_bytes') * 1e-6)} "
            f"| {number(one(thrust, 'median_us'))} "
            f"| {number(one(v1, 'median_us'))} "
            f"| {number(one(split_k, 'median_us'))} | {number(time)} "
            f"| {choice} | {number(one(auto, 'gb_per_s'), 0)} "
            f"| {number(one(auto, 'ratio_to_ceiling'), 2)} "
            f"| {number(one(thrust, 'median_us') / time)} |")
    return "\n".join(lines) + "\n"


def describe(rows):
    row = common_config(rows)[0]
    group = row["num_q_heads"] / row["num_kv_heads"]
    return (f"{row['num_q_heads']:g} q heads over {row['num_kv_heads']:g} kv "
            f"heads (group {group:g}), head_dim {row['head_dim']:g}, "
            f"{row['dtype']}, block_size {row['block_size']:g}; medians of "
            f"{'–'.join(f'{n:g}' for n in dict.fromkeys(minmax(rows, 'runs')))} "
            f"runs, cold cache; built from commit(s) "
            f"{', '.join(sorted({str(row['commit']) for row in rows}))}.")


def minmax(rows, key):
    values = values_of(rows, key)
    return values[0], values[-1]


def draw(rows, device, out_dir):
    """Writes the figures; returns (name, caption) of those that there are."""
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    from plot_axes import THEMES
    from plot_figures import FIGURES
    drawn = []
    for name, make in FIGURES.items():
        for suffix, theme in THEMES.items():
            with plt.rc_context(theme):
                figure = make(rows, device)
                if figure is None:
                    break
                figure.savefig(out_dir / f"{name}{suffix}.svg",
                               metadata={"Date": None})
                plt.close(figure)
        else:
            drawn.append((name, " ".join(make.__doc__.split())))
            continue
        print(f"{name}: no rows; left out", file=sys.stderr)
    return drawn


def figures_markdown(rows, device, drawn):
    text = f"# {device}\n\n{describe(rows)}\n\n{markdown_table(rows)}"
    for name, caption in drawn:
        text += (
            f"\n{caption}\n\n<picture>\n"
            f'  <source media="(prefers-color-scheme: dark)" '
            f'srcset="{name}-dark.svg">\n'
            f'  <img alt="{caption}" src="{name}.svg">\n</picture>\n')
    return text


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--csv", required=True, nargs="+", metavar="FILE")
    parser.add_argument("--out-dir", required=True, metavar="DIR",
                        type=pathlib.Path)
    parser.add_argument("--gpu", metavar="NAME",
                        help="what the figures call the device "
                             "(what the rows do)")
    arguments = parser.parse_args()
    try:
        rows = main_rows([row for path in arguments.csv
                          for row in read_rows(path)])
    except (OSError, ValueError) as error:
        print(f"plot_results.py: {error}", file=sys.stderr)
        return 2
    if not rows:
        print(f"plot_results.py: no rows in {' '.join(arguments.csv)}",
              file=sys.stderr)
        return 2
    device = arguments.gpu or rows[0]["device"]
    try:
        arguments.out_dir.mkdir(parents=True, exist_ok=True)
        drawn = draw(rows, device, arguments.out_dir)
        (arguments.out_dir / "figures.md").write_text(
            figures_markdown(rows, device, drawn), encoding="utf-8")
    except OSError as error:
        print(f"plot_results.py: --out-dir: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"plot_results.py: {error} in {sys.executable}; "
              "third_party/bootstrap.sh installs it for /usr/bin/python3",
              file=sys.stderr)
        return 3
    print(f"{arguments.out_dir}: {len(drawn)} figures and figures.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
