"""Paged decode in Triton, of the scheme that most tutorials start from.

One program per (sequence, q head): it walks the sequence's block table, one
block at a time, with an online softmax. Keys and values are read once per q
head, group times what is needed. The split variant cuts the table into
`NUM_SPLITS` runs of blocks, and a second kernel merges what they leave.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from peer_problem import Call, Problem

# Enough programs in flight to hide a program's own latency, and no split
# shorter than a few blocks. More splits than this cost more to merge.
PROGRAMS_PER_SM = 8
MIN_BLOCKS_PER_SPLIT = 4
MAX_SPLITS = 64


@triton.jit
def _attend(query_ptr, key_ptr, value_ptr, table_ptr, lens_ptr, output_ptr,
            top_ptr, sum_ptr, scale_log2, table_stride,
            NUM_Q_HEADS: tl.constexpr, NUM_KV_HEADS: tl.constexpr,
            HEAD_DIM: tl.constexpr, BLOCK_SIZE: tl.constexpr,
            NUM_SPLITS: tl.constexpr):
    """Writes the output, or with splits the sum of weighted values in fp32,
    the largest score (times log2 e) and the sum of weights."""
    seq = tl.program_id(0)
    head = tl.program_id(1)
    split = tl.program_id(2)
    length = tl.load(lens_ptr + seq)
    num_blocks = tl.cdiv(length, BLOCK_SIZE)
    blocks_per_split = tl.cdiv(num_blocks, NUM_SPLITS)
    first = split * blocks_per_split
    last = tl.minimum(first + blocks_per_split, num_blocks)

    row = seq * NUM_Q_HEADS + head
    dims = tl.arange(0, HEAD_DIM)
    slots = tl.arange(0, BLOCK_SIZE)
    query = tl.load(query_ptr + row * HEAD_DIM + dims).to(tl.float32)
    query *= scale_log2
    kv_head = head // (NUM_Q_HEADS // NUM_KV_HEADS)
    in_block = ((slots[:, None] * NUM_KV_HEADS + kv_head) * HEAD_DIM
                + dims[None, :])

    top = tl.full([], float("-inf"), tl.float32)
    total = tl.full([], 0.0, tl.float32)
    weighted = tl.zeros([HEAD_DIM], tl.float32)
    for i in range(first, last):
        block = tl.load(table_ptr + seq * table_stride + i).to(tl.int64)
        at = block * (BLOCK_SIZE * NUM_KV_HEADS * HEAD_DIM) + in_block
        is_token = i * BLOCK_SIZE + slots < length
        key = tl.load(key_ptr + at, mask=is_token[:, None], other=0.0)
        value = tl.load(value_ptr + at, mask=is_token[:, None], other=0.0)
        scores = tl.sum(query[None, :] * key.to(tl.float32), axis=1)
        scores = tl.where(is_token, scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=0))
        shrink = tl.exp2(top - new_top)
        weights = tl.exp2(scores - new_top)
        total = total * shrink + tl.sum(weights, axis=0)
        weighted = weighted * shrink + tl.sum(
            weights[:, None] * value.to(tl.float32), axis=0)
        top = new_top

    if NUM_SPLITS == 1:
        tl.store(output_ptr + row * HEAD_DIM + dims,
                 (weighted / total).to(tl.float16))
    else:
        part = row * NUM_SPLITS + split
        tl.store(output_ptr + part * HEAD_DIM + dims, weighted)
        tl.store(top_ptr + part, top)
        tl.store(sum_ptr + part, total)


@triton.jit
def _merge(part_ptr, top_ptr, sum_ptr, output_ptr, HEAD_DIM: tl.constexpr,
           NUM_SPLITS: tl.constexpr, PADDED_SPLITS: tl.constexpr):
    """One program per (sequence, q head)."""
    row = tl.program_id(0)
    dims = tl.arange(0, HEAD_DIM)
    splits = tl.arange(0, PADDED_SPLITS)
    is_split = splits < NUM_SPLITS
    part = row * NUM_SPLITS + splits
    # A split without a block left a top of -inf, and weighs nothing.
    top = tl.load(top_ptr + part, mask=is_split, other=float("-inf"))
    weights = tl.exp2(top - tl.max(top, axis=0))
    total = tl.load(sum_ptr + part, mask=is_split, other=0.0)
    weighted = tl.load(part_ptr + part[:, None] * HEAD_DIM + dims[None, :],
                       mask=is_split[:, None], other=0.0)
    output = (tl.sum(weights[:, None] * weighted, axis=0)
              / tl.sum(weights * total, axis=0))
    tl.store(output_ptr + row * HEAD_DIM + dims, output.to(tl.float16))


def count_splits(num_rows: int, max_blocks: int, num_sms: int) -> int:
    wanted = -(-PROGRAMS_PER_SM * num_sms // num_rows)
    longest = max(1, max_blocks // MIN_BLOCKS_PER_SPLIT)
    return min(wanted, longest, MAX_SPLITS)


def prepare(problem: Problem, num_splits: int) -> Call:
    shape = problem.shape
    num_rows = shape.num_seqs * shape.num_q_heads
    output = torch.full_like(problem.query, math.nan)
    parts, tops, sums = (
        torch.full(size, math.nan, device=problem.device)
        for size in ((num_rows, num_splits, shape.head_dim),
                     (num_rows, num_splits), (num_rows, num_splits)))

    def call(set_idx: int) -> torch.Tensor:
        table = problem.tables[set_idx]
        _attend[(shape.num_seqs, shape.num_q_heads, num_splits)](
            problem.query, problem.keys, problem.values, table, problem.lens,
            output if num_splits == 1 else parts, tops, sums,
            problem.scale * math.log2(math.e), table.stride(0),
            NUM_Q_HEADS=shape.num_q_heads, NUM_KV_HEADS=shape.num_kv_heads,
            HEAD_DIM=shape.head_dim, BLOCK_SIZE=shape.block_size,
            NUM_SPLITS=num_splits)
        if num_splits > 1:
            _merge[(num_rows,)](
                parts, tops, sums, output, HEAD_DIM=shape.head_dim,
                NUM_SPLITS=num_splits,
                PADDED_SPLITS=triton.next_power_of_2(num_splits))
        return output

    return call


def prepare_split(problem: Problem) -> Call:
    shape = problem.shape
    num_sms = torch.cuda.get_device_properties(
        problem.device).multi_processor_count
    return prepare(problem, count_splits(
        shape.num_seqs * shape.num_q_heads, max(shape.blocks_of_seqs),
        num_sms))
