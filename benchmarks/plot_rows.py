"""Rows of `paged scan`, as the figures want them. Standard library alone."""

import collections
import csv
import math

NAN = math.nan
CEILINGS = ("gather", "read")
CONFIG = ("device", "dtype", "num_q_heads", "num_kv_heads", "head_dim",
          "block_size")
# What the figures and the table read; files may have more.
COLUMNS = CONFIG + (
    "backend", "num_units", "tier", "requested_splits", "num_seqs",
    "context_len", "variant", "splits", "ctas", "runs", "median_us", "kv_bytes",
    "gb_per_s", "ratio_to_ceiling", "peak_bytes", "commit")


def read_rows(path):
    """Dicts with numbers where there are numbers; an empty field is NaN.
    ValueError where the file has not the rows of `paged scan`."""
    rows = []
    # What is no text has none of the columns.
    with open(path, newline="", encoding="utf-8", errors="replace") as stream:
        reader = csv.DictReader(stream)
        missing = [name for name in COLUMNS
                   if name not in (reader.fieldnames or ())]
        if missing:
            raise ValueError(
                f"{path}: no column {', '.join(missing[:3])}"
                f"{' and more' if len(missing) > 3 else ''}; rows of this "
                "version's `paged scan` are needed")
        for number, fields in enumerate(reader, start=2):
            if None in fields or None in fields.values():
                raise ValueError(f"{path}: line {number} is cut off")
            rows.append({key: _value(text) for key, text in fields.items()})
    return rows


def _value(text):
    if text == "":
        return NAN
    try:
        return float(text)
    except ValueError:
        return text


def main_rows(rows):
    """Those of the device that most rows are of, GPUs before CPUs."""
    backends = {row["backend"] for row in rows}
    backend = "cuda" if "cuda" in backends else "cpu"
    rows = [row for row in rows if row["backend"] == backend]
    counts = collections.Counter(row["device"] for row in rows)
    device = counts.most_common(1)[0][0] if counts else None
    return [row for row in rows if row["device"] == device]


def common_config(rows):
    """The rows that differ in batch, context and splits alone: the largest such
    group."""
    groups = collections.defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in CONFIG)].append(row)
    return max(groups.values(), key=len) if groups else []


def chosen(rows, tier, **where):
    """Rows of a tier, of no forced split count, with these values."""
    return [row for row in rows
            if row["tier"] == tier and row["requested_splits"] == 0
            and all(row[key] == value for key, value in where.items())]


def ceilings(rows, **where):
    return [row for name in CEILINGS for row in chosen(rows, name, **where)]


def on_grid(rows, x, y, grid):
    """y at each x of the grid; NaN, which is drawn as a gap, where no row is.
    Of several rows the median counts."""
    values = collections.defaultdict(list)
    for row in rows:
        if not math.isnan(row[y]):
            values[row[x]].append(row[y])
    return [sorted(values[at])[len(values[at]) // 2] if values[at] else NAN
            for at in grid]


def values_of(rows, key):
    return sorted({row[key] for row in rows})
