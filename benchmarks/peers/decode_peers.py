#!/usr/bin/env python3
"""Times the attention of others beside decode_benchmark, in one run.

  benchmarks/peers/decode_peers.py --out=peers.json

Every peer that can be imported (FlashInfer, XQA, cuDNN, FlashAttention-2 and
-3, vLLM, PyTorch, a Triton kernel) is checked against float64 and timed on the
same shapes by the same protocol as our rows: fp16, blocks of 16 tokens in
shuffled order, inputs that rotate through 320 MB or more, CUDA graphs of at
least 8 calls, medians of 21 replays, plans and metadata made outside. Needs
PyTorch; whatever else is not there is listed as missing. --list needs nothing.

Exit code: 0 good, 1 no row of ours, a wrong result or interrupted, 2 bad
usage, 3 no GPU.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import sys
import time
from typing import Any

from our_rows import Record, measure_ours
from peer_list import PEERS, Peer
from peer_run import PeerRun, machine_context
from peer_shapes import Shape, choose_shapes
from peer_table import Column, Line, format_table, to_json

ROOT = pathlib.Path(__file__).resolve().parents[2]
HASHES = ("commit", "kernels_core", "kernels_cuda")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shapes", default=".", metavar="REGEX",
                        help="those whose name or title it is found in")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE",
                        help="results and context as JSON")
    parser.add_argument(
        "--decode_benchmark", type=pathlib.Path, metavar="FILE",
        default=ROOT / "build/release/benchmarks/decode_benchmark",
        help="our program (build/release/benchmarks/decode_benchmark)")
    parser.add_argument("--list", action="store_true",
                        help="print the shapes, the peers and which are "
                             "missing")
    for name in HASHES:
        parser.add_argument(f"--{name}", default="", metavar="HASH",
                            help="git's, of what decode_benchmark was built "
                                 "from (what it says)")
    return parser.parse_args()


def command_line(arguments: argparse.Namespace) -> str:
    """Without paths, which say nothing on another machine."""
    hashes = [f"--{name}={getattr(arguments, name)}" for name in HASHES
              if getattr(arguments, name)]
    return " ".join(["decode_peers.py", f"--shapes={arguments.shapes}",
                     *hashes])


def make_columns(peers: tuple[Peer, ...]) -> list[Column]:
    return [Column(peer.name, peer.is_paged, peer.import_error())
            for peer in peers]


def format_list(shapes: list[Shape], columns: list[Column]) -> str:
    lines = ["shapes:"]
    lines += [f"  {shape.name}  {shape.kv_bytes * 1e-6:.1f} MB, "
              f"{shape.num_sets} sets, {shape.num_calls} calls"
              for shape in shapes]
    lines += ["peers:"]
    for column in columns:
        paged = "" if column.is_paged else " (no paged peer)"
        state = f"missing: {column.missing}" if column.missing else "there"
        lines.append(f"  {column.name}{paged}: {state}")
    return "\n".join(lines)


def make_context(arguments: argparse.Namespace, peers: list[Peer],
                 record: Record) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.timezone.utc)
    context: dict[str, Any] = {
        "date": now.isoformat(timespec="seconds"),
        "command": command_line(arguments), **machine_context(peers)}
    for name in HASHES:
        context[name] = (getattr(arguments, name)
                         or record.context.get(name, "unknown"))
    for name in ("device", "driver"):
        context.setdefault(name, record.context.get(name, "unknown"))
    context["gather_ceiling_gb_per_s"] = record.context.get(
        "gather_ceiling_gb_per_s", "unknown")
    return context


def measure_peers(peers: list[Peer], shapes: list[Shape]) -> list[Line]:
    """Ctrl-C leaves the rest without a measurement, and keeps the others."""
    lines = [Line(shape, {}) for shape in shapes]
    if not peers:
        return lines
    run = PeerRun(peers)
    try:
        for line in lines:
            begin = time.monotonic()
            line.peers = run.measure(line.shape)
            print(f"{line.shape.title}: {time.monotonic() - begin:.1f} s",
                  file=sys.stderr)
    except KeyboardInterrupt:
        print("decode_peers.py: interrupted", file=sys.stderr)
    return lines


def has_gpu() -> bool:
    import torch
    return torch.cuda.is_available()


def main() -> int:
    arguments = parse_arguments()
    try:
        shapes = choose_shapes(arguments.shapes)
    except ValueError as error:
        print(f"decode_peers.py: {error}", file=sys.stderr)
        return 2
    columns = make_columns(PEERS)
    if arguments.list:
        print(format_list(shapes, columns))
        return 0
    peers = [peer for peer, column in zip(PEERS, columns)
             if not column.missing]
    if peers and not has_gpu():
        print("decode_peers.py: PyTorch finds no CUDA device",
              file=sys.stderr)
        return 3

    hashes = [f"--{name}={getattr(arguments, name)}" for name in HASHES
              if getattr(arguments, name)]
    record = measure_ours(arguments.decode_benchmark, shapes, hashes)
    lines = measure_peers(peers, shapes)
    print(format_table(lines, columns, record))
    if arguments.out:
        results = {"context": make_context(arguments, peers, record),
                   **to_json(lines, columns, record)}
        arguments.out.write_text(
            json.dumps(results, indent=1, ensure_ascii=False) + "\n",
            encoding="utf-8")
    is_wrong = any(outcome.is_wrong for line in lines
                   for outcome in line.peers.values())
    is_cut = any(len(line.peers) < len(peers) for line in lines)
    return 1 if record.error or is_wrong or is_cut else 0


if __name__ == "__main__":
    sys.exit(main())
