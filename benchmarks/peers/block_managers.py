#!/usr/bin/env python3
"""Times the block managers of other engines, as rows beside block_manager_benchmark.

  block_managers.py [--blocks N] [--out FILE.json]

Measured are the classes that hand blocks out, alone, without the engines around
them: nanoseconds per block, medians of rounds, one thread. A peer is measured
where Python finds its package; nothing of it but those classes is imported, and
what they import besides (torch, configurations) is replaced by empty modules,
so that `pip install --no-deps` of the package is enough. A peer that is missing
is listed with the reason.
"""

import argparse
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import platform
import statistics
import sys
import time
import types
import unittest.mock

ROUNDS = 15


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
    pool = module.BlockPool(num_blocks, enable_caching=True, hash_block_size=16)
    timer = Timer()
    n = 500
    serial = 0

    def request_of(count):
        nonlocal serial
        hashes = [(serial + i).to_bytes(32, "little") for i in range(count)]
        serial += count
        return types.SimpleNamespace(block_hashes=hashes)

    def cache(blocks, request):
        pool.cache_full_blocks(request, blocks, 0, len(blocks), 16, 0)

    for _ in range(ROUNDS):
        blocks = timer.time("append", n, lambda: pool.get_new_blocks(n))
        timer.time("release", n, lambda: pool.free_blocks(reversed(blocks)))
    while pool.get_num_free_blocks() > len(pool.cached_block_hash_to_block):
        free = pool.get_num_free_blocks() - len(pool.cached_block_hash_to_block)
        blocks = pool.get_new_blocks(min(n, free))
        cache(blocks, request_of(len(blocks)))
        pool.free_blocks(reversed(blocks))
    for _ in range(ROUNDS):
        request = request_of(n)
        blocks = timer.time("append_evicting", n, lambda: pool.get_new_blocks(n))
        timer.time("commit", n, lambda: cache(blocks, request))
        pool.free_blocks(reversed(blocks))

        def probe():
            return [pool.get_cached_block(h, [0])[0] for h in request.block_hashes]

        found = timer.time("probe", n, probe)
        timer.time("adopt", n, lambda: pool.touch(found))
        pool.free_blocks(reversed(found))
    return timer.medians()


def measure_lmdeploy(num_blocks):
    """LogicalAllocator of LMDeploy's PyTorch engine: arrays of numpy."""
    importlib.import_module("numpy")
    name = "lmdeploy.pytorch.paging.block_manager.base_block_manager"
    module = import_alone(name, absent=("torch",))
    pool = module.LogicalAllocator(0, num_blocks)
    timer = Timer()
    n = 500
    for _ in range(ROUNDS):
        blocks = timer.time("append", n, lambda: pool.allocate(n))
        timer.time("release", n, lambda: pool.free(blocks))
    return timer.medians()


def measure_sglang(num_blocks):
    """The radix cache of SGLang keeps its slots in tensors of torch."""
    del num_blocks
    importlib.import_module("torch")
    raise ImportError("its radix cache wants a pool of tensors on a device")


PEERS = {
    "vllm": measure_vllm,
    "lmdeploy": measure_lmdeploy,
    "sglang": measure_sglang,
}


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def measure(name, num_blocks):
    gc.disable()
    try:
        rows = PEERS[name](num_blocks)
        return {"version": version_of(name), "ns_per_block": rows}
    except Exception as error:  # whatever a peer of another version does
        return {"version": version_of(name), "not_measured": f"{error}"}
    finally:
        gc.enable()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=100000, help="of the pool (100000)")
    parser.add_argument("--out", help="where the record is written, as JSON")
    args = parser.parse_args()
    if args.blocks < 1000:
        parser.error(f"--blocks must be at least 1000; got {args.blocks}")

    record = {
        "context": {
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "python": platform.python_version(),
            "blocks": args.blocks,
        },
        "peers": {name: measure(name, args.blocks) for name in PEERS},
    }
    for name, peer in record["peers"].items():
        title = f"{name} {peer['version']}".strip()
        if "not_measured" in peer:
            print(f"{title:<20} not measured: {peer['not_measured']}")
            continue
        for row, ns in peer["ns_per_block"].items():
            print(f"{title:<20} {row:<16} {ns:8.1f} ns per block")
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
