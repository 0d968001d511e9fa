"""FlashInfer, and what it ships of others, through its Python interface.

Each adapter makes plans and copies in a layout that the peer wants, and
returns the call that is timed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from peer_problem import Call, Problem

if TYPE_CHECKING:
    import torch

# What the documentation gives its examples.
WORKSPACE_BYTES = 128 << 20
# Enough for what a plan of decode leaves there, and small enough to have one
# for each of hundreds of sets.
PLAN_BYTES = 1 << 20


def _workspace(problem: Problem) -> torch.Tensor:
    import torch
    return torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8,
                       device=problem.device)


def _page_lists(problem: Problem) -> tuple[torch.Tensor, list[torch.Tensor],
                                           torch.Tensor]:
    """FlashInfer's form of a block table: where each sequence's pages begin,
    the pages of each set, and the tokens in each last page."""
    import torch
    counts = torch.tensor(problem.shape.blocks_of_seqs, dtype=torch.int32)
    starts = torch.zeros(len(counts) + 1, dtype=torch.int32)
    starts[1:] = torch.cumsum(counts, 0)
    is_page = (torch.arange(problem.tables.shape[2])[None, :]
               < counts[:, None]).to(problem.device)
    pages = [table[is_page].contiguous() for table in problem.tables]
    last_lens = problem.lens - (counts.to(problem.device)
                                - 1) * problem.shape.block_size
    return starts.to(problem.device), pages, last_lens.to(torch.int32)


def _wrapper(problem: Problem, use_tensor_cores: bool) -> Call:
    """BatchDecodeWithPagedKVCacheWrapper; a plan for each set."""
    import flashinfer
    import torch
    shape = problem.shape
    workspace = _workspace(problem)
    starts, pages, last_lens = _page_lists(problem)
    wrappers = []
    for set_pages in pages:
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
            workspace, "NHD", use_tensor_cores=use_tensor_cores)
        wrapper.reset_workspace_buffer(workspace, torch.empty(
            PLAN_BYTES, dtype=torch.uint8, device=problem.device))
        wrapper.plan(starts, set_pages, last_lens, shape.num_q_heads,
                     shape.num_kv_heads, shape.head_dim, shape.block_size,
                     pos_encoding_mode="NONE", q_data_type=torch.float16,
                     kv_data_type=torch.float16)
        wrappers.append(wrapper)
    cache = (problem.keys, problem.values)
    return lambda set_idx: wrappers[set_idx].run(problem.query, cache)


def cuda_cores(problem: Problem) -> Call:
    return _wrapper(problem, use_tensor_cores=False)


def tensor_cores(problem: Problem) -> Call:
    return _wrapper(problem, use_tensor_cores=True)


def persistent(problem: Problem) -> Call:
    """BatchAttention: one persistent kernel; a plan for each set."""
    import flashinfer
    import torch
    shape = problem.shape
    starts, pages, _ = _page_lists(problem)
    plans: list[flashinfer.BatchAttention] = []
    for set_pages in pages:
        attention = flashinfer.BatchAttention("NHD")
        if plans:  # 256 MB that hold nothing between two calls
            attention.float_workspace_buffer = plans[0].float_workspace_buffer
        attention.plan(problem.query_starts, starts, set_pages, problem.lens,
                       shape.num_q_heads, shape.num_kv_heads, shape.head_dim,
                       shape.head_dim, shape.block_size, causal=False,
                       sm_scale=problem.scale, logits_soft_cap=0.0,
                       q_data_type=torch.float16, kv_data_type=torch.float16)
        plans.append(attention)
    cache = (problem.keys, problem.values)
    return lambda set_idx: plans[set_idx].run(
        problem.query, cache, logits_soft_cap=0.0)[0]


def xqa(problem: Problem) -> Call:
    """TensorRT-LLM's XQA, as FlashInfer ships it."""
    from flashinfer.decode import xqa_batch_decode_with_kv_cache
    workspace = _workspace(problem)
    cache = (problem.keys, problem.values)
    return lambda set_idx: xqa_batch_decode_with_kv_cache(
        problem.query, cache, workspace, problem.tables[set_idx],
        problem.lens, problem.shape.max_context_len, bmm1_scale=problem.scale,
        bmm2_scale=1.0, kv_layout="NHD")


def cudnn_paged(problem: Problem) -> Call:
    """cuDNN's paged attention, through FlashInfer; heads before tokens."""
    from flashinfer.cudnn import cudnn_batch_decode_with_kv_cache
    workspace = _workspace(problem)
    keys, values = (pool.transpose(1, 2).contiguous()
                    for pool in (problem.keys, problem.values))
    return lambda set_idx: cudnn_batch_decode_with_kv_cache(
        problem.query, keys, values, problem.scale, workspace,
        max_sequence_kv=problem.shape.max_context_len,
        actual_seq_lens_kv=problem.lens, block_tables=problem.tables[set_idx],
        is_cuda_graph_compatible=True)
