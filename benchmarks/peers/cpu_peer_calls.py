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

from peer_shapes import Shape


def hash_uniform(seed: int, count: int) -> np.ndarray:
    """As HashUniform of kernels/core/hash.h: multiples of 2^-8 in [-2, 2)."""
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint64) ^ np.uint64(seed << 40)
        x += np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return (((x >> np.uint64(54)).astype(np.int16) - 512)
            .astype(np.float16) * np.float16(2.0 ** -8))


@dataclasses.dataclass
class Problem:
    """fp16 tensors; keys and values [num_seqs, num_kv_heads, tokens, dim]."""

    shape: Shape
    query: np.ndarray  # [num_seqs, num_kv_heads, group, dim]
    keys: np.ndarray
    values: np.ndarray

    def relative_error(self, output: Any) -> float:
        """Of the last sequence's last kv head against float64, in L2."""
        got = np.asarray(output, dtype=np.float64)[-1, -1]
        keys = self.keys[-1, -1].astype(np.float64)
        scores = (self.query[-1, -1].astype(np.float64) @ keys.T
                  / np.sqrt(self.shape.head_dim))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        expected = weights @ self.values[-1, -1].astype(np.float64)
        return float((np.linalg.norm(got - expected, axis=1)
                      / np.linalg.norm(expected, axis=1)).max())


def make_problem(shape: Shape) -> Problem:
    if shape.lens_name:
        raise ValueError("these peers want one length for all sequences")
    def tensor(seed: int, rows: int) -> np.ndarray:
        sizes = (shape.num_seqs, shape.num_kv_heads, rows, shape.head_dim)
        return hash_uniform(seed, int(np.prod(sizes))).reshape(sizes)
    tokens = shape.max_context_len
    return Problem(shape, tensor(1, shape.group), tensor(2, tokens),
                   tensor(3, tokens))


Call = Callable[[], Any]


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


def openvino_fp32(problem: Problem, threads: int) -> Call:
    openvino = importlib.import_module("openvino")
    ops = importlib.import_module("openvino.opset13")
    tensors = [np.ascontiguousarray(tensor, dtype=np.float32) for tensor in
               (problem.query, problem.keys, problem.values)]
    parameters = [ops.parameter(tensor.shape, np.float32) for tensor in tensors]
    model = openvino.Model(
        [ops.scaled_dot_product_attention(*parameters, causal=False)],
        parameters, "sdpa")
    compiled = openvino.Core().compile_model(
        model, "CPU", {"INFERENCE_NUM_THREADS": threads,
                       "INFERENCE_PRECISION_HINT": "f32",
                       "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    for index, tensor in enumerate(tensors):
        request.set_input_tensor(index,
                                 openvino.Tensor(tensor, shared_memory=True))

    def call() -> Any:
        request.infer()
        return request.get_output_tensor(0).data

    # The request shares their memory and does not keep them.
    call.inputs = tensors
    return call


def llama_cpp(problem: Problem, threads: int) -> Call:
    """Named, so that the table says that it was not measured."""
    del problem, threads
    importlib.import_module("llama_cpp")
    raise NotImplementedError("its package has no call for attention alone")


# Bytes of a stored element, which differ from ours where it is 4.
PEERS: dict[str, tuple[Callable[[Problem, int], Call], int]] = {
    "PyTorch SDPA fp16": (torch_fp16, 2),
    "PyTorch SDPA bf16": (torch_bf16, 2),
    "PyTorch SDPA fp32": (torch_fp32, 4),
    "ONNX Runtime GQA fp32": (onnxruntime_fp32, 4),
    "OpenVINO SDPA fp32": (openvino_fp32, 4),
    "llama.cpp": (llama_cpp, 2),
}
