"""Block managers of other engines: nanoseconds per block of what each can do.

Measured are the classes that hand blocks out, alone, without the engines around
them, on one thread. Nothing of a package but those classes is imported, and what
they import besides (configurations, kernels, tensors where they need none) is
replaced by empty modules, so that `pip install --no-deps` of it is enough. Rows
are named as those of block_manager_benchmark and do the same work.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import statistics
import sys
import time
import types
import unittest.mock

ROUNDS = 15
# Blocks of a call, as in our rows.
APPENDED = 900
COMMITTED = 500
PROMPT = 3125
BLOCK_SIZE = 16


class EmptyModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module of a package, and what is not installed, empty."""

    def __init__(self, package, real, absent):
        self.package, self.real, self.absent = package, real, absent
        self.path = importlib.util.find_spec(package).submodule_search_locations

    def find_spec(self, name, path=None, target=None):
        root = name.split(".")[0]
        if name in self.real or (root != self.package and root not in self.absent):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: unittest.mock.MagicMock(name=name)
        tail = spec.name.split(".")[1:]
        module.__path__ = ["/".join([root, *tail]) for root in self.path]
        return module

    def exec_module(self, module):
        pass


def import_alone(name, real=(), absent=()):
    """Imports one module of a package and `real`, and nothing else of it."""
    package = name.split(".")[0]
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"{package} is not installed")
    finder = EmptyModules(package, {name, *real}, set(absent))
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    finally:
        sys.meta_path.remove(finder)


class Timer:
    """Collects nanoseconds per block by row."""

    def __init__(self):
        self.samples = {}

    def time(self, row, count, call):
        begin = time.perf_counter_ns()
        result = call()
        self.samples.setdefault(row, []).append((time.perf_counter_ns() - begin) / count)
        return result

    def medians(self):
        return {row: statistics.median(ns) for row, ns in self.samples.items()}


def measure_vllm(num_blocks):
    """BlockPool of vLLM's v1 engine: a doubly linked list and a dictionary."""
    module = import_alone(
        "vllm.v1.core.block_pool",
        real=("vllm.v1.core.kv_cache_utils", "vllm.utils.math_utils"),
        absent=("torch", "zmq", "msgspec", "xxhash", "cbor2", "cloudpickle"),
    )
    pool = module.BlockPool(num_blocks, enable_caching=True,
                            hash_block_size=BLOCK_SIZE)
    timer = Timer()
    serial = 0

    def request_of(count):
        nonlocal serial
        hashes = [(serial + i).to_bytes(32, "little") for i in range(count)]
        serial += count
        return types.SimpleNamespace(block_hashes=hashes)

    def cache(blocks, request):
        pool.cache_full_blocks(request, blocks, 0, len(blocks), BLOCK_SIZE, 0)

    for _ in range(ROUNDS):
        blocks = timer.time("append", APPENDED,
                            lambda: pool.get_new_blocks(APPENDED))
        timer.time("release", APPENDED,
                   lambda: pool.free_blocks(reversed(blocks)))
    while pool.get_num_free_blocks() > len(pool.cached_block_hash_to_block):
        free = pool.get_num_free_blocks() - len(pool.cached_block_hash_to_block)
        blocks = pool.get_new_blocks(min(COMMITTED, free))
        cache(blocks, request_of(len(blocks)))
        pool.free_blocks(reversed(blocks))
    for _ in range(ROUNDS):
        request = request_of(COMMITTED)
        blocks = timer.time("append_evicting", COMMITTED,
                            lambda: pool.get_new_blocks(COMMITTED))
        timer.time("commit", COMMITTED, lambda: cache(blocks, request))
        pool.free_blocks(reversed(blocks))

    count = min(PROMPT, num_blocks * 3 // 4)
    prompt = request_of(count)
    blocks = pool.get_new_blocks(count)
    cache(blocks, prompt)
    pool.free_blocks(reversed(blocks))

    def probe():
        return [pool.get_cached_block(h, [0])[0] for h in prompt.block_hashes]

    def adopt():
        found = probe()
        pool.touch(found)
        return found

    for _ in range(ROUNDS):
        timer.time("probe", count, probe)
        pool.free_blocks(reversed(timer.time("adopt", count, adopt)))
    return timer.medians()


def measure_lmdeploy(num_blocks):
    """LogicalAllocator of LMDeploy's PyTorch engine: arrays of numpy."""
    importlib.import_module("numpy")
    name = "lmdeploy.pytorch.paging.block_manager.base_block_manager"
    module = import_alone(name, absent=("torch",))
    pool = module.LogicalAllocator(0, num_blocks)
    timer = Timer()
    for _ in range(ROUNDS):
        blocks = timer.time("append", APPENDED, lambda: pool.allocate(APPENDED))
        timer.time("release", APPENDED, lambda: pool.free(blocks))
    return timer.medians()


def measure_sglang(num_blocks):
    """PagedTokenToKVPoolAllocator of SGLang: a tensor of free pages, on the CPU
    here. Its radix tree holds tokens and not blocks, so it has no rows."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    package = "sglang.srt.mem_cache.allocator"
    module = import_alone(f"{package}.paged", real=(f"{package}.base",))
    pool = module.PagedTokenToKVPoolAllocator(
        num_blocks * BLOCK_SIZE, BLOCK_SIZE, torch.float16, "cpu", None, False)
    pool.debug_mode = False  # which an empty module would have switched on
    timer = Timer()
    for _ in range(ROUNDS):
        slots = timer.time("append", APPENDED,
                           lambda: pool.alloc(APPENDED * BLOCK_SIZE))
        timer.time("release", APPENDED,
                   lambda: pool.free_segment(slots, start_pos=0))
    return timer.medians()


PEERS = {
    "vllm": measure_vllm,
    "lmdeploy": measure_lmdeploy,
    "sglang": measure_sglang,
}
