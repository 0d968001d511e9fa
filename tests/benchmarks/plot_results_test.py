"""plot_results.py on a small file with gaps. Exit code 77: no matplotlib."""

import csv
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

try:
    import matplotlib
except ImportError:
    print("skipped: this Python has no matplotlib", file=sys.stderr)
    sys.exit(77)
matplotlib.use("svg")

import plot_axes
import plot_figures
import plot_rows

COLUMNS = ["backend", "device", "num_units", "tier", "requested_splits",
           "dtype", "num_seqs", "context_len", "num_q_heads", "num_kv_heads",
           "head_dim", "block_size", "variant", "splits", "ctas", "runs",
           "median_us", "kv_bytes", "gb_per_s", "ratio_to_ceiling",
           "peak_bytes", "commit"]


def row(tier, num_seqs, context_len, splits=0, **more):
    time = {"thrust": 300.0, "v1": 30.0, "gather": 10.0}.get(tier, 20.0)
    fields = dict(
        backend="cuda", device="GPU", num_units=132, tier=tier,
        requested_splits=splits, dtype="fp16", num_seqs=num_seqs,
        context_len=context_len, num_q_heads=8, num_kv_heads=4, head_dim=128,
        block_size=16, variant="split_k" if tier == "auto" else tier,
        splits=splits or 4, ctas=4 * num_seqs * (splits or 1), runs=50,
        median_us=time * (1 + 1 / (splits or 9)), kv_bytes=2e6, gb_per_s=80.0,
        ratio_to_ceiling=0.5, peak_bytes=1e5, commit="abc")
    fields.update(more)
    return fields


def rows_with_gaps():
    """v1 lacks 256 tokens, thrust has one row alone, and 64 sequences no
    split_k."""
    rows = []
    for num_seqs in (8, 64):
        for context_len in (128, 256, 512, 1024):
            tiers = ["gather", "auto"]
            if context_len != 256:
                tiers.append("v1")
            if num_seqs == 8:
                tiers.append("split_k")
            rows += [row(tier, num_seqs, context_len) for tier in tiers]
    rows.append(row("thrust", 8, 128, peak_bytes=""))
    rows += [row("split_k", 8, 512, splits) for splits in (1, 2, 8)]
    # Of another machine, which the figures leave out.
    rows.append(row("reference", 8, 128, backend="cpu", device="CPU"))
    return rows


def _panels(figure):
    """Without the axes that hold a legend alone."""
    return [axes for axes in figure.axes if axes.axison]


class PlotResultsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "rows.csv"
        self.out = pathlib.Path(self.folder.name) / "figs"
        self.write(rows_with_gaps())

    def tearDown(self):
        plot_axes.plt.close("all")
        self.folder.cleanup()

    def write(self, rows):
        with open(self.path, "w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)

    def run_program(self, *more):
        return subprocess.run(
            [sys.executable, ROOT / "benchmarks/plot_results.py", "--csv",
             self.path, "--out-dir", self.out, "--gpu", "NAMED GPU", *more],
            capture_output=True, text=True)

    def read(self):
        return plot_rows.main_rows(plot_rows.read_rows(self.path))

    def test_writes_every_figure_for_print_and_dark_and_the_table(self):
        result = self.run_program()
        self.assertEqual(result.returncode, 0, result.stderr)
        page = (self.out / "figures.md").read_text()
        for name in plot_figures.FIGURES:
            for suffix in ("", "-dark"):
                svg = (self.out / f"{name}{suffix}.svg").read_text()
                self.assertIn("NAMED GPU", svg)
            self.assertIn(f"{name}-dark.svg", page)
        # 64 sequences have no split_k, and no baseline.
        self.assertIn("| 64 x 512 | 2.0 | – | 33.3 | – | 22.2 |", page)
        self.assertIn("| 8 x 256 | 2.0 | – | – | 22.2 | 22.2 |", page)

    def test_a_missing_row_is_a_gap_in_the_line(self):
        figure = plot_figures.time_by_context(self.read(), "GPU")
        lines = {line.get_label(): line for line in _panels(figure)[0].lines}
        v1 = list(lines["v1"].get_ydata())
        grid = list(lines["v1"].get_xdata())
        self.assertEqual(list(lines["split_k"].get_xdata()), grid)
        self.assertEqual([x for x, y in zip(grid, v1) if math.isnan(y)], [256])

    def test_no_point_is_drawn_that_was_not_measured(self):
        rows = self.read()
        measured = {round(r["median_us"], 6) for r in rows}
        for make in (plot_figures.time_by_context, plot_figures.split_sweep):
            for axes in _panels(make(rows, "GPU")):
                for line in axes.lines:
                    for y in line.get_ydata():
                        if not math.isnan(y):
                            self.assertIn(round(y, 6), measured)

    def test_every_axis_has_a_unit_or_counts_things(self):
        for name, make in plot_figures.FIGURES.items():
            figure = make(self.read(), "GPU")
            if figure is None:
                continue
            for i, axes in enumerate(_panels(figure)):
                for label in (axes.get_xlabel(), axes.get_ylabel()):
                    self.assertTrue(
                        label == "" and axes.get_label() == "<colorbar>"
                        # Beside another, with which it shares its axis.
                        or label == "" and i > 0 and axes.get_xlabel()
                        or "(" in label or "sequences" in label
                        or "splits" in label or "time / best" in label,
                        f"{name}: {label}")

    def test_regret_is_against_the_best_that_was_forced(self):
        figure = plot_figures.regret(self.read(), "GPU")
        cells = figure.axes[0].collections[0].get_array().reshape(2, 4)
        # Contexts by columns; 512 tokens have forced splits, 8 the best.
        self.assertAlmostEqual(float(cells[0][2]), (1 + 1 / 9) / (1 + 1 / 9))
        # 64 sequences and 256 tokens: nothing was forced.
        self.assertTrue(math.isnan(float(cells.filled(math.nan)[1][1])))

    def test_an_arrow_leads_from_each_batch_of_v1_to_its_splits(self):
        rows = [row(tier, num_seqs, 1024, ctas=num_seqs * ctas,
                    gb_per_s=num_seqs * gb_per_s)
                for num_seqs in (1, 8, 64)
                for tier, ctas, gb_per_s in (("v1", 4, 10), ("split_k", 16, 30))
                # Eight sequences were not measured in splits.
                if num_seqs != 8 or tier == "v1"]
        self.write(rows)
        axes = _panels(plot_figures.occupancy(self.read(), "GPU"))[0]
        arrows = [text for text in axes.texts if text.arrow_patch]
        self.assertEqual([text.get_text() for text in axes.texts
                          if not text.arrow_patch], ["1", "8", "64"])
        self.assertEqual([tuple(round(v, 6) for v in arrow.xyann)
                          for arrow in arrows],
                         [(round(4 * n / 132, 6), round(100 / n, 6))
                          for n in (1, 64)])

    def test_titles_and_legends_fit_one_panel_as_well(self):
        self.write([row(tier, 8, context_len) for context_len in
                    (128, 256, 512) for tier in
                    ("gather", "thrust", "v1", "split_k", "auto")]
                   + [row("split_k", 8, 512, splits) for splits in (1, 2, 8)])
        for name, make in plot_figures.FIGURES.items():
            with matplotlib.rc_context(plot_axes.THEMES[""]):
                figure = make(self.read(), "NVIDIA GeForce RTX 4090")
                figure.canvas.draw()
            width = figure.get_figwidth() * figure.dpi
            drawn = [figure._suptitle] + [
                axes.get_legend() for axes in figure.axes if axes.get_legend()]
            for part in drawn:
                box = part.get_window_extent()
                self.assertGreaterEqual(box.x0, 0, name)
                self.assertLessEqual(box.x1, width, name)

    def test_no_legend_lies_on_data(self):
        for name, make in plot_figures.FIGURES.items():
            figure = make(self.read(), "GPU")
            for axes in _panels(figure) if figure else ():
                self.assertIsNone(axes.get_legend(), name)

    def test_refuses_what_holds_no_rows(self):
        self.write([])
        self.assertEqual(self.run_program().returncode, 2)
        self.path.write_text("a,b\n1,2\n")
        result = self.run_program()
        self.assertEqual(result.returncode, 2)
        self.assertIn("no column", result.stderr)
        # Of another version: a column is missing that the table needs.
        for name in COLUMNS:
            kept = [column for column in COLUMNS if column != name]
            with open(self.path, "w") as stream:
                stream.write(",".join(kept) + "\n" + "1," * len(kept) + "\n")
            with self.assertRaisesRegex(ValueError, f"no column {name};"):
                self.read()
        self.path.write_bytes(bytes(range(128, 256)))
        self.assertEqual(self.run_program().returncode, 2)
        self.path.unlink()
        self.assertEqual(self.run_program().returncode, 2)

    def test_refuses_a_folder_that_cannot_be_written(self):
        self.out.write_text("a file")
        result = self.run_program()
        self.assertEqual(result.returncode, 2)
        self.assertIn("--out-dir", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
