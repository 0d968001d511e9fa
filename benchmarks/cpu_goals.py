#!/usr/bin/env python3
"""Holds a CPU's record against its goals.

  benchmarks/cpu_goals.py [--results=benchmarks/results/cpu-x86_64] [--rows]

Prints a line for each goal, as goals.py does for a GPU's. Reads the rows with
two threads of cpu_decode.json, and cpu_peers.json: a peer's time over ours, and
our distance from float64 with fp32 queries and outputs over that of the nearest
peer.

Exit code: 0 printed, 2 bad usage or input.
"""

from __future__ import annotations

import json
import pathlib
import sys

from goals import Goal, Reading, main_of, most_goal

RESULTS = pathlib.Path(__file__).resolve().parent / "results/cpu-x86_64"


def least_goal(title: str, least: float, named) -> Goal:
    return Goal(title, [Reading(name, value, value >= least)
                        for name, value in named], more_is_better=True)


def decode_goals(decode: dict) -> list[Goal]:
    rows = [row for row in decode["benchmarks"] if "time_us" in row
            and row["name"].startswith("decode/")
            and row["name"].endswith("/threads:2")]

    def values(key, *fields):
        return [(row["name"], row[key]) for row in rows
                if all(f"/{field}/" in row["name"] for field in fields)]

    def ratios(dtypes, *fields):
        return [value for dtype in dtypes
                for value in values("ratio_to_bound", dtype, "l2:cold", *fields)]
    large = [ratios(("fp16", "bf16"), "b:1", "hkv:8", bs, "layout:head_major")
             for bs in ("bs:64", "bs:128")]
    return [
        least_goal("16 bits, blocks of 16: 0.85 of the bound", 0.85,
                   ratios(("fp16", "bf16"), "bs:16")),
        least_goal("16 bits, head-major blocks of 64 and 128: 0.92", 0.92,
                   large[0] + large[1]),
        least_goal("fp8 and int8: 0.70", 0.70,
                   ratios(("fp8_e4m3", "fp8_e5m2", "int8"))),
        least_goal("1 x 4096, 8 x 4, in cache: 36 GB/s", 36,
                   values("gb_per_s", "b:1", "ctx:4096", "l2:warm")),
        most_goal("8 x 128, 8 x 4: 110 us", 110,
                  values("time_us", "b:8", "ctx:128", "l2:warm")),
        most_goal("1 x 511, 3 x 3, head_dim 64: 14 us", 14,
                  values("time_us", "b:1", "ctx:511", "l2:warm")),
    ]


def peer_goals(peers: dict) -> list[Goal]:
    times, errors = [], []
    for row in peers["rows"]:
        timed = {name: peer for name, peer in row["peers"].items()
                 if "time_over_ours" in peer}
        times += [(f"{row['title']}: {name}", peer["time_over_ours"])
                  for name, peer in timed.items()]
        if timed:
            nearest = min(timed, key=lambda name: timed[name]["relative_error"])
            errors.append((f"{row['title']}: {nearest}",
                           row["paged"]["relative_error_fp32"]
                           / timed[nearest]["relative_error"]))
    return [least_goal("faster than each peer: 1.00", 1.0, times),
            most_goal("no further off than the nearest peer: 1.00", 1.0, errors)]


def cpu_goals_of(decode: dict, peers: dict) -> list[Goal]:
    return decode_goals(decode) + peer_goals(peers)


def read_cpu_goals(results: pathlib.Path) -> list[Goal]:
    return cpu_goals_of(*(json.loads((results / f"{name}.json").read_text())
                          for name in ("cpu_decode", "cpu_peers")))


if __name__ == "__main__":
    sys.exit(main_of(__doc__, RESULTS, read_cpu_goals))
