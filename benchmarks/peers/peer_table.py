"""The table: a line for each shape, a column for each peer that is there."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from our_rows import Record
from peer_outcome import Outcome
from peer_shapes import SMALL_BYTES, Shape


@dataclasses.dataclass(frozen=True)
class Column:
    name: str
    is_paged: bool = True  # others are shown, and not compared with
    missing: str = ""  # the error of its import


@dataclasses.dataclass
class Line:
    shape: Shape
    peers: dict[str, Outcome]


def best_peer(line: Line, columns: list[Column]) -> tuple[str, float] | None:
    """Name and microseconds of the fastest right answer of a paged peer."""
    times = [(line.peers[column.name].time_us, column.name)
             for column in columns
             if column.is_paged and column.name in line.peers
             and line.peers[column.name].is_timed]
    if not times:
        return None
    time_us, name = min(times)
    return name, time_us


def ratio_of(line: Line, columns: list[Column],
             record: Record) -> float | None:
    """Best peer / ours; None when either was not measured."""
    best = best_peer(line, columns)
    if best is None or record.why_not(line.shape):
        return None
    ours = record.find(line.shape, "auto")
    return best[1] / ours.time_us if ours else None


def class_of(shape: Shape) -> str:
    """The class that the goals are set for."""
    if shape.lens_name and shape.lens_name != "uniform_100_1000":
        return "ragged"
    if shape.kv_bytes < SMALL_BYTES:
        return "below 60 MB"
    return "60 to 500 MB" if shape.kv_bytes < 500e6 else "above 500 MB"


def geometric_means(lines: list[Line], columns: list[Column],
                    record: Record) -> dict[str, tuple[float, int]]:
    """Geometric mean of best peer / ours, and of how many, by class."""
    logs: dict[str, list[float]] = {}
    for line in lines:
        ratio = ratio_of(line, columns, record)
        if ratio is not None:
            logs.setdefault(class_of(line.shape), []).append(math.log(ratio))
    return {name: (math.exp(sum(values) / len(values)), len(values))
            for name, values in logs.items()}


class _Notes:
    """Footnotes, each of the same words once."""

    def __init__(self) -> None:
        self._words: list[str] = []

    def mark(self, words: str) -> str:
        if words not in self._words:
            self._words.append(words)
        return f"[{self._words.index(words) + 1}]"

    def lines(self) -> list[str]:
        return [f"[{i + 1}] {words}" for i, words in enumerate(self._words)]


def _gb_per_s(shape: Shape, time_us: float) -> str:
    return f"{shape.kv_bytes / time_us * 1e-3:.0f}"


def _cell(column: Column, line: Line, is_best: bool, notes: _Notes) -> str:
    outcome = line.peers.get(column.name)
    if outcome is None:
        return "not measured"
    if not outcome.is_timed:
        what = "wrong" if outcome.is_wrong else "not measured"
        return f"{what} {notes.mark(f'{column.name}: {outcome.words}')}"
    time_us = f"{outcome.time_us:.1f}"
    return f"**{time_us}**" if is_best else time_us


def _our_cells(shape: Shape, record: Record, notes: _Notes) -> list[str]:
    """Gather, ours, GB/s."""
    why_not = record.why_not(shape)
    row = record.find(shape, "auto")
    if why_not or row is None:
        mark = notes.mark(f"paged: {why_not}")
        return ["–", f"not measured {mark}", "–"]
    gather = record.find(shape, "gather")
    return [f"{gather.time_us:.1f}" if gather and not gather.error else "–",
            f"{row.time_us:.1f}", _gb_per_s(shape, row.time_us)]


def _format_line(line: Line, columns: list[Column], record: Record,
                 notes: _Notes) -> str:
    best = best_peer(line, columns)
    best_name, best_us = best if best else ("", math.nan)
    ratio = ratio_of(line, columns, record)
    cells = [line.shape.title, f"{line.shape.kv_bytes * 1e-6:.1f}"]
    cells += [_cell(column, line, column.name == best_name, notes)
              for column in columns if not column.missing]
    cells += _our_cells(line.shape, record, notes)
    cells += [_gb_per_s(line.shape, best_us) if best else "–",
              "–" if ratio is None else f"{ratio:.2f}"]
    return f"| {' | '.join(cells)} |"


def format_table(lines: list[Line], columns: list[Column],
                 record: Record) -> str:
    """Markdown: times in microseconds, then notes, missing peers, means."""
    notes = _Notes()
    heads = ["sequences x context, kv heads x group", "KV MB"]
    heads += [column.name + ("" if column.is_paged else ", no paged peer")
              for column in columns if not column.missing]
    heads += ["gather", "paged", "paged GB/s", "best peer GB/s",
              "best peer / paged"]
    rows = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    rows += [_format_line(line, columns, record, notes) for line in lines]
    text = ["\n".join(rows)]
    text += ["\n".join(notes.lines())]
    text += ["\n".join(f"missing: {column.name}: {column.missing}"
                       for column in columns if column.missing)]
    means = geometric_means(lines, columns, record)
    text += ["\n".join(f"geometric mean of best peer here / paged, {name}: "
                       f"{mean:.2f} ({count} rows)"
                       for name, (mean, count) in means.items())]
    return "\n\n".join(part for part in text if part) + "\n"


def to_json(lines: list[Line], columns: list[Column],
            record: Record) -> dict[str, Any]:
    rows = []
    for line in lines:
        shape = line.shape
        ours: dict[str, Any] = {"not_measured": record.why_not(shape)}
        row = record.find(shape, "auto")
        if row and not record.why_not(shape):
            ours = dataclasses.asdict(row)
            del ours["error"]
            ours["gb_per_s"] = shape.kv_bytes / row.time_us * 1e-3
        for variant in ("gather", "schedule"):
            other = record.find(shape, variant)
            if other and not other.error:
                ours[f"{variant}_us"] = other.time_us
        best = best_peer(line, columns)
        rows.append({
            "name": shape.name, "kv_bytes": shape.kv_bytes,
            "sets": shape.num_sets, "calls": shape.num_calls,
            "peers": {name: outcome.to_json(shape.kv_bytes)
                      for name, outcome in line.peers.items()},
            "paged": ours, "best_peer": best[0] if best else None,
            "best_peer_over_paged": ratio_of(line, columns, record)})
    return {
        "missing": {column.name: column.missing
                    for column in columns if column.missing},
        "no_paged_peers": [column.name for column in columns
                           if not column.is_paged],
        "geometric_means": {
            name: {"best_peer_over_paged": mean, "rows": count}
            for name, (mean, count)
            in geometric_means(lines, columns, record).items()},
        "rows": rows}
