"""Tensors of a shape, paged as ours are, and the float64 reference."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from peer_shapes import Shape

if TYPE_CHECKING:
    import torch

SEED = 1

# Enqueues the attention of a set on the current stream: [b, q heads, dim].
Call = Callable[[int], "torch.Tensor"]


@dataclasses.dataclass
class Problem:
    """A batch whose blocks lie shuffled over a pool of `num_sets` batches."""

    shape: Shape
    query: torch.Tensor  # [b, q heads, dim]
    keys: torch.Tensor  # [blocks, block_size, kv heads, dim]
    values: torch.Tensor  # as keys
    tables: torch.Tensor  # [sets, b, blocks of the longest], int32, then zeros
    lens: torch.Tensor  # [b], int32

    @property
    def device(self) -> torch.device:
        return self.query.device

    @property
    def scale(self) -> float:
        return 1.0 / math.sqrt(self.shape.head_dim)

    @property
    def num_sets(self) -> int:
        return self.tables.shape[0]

    @property
    def query_starts(self) -> torch.Tensor:
        """One query token each: [b + 1], int32."""
        import torch
        return torch.arange(self.shape.num_seqs + 1, dtype=torch.int32,
                            device=self.device)

    def tokens_of(self, pool: torch.Tensor, set_idx: int, seq: int,
                  kv_head: int) -> torch.Tensor:
        """Gathers what a sequence has of a head: [tokens, dim]."""
        shape = self.shape
        blocks = self.tables[set_idx, seq, :shape.blocks_of_seqs[seq]].long()
        tokens = pool[:, :, kv_head][blocks].reshape(-1, shape.head_dim)
        return tokens[:shape.context_lens[seq]]


def _uniform(size: tuple[int, ...], device: torch.device,
             generator: torch.Generator) -> torch.Tensor:
    """Multiples of 2^-8 in [-2, 2), which our benchmark fills with too."""
    import torch
    whole = torch.randint(-512, 512, size, dtype=torch.int16, device=device,
                          generator=generator)
    return whole.to(torch.float16).div_(256)


def _shuffled_tables(shape: Shape, num_sets: int) -> torch.Tensor:
    """Every block of the pool once, in random order; zeros past the end."""
    import torch
    counts = torch.tensor(shape.blocks_of_seqs).repeat(num_sets)
    is_block = torch.arange(int(counts.max()))[None, :] < counts[:, None]
    order = torch.randperm(int(counts.sum()),
                           generator=torch.Generator().manual_seed(SEED))
    tables = torch.zeros(is_block.shape, dtype=torch.int32)
    tables[is_block] = order.to(torch.int32)
    return tables.reshape(num_sets, shape.num_seqs, -1)


def make_problem(shape: Shape, device: torch.device,
                 num_sets: int) -> Problem:
    import torch
    generator = torch.Generator(device=device).manual_seed(SEED)
    num_blocks = num_sets * sum(shape.blocks_of_seqs)
    pool = (num_blocks, shape.block_size, shape.num_kv_heads, shape.head_dim)
    rows = (shape.num_seqs, shape.num_q_heads, shape.head_dim)
    return Problem(
        shape=shape,
        query=_uniform(rows, device, generator),
        keys=_uniform(pool, device, generator),
        values=_uniform(pool, device, generator),
        tables=_shuffled_tables(shape, num_sets).to(device),
        lens=torch.tensor(shape.context_lens, dtype=torch.int32,
                          device=device))


def reference_row(problem: Problem, set_idx: int, seq: int,
                  q_head: int) -> torch.Tensor:
    """Attention of one query row in float64: [dim]."""
    import torch
    kv_head = q_head // problem.shape.group
    keys = problem.tokens_of(problem.keys, set_idx, seq, kv_head).double()
    values = problem.tokens_of(problem.values, set_idx, seq, kv_head).double()
    scores = keys @ problem.query[seq, q_head].double() * problem.scale
    return torch.softmax(scores, dim=0) @ values


def sampled_rows(shape: Shape) -> list[tuple[int, int]]:
    """(sequence, q head): the first, the last, and a middle of the longest."""
    longest = shape.context_lens.index(shape.max_context_len)
    last_head = shape.num_q_heads - 1
    return list(dict.fromkeys([(0, 0), (longest, shape.num_q_heads // 2),
                               (shape.num_seqs - 1, last_head)]))


class Samples:
    """The reference of a few rows of a set, computed once for all peers."""

    def __init__(self, problem: Problem, set_idx: int) -> None:
        self._shape = problem.shape
        self._rows = {at: reference_row(problem, set_idx, *at)
                      for at in sampled_rows(problem.shape)}

    def relative_error(self, output: torch.Tensor) -> float:
        """The largest relative L2 error of a row; NaN if one is NaN."""
        shape = self._shape
        rows = (shape.num_seqs, shape.num_q_heads, shape.head_dim)
        if output.numel() != math.prod(rows):
            raise ValueError(f"an output has {math.prod(rows)} elements; got "
                             f"{tuple(output.shape)}")
        output = output.reshape(rows).double()
        errors = [float((output[at] - row).norm() / row.norm())
                  for at, row in self._rows.items()]
        return math.nan if any(map(math.isnan, errors)) else max(errors)
