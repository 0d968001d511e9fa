#!/usr/bin/env python3
"""What a CPU's record says of its goals."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from cpu_goals import RESULTS, cpu_goals_of, read_cpu_goals

ROW = "fp16/b:1/ctx:65536/hkv:8/g:4/d:128/bs:16/l2:cold/layout:token_major"
NO_PEERS = {"rows": []}


def record_of(*rows):
    """Rows of (ratio to the bound, what is replaced in the usual name)."""
    benchmarks = []
    for ratio, *changes in rows:
        name = ROW
        for old, new in changes:
            name = name.replace(old, new)
        benchmarks.append({"name": f"decode/auto/{name}/threads:2",
                           "time_us": 100.0, "gb_per_s": 30.0,
                           "ratio_to_bound": ratio})
    return {"benchmarks": benchmarks}


def goal_of(title, decode=None, peers=None):
    goals = cpu_goals_of(decode or record_of(), peers or NO_PEERS)
    return next(goal for goal in goals if goal.title.startswith(title))


def peers_of(ours, **peers):
    """Rows of (time over ours, error); the time None where there is none."""
    return {"rows": [{"title": "a shape", "paged": {"relative_error_fp32": ours},
                      "peers": {name: {"relative_error": error} if time is None
                                else {"time_over_ours": time,
                                      "relative_error": error}
                                for name, (time, error) in peers.items()}}]}


class CpuGoalsTest(unittest.TestCase):
    def test_ratios_are_of_rows_of_their_kind(self):
        record = record_of((0.85,), (0.84, ("fp16", "bf16")),
                           (0.1, ("bs:16", "bs:64")), (0.1, ("fp16", "int8")),
                           (0.1, ("cold", "warm")))
        self.assertEqual(goal_of("16 bits, blocks of 16", record).line(),
                         "16 bits, blocks of 16: 0.85 of the bound: 1 of 2, "
                         "0.840 to 0.850")
        self.assertEqual(goal_of("fp8 and int8", record).num_met, 0)

    def test_one_thread_is_not_two(self):
        record = record_of((0.9,))
        record["benchmarks"][0]["name"] = f"decode/auto/{ROW}/threads:1"
        self.assertEqual(goal_of("16 bits, blocks", record).readings, [])

    def test_a_row_that_failed_is_not_measured(self):
        record = record_of((0.9,))
        del record["benchmarks"][0]["time_us"]
        self.assertEqual(goal_of("16 bits, blocks", record).readings, [])

    def test_every_peer_with_a_time_counts(self):
        peers = peers_of(1e-6, a=(1.0, 1e-3), b=(0.99, 2e-6), c=(None, 1e-9))
        faster = goal_of("faster", peers=peers)
        self.assertEqual((faster.num_met, len(faster.readings)), (1, 2))

    def test_the_nearest_peer_is_held_against_ours(self):
        for ours, num_met in ((2e-6, 1), (2.1e-6, 0)):
            peers = peers_of(ours, a=(2.0, 1e-3), b=(2.0, 2e-6), c=(None, 1e-9))
            self.assertEqual(goal_of("no further", peers=peers).num_met, num_met)

    # A renamed row would leave a goal without any.
    def test_the_committed_record_has_rows_of_every_goal(self):
        for goal in read_cpu_goals(RESULTS):
            self.assertTrue(goal.readings, goal.title)


if __name__ == "__main__":
    unittest.main()
