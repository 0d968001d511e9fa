"""The table of decode_peers.py: what is compared, and how it reads."""

import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/peers"))

from our_rows import Record, Row
from peer_outcome import Outcome, refused, wrong
from peer_shapes import parse_shape
from peer_table import (Column, Line, best_peer, format_table,
                        geometric_means, to_json)

SMALL = "fp16/b:8/ctx:128/hkv:4/g:2/d:128/bs:16"
LARGE = "fp16/b:64/ctx:4096/hkv:8/g:4/d:128/bs:16"


def record_of(times_us):
    """Our rows of {shape: microseconds}; the gather takes half of each."""
    record = Record()
    for name, time_us in times_us.items():
        shape = parse_shape(name)
        for variant, share in (("auto", 1.0), ("gather", 0.5)):
            record.rows[shape.row_name(variant)] = Row(
                time_us=time_us * share, kv_bytes=shape.kv_bytes,
                ratio_to_gather=0.5, splits=4)
    return record


class TableTest(unittest.TestCase):
    COLUMNS = [Column("Slow"), Column("Fast"), Column("Flat", is_paged=False),
               Column("Gone", missing="ModuleNotFoundError: no gone")]

    def line(self, name=SMALL, **peers):
        return Line(parse_shape(name), peers)

    def test_the_best_peer_is_paged_and_right(self):
        line = self.line(Slow=Outcome(9.0, 1e-4), Fast=wrong(0.5),
                         Flat=Outcome(1.0, 1e-4))
        self.assertEqual(best_peer(line, self.COLUMNS), ("Slow", 9.0))
        self.assertIsNone(best_peer(self.line(Fast=refused("no")),
                                    self.COLUMNS))

    def test_prints_times_ratios_refusals_and_missing_peers(self):
        record = record_of({SMALL: 4.0, LARGE: 250.0})
        text = format_table(
            [self.line(Slow=Outcome(10.0, 1e-4), Fast=Outcome(5.0, 1e-4),
                       Flat=Outcome(1.0, 1e-4)),
             self.line(LARGE, Slow=refused("page size must be 256"),
                       Fast=wrong(0.25), Flat=refused("page size"))],
            self.COLUMNS, record)
        self.assertIn("| Slow | Fast | Flat, no paged peer | gather |", text)
        self.assertIn("| 10.0 | **5.0** | 1.0 | 2.0 | 4.0 | 524 | 419 "
                      "| 1.25 |", text)
        self.assertIn("| not measured [1] | wrong [2] | not measured [3] "
                      "| 125.0 | 250.0 | 4295 | – | – |", text)
        self.assertIn("[1] Slow: page size must be 256\n[2] Fast: 0.25 off",
                      text)
        self.assertIn("missing: Gone: ModuleNotFoundError: no gone", text)
        self.assertIn("below 60 MB: 1.25 (1 rows)", text)
        widths = {line.count("|") for line in text.splitlines()
                  if line.startswith("|")}
        self.assertEqual(len(widths), 1, "every line has every column")

    def test_without_our_row_there_is_no_ratio(self):
        text = format_table([self.line(Slow=Outcome(10.0, 1e-4))],
                            self.COLUMNS, Record(error="no CUDA device"))
        self.assertIn("| not measured [1] | – | 210 | – |", text)
        self.assertIn("[1] paged: no CUDA device", text)

    def test_means_are_geometric_and_by_class(self):
        other = SMALL.replace("ctx:128", "ctx:1024")
        record = record_of({SMALL: 2.0, other: 2.0, LARGE: 2.0})
        means = geometric_means(
            [self.line(Slow=Outcome(4.0, 0)),
             self.line(other, Slow=Outcome(16.0, 0)),
             self.line(LARGE, Slow=Outcome(2.0, 0))], self.COLUMNS, record)
        self.assertEqual(set(means), {"below 60 MB", "above 500 MB"})
        self.assertAlmostEqual(means["below 60 MB"][0], 4.0)
        self.assertEqual(means["below 60 MB"][1], 2)

    def test_json_holds_no_time_of_what_was_wrong(self):
        results = to_json([self.line(Slow=Outcome(8.0, 1e-4),
                                     Fast=wrong(0.5))], self.COLUMNS,
                          record_of({SMALL: 4.0}))
        row = json.loads(json.dumps(results))["rows"][0]
        self.assertEqual(row["best_peer_over_paged"], 2.0)
        self.assertEqual(list(row["peers"]["Fast"]), ["wrong"])
        self.assertEqual(row["paged"]["gather_us"], 2.0)
        self.assertEqual(list(results["missing"]), ["Gone"])


if __name__ == "__main__":
    unittest.main()
