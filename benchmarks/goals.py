#!/usr/bin/env python3
"""Holds a GPU's record against the goals of kernels/README.md.

  benchmarks/goals.py [--results=benchmarks/results/h200] [--rows]

Prints a line for each goal: how many of its rows reach it, the worst and the
best; --rows adds each row that does not. Reads decode.json, cliffs.json and
dispatch_regret.json of the folder; a goal without rows is said to be not
measured.

Exit code: 0 printed, 2 bad usage or input.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys

from goal_rows import Timed, decode_rows, host_rows, schedule_rows

RESULTS = pathlib.Path(__file__).resolve().parent / "results/h200"
# Below 60 MB a row is good when it is this close to the gather (us).
NEAR_US = 1.2


@dataclasses.dataclass(frozen=True)
class Reading:
    """What one row says of a goal."""
    name: str
    value: float
    is_met: bool


@dataclasses.dataclass(frozen=True)
class Goal:
    title: str
    readings: list[Reading]
    more_is_better: bool = False

    @property
    def num_met(self) -> int:
        return sum(r.is_met for r in self.readings)

    def line(self) -> str:
        if not self.readings:
            return f"{self.title}: not measured"
        values = sorted((r.value for r in self.readings),
                        reverse=not self.more_is_better)
        span = f"{values[0]:.3f}"
        if len(values) > 1:
            span += f" to {values[-1]:.3f}"
        return (f"{self.title}: {self.num_met} of {len(values)}, {span}")


def ratio_goal(title: str, least: float, rows, near_us: float = 0) -> Goal:
    return Goal(title, [
        Reading(row.name, row.ratio, row.ratio >= least
                or row.time_us - row.gather_us <= near_us)
        for row in rows if row.gather_us], more_is_better=True)


def most_goal(title: str, most: float, named) -> Goal:
    return Goal(title, [Reading(name, value, value <= most)
                        for name, value in named])


def per_byte(rows: dict[str, Timed], pairs) -> list[tuple[str, float]]:
    """Time per byte of each first name over that of its second."""
    return [(a, rows[a].us_per_byte / rows[b].us_per_byte)
            for a, b in pairs if a in rows and b in rows]


def ratio_goals(rows: dict[str, Timed]) -> list[Goal]:
    def between(low, high, has):
        return [r for r in rows.values()
                if low <= r.kv_bytes < high and has(r)]
    plain = lambda r: r.is_plain
    fp8 = lambda r: (not r.is_ragged and "fp8_e4m3" in r.fields
                     and not r.has_features)
    return [
        ratio_goal("16 bits, 500 MB and more: 0.98", 0.98,
                   between(500e6, 1e12, plain)),
        ratio_goal("60 to 500 MB: 0.96", 0.96, between(60e6, 500e6, plain)),
        ratio_goal("below 60 MB: 0.90, or + 1.2 us", 0.90,
                   between(0, 60e6, plain), NEAR_US),
        ratio_goal("ragged: 0.97", 0.97,
                   [r for r in rows.values() if r.is_ragged]),
        ratio_goal("fp8 above 250 MB: 0.97", 0.97, between(250e6, 1e12, fp8)),
        ratio_goal("fp8, 30 to 250 MB: 0.93", 0.93, between(30e6, 250e6, fp8)),
    ]


def time_goals(rows: dict[str, Timed]) -> list[Goal]:
    usual = "fp16/b:{}/ctx:{}/hkv:{}/g:{}/d:128/bs:16"
    window = usual.format("{}", "{}", 8, 4) + "/window:512"
    goals = []
    for title, most, names in (
            ("8 x 128, 4 x 2: 3.2 us", 3.2, [usual.format(8, 128, 4, 2)]),
            ("1 x 512: 4.5 us", 4.5, [usual.format(1, 512, 8, 4)]),
            ("1 x 1024: 5.0 us", 5.0, [usual.format(1, 1024, 8, 4)]),
            ("1 x 4096: 8.8 us", 8.8, [usual.format(1, 4096, 8, 4)]),
            ("window of 512, batch 1: 6.5 us", 6.5,
             [window.format(1, n) for n in (16384, 131072)]),
            ("window of 512, batch 16: 12 us", 12,
             [window.format(16, n) for n in (16384, 131072)])):
        goals.append(most_goal(title, most, [
            (name, rows[name].time_us) for name in names if name in rows]))
    return goals


def relative_goals(rows: dict[str, Timed]) -> list[Goal]:
    usual = "fp16/b:{}/ctx:{}/hkv:{}/g:{}/d:{}/bs:16"
    several = [(usual.format(b, 32768, 8, 4, 128) + f"/q:{q}",
                usual.format(b, 32768, 8, 4, 128))
               for b in (1, 16) for q in (2, 4, 8)]
    same = [r for r in rows.values()
            if r.has_16_bits and "/b:16/ctx:4096/hkv:8/" in r.name
            and r.number("d") == 128 and r.number("g") <= 16]
    four = min((r.us_per_byte for r in same if r.number("g") == 4),
               default=None)
    dims = [(usual.format(64, 2048, 8, 4, d), usual.format(64, 2048, 8, 4, n))
            for d, n in ((72, 64), (80, 64), (96, 128), (112, 128), (160, 128),
                         (192, 256))]
    models = "model:{}/bf16/b:16/ctx:4096/hkv:{}/g:1/d:{}/bs:16"
    dims += [(models.format("phi2", 32, 80),
              models.format("smollm2_1.7b", 32, 64)),
             (models.format("stories15m", 6, 48),
              models.format("whisper_tiny", 6, 64))]
    return [
        most_goal("groups to 16 against group 4, per byte: 1.1", 1.1,
                  [(r.name, r.us_per_byte / four) for r in same] if four
                  else []),
        most_goal("1 x 32 against 1 x 16 heads, per byte: 1.25", 1.25, per_byte(
            rows, [(usual.format(32, 4096, 1, 32, 128),
                    usual.format(32, 4096, 1, 16, 128))])),
        most_goal("head_dim against its neighbour, per byte: 1.25", 1.25,
                  per_byte(rows, dims)),
        most_goal("2 to 8 query tokens against one: 1.10", 1.10,
                  [(a, rows[a].time_us / rows[b].time_us)
                   for a, b in several if a in rows and b in rows]),
    ]


def cliff_goals(rows: dict[str, Timed]) -> list[Goal]:
    usual = "fp16/b:{}/ctx:{}/hkv:8/g:4/d:128/bs:{}"
    return [
        most_goal("blocks against those of 16, per byte: 1.25", 1.25, per_byte(
            rows, [(usual.format(64, 4096, bs) + rule,
                    usual.format(64, 4096, 16) + rule)
                   for rule in ("", "/cap:50")
                   for bs in (1, 8, 32, 64, 128, 256)])),
        most_goal("shuffled against ordered blocks: 1.05", 1.05, per_byte(
            rows, [(usual.format(64, 4096, bs),
                    usual.format(64, 4096, bs) + "/ordered")
                   for bs in (1, 8, 16, 32, 64, 128, 256)])),
        most_goal("one more sequence, per byte: 1.15", 1.15, per_byte(
            rows, [(usual.format(b + 1, 2048, 16), usual.format(b, 2048, 16))
                   for b in range(1, 256)])),
    ]


def goals_of(decode: dict, cliffs: dict, regret: dict) -> list[Goal]:
    rows = decode_rows(decode)
    return (ratio_goals(rows) + time_goals(rows) + [
        most_goal("a schedule of up to 64: 3 us", 3,
                  schedule_rows(decode, 1, 64)),
        most_goal("a schedule of up to 1,024: 6 us", 6,
                  schedule_rows(decode, 65, 1024)),
    ] + relative_goals(rows) + cliff_goals(decode_rows(cliffs)) + [
        most_goal("automatic choice, median: 1.01", 1.01,
                  [("median", regret["median"])]),
        most_goal("automatic choice, worst: 1.08", 1.08,
                  [("worst", regret["worst"])]),
        most_goal("host, a run: 3 us", 3, host_rows(decode, "run")),
        most_goal("host, a plan: 5 us", 5, host_rows(decode, "make_plan")),
    ])


def read_goals(results: pathlib.Path) -> list[Goal]:
    return goals_of(*(json.loads((results / f"{name}.json").read_text())
                      for name in ("decode", "cliffs", "dispatch_regret")))


def main_of(usage: str, results: pathlib.Path, read) -> int:
    """Prints what `read(folder)` gives."""
    program = pathlib.Path(sys.argv[0]).name
    parser = argparse.ArgumentParser(
        description=usage, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=results,
                        help="the folder of the record")
    parser.add_argument("--rows", action="store_true",
                        help="each row that misses its goal")
    args = parser.parse_args()
    try:
        goals = read(args.results)
    except (OSError, ValueError, KeyError) as error:
        print(f"{program}: {args.results}: {error}", file=sys.stderr)
        return 2
    for goal in goals:
        print(goal.line())
        if args.rows:
            for reading in goal.readings:
                if not reading.is_met:
                    print(f"    {reading.value:.3f} {reading.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main_of(__doc__, RESULTS, read_goals))
