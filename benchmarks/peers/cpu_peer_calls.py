"""Attention of others on the CPU: one query token a sequence, contiguous K, V.

A maker takes a Problem and a number of threads, and gives a call that computes
one step and returns what `Problem.relative_error` understands: [num_seqs,
num_kv_heads, group, head_dim]. It raises where its package is missing or
refuses; all copies and compilations are made before the call.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import cpu_ggml
import cpu_openvino
import peer_outcome
from cpu_problem import Call, Problem
from peer_shapes import Shape


def _torch_sdpa(problem: Problem, threads: int, dtype_name: str) -> Call:
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads)
    dtype = getattr(torch, dtype_name)
    query, keys, values = (torch.from_numpy(tensor).to(dtype) for tensor in
                           (problem.query, problem.keys, problem.values))

    def call() -> Any:
        # The group as rows of the query: K and V are read once for all of it.
        with torch.inference_mode():
            return torch.nn.functional.scaled_dot_product_attention(
                query, keys, values)

    return lambda: call().float().numpy()


def torch_fp16(problem: Problem, threads: int) -> Call:
    return _torch_sdpa(problem, threads, "float16")


def torch_bf16(problem: Problem, threads: int) -> Call:
    return _torch_sdpa(problem, threads, "bfloat16")


def torch_fp32(problem: Problem, threads: int) -> Call:
    return _torch_sdpa(problem, threads, "float32")


def _gqa_model(shape: Shape) -> bytes:
    """GroupQueryAttention of ONNX Runtime, its cache of past tokens in place."""
    onnx = importlib.import_module("onnx")
    helper, float32, int32 = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.INT32
    batch, tokens = shape.num_seqs, shape.max_context_len
    q_size = shape.num_q_heads * shape.head_dim
    kv_size = shape.num_kv_heads * shape.head_dim
    cache = [batch, shape.num_kv_heads, tokens, shape.head_dim]
    inputs = [("query", float32, [batch, 1, q_size]),
              ("key", float32, [batch, 1, kv_size]),
              ("value", float32, [batch, 1, kv_size]),
              ("past_key", float32, cache), ("past_value", float32, cache),
              ("seqlens_k", int32, [batch]), ("total_length", int32, [1])]
    outputs = [("output", float32, [batch, 1, q_size]),
               ("present_key", float32, cache),
               ("present_value", float32, cache)]
    node = helper.make_node(
        "GroupQueryAttention", [name for name, _, _ in inputs],
        [name for name, _, _ in outputs], domain="com.microsoft",
        num_heads=shape.num_q_heads, kv_num_heads=shape.num_kv_heads)
    graph = helper.make_graph(
        [node], "gqa", [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs])
    model = helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
    return model.SerializeToString()


def onnxruntime_fp32(problem: Problem, threads: int) -> Call:
    ort = importlib.import_module("onnxruntime")
    shape = problem.shape
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(_gqa_model(shape), options,
                                   providers=["CPUExecutionProvider"])
    batch, tokens = shape.num_seqs, shape.max_context_len
    query = problem.query.astype(np.float32).reshape(batch, 1, -1)
    keys = ort.OrtValue.ortvalue_from_numpy(problem.keys.astype(np.float32))
    values = ort.OrtValue.ortvalue_from_numpy(problem.values.astype(np.float32))
    # The newest token, which the operator writes into its place again.
    newest = [tensor[:, :, -1].astype(np.float32).reshape(batch, 1, -1)
              for tensor in (problem.keys, problem.values)]
    output = ort.OrtValue.ortvalue_from_numpy(np.zeros_like(query))
    binding = session.io_binding()
    for name, array in (("query", query), ("key", newest[0]),
                        ("value", newest[1]),
                        ("seqlens_k", np.full(batch, tokens - 1, np.int32)),
                        ("total_length", np.array([tokens], np.int32))):
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
    for name, cache in (("key", keys), ("value", values)):
        binding.bind_ortvalue_input(f"past_{name}", cache)
        binding.bind_ortvalue_output(f"present_{name}", cache)
    binding.bind_ortvalue_output("output", output)

    def call() -> Any:
        session.run_with_iobinding(binding)
        return output.numpy().reshape(problem.query.shape)

    return call


@dataclasses.dataclass(frozen=True)
class Peer:
    """How a peer is made, what it stores, and how far its own rounding reaches."""

    make: Callable[[Problem, int], Call]
    element_bytes: int  # of K and V; ours have 2
    max_error: float = peer_outcome.MAX_RELATIVE_ERROR  # relative L2, float64


# What rounding weights and values to bf16 costs.
BF16_ERROR = 1e-2
# Sums of values in fp16, token by token: 3e-3 at 511 tokens, 3e-2 at 65536.
FP16_SUM_ERROR = 1e-1
PEERS: dict[str, Peer] = {
    "PyTorch SDPA fp16": Peer(torch_fp16, 2),
    "PyTorch SDPA bf16": Peer(torch_bf16, 2, BF16_ERROR),
    "PyTorch SDPA fp32": Peer(torch_fp32, 4),
    "ONNX Runtime GQA fp32": Peer(onnxruntime_fp32, 4),
    "OpenVINO SDPA fp32": Peer(cpu_openvino.sdpa_fp32, 4),
    "OpenVINO paged fp16": Peer(cpu_openvino.paged_fp16, 2),
    "OpenVINO paged bf16": Peer(cpu_openvino.paged_bf16, 2, BF16_ERROR),
    "llama.cpp fp16": Peer(cpu_ggml.flash_attention_fp16, 2, FP16_SUM_ERROR),
}
