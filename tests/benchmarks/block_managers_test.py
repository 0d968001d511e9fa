#!/usr/bin/env python3
"""What block_managers.py makes of peers and of our rows, with stand-ins."""

import json
import pathlib
import stat
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks/peers"))

import block_managers
import block_peers

# Writes every row of ours that it is asked for, at 2 ns, and a mean at 9.
STAND_IN = """#!{python}
import json, re, sys
options = dict(a[2:].split("=", 1) for a in sys.argv[1:])
names = re.fullmatch(r"\\^\\((.*)\\)\\$", options["benchmark_filter"])[1].split("|")
rows = [{{"run_name": name, "aggregate_name": kind, "ns_each": ns}}
        for name in names if {condition} for kind, ns in (("mean", 9), ("median", 2))]
json.dump({{"benchmarks": rows}}, open(options["benchmark_out"], "w"))
"""


class BlockManagersTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def stand_in(self, condition="True"):
        program = self.folder / "ours"
        program.write_text(STAND_IN.format(python=sys.executable,
                                           condition=condition))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return str(program)

    def run_main(self, *options):
        arguments = ["block_managers.py", "--repeats=3", *options]
        with unittest.mock.patch.object(sys, "argv", arguments), \
                unittest.mock.patch.object(block_managers, "print_table"):
            block_managers.main()

    def test_a_ratio_is_the_median_of_repeats_over_our_median(self):
        times = iter([{"append": 40.0}, {"append": 10.0}, {"append": 30.0}])
        peers = {"swift": lambda num_blocks: next(times)}
        out = self.folder / "out.json"
        with unittest.mock.patch.object(block_peers, "PEERS", peers):
            self.run_main(f"--block_manager_benchmark={self.stand_in()}",
                          f"--out={out}")
        record = json.loads(out.read_text())
        self.assertEqual(record["rows"]["swift"]["ns_per_block"]["append"],
                         {"median": 30.0, "least": 10.0, "most": 40.0,
                          "over_ours": 15.0})

    def test_a_record_keeps_its_rows_and_gains_the_peers(self):
        record = self.folder / "record.json"
        record.write_text(json.dumps({"context": {"x": 1}, "benchmarks": [7]}))

        def absent(num_blocks):
            raise ImportError(f"no pool of {num_blocks}")

        with unittest.mock.patch.object(block_peers, "PEERS", {"gone": absent}):
            self.run_main(f"--block_manager_benchmark={self.stand_in()}",
                          f"--into={record}", "--blocks=1000")
        whole = json.loads(record.read_text())
        self.assertEqual((whole["context"], whole["benchmarks"]), ({"x": 1}, [7]))
        self.assertEqual(whole["peers"]["rows"]["gone"]["not_measured"],
                         "no pool of 1000")

    def test_what_is_no_record_is_refused_before_anything_is_measured(self):
        record = self.folder / "record.json"
        record.write_text("{}")
        with self.assertRaisesRegex(SystemExit, "block_manager_benchmark"):
            self.run_main("--block_manager_benchmark=absent", f"--into={record}")
        self.assertEqual(record.read_text(), "{}")

    def test_a_row_that_our_program_lacks_is_named(self):
        with self.assertRaisesRegex(RuntimeError, "Probe/blocks:1000"):
            block_managers.measure_ours(
                self.stand_in("not name.startswith('Probe')"), 1000)

    def test_our_rows_are_those_of_the_benchmark(self):
        source = (ROOT / "benchmarks/block_manager_benchmark.cc").read_text()
        for name in block_managers.OURS.values():
            self.assertIn(f"BENCHMARK({name.split('/')[0]})", source)


if __name__ == "__main__":
    unittest.main()
