#!/usr/bin/env python3
"""Times attention of others on the CPU beside cpu_decode_benchmark.

  cpu_peers.py [--threads N] [--shapes REGEX] [--out FILE.json]
               [--cpu_decode_benchmark FILE] [--list]

Same shapes, same number of threads, values of the same distribution; K and V
contiguous, but for OpenVINO's paged operator with its shuffled blocks of 32, and
ours in shuffled blocks of 16. Ours runs as a process of its own right before the
peers of a shape and right after them, and its better median counts; a peer's is
the median of its rounds. Where the two are more than a tenth apart the shape is
measured again, three times at most, and the calmest attempt counts. Ratios are
the peer's time over ours: above 1, ours is faster. A peer stores what its name
says; fp32 reads twice the bytes. --out keeps the rows that the file has of other
shapes, as long as they are of the same kernels, packages and threads.

Errors are distances from float64 in relative L2, largest of the rows that were
looked at; ours as measured, in fp16, and with fp32 queries and outputs, as fp32
peers have them. Tensors are of fp16, so that a peer of bf16 is off by their
rounding too, some 3e-3. What is further off than 2e-3 is marked wrong (bf16:
1e-2, llama.cpp: 1e-1, their own rounding) and not compared. Peers that cannot be
imported, or refuse a shape, are listed with their words; nothing is installed.
"""

import argparse
import gc
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import cpu_ggml
    import cpu_peer_calls
    import cpu_peer_table
    import cpu_problem
except ImportError as missing:
    sys.exit(f"cpu_peers.py needs numpy: {missing}")
import peer_outcome
from peer_shapes import parse_shape

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Larger than the last-level cache, or within it: there is no need to rotate.
SHAPES = {
    "fp16/b:1/ctx:65536/hkv:8/g:1/d:128/bs:16": "cold",
    "fp16/b:1/ctx:65536/hkv:8/g:4/d:128/bs:16": "cold",
    "fp16/b:1/ctx:65536/hkv:8/g:8/d:128/bs:16": "cold",
    "fp16/b:16/ctx:8192/hkv:8/g:4/d:128/bs:16": "cold",
    "fp16/b:1/ctx:4096/hkv:8/g:4/d:128/bs:16": "warm",
    "fp16/b:8/ctx:128/hkv:8/g:4/d:128/bs:16": "warm",
    "fp16/b:1/ctx:511/hkv:3/g:3/d:64/bs:16": "warm",
}
SECONDS = 1.0
MIN_ROUNDS = 9
OURS_TIMEOUT_S = 300
# Ours before and after the peers, as a share: further apart, something else ran,
# and the shape is measured again; the calmest of its attempts counts.
MAX_UNREST = 0.1
MAX_ATTEMPTS = 3


def row_name(shape_name, cache, threads):
    """Of cpu_decode_benchmark."""
    return (f"decode/auto/{shape_name}/l2:{cache}/layout:token_major"
            f"/threads:{threads}")


