"""llama.cpp's attention on the CPU: `ggml_flash_attn_ext`, through ctypes.

Its Python package has no call for attention alone, but brings the libraries of
ggml that it calls itself; so does `libggml-python`, which is built for AVX2.
PAGED_GGML names a folder of another build, and comes first.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from cpu_problem import Call, Problem

F32, F16 = 0, 1  # of enum ggml_type
MAX_THREADS = 512  # of a thread pool's mask
INSTRUCTION_SETS = ("avx512_bf16", "avx512", "avx2", "avx")


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p),
                ("no_alloc", ctypes.c_bool)]


class ThreadPoolParams(ctypes.Structure):
    _fields_ = [("cpumask", ctypes.c_bool * MAX_THREADS),
                ("n_threads", ctypes.c_int), ("prio", ctypes.c_int),
                ("poll", ctypes.c_uint32), ("strict_cpu", ctypes.c_bool),
                ("paused", ctypes.c_bool)]


def _folders() -> Iterator[pathlib.Path]:
    if os.environ.get("PAGED_GGML"):
        yield pathlib.Path(os.environ["PAGED_GGML"])
    for package in ("llama_cpp", "libggml"):
        spec = importlib.util.find_spec(package)
        for root in (spec.submodule_search_locations or ()) if spec else ():
            yield from (pathlib.Path(root, name) for name in ("lib", "lib64"))


def _library_files() -> list[pathlib.Path]:
    """Those of the first folder that has both."""
    for folder in _folders():
        files = [folder / f"lib{name}.so" for name in ("ggml-base", "ggml-cpu")]
        if all(file.is_file() for file in files):
            return files
    raise ImportError("no libggml-base.so and libggml-cpu.so in PAGED_GGML, "
                      "llama_cpp or libggml")


class Ggml:
    """The functions that a step needs, from one pair of libraries."""

    def __init__(self) -> None:
        self.libraries = [ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
                          for file in _library_files()]
        pointer, size, real = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_float
        self.init = self._find("ggml_init", pointer, InitParams)
        self.new_tensor = self._find("ggml_new_tensor_4d", pointer, pointer,
                                     ctypes.c_int, *[ctypes.c_int64] * 4)
        self.flash_attention = self._find("ggml_flash_attn_ext", pointer,
                                          *[pointer] * 5, *[real] * 3)
        self.new_graph = self._find("ggml_new_graph", pointer, pointer)
        self.expand = self._find("ggml_build_forward_expand", None, pointer,
                                 pointer)
        self.allocate = self._find("ggml_backend_alloc_ctx_tensors", pointer,
                                   pointer, pointer)
        self.set = self._find("ggml_backend_tensor_set", None, pointer, pointer,
                              size, size)
        self.get = self._find("ggml_backend_tensor_get", None, pointer, pointer,
                              size, size)
        self.compute = self._find("ggml_backend_graph_compute", ctypes.c_int,
                                  pointer, pointer)
        self.cpu_init = self._find("ggml_backend_cpu_init", pointer)
        self.set_threads = self._find("ggml_backend_cpu_set_n_threads", None,
                                      pointer, ctypes.c_int)
        self.default_pool = self._find("ggml_threadpool_params_default",
                                       ThreadPoolParams, ctypes.c_int)
        self.new_pool = self._find("ggml_threadpool_new", pointer,
                                   ctypes.POINTER(ThreadPoolParams))
        self.set_pool = self._find("ggml_backend_cpu_set_threadpool", None,
                                   pointer, pointer)
        self.free_buffer = self._find("ggml_backend_buffer_free", None, pointer)
        self.free_pool = self._find("ggml_threadpool_free", None, pointer)
        self.free_backend = self._find("ggml_backend_free", None, pointer)
        self.free = self._find("ggml_free", None, pointer)

    def _find(self, name: str, result: Any, *arguments: Any) -> Any:
        for library in self.libraries:
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
                return function
        raise ImportError(f"this ggml has no {name}")

    def title(self) -> str:
        """Its version and the widest instructions that it was built for."""
        version = self._find("ggml_version", ctypes.c_char_p)().decode()
        return " ".join([version, *[name for name in INSTRUCTION_SETS if self._find(
            f"ggml_cpu_has_{name}", ctypes.c_int)()][:1]])


class _Step:
    """A graph of one operator, its tensors in the CPU backend's memory."""

    def __init__(self, ggml: Ggml, problem: Problem, threads: int) -> None:
        shape = problem.shape
        self.ggml, self.shape = ggml, problem.query.shape
        self.context = ggml.init(InitParams(1 << 20, None, True))
        dim, tokens = shape.head_dim, shape.max_context_len
        heads, kv_heads = shape.num_q_heads, shape.num_kv_heads

        def tensor(kind: int, rows: int, count: int) -> Any:
            return ggml.new_tensor(self.context, kind, dim, rows, count,
                                   shape.num_seqs)

        query = tensor(F32, 1, heads)
        keys, values = (tensor(F16, tokens, kv_heads) for _ in range(2))
        self.output = ggml.flash_attention(self.context, query, keys, values,
                                           None, dim ** -0.5, 0.0, 0.0)
        self.graph = ggml.new_graph(self.context)
        ggml.expand(self.graph, self.output)
        self.backend = ggml.cpu_init()
        pool = ggml.default_pool(threads)
        self.pool = ggml.new_pool(ctypes.byref(pool))
        ggml.set_threads(self.backend, threads)
        ggml.set_pool(self.backend, self.pool)
        self.buffer = ggml.allocate(self.context, self.backend)
        for place, array in ((query, problem.query.astype(np.float32)),
                             (keys, problem.keys), (values, problem.values)):
            dense = np.ascontiguousarray(array)
            ggml.set(place, dense.ctypes.data, 0, dense.nbytes)

    def __call__(self) -> Any:
        status = self.ggml.compute(self.backend, self.graph)
        if status != 0:
            raise RuntimeError(f"ggml_backend_graph_compute returned {status}")
        result = np.empty(self.shape, np.float32)
        self.ggml.get(self.output, result.ctypes.data, 0, result.nbytes)
        return result

    def __del__(self) -> None:
        # After the last call: nothing else refers to any of these.
        if hasattr(self, "buffer"):
            self.ggml.free_buffer(self.buffer)
            self.ggml.free_backend(self.backend)
            self.ggml.free_pool(self.pool)
            self.ggml.free(self.context)


def flash_attention_fp16(problem: Problem, threads: int) -> Call:
    return _Step(Ggml(), problem, threads)
