"""The committed records reach the block manager's goals, and the table in
lib/README.md says what they hold."""

import json
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results"
POOLS = (1000, 100000, 1000000)
# Rows of the table: name of the record's row, its counter, a factor.
ROWS = {
    "append, 10 blocks at a time": ("Append/blocks:{}/n:10", "ns_each", 1),
    "append, 900 blocks at a time": ("Append/blocks:{}/n:900", "ns_each", 1),
    "release of 10 blocks": ("Release/blocks:{}/n:10", "ns_each", 1),
    "release of 900 blocks": ("Release/blocks:{}/n:900", "ns_each", 1),
    "allocate while evicting": ("AppendEvicting/blocks:{}", "ns_each", 1),
    "prefix probe, hot": ("Probe/blocks:{}", "ns_each", 1),
    "adopt a cached prefix": ("Adopt/blocks:{}", "ns_each", 1),
    "commit": ("Commit/blocks:{}", "ns_each", 1),
    "SHA-256 of a block of 16 tokens": ("Digest", "ns_each", 1),
    # Its ns_each is of a sequence.
    "a decode step of 1,024 sequences":
        ("DecodeStep/blocks:{}", "ns_each", 1.024),
    "dense table, 1024 x 512": ("DenseTable", "ns_each", 1e-3),
    "fork of 512 blocks": ("Fork/blocks:{}", "ns_each", 1e-3),
    "memory of the books": ("Books/blocks:{}", "bytes_per_block", 1),
}


def medians(file):
    rows = json.loads((RESULTS / file).read_text())["benchmarks"]
    return {row["run_name"].split("/manual_time")[0].split("/iterations")[0]:
            row for row in rows if row.get("aggregate_name") == "median"}


def table():
    """Title: goal, cells of the pools."""
    section = (ROOT / "lib/README.md").read_text().split("## Blocks\n")[1]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]]
             for line in section.split("\n## ")[0].splitlines()
             if line.startswith("|")]
    return {cells[0]: (float(cells[1].split()[0]), cells[2:])
            for cells in lines[2:]}


class BlockGoalsTest(unittest.TestCase):
    def setUp(self):
        self.record = medians("cpu-x86_64/block_manager.json")

    def values(self, title):
        """Of the pools; None where there is no such row."""
        name, counter, factor = ROWS[title]
        names = ([name.format(pool) for pool in POOLS] if "{}" in name
                 else [None, None, name])
        return [self.record[each][counter] * factor if each in self.record
                else None for each in names]

    def test_every_row_reaches_its_goal_and_is_told(self):
        rows = table()
        self.assertEqual(list(rows), list(ROWS))
        for title, (goal, cells) in rows.items():
            values = self.values(title)
            self.assertTrue(any(values), title)
            self.assertEqual(
                cells, ["" if v is None else f"{v:.1f}" for v in values], title)
            self.assertLessEqual(max(v for v in values if v), goal, title)

    def test_a_million_blocks_cost_at_most_three_times_what_a_thousand_do(self):
        for title in ROWS:
            first, *rest = self.values(title)
            for value in rest if first else []:
                self.assertLessEqual(value, 3 * first, title)

    def test_nothing_is_allocated(self):
        counts = [row["allocations"] for row in self.record.values()
                  if "allocations" in row]
        self.assertGreater(len(counts), 40)
        self.assertEqual(set(counts), {0})

    def test_large_moves_are_near_a_copy(self):
        record = medians("h200/block_device.json")
        for name in ("AppendTokens/tokens:65536", "AppendCodes/tokens:65536",
                     "CopyWholeBlocks/blocks:4096"):
            self.assertGreaterEqual(record[name]["ratio_to_copy"], 0.9, name)


if __name__ == "__main__":
    unittest.main()
