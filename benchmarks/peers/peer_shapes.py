"""The shapes of the comparison, under the names of decode_benchmark's rows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

# Protocol of benchmarks/cuda/problem.cc, which measures our rows: inputs
# rotate through five times the largest L2 at hand; a graph holds at least so
# many calls, and more of small ones, which are short against a timer's tick.
ROTATE_BYTES = 320_000_000
SMALL_BYTES = 60_000_000
MIN_CALLS = 8
MIN_SMALL_CALLS = 32

BYTES_OF_FP16 = 2


def mix(x: int) -> int:
    """SplitMix64's finaliser, as in kernels/core/hash.h."""
    mask = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


# Lengths of ragged batches by name and number of sequences: those of
# benchmarks/shapes.cc. What differs shows as another number of bytes.
RAGGED: dict[str, Callable[[int], list[int]]] = {
    "uniform_100_1000": lambda n: [100 + mix(i) % 901 for i in range(n)],
    "zipf_32768": lambda n: [max(16, 32768 // (i + 1)) for i in range(n)],
    "one_131072_among_1024": lambda n: [131072] + [1024] * (n - 1),
}


@dataclasses.dataclass(frozen=True)
class Shape:
    context_lens: tuple[int, ...]
    num_kv_heads: int
    group: int
    head_dim: int
    block_size: int = 16
    lens_name: str = ""  # of a ragged batch; empty when all are equal

    @property
    def num_seqs(self) -> int:
        return len(self.context_lens)

    @property
    def num_q_heads(self) -> int:
        return self.num_kv_heads * self.group

    @property
    def max_context_len(self) -> int:
        return max(self.context_lens)

    @property
    def blocks_of_seqs(self) -> list[int]:
        return [-(-length // self.block_size) for length in self.context_lens]

    @property
    def kv_bytes(self) -> int:
        """Keys and values of the true lengths, once per kv head."""
        return (sum(self.context_lens) * self.num_kv_heads * self.head_dim
                * 2 * BYTES_OF_FP16)

    @property
    def name(self) -> str:
        """As in the names of decode_benchmark's rows."""
        lens = (f"lens:{self.lens_name}" if self.lens_name
                else f"ctx:{self.max_context_len}")
        return (f"fp16/b:{self.num_seqs}/{lens}/hkv:{self.num_kv_heads}"
                f"/g:{self.group}/d:{self.head_dim}/bs:{self.block_size}")

    @property
    def title(self) -> str:
        """As in the documents: 8 x 128, 4 x 2."""
        lens = self.lens_name or str(self.max_context_len)
        dim = "" if self.head_dim == 128 else f", head_dim {self.head_dim}"
        return (f"{self.num_seqs} x {lens}, {self.num_kv_heads} x {self.group}"
                f"{dim}")

    @property
    def num_sets(self) -> int:
        """Batches of other blocks, one after another; two at least."""
        return max(2, -(-ROTATE_BYTES // self.kv_bytes))

    @property
    def num_calls(self) -> int:
        """Of a graph: every set equally often."""
        least = (MIN_SMALL_CALLS if self.kv_bytes < SMALL_BYTES
                 else MIN_CALLS)
        return -(-least // self.num_sets) * self.num_sets

    def row_name(self, variant: str) -> str:
        return f"decode/{variant}/{self.name}/l2:cold"


_NAME = re.compile(
    r"fp16/b:(?P<b>\d+)/(?:ctx:(?P<ctx>\d+)|lens:(?P<lens>\w+))"
    r"/hkv:(?P<hkv>\d+)/g:(?P<g>\d+)/d:(?P<d>\d+)/bs:(?P<bs>\d+)")


def parse_shape(name: str) -> Shape:
    """The shape of a name; ValueError for what is none."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"a shape is named like fp16/b:8/ctx:128/hkv:4/g:2/"
                         f"d:128/bs:16; got {name}")
    lens_name = match["lens"] or ""
    if lens_name and lens_name not in RAGGED:
        raise ValueError(f"lens must be one of {', '.join(RAGGED)}; "
                         f"got {lens_name}")
    sizes = {key: int(match[key]) for key in ("b", "hkv", "g", "d", "bs")}
    if match["ctx"] is not None:
        sizes["ctx"] = int(match["ctx"])
    for key, value in sizes.items():
        if value < 1:
            raise ValueError(f"{key} must be positive; got {name}")
    num_seqs = sizes["b"]
    lens = (RAGGED[lens_name](num_seqs) if lens_name
            else [sizes["ctx"]] * num_seqs)
    return Shape(context_lens=tuple(lens), num_kv_heads=sizes["hkv"],
                 group=sizes["g"], head_dim=sizes["d"],
                 block_size=sizes["bs"], lens_name=lens_name)


# From a launch's fixed cost to 1 GB; odd groups, the other head_dims, and two
# ragged batches.
TABLE: tuple[str, ...] = (
    "fp16/b:8/ctx:128/hkv:4/g:2/d:128/bs:16",
    "fp16/b:8/ctx:1024/hkv:4/g:2/d:128/bs:16",
    "fp16/b:8/ctx:4096/hkv:4/g:2/d:128/bs:16",
    "fp16/b:64/ctx:4096/hkv:4/g:2/d:128/bs:16",
    "fp16/b:32/lens:uniform_100_1000/hkv:32/g:1/d:128/bs:16",
    "fp16/b:1/ctx:128/hkv:8/g:4/d:128/bs:16",
    "fp16/b:1/ctx:1024/hkv:8/g:4/d:128/bs:16",
    "fp16/b:16/ctx:512/hkv:8/g:4/d:128/bs:16",
    "fp16/b:1/ctx:16384/hkv:8/g:4/d:128/bs:16",
    "fp16/b:16/ctx:2048/hkv:8/g:4/d:128/bs:16",
    "fp16/b:1/ctx:131072/hkv:8/g:4/d:128/bs:16",
    "fp16/b:64/ctx:4096/hkv:8/g:4/d:128/bs:16",
    "fp16/b:256/ctx:1024/hkv:8/g:4/d:128/bs:16",
    "fp16/b:32/ctx:4096/hkv:4/g:7/d:128/bs:16",
    "fp16/b:16/ctx:8192/hkv:8/g:8/d:128/bs:16",
    "fp16/b:32/ctx:4096/hkv:1/g:32/d:128/bs:16",
    "fp16/b:64/ctx:2048/hkv:8/g:4/d:64/bs:16",
    "fp16/b:16/ctx:4096/hkv:4/g:2/d:256/bs:16",
    "fp16/b:64/lens:zipf_32768/hkv:8/g:4/d:128/bs:16",
    "fp16/b:64/lens:one_131072_among_1024/hkv:8/g:4/d:128/bs:16",
)


def choose_shapes(pattern: str) -> list[Shape]:
    """Those of the table whose name or title matches; ValueError for none."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"--shapes must be a regular expression; "
                         f"got {pattern}: {error}") from error
    shapes = [shape for shape in map(parse_shape, TABLE)
              if wanted.search(shape.name) or wanted.search(shape.title)]
    if not shapes:
        raise ValueError(f"--shapes must match a shape of --list; "
                         f"got {pattern}")
    return shapes
