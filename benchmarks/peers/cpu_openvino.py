"""OpenVINO's attention on the CPU: its contiguous operator and its paged one."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from cpu_problem import Call, Problem

PAGE_TOKENS = 32  # what the CPU plugin's paged operator has


def _compile(model: Any, threads: int, **options: str) -> Any:
    openvino = importlib.import_module("openvino")
    return openvino.Core().compile_model(
        model, "CPU", {"INFERENCE_NUM_THREADS": threads,
                       "PERFORMANCE_HINT": "LATENCY", **options})


def sdpa_fp32(problem: Problem, threads: int) -> Call:
    openvino = importlib.import_module("openvino")
    ops = importlib.import_module("openvino.opset13")
    tensors = [np.ascontiguousarray(tensor, dtype=np.float32) for tensor in
               (problem.query, problem.keys, problem.values)]
    parameters = [ops.parameter(tensor.shape, np.float32) for tensor in tensors]
    model = openvino.Model(
        [ops.scaled_dot_product_attention(*parameters, causal=False)],
        parameters, "sdpa")
    request = _compile(model, threads,
                       INFERENCE_PRECISION_HINT="f32").create_infer_request()
    for index, tensor in enumerate(tensors):
        request.set_input_tensor(index,
                                 openvino.Tensor(tensor, shared_memory=True))

    def call() -> Any:
        request.infer()
        return request.get_output_tensor(0).data

    # The request shares their memory and does not keep them.
    call.inputs = tensors
    return call


def _paged_model(problem: Problem) -> Any:
    """PagedAttentionExtension alone; what a step does not use is an empty input.

    The kind of the caches is left open: the plugin sets it by its options, from
    the sizes in the operator's run-time information, and converts caches of
    another kind at each step.
    """
    openvino = importlib.import_module("openvino")
    ops = importlib.import_module("openvino.opset13")
    operator = importlib.import_module("openvino.op")._PagedAttentionExtension
    shape = problem.shape
    q_size = shape.num_q_heads * shape.head_dim
    kv_size = shape.num_kv_heads * shape.head_dim
    inputs = [ops.parameter([-1, q_size], np.float32),      # query
              ops.parameter([-1, kv_size], np.float32),     # the newest key
              ops.parameter([-1, kv_size], np.float32),     # and value
              ops.parameter([-1] * 4, openvino.Type.dynamic),  # key cache
              ops.parameter([-1] * 4, openvino.Type.dynamic),  # value cache
              ops.parameter([-1], np.int32),  # tokens before this step
              ops.parameter([-1], np.int32),  # first query of each sequence
              ops.parameter([-1], np.int32),  # block ids
              ops.parameter([-1], np.int32),  # first of each sequence
              ops.parameter([], np.int32)]    # longest context
    names = ["key_cache", "value_cache"]
    for name, parameter in zip(names, inputs[3:5]):
        parameter.output(0).get_tensor().set_names({f"{name}.0"})

    def none(dtype: Any, *sizes: int) -> Any:
        return ops.constant(np.zeros(sizes or (0,), dtype))

    scalar = ops.constant(np.array(0, np.int32))
    scale = ops.constant(np.array(shape.head_dim ** -0.5, np.float32))
    i32, f32 = np.int32, np.float32
    node = operator([node.output(0) for node in (
        *inputs[:9], scale,
        scalar, none(f32),             # window, slopes
        inputs[9], none(i32),          # longest context, aggregated scores
        none(i32), none(i32, 0, 0), none(f32, 0, 0),  # rotation
        none(f32), scalar, scalar,     # sparse attention
        none(f32),                     # sinks
        scalar, none(i32), none(i32), none(i32),      # eviction
        none(i32), none(np.uint8), none(i32))])       # token types, bias
    for side in "kv":
        node.get_rt_info()[f"num_{side}_heads"] = shape.num_kv_heads
        node.get_rt_info()[f"{side}_head_size"] = shape.head_dim
    return openvino.Model([node.output(0)], inputs, "paged")


def pages_of(tensor: np.ndarray, block_ids: np.ndarray) -> np.ndarray:
    """[block, kv head, slot, dim], the blocks at their ids; zeros past the end."""
    num_seqs, num_kv_heads, tokens, dim = tensor.shape
    blocks = -(-tokens // PAGE_TOKENS)
    padded = np.zeros((num_seqs, num_kv_heads, blocks * PAGE_TOKENS, dim),
                      tensor.dtype)
    padded[:, :, :tokens] = tensor
    pool = np.empty((num_seqs * blocks, num_kv_heads, PAGE_TOKENS, dim),
                    tensor.dtype)
    pool[block_ids] = padded.reshape(
        num_seqs, num_kv_heads, blocks, PAGE_TOKENS, dim).swapaxes(
            1, 2).reshape(pool.shape)
    return pool


def bf16_bits(tensor: np.ndarray) -> np.ndarray:
    bits = tensor.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _paged(problem: Problem, threads: int, kind: str, precision: str) -> Call:
    openvino = importlib.import_module("openvino")
    shape = problem.shape
    compiled = _compile(_paged_model(problem), threads,
                        INFERENCE_PRECISION_HINT=precision,
                        KV_CACHE_PRECISION=kind)
    made = [compiled.inputs[i].get_element_type().get_type_name()
            for i in (3, 4)]
    if made != [kind, kind]:
        raise RuntimeError(f"caches of {kind} asked for, {made} compiled")
    num_seqs, tokens = shape.num_seqs, shape.max_context_len
    blocks = -(-tokens // PAGE_TOKENS)
    block_ids = np.random.default_rng(1).permutation(
        num_seqs * blocks).astype(np.int32)
    caches = [pages_of(tensor, block_ids)
              for tensor in (problem.keys, problem.values)]
    if kind == "bf16":
        caches = [bf16_bits(cache) for cache in caches]
        pages = [openvino.Tensor(cache, openvino.Shape(cache.shape),
                                 openvino.Type.bf16) for cache in caches]
    else:
        pages = [openvino.Tensor(cache, shared_memory=True) for cache in caches]
    steps = np.arange(num_seqs + 1, dtype=np.int32)
    # The newest token, which the operator writes into its place again.
    newest = [np.ascontiguousarray(tensor[:, :, -1], dtype=np.float32)
              .reshape(num_seqs, -1)
              for tensor in (problem.keys, problem.values)]
    request = compiled.create_infer_request()
    for index, tensor in enumerate([
            problem.query.astype(np.float32).reshape(num_seqs, -1), *newest,
            *pages, np.full(num_seqs, tokens - 1, np.int32), steps, block_ids,
            steps * np.int32(blocks), np.array(tokens, np.int32)]):
        request.set_input_tensor(
            index, tensor if isinstance(tensor, openvino.Tensor)
            else openvino.Tensor(tensor))

    def call() -> Any:
        request.infer()
        return request.get_output_tensor(0).data.reshape(problem.query.shape)

    # The request shares their memory and does not keep them.
    call.inputs = caches
    return call


def paged_fp16(problem: Problem, threads: int) -> Call:
    return _paged(problem, threads, "f16", "f32")


def paged_bf16(problem: Problem, threads: int) -> Call:
    """What the plugin chooses by itself where the processor has bf16 products."""
    return _paged(problem, threads, "bf16", "bf16")
