#!/usr/bin/env python3
"""Times the block managers of other engines beside block_manager_benchmark.

  block_managers.py [--blocks N] [--repeats N] [--out FILE.json]
                    [--into RECORD.json] [--block_manager_benchmark FILE]

Nanoseconds per block on one thread: peers by the median of their repeats, each
the median of rounds in a pool of its own; ours by the better of its medians
before and after them. Ratios are the peer's time over ours: above 1, ours is
faster. A peer is measured where Python finds its package; one that is missing is
listed with the reason, and nothing is installed. --into puts all of it under
"peers" into a record of block_manager_benchmark, whose rows stay as they are.
"""

import argparse
import gc
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import block_peers

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Rows of ours that do what a peer's row does.
OURS = {
    "append": "Append/blocks:{blocks}/n:900",
    "release": "Release/blocks:{blocks}/n:900",
    "append_evicting": "AppendEvicting/blocks:{blocks}",
    "commit": "Commit/blocks:{blocks}",
    "probe": "Probe/blocks:{blocks}",
    "adopt": "Adopt/blocks:{blocks}",
}
OURS_TIMEOUT_S = 120


def measure_ours(program, num_blocks):
    """Medians of our rows."""
    names = {row: f"{name.format(blocks=num_blocks)}/manual_time"
             for row, name in OURS.items()}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "ours.json")
        subprocess.run(
            [program, f"--benchmark_filter=^({'|'.join(names.values())})$",
             "--benchmark_min_time=0.02", "--benchmark_repetitions=5",
             "--benchmark_report_aggregates_only=true",
             f"--benchmark_out={file}", "--benchmark_out_format=json"],
            check=True, capture_output=True, timeout=OURS_TIMEOUT_S)
        rows = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]
    found = {row["run_name"]: row["ns_each"] for row in rows
             if row.get("aggregate_name") == "median"}
    missing = [name for name in names.values() if name not in found]
    if missing:
        raise RuntimeError(f"block_manager_benchmark has no row {missing[0]}")
    return {row: found[name] for row, name in names.items()}


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def measure_peer(name, num_blocks, repeats):
    """Nanoseconds per block and their spread by row, or why there are none."""
    peer = {"version": version_of(name)}
    gc.disable()
    try:
        runs = []
        for _ in range(repeats):
            runs.append(block_peers.PEERS[name](num_blocks))
            gc.collect()
    except Exception as error:  # whatever a peer of another version does
        return {**peer, "not_measured": f"{error}"}
    finally:
        gc.enable()
    samples = {row: [run[row] for run in runs] for row in runs[0]}
    return {**peer, "ns_per_block": {
        row: {"median": statistics.median(ns), "least": min(ns), "most": max(ns)}
        for row, ns in samples.items()}}


def compare(args):
    """The record: ours, and each peer with its time over ours."""
    load = os.getloadavg()
    before = measure_ours(args.block_manager_benchmark, args.blocks)
    peers = {name: measure_peer(name, args.blocks, args.repeats)
             for name in block_peers.PEERS}
    after = measure_ours(args.block_manager_benchmark, args.blocks)
    ours = {row: min(before[row], after[row]) for row in OURS}
    for peer in peers.values():
        for row, ns in peer.get("ns_per_block", {}).items():
            ns["over_ours"] = ns["median"] / ours[row]
    return {
        "context": {
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "python": platform.python_version(),
            "blocks": args.blocks,
            "repeats": args.repeats,
            "load_average_before": load,
            "load_average_after": os.getloadavg(),
        },
        "ours": {"ns_per_block": ours, "before": before, "after": after},
        "rows": peers,
    }


def print_table(record):
    for row, ns in record["ours"]["ns_per_block"].items():
        print(f"{'paged':<20} {row:<16} {ns:8.1f} ns per block")
    for name, peer in record["rows"].items():
        title = f"{name} {peer['version']}".strip()
        if "not_measured" in peer:
            print(f"{title:<20} not measured: {peer['not_measured']}")
            continue
        for row, ns in peer["ns_per_block"].items():
            print(f"{title:<20} {row:<16} {ns['median']:8.1f} ns per block "
                  f"({ns['least']:.1f} to {ns['most']:.1f}), "
                  f"{ns['over_ours']:.1f} times ours")


def write_json(file, record):
    file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=100000,
                        choices=(1000, 100000, 1000000),
                        help="of the pool, a size of our rows (100000)")
    parser.add_argument("--repeats", type=int, default=5, help="of each peer (5)")
    parser.add_argument("--out", type=pathlib.Path, help="the record, as JSON")
    parser.add_argument("--into", type=pathlib.Path,
                        help="a record of block_manager_benchmark to add it to")
    parser.add_argument("--block_manager_benchmark", default=str(
        ROOT / "build/release/benchmarks/block_manager_benchmark"))
    args = parser.parse_args()
    if args.repeats < 1:
        parser.error(f"--repeats must be positive; got {args.repeats}")
    return args


def main():
    args = parse_args()
    # Read first: what cannot be added to is known before anything is measured.
    whole = (json.loads(args.into.read_text(encoding="utf-8"))
             if args.into else None)
    if whole is not None and "benchmarks" not in whole:
        sys.exit(f"--into must be a record of block_manager_benchmark; got "
                 f"{args.into}")
    record = compare(args)
    print_table(record)
    if args.out:
        write_json(args.out, record)
    if whole is not None:
        whole["peers"] = record
        write_json(args.into, whole)


if __name__ == "__main__":
    main()
