"""Rows of a decode benchmark's record, as goals are said of them."""

from __future__ import annotations

import dataclasses
import re

# Where a field of a row's name means that scores are masked or changed, that
# there are several query tokens, or that dimensions, dtypes or scales are
# mixed.
FEATURES = ("q:", "tokens:", "tree", "window:", "chunk:", "sink_tokens:",
            "cap:", "alibi", "bias", "sinks", "dv:", "scales:", "query:")


@dataclasses.dataclass(frozen=True)
class Timed:
    """A shape as dispatch ran it, cold, beside its gather."""
    name: str
    time_us: float
    kv_bytes: float
    gather_us: float | None

    @property
    def ratio(self) -> float:
        return self.gather_us / self.time_us if self.gather_us else 0.0

    @property
    def us_per_byte(self) -> float:
        return self.time_us / self.kv_bytes

    @property
    def fields(self) -> list[str]:
        return self.name.split("/")

    def number(self, key: str) -> int:
        for field in self.fields:
            if re.fullmatch(rf"{key}:\d+", field):
                return int(field.split(":")[1])
        return 0

    @property
    def is_ragged(self) -> bool:
        return "lens:" in self.name

    @property
    def has_16_bits(self) -> bool:
        return "fp16" in self.fields or "bf16" in self.fields

    @property
    def has_features(self) -> bool:
        return any(f.startswith(FEATURES) for f in self.fields)

    @property
    def is_plain(self) -> bool:
        """16 bits, group 1 to 16, head_dim 64 to 256, equal lengths."""
        return (self.has_16_bits and not self.is_ragged
                and self.number("g") <= 16 and 64 <= self.number("d") <= 256
                and not self.has_features)


def measured(record: dict) -> list[dict]:
    """The rows that did not fail."""
    return [row for row in record["benchmarks"] if "time_us" in row]


def decode_rows(record: dict) -> dict[str, Timed]:
    """The automatic choice of every shape, cold, by the shape's name."""
    times: dict[tuple[str, str], dict] = {}
    for row in measured(record):
        kind, _, name = row["name"].removeprefix("decode/").partition("/")
        if row["name"].startswith("decode/") and name.endswith("/l2:cold"):
            times[kind, name.removesuffix("/l2:cold")] = row
    return {name: Timed(name, row["time_us"], row["kv_bytes"],
                        times.get(("gather", name), {}).get("time_us"))
            for (kind, name), row in times.items() if kind == "auto"}


def host_rows(record: dict, what: str) -> list[tuple[str, float]]:
    return [(row["name"], row["time_us"]) for row in measured(record)
            if row["name"].startswith(f"host/{what}/")]


def schedule_rows(record: dict, least: int, most: int):
    """Microseconds of schedules of `least` to `most` sequences, by name."""
    rows = []
    for row in measured(record):
        batch = re.match(r"decode/schedule/.*/b:(\d+)/.*/l2:cold$", row["name"])
        if batch and least <= int(batch[1]) <= most:
            rows.append((row["name"], row["time_us"]))
    return rows
