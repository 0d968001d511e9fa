"""Tensors of a step of decode for peers on the CPU, and how far a result is off.

fp16 values of the same distribution as those of our own benchmarks, K and V
contiguous, one length for all sequences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from peer_shapes import Shape

# One step: what it returns is [num_seqs, num_kv_heads, group, head_dim].
Call = Callable[[], Any]


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
        """The largest of two kv heads' rows against float64, in L2."""
        first = self._error_of_head(output, 0, 0)
        return float(np.maximum(first, self._error_of_head(output, -1, -1)))

    def _error_of_head(self, output: Any, seq: int, head: int) -> float:
        got = np.asarray(output[seq][head], dtype=np.float64)
        keys = self.keys[seq, head].astype(np.float64)
        scores = (self.query[seq, head].astype(np.float64) @ keys.T
                  / np.sqrt(self.shape.head_dim))
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        expected = weights @ self.values[seq, head].astype(np.float64)
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
