"""The peers: what to import for each, and what prepares its call.

An interface that differs from the one that an adapter was written for raises
there, and the peer is then listed with what it said.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable

import flashinfer_peers
import framework_peers
from peer_outcome import words_of
from peer_problem import Call, Problem


def _triton(problem: Problem) -> Call:
    import triton_decode
    return triton_decode.prepare(problem, num_splits=1)


def _triton_split(problem: Problem) -> Call:
    import triton_decode
    return triton_decode.prepare_split(problem)


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    module: str  # whose import says whether the peer is there
    prepare: Callable[[Problem], Call]
    is_paged: bool = True

    def import_error(self) -> str:
        """Why the peer is missing; empty when it is there."""
        try:
            importlib.import_module("torch")
            importlib.import_module(self.module)
        except Exception as error:  # whatever a broken installation raises
            return words_of(error)
        return ""


_FLASHINFER = (
    Peer("FlashInfer CUDA cores", "flashinfer", flashinfer_peers.cuda_cores),
    Peer("FlashInfer tensor cores", "flashinfer",
         flashinfer_peers.tensor_cores),
    Peer("FlashInfer persistent", "flashinfer", flashinfer_peers.persistent),
    Peer("XQA", "flashinfer.decode", flashinfer_peers.xqa),
    Peer("cuDNN paged", "flashinfer.cudnn", flashinfer_peers.cudnn_paged),
)
_FRAMEWORKS = (
    Peer("FlashAttention-2", "flash_attn", framework_peers.flash_attention_2),
    Peer("FlashAttention-3", "flash_attn_interface",
         framework_peers.flash_attention_3),
    Peer("vLLM FlashAttention-3", "vllm.vllm_flash_attn",
         framework_peers.vllm_flash_attention_3),
    Peer("vLLM v1", "vllm._custom_ops", framework_peers.vllm_v1),
    Peer("vLLM v2", "vllm._custom_ops", framework_peers.vllm_v2),
    Peer("PyTorch varlen_attn", "torch.nn.attention.varlen",
         framework_peers.pytorch_varlen),
    Peer("PyTorch SDPA, contiguous KV", "torch.nn.functional",
         framework_peers.pytorch_sdpa, is_paged=False),
)
# The slowest last: every round of replays repeats the first.
PEERS: tuple[Peer, ...] = (
    *_FLASHINFER, *_FRAMEWORKS, Peer("Triton, split", "triton", _triton_split),
    Peer("Triton", "triton", _triton))