def measure_ours(program, name):
    """Our row, and the record's context."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "ours.json")
        subprocess.run(
            [program, f"--benchmark_filter=^{re.escape(name)}",
             f"--benchmark_out={file}", "--benchmark_out_format=json"],
            check=True, capture_output=True, timeout=OURS_TIMEOUT_S)
        record = json.loads(file.read_text(encoding="utf-8"))
    rows = [row for row in record["benchmarks"] if row["name"] == name]
    if len(rows) != 1 or "time_us" not in rows[0]:
        raise RuntimeError(f"cpu_decode_benchmark has no row {name}")
    return rows[0], record["context"]


def time_call(call):
    """The median of rounds, in microseconds."""
    samples = []
    begin = time.perf_counter()
    while len(samples) < MIN_ROUNDS or time.perf_counter() - begin < SECONDS:
        start = time.perf_counter_ns()
        call()
        samples.append((time.perf_counter_ns() - start) * 1e-3)
    return statistics.median(samples)


def measure_peer(name, problem, threads):
    peer = cpu_peer_calls.PEERS[name]
    try:
        call = peer.make(problem, threads)
        error = problem.relative_error(call())
        if not error <= peer.max_error:
            return peer_outcome.wrong(error, peer.max_error)
        return peer_outcome.Outcome(time_us=time_call(call),
                                    relative_error=error)
    except Exception as error:  # whatever a peer of another version does
        return peer_outcome.refused(peer_outcome.words_of(error))
    finally:
        gc.collect()


def measure_shape(shape_name, args):
    shape = parse_shape(shape_name)
    load = os.getloadavg()
    name = row_name(shape_name, SHAPES[shape_name], args.threads)
    before, context = measure_ours(args.cpu_decode_benchmark, name)
    problem = cpu_problem.make_problem(shape)
    peers = {peer: measure_peer(peer, problem, args.threads)
             for peer in cpu_peer_calls.PEERS}
    after, _ = measure_ours(args.cpu_decode_benchmark, name)
    ours = min(before["time_us"], after["time_us"])
    rows = {}
    for peer, outcome in peers.items():
        element_bytes = cpu_peer_calls.PEERS[peer].element_bytes
        rows[peer] = outcome.to_json(shape.kv_bytes * element_bytes // 2)
        if outcome.is_timed:
            rows[peer]["time_over_ours"] = outcome.time_us / ours
    return {"name": name, "title": shape.title,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "load_average_before": load, "load_average_after": os.getloadavg(),
            "paged": {"time_us": ours, "before_us": before["time_us"],
                      "after_us": after["time_us"],
                      "gb_per_s": shape.kv_bytes / ours * 1e-3,
                      "relative_error": after["relative_error"],
                      "relative_error_fp32": after["relative_error_fp32"]},
            "peers": rows}, context


def unrest_of(line):
    times = [line["paged"][key] for key in ("before_us", "after_us")]
    return max(times) / min(times) - 1


def measure_calmly(shape_name, args):
    """The calmest of a few attempts."""
    attempts = []
    while (not attempts or len(attempts) < MAX_ATTEMPTS
           and unrest_of(attempts[-1][0]) > MAX_UNREST):
        attempts.append(measure_shape(shape_name, args))
    return min(attempts, key=lambda attempt: unrest_of(attempt[0]))


def ggml_title():
    """Which ggml it is, or nothing."""
    try:
        return cpu_ggml.Ggml().title()
    except Exception:  # the table says why
        return None


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def record_of(lines, ours, threads, old):
    """`ours` is the context of our own record, `old` a record or None."""
    keys = ("device", "instruction_set", "kernels_core", "kernels_cpu")
    context = {
        **{key: ours.get(key, "") for key in keys},
        "python": platform.python_version(), "threads": threads,
        "versions": {**{package: version_of(package) for package in
                        ("torch", "onnxruntime", "openvino")},
                     "ggml": ggml_title()}}
    rows = {line["name"]: {**line, "commit": ours.get("commit", "")}
            for line in lines}
    if old and old["context"] == context:
        rows = {**{row["name"]: row for row in old["rows"]}, **rows}
    order = [row_name(name, cache, threads) for name, cache in SHAPES.items()]
    return {"context": context,
            "rows": sorted(rows.values(),
                           key=lambda row: order.index(row["name"]))}


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)),
                        help="of ours and of every peer (those of the machine)")
    parser.add_argument("--shapes", default="", help="a regular expression")
    parser.add_argument("--out", type=pathlib.Path, help="the record, as JSON")
    parser.add_argument("--cpu_decode_benchmark", default=str(
        ROOT / "build/release/benchmarks/cpu_decode_benchmark"))
    parser.add_argument("--list", action="store_true", help="shapes, and exit")
    args = parser.parse_args()
    if args.threads < 1:
        parser.error(f"--threads must be positive; got {args.threads}")
    return args


def main():
    args = parse_args()
    chosen = [name for name in SHAPES if re.search(args.shapes, name)]
    if not chosen:
        sys.exit(f"--shapes must match a shape of --list; got {args.shapes}")
    if args.list:
        print(*chosen, sep="\n")
        return
    old = None
    if args.out and args.out.exists():
        old = json.loads(args.out.read_text(encoding="utf-8"))
    lines = []
    for name in chosen:
        print(name, file=sys.stderr)
        line, context = measure_calmly(name, args)
        lines.append(line)
        if args.out:  # after each shape: what is stopped keeps what there is
            args.out.write_text(
                json.dumps(record_of(lines, context, args.threads, old),
                           indent=2) + "\n", encoding="utf-8")
    print(cpu_peer_table.table_of(lines))
    print(*cpu_peer_table.errors_of(lines), *cpu_peer_table.reasons_of(lines),
          sep="\n")


if __name__ == "__main__":
    main()
