"""FlashAttention, vLLM and PyTorch, through their Python interfaces.

Each adapter makes metadata and copies in a layout that the peer wants, and
returns the call that is timed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from peer_problem import Call, Problem

if TYPE_CHECKING:
    import torch

VLLM_PARTITION_TOKENS = 512


def flash_attention_2(problem: Problem) -> Call:
    from flash_attn import flash_attn_with_kvcache
    query = problem.query[:, None]
    return lambda set_idx: flash_attn_with_kvcache(
        query, problem.keys, problem.values, cache_seqlens=problem.lens,
        block_table=problem.tables[set_idx], causal=True)


def flash_attention_3(problem: Problem) -> Call:
    """FlashAttention-3 of its own package; metadata made once."""
    import flash_attn_interface as fa3
    import torch
    shape = problem.shape
    query = problem.query[:, None]
    metadata = fa3.get_scheduler_metadata(
        shape.num_seqs, 1, shape.max_context_len, shape.num_q_heads,
        shape.num_kv_heads, shape.head_dim, problem.lens,
        qkv_dtype=torch.float16, page_size=shape.block_size, causal=True)
    return lambda set_idx: fa3.flash_attn_with_kvcache(
        query, problem.keys, problem.values, cache_seqlens=problem.lens,
        page_table=problem.tables[set_idx], causal=True,
        scheduler_metadata=metadata)


def vllm_flash_attention_3(problem: Problem) -> Call:
    """FlashAttention-3 as vLLM builds and calls it; metadata made once."""
    import torch
    from vllm.vllm_flash_attn import (flash_attn_varlen_func,
                                      get_scheduler_metadata)
    shape = problem.shape
    starts = problem.query_starts
    metadata = get_scheduler_metadata(
        batch_size=shape.num_seqs, max_seqlen_q=1,
        max_seqlen_k=shape.max_context_len, num_heads_q=shape.num_q_heads,
        num_heads_kv=shape.num_kv_heads, headdim=shape.head_dim,
        cache_seqlens=problem.lens, qkv_dtype=torch.float16,
        cu_seqlens_q=starts, page_size=shape.block_size, causal=True)
    return lambda set_idx: flash_attn_varlen_func(
        problem.query, problem.keys, problem.values, max_seqlen_q=1,
        cu_seqlens_q=starts, max_seqlen_k=shape.max_context_len,
        seqused_k=problem.lens, block_table=problem.tables[set_idx],
        causal=True, scheduler_metadata=metadata, fa_version=3)


def _vllm_caches(problem: Problem) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys [blocks, heads, dim / 8, slots, 8], values [.., dim, slots]."""
    shape = problem.shape
    keys = problem.keys.unflatten(3, (shape.head_dim // 8, 8))
    return (keys.permute(0, 2, 3, 1, 4).contiguous(),
            problem.values.permute(0, 2, 3, 1).contiguous())


def _vllm_arguments(problem: Problem, set_idx: int, scale: torch.Tensor
                    ) -> tuple[object, ...]:
    """From the number of kv heads on, the same for v1 and v2."""
    shape = problem.shape
    return (shape.num_kv_heads, problem.scale, problem.tables[set_idx],
            problem.lens, shape.block_size, shape.max_context_len, None,
            "auto", scale, scale)


def vllm_v1(problem: Problem) -> Call:
    import torch
    from vllm import _custom_ops as ops
    keys, values = _vllm_caches(problem)
    output = torch.empty_like(problem.query)
    scale = torch.ones((), device=problem.device)

    def call(set_idx: int) -> torch.Tensor:
        ops.paged_attention_v1(output, problem.query, keys, values,
                               *_vllm_arguments(problem, set_idx, scale))
        return output

    return call


def vllm_v2(problem: Problem) -> Call:
    import torch
    from vllm import _custom_ops as ops
    keys, values = _vllm_caches(problem)
    output = torch.empty_like(problem.query)
    scale = torch.ones((), device=problem.device)
    partitions = -(-problem.shape.max_context_len // VLLM_PARTITION_TOKENS)
    rows = (problem.shape.num_seqs, problem.shape.num_q_heads, partitions)
    sums = torch.empty(rows, device=problem.device)
    tops = torch.empty_like(sums)
    parts = torch.empty((*rows, problem.shape.head_dim), device=problem.device,
                        dtype=output.dtype)

    def call(set_idx: int) -> torch.Tensor:
        ops.paged_attention_v2(output, sums, tops, parts, problem.query, keys,
                               values,
                               *_vllm_arguments(problem, set_idx, scale))
        return output

    return call


def pytorch_varlen(problem: Problem) -> Call:
    """PyTorch's own paged interface, where its version has one."""
    from torch.nn.attention.varlen import varlen_attn
    starts = problem.query_starts
    key_starts = starts * 0
    key_starts[1:] = problem.lens.cumsum(0)
    return lambda set_idx: varlen_attn(
        problem.query, problem.keys, problem.values, starts, key_starts, 1,
        problem.shape.max_context_len, block_table=problem.tables[set_idx],
        seqused_k=problem.lens, enable_gqa=True)


def pytorch_sdpa(problem: Problem) -> Call:
    """Contiguous keys and values, of as many bytes: no paged peer.

    The q heads of a group are the query rows of its kv head, so that each kv
    head is read once; PyTorch picks the backend.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention
    shape = problem.shape
    if shape.lens_name:
        raise ValueError("contiguous tensors of one length cannot hold a "
                         "ragged batch")
    heads = (shape.num_seqs, shape.num_kv_heads, shape.group, shape.head_dim)
    query = problem.query.view(heads)

    def contiguous(pool: torch.Tensor, set_idx: int) -> torch.Tensor:
        blocks = pool[problem.tables[set_idx].long()]
        tokens = blocks.flatten(1, 2)[:, :shape.max_context_len]
        return tokens.transpose(1, 2).contiguous()

    sets = [(contiguous(problem.keys, i), contiguous(problem.values, i))
            for i in range(problem.num_sets)]
    return lambda set_idx: scaled_dot_product_attention(query, *sets[set_idx])
