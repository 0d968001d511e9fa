"""What a record says of the goals, and that the table of goals in
kernels/README.md says the same of the committed one."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from goals import RESULTS, goals_of, read_goals

LARGE = "fp16/b:64/ctx:4096/hkv:8/g:4/d:128/bs:16"
SMALL = "fp16/b:8/ctx:128/hkv:4/g:2/d:128/bs:16"
REGRET = {"median": 1.0, "worst": 1.09}


def record_of(*rows):
    """Rows (shape, gather, ours, bytes); without a time where that is None."""
    benchmarks = []
    for shape, gather_us, time_us, kv_bytes in rows:
        for variant, time in (("gather", gather_us), ("auto", time_us)):
            for cache in ("cold", "warm"):
                row = {"name": f"decode/{variant}/{shape}/l2:{cache}",
                       "kv_bytes": kv_bytes}
                if time is not None:
                    row["time_us"] = time if cache == "cold" else time / 100
                benchmarks.append(row)
    return {"benchmarks": benchmarks}


def goal_of(title, decode, cliffs=None, regret=REGRET):
    goals = goals_of(decode, cliffs or record_of(), regret)
    return next(goal for goal in goals if goal.title.startswith(title))


class GoalsTest(unittest.TestCase):
    def test_counts_the_plain_rows_of_a_class_that_reach_its_ratio(self):
        record = record_of((LARGE, 98.0, 100.0, 1e9),
                           (f"model:m/{LARGE}", 97.9, 100.0, 5e8),
                           (f"{LARGE}/cap:50", 50.0, 100.0, 1e9),
                           (LARGE.replace("g:4", "g:17"), 50.0, 100.0, 1e9),
                           (LARGE.replace("d:128", "d:48"), 50.0, 100.0, 1e9),
                           (LARGE.replace("fp16", "int8"), 50.0, 100.0, 1e9),
                           (LARGE.replace("64", "32"), 96.0, 100.0, 4.9e8))
        self.assertEqual(goal_of("16 bits, 500", record).line(),
                         "16 bits, 500 MB and more: 0.98: 1 of 2, "
                         "0.979 to 0.980")
        self.assertEqual(goal_of("60 to 500", record).num_met, 1)

    def test_rows_of_features_are_no_plain_ones(self):
        fp8 = LARGE.replace("fp16", "fp8_e4m3")
        record = record_of(*((f"{shape}/{feature}", 50.0, 100.0, 1e9)
                             for shape in (LARGE, fp8)
                             for feature in ("q:8", "tokens:ragged", "tree",
                                             "sink_tokens:4", "bias", "dv:64",
                                             "scales:head", "query:fp32")))
        for title in ("16 bits, 500", "fp8 above"):
            self.assertFalse(goal_of(title, record).readings, title)

    def test_small_rows_may_be_near_the_gather_instead(self):
        for time_us, num_met in ((4.19, 1), (4.21, 0)):
            record = record_of((SMALL, 3.0, time_us, 2e6))
            self.assertEqual(goal_of("below 60", record).num_met, num_met)

    def test_a_row_that_failed_or_has_no_gather_is_not_measured(self):
        for row in ((LARGE, 98.0, None, 1e9), (LARGE, None, 100.0, 1e9)):
            self.assertEqual(goal_of("16 bits, 500", record_of(row)).line(),
                             "16 bits, 500 MB and more: 0.98: not measured")

    def test_times_per_byte_are_of_neighbours(self):
        blocks = "fp16/b:{}/ctx:2048/hkv:8/g:4/d:128/bs:16"
        cliffs = record_of((blocks.format(7), None, 7.0, 7e6),
                           (blocks.format(8), None, 9.6, 8e6),
                           (blocks.format(10), None, 50.0, 10e6))
        goal = goal_of("one more sequence", record_of(), cliffs)
        self.assertEqual(goal.line(), "one more sequence, per byte: 1.15: "
                                      "0 of 1, 1.200")

    def test_regret_is_read(self):
        self.assertEqual(goal_of("automatic choice, w", record_of()).num_met, 0)
        self.assertEqual(goal_of("automatic choice, m", record_of()).num_met, 1)


class RecordCliffsTest(unittest.TestCase):
    """What no row of the committed record may exceed, goal or not."""

    def setUp(self):
        self.goals = read_goals(RESULTS)

    def worst(self, start):
        goal = next(g for g in self.goals if g.title.startswith(start))
        self.assertTrue(goal.readings, start)
        return max(r.value for r in goal.readings)

    # BR-170.
    def test_one_more_sequence(self):
        self.assertLessEqual(self.worst("one more sequence"), 1.25)

    # BR-172.
    def test_several_query_tokens(self):
        self.assertLessEqual(self.worst("2 to 8 query tokens"), 2)

    # BR-176.
    def test_scattered_blocks(self):
        self.assertLessEqual(self.worst("shuffled against ordered"), 1.05)


def readme_table():
    text = (ROOT / "kernels/README.md").read_text()
    section = text.split("## Goals and where they stand\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in section.splitlines() if line.startswith("|")][2:]


class ReadmeTest(unittest.TestCase):
    def setUp(self):
        self.table = readme_table()
        self.goals = read_goals(RESULTS)

    def row(self, start):
        return next(row for row in self.table if row[0].startswith(start))

    def goal(self, start):
        return next(g for g in self.goals if g.title.startswith(start))

    def test_says_how_many_rows_reach_a_ratio(self):
        for start in ("16 bits, 500 MB", "60 to 500 MB", "below 60 MB",
                      "ragged", "host: a plan"):
            goal = self.goal(start.replace(": a", ", a"))
            self.assertEqual(self.row(start)[2],
                             f"{goal.num_met} of {len(goal.readings)}", start)

    # Each of the goal's values stands in the cell, rounded.
    def test_says_what_was_measured(self):
        for start, title, digits in (
                ("8 x 128", "8 x 128", 1), ("1 x 512", "1 x 512", 1),
                ("1 x 512", "1 x 1024", 1), ("1 x 4096", "1 x 4096", 1),
                ("window", "window of 512, batch 1:", 1),
                ("window", "window of 512, batch 16", 1),
                ("ragged", "ragged", 3),
                ("2 to 8 query", "2 to 8 query", 2),
                ("any group", "1 x 32 against", 2),
                ("fp8", "fp8 above", 2), ("fp8", "fp8, 30", 2),
                ("automatic", "automatic choice, w", 3),
                ("automatic", "automatic choice, m", 4),
                ("host: a plan", "host, a plan", 1)):
            numbers = re.findall(r"\d+\.\d+", self.row(start)[1])
            for reading in self.goal(title).readings:
                self.assertIn(f"{reading.value:.{digits}f}", numbers,
                              f"{start}: {reading.name}")

    def test_says_the_worst(self):
        for start, title, digits in (
                ("one more", "one more", 3), ("groups 1 to 16", "groups", 2),
                ("any block", "blocks", 2), ("any head_dim", "head_dim", 2),
                ("a schedule", "a schedule of up to 1", 1),
                ("host: a run", "host, a run", 1)):
            worst = max(r.value for r in self.goal(title).readings)
            numbers = re.findall(r"\d+\.\d+", self.row(start)[1])
            self.assertIn(f"{worst:.{digits}f}", numbers, start)

    # What is not reached has a cause and what to try next.
    def test_names_a_cause_and_an_idea_for_what_is_missed(self):
        for goal, measured, met, cause, idea in self.table:
            self.assertTrue(goal and measured and met)
            self.assertEqual(met == "yes", not cause, goal)
            self.assertEqual(met == "yes", not idea, goal)


if __name__ == "__main__":
    unittest.main()
