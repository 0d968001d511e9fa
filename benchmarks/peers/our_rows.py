"""Our rows: decode_benchmark as a process of its own, and its record."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any

from peer_shapes import Shape

# `schedule` is what a ragged batch pays once a step, for all layers.
VARIANTS = ("auto", "gather", "schedule")
TIMEOUT_S = 470


@dataclasses.dataclass(frozen=True)
class Row:
    time_us: float
    kv_bytes: float
    ratio_to_gather: float
    splits: float
    error: str = ""  # of a row that was refused


@dataclasses.dataclass
class Record:
    rows: dict[str, Row] = dataclasses.field(default_factory=dict)
    context: dict[str, Any] = dataclasses.field(default_factory=dict)
    error: str = ""  # why there are no rows

    def find(self, shape: Shape, variant: str) -> Row | None:
        return self.rows.get(shape.row_name(variant))

    def why_not(self, shape: Shape) -> str:
        """Why our row of a shape cannot be compared; empty when it can.

        A row of other bytes is of another problem, whatever its name.
        """
        row = self.find(shape, "auto")
        if row is None:
            return self.error or "decode_benchmark has no such row"
        if row.error:
            return row.error
        if row.kv_bytes != shape.kv_bytes:
            return (f"decode_benchmark reads {row.kv_bytes:.0f} bytes, the "
                    f"peers {shape.kv_bytes}")
        return ""


def filter_of(shapes: list[Shape]) -> str:
    """A --benchmark_filter of the cold rows of these shapes, and of no other.

    It is matched against names that Google Benchmark has added its settings
    to, so the end stays open.
    """
    names = "|".join(re.escape(shape.name) for shape in shapes)
    return f"^decode/({'|'.join(VARIANTS)})/({names})/l2:cold"


def read_record(text: str) -> Record:
    """Google Benchmark's JSON; ValueError for anything else."""
    parsed = json.loads(text)
    if not isinstance(parsed, dict) or "benchmarks" not in parsed:
        raise ValueError("no record of Google Benchmark: it has no benchmarks")
    record = Record(context=parsed.get("context", {}))
    for fields in parsed["benchmarks"]:
        error = ""
        if fields.get("error_occurred"):
            error = fields.get("error_message") or "refused without a word"
        record.rows[fields["name"]] = Row(
            time_us=fields.get("time_us", 0.0),
            kv_bytes=fields.get("kv_bytes", 0.0),
            ratio_to_gather=fields.get("ratio_to_gather", 0.0),
            splits=fields.get("splits", 0.0), error=error)
    return record


def measure_ours(program: pathlib.Path, shapes: list[Shape],
                 flags: list[str]) -> Record:
    """Runs decode_benchmark. What goes wrong is the record's error."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rows.json"
        command = [str(program), "--backend=cuda",
                   f"--benchmark_filter={filter_of(shapes)}",
                   f"--benchmark_out={out}", "--benchmark_out_format=json",
                   *flags]
        try:
            done = subprocess.run(command, stdout=sys.stderr,
                                  timeout=TIMEOUT_S, check=False)
            # 1 is a row that failed, and says so itself.
            if done.returncode not in (0, 1):
                return Record(error="decode_benchmark ended with exit code "
                                    f"{done.returncode}")
            return read_record(out.read_text(encoding="utf-8"))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            # Without the path, which says nothing on another machine.
            what = getattr(error, "strerror", None) or str(error)
            return Record(error=f"decode_benchmark: {what}")
