#!/usr/bin/env python3
"""Instructions of small decodes on the CPU, against those on record.

  instruction_counts_test.py PROGRAM RECORD.json [--record]

Times on shared machines are noise; instructions are not. valgrind's callgrind
counts those of one run of each case of PROGRAM (counted_decode.cc: one thread,
AVX2 kernels). More than 10 % above the record fails, and so does a case that
only one of the two knows. --record writes what was counted.

Counts are the compiler's as much as ours: exit code 77, skipped with the reason,
for another compiler or build type than the record's, and where there is no
valgrind or no AVX2.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
ALLOWED_RISE = 1.10
FUNCTION = "paged_counted_run"


class Skip(Exception):
    """Why nothing can be counted here."""


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def total_of(profile):
    """The instructions of a callgrind profile."""
    found = re.search(r"^(?:summary|totals): (\d+)", profile, re.MULTILINE)
    if found is None:
        raise ValueError("the profile of callgrind has no total")
    return int(found.group(1))


def count(program, case):
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder, "profile")
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--toggle-collect={FUNCTION}",
             f"--callgrind-out-file={profile}", program, case],
            capture_output=True, text=True, check=False)
        if run.returncode == SKIPPED:
            raise Skip("this build or processor has no AVX2 kernels")
        if run.returncode != 0:
            raise RuntimeError(f"{case}: exit code {run.returncode}\n{run.stderr}")
        return total_of(profile.read_text(encoding="utf-8"))


def complaints(counted, recorded):
    """What is wrong with `counted`, a line each."""
    lines = [f"{case}: on record, but not a case of the program"
             for case in recorded if case not in counted]
    for case, instructions in counted.items():
        if case not in recorded:
            lines.append(f"{case}: not on record; record it with --record")
        elif instructions == 0:
            lines.append(f"{case}: nothing was counted")
        elif instructions > recorded[case] * ALLOWED_RISE:
            lines.append(f"{case}: {instructions} instructions, "
                         f"{instructions / recorded[case] - 1:.1%} above the record")
    return lines


def check_rules():
    """The comparison itself, on made-up numbers."""
    recorded = {"a": 1000, "b": 1000}
    assert complaints({"a": 1100, "b": 10}, recorded) == []
    assert len(complaints({"a": 1101, "b": 1000}, recorded)) == 1
    assert len(complaints({"a": 0, "b": 1000}, recorded)) == 1
    assert len(complaints({"a": 1000, "c": 1000}, recorded)) == 2
    assert total_of("events: Ir\nsummary: 42\ntotals: 42\n") == 42


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("file", type=pathlib.Path, metavar="RECORD.json")
    parser.add_argument("--record", action="store_true", help="write the record")
    args = parser.parse_args()

    check_rules()
    build = output_of(args.program, "--build").strip()
    if shutil.which("valgrind") is None:
        raise Skip("there is no valgrind")
    record = {} if args.record else json.loads(args.file.read_text(encoding="utf-8"))
    if not args.record and record["build"] != build:
        raise Skip(f"built with {build}; the record is of {record['build']}")

    cases = output_of(args.program, "--list").split()
    counted = {case: count(args.program, case) for case in cases}
    recorded = record.get("instructions", {})
    for case, instructions in counted.items():
        change = f"{instructions / recorded[case] - 1:+8.2%}" if case in recorded else ""
        print(f"{case:<32} {instructions:>12} {change}")
    if args.record:
        args.file.write_text(
            json.dumps({"build": build, "instruction_set": "AVX2", "threads": 1,
                        "instructions": counted}, indent=2) + "\n",
            encoding="utf-8")
        return 0
    wrong = complaints(counted, recorded)
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skip as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        sys.exit(SKIPPED)
