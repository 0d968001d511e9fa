// The block manager's operations, per block, in pools of three sizes: the rows
// of its goals. Times are of one thread; a row that grows with the pool beyond
// what caches explain has an accidental scan. All rows are in one file, to be
// read as the one table that they make.
//
//   block_manager_benchmark --benchmark_repetitions=9
//       --benchmark_report_aggregates_only --benchmark_out=block_manager.json
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "benchmarks/block_rows.h"
#include "benchmarks/counted_memory.h"
#include "paged/block_manager.h"

namespace paged {
namespace {

// Sequences of n blocks each, about 900 blocks in all.
struct Round {
  Round(int64_t num_blocks, int64_t blocks_per_append)
      : n(blocks_per_append),
        handles(static_cast<std::size_t>(std::max<int64_t>(1, 900 / n))),
        manager(Make(num_blocks, 1024, 1024)) {}

  int64_t count() const { return n * static_cast<int64_t>(handles.size()); }
  void Open() {
    for (SequenceHandle& handle : handles) {
      handle = manager.Open({.num_tokens = 1}).value().handle;
      Check(manager.TrimTo(handle, 0).ok());
    }
  }
  void Append() {
    for (const SequenceHandle handle : handles) {
      Check(manager.Append(handle, n * kBlockSize).ok());
    }
  }
  void Release() {
    for (const SequenceHandle handle : handles) {
      Check(manager.Release(handle).ok());
    }
  }

  int64_t n;
  std::vector<SequenceHandle> handles;
  BlockManager manager;
};

void Append(benchmark::State& state) {
  Round round(state.range(0), state.range(1));
  Meter meter(state);
  for (auto _ : state) {
    round.Open();
    meter.Time(round.count(), [&] { round.Append(); });
    round.Release();
  }
}

void Release(benchmark::State& state) {
  Round round(state.range(0), state.range(1));
  Meter meter(state);
  for (auto _ : state) {
    round.Open();
    round.Append();
    meter.Time(round.count(), [&] { round.Release(); });
  }
}

void AppendEvicting(benchmark::State& state) {
  const int64_t num_blocks = state.range(0);
  std::mt19937_64 random(1);
  BlockManager manager = Make(num_blocks, 16, 1024);
  constexpr int64_t kCount = 500;
  FillCache(manager, kCount, random);
  Meter meter(state);
  for (auto _ : state) {
    SequenceHandle handle;
    meter.Time(kCount, [&] {
      handle = manager.Open({.num_tokens = kCount * kBlockSize}).value().handle;
    });
    Check(manager
              .Commit(handle, kCount * kBlockSize,
                      {.digests = RandomDigests(kCount, random)})
              .ok());
    Check(manager.Release(handle).ok());
  }
}

// A prompt that is cached whole, in a full cache.
struct CachedPrompt {
  explicit CachedPrompt(int64_t num_blocks)
      : n(std::min<int64_t>(3125, num_blocks * 3 / 4)),
        random(1),
        digests(RandomDigests(n, random)),
        manager(Make(num_blocks, 16, 4096)) {
    FillCache(manager, 4096, random);
    const SequenceHandle handle =
        manager.Open({.num_tokens = n * kBlockSize}).value().handle;
    Check(manager.Commit(handle, n * kBlockSize, {.digests = digests}).ok());
    Check(manager.Release(handle).ok());
    request = {.num_tokens = n * kBlockSize + 1,
               .prefix = {.digests = digests}};
  }

  int64_t n;
  std::mt19937_64 random;
  std::vector<BlockDigest> digests;
  BlockManager manager;
  SequenceRequest request;
};

void Probe(benchmark::State& state) {
  CachedPrompt prompt(state.range(0));
  Meter meter(state);
  for (auto _ : state) {
    meter.Time(prompt.n, [&] {
      Check(prompt.manager.Probe(prompt.request).value().cached_blocks ==
            prompt.n);
    });
  }
}

void Adopt(benchmark::State& state) {
  CachedPrompt prompt(state.range(0));
  Meter meter(state);
  for (auto _ : state) {
    OpenedSequence opened;
    meter.Time(prompt.n,
               [&] { opened = prompt.manager.Open(prompt.request).value(); });
    Check(opened.cached_tokens == prompt.n * kBlockSize);
    Check(prompt.manager.Release(opened.handle).ok());
  }
}

void Commit(benchmark::State& state) {
  const int64_t num_blocks = state.range(0);
  std::mt19937_64 random(1);
  BlockManager manager = Make(num_blocks, 16, 1024);
  constexpr int64_t kCount = 500;
  FillCache(manager, kCount, random);
  Meter meter(state);
  for (auto _ : state) {
    const SequenceHandle handle =
        manager.Open({.num_tokens = kCount * kBlockSize}).value().handle;
    const std::vector<BlockDigest> digests = RandomDigests(kCount, random);
    meter.Time(kCount, [&] {
      Check(manager.Commit(handle, kCount * kBlockSize, {.digests = digests})
                .ok());
    });
    Check(manager.Release(handle).ok());
  }
}

void Digest(benchmark::State& state) {
  std::vector<int32_t> tokens(1000 * kBlockSize);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<int32_t>(i * 7919);
  }
  std::vector<BlockDigest> digests(1000);
  Meter meter(state);
  for (auto _ : state) {
    meter.Time(1000, [&] {
      DigestBlocks({}, tokens, kBlockSize, absl::MakeSpan(digests));
    });
  }
}

// One token for each of 1,024 sequences of unequal lengths, and the changes of
// the table. ns_each is per sequence.
void DecodeStep(benchmark::State& state) {
  constexpr int kSeqs = 1024;
  const int64_t num_blocks = state.range(0);
  const int64_t width = num_blocks / kSeqs - 1;
  BlockManager manager = Make(num_blocks, kSeqs, width);
  std::vector<SequenceHandle> handles(kSeqs);
  std::mt19937_64 random(1);
  const auto shortest = static_cast<uint64_t>(width * kBlockSize / 2);
  const auto open = [&](SequenceHandle& handle) {
    handle = manager
                 .Open({.num_tokens = static_cast<int64_t>(
                            1 + shortest / 2 + random() % (shortest / 2))})
                 .value()
                 .handle;
  };
  for (SequenceHandle& handle : handles) open(handle);
  std::vector<TableChange> changes(kSeqs * 64);
  while (manager.TakeTableChanges(absl::MakeSpan(changes)) > 0) {
  }
  Meter meter(state);
  for (auto _ : state) {
    // Sequences that reach the end of their row start again.
    for (SequenceHandle& handle : handles) {
      if (manager.Length(handle).value() < width * kBlockSize) continue;
      Check(manager.Release(handle).ok());
      open(handle);
      while (manager.TakeTableChanges(absl::MakeSpan(changes)) > 0) {
      }
    }
    meter.Time(kSeqs, [&] {
      for (const SequenceHandle handle : handles) {
        Check(manager.Append(handle, 1).ok());
      }
      manager.TakeTableChanges(absl::MakeSpan(changes));
      Check(manager.RetireStep(manager.SubmitStep().value().id).ok());
    });
  }
}

// [1024, 512], full.
void DenseTable(benchmark::State& state) {
  constexpr int kSeqs = 1024;
  constexpr int kWidth = 512;
  BlockManager manager = Make(1000000, kSeqs, kWidth);
  std::vector<SequenceHandle> handles(kSeqs);
  for (SequenceHandle& handle : handles) {
    handle = manager.Open({.num_tokens = kWidth * kBlockSize}).value().handle;
  }
  std::vector<int32_t> table(kSeqs * kWidth);
  Meter meter(state);
  for (auto _ : state) {
    meter.Time(1, [&] {
      Check(manager.DenseTable(handles, kWidth, absl::MakeSpan(table)).ok());
    });
  }
}

void Fork(benchmark::State& state) {
  BlockManager manager = Make(state.range(0), 16, 512);
  const SequenceHandle parent =
      manager.Open({.num_tokens = 512 * kBlockSize}).value().handle;
  Meter meter(state);
  for (auto _ : state) {
    SequenceHandle child;
    meter.Time(1, [&] { child = manager.Fork(parent).value(); });
    Check(manager.Release(child).ok());
  }
}

// What the last-in first-out list leaves of neighbours after requests of all
// lengths have come and gone, all growing by a token at a time: the share of
// columns whose block follows that before it, and of those in runs of 16, which
// the kernels read faster.
void Churn(benchmark::State& state) {
  constexpr int kSeqs = 256;
  std::mt19937_64 random(1);
  BlockManager manager = Make(state.range(0), kSeqs, 128);
  std::vector<SequenceHandle> handles;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 20000; ++i) {
      if (handles.size() == kSeqs) {
        std::swap(handles[random() % kSeqs], handles.back());
        Check(manager.Release(handles.back()).ok());
        handles.pop_back();
      }
      handles.push_back(
          manager
              .Open({.num_tokens = static_cast<int64_t>(1 + random() % 1024)})
              .value()
              .handle);
      for (const SequenceHandle handle : handles) {
        if (manager.CanAppend(handle, 1)) {
          Check(manager.Append(handle, 1).ok());
        }
      }
    }
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  double columns = 0, neighbours = 0, in_long_runs = 0;
  for (const SequenceHandle handle : handles) {
    const absl::Span<const int32_t> row = manager.Row(handle).value();
    for (std::size_t first = 0, end = 1; first < row.size(); first = end++) {
      while (end < row.size() && row[end] == row[end - 1] + 1) ++end;
      const std::size_t run = end - first;
      neighbours += static_cast<double>(run - 1);
      in_long_runs += static_cast<double>(run / 16 * 16);
    }
    columns += static_cast<double>(row.size());
  }
  state.counters["neighbours"] = neighbours / columns;
  state.counters["in_runs_of_16"] = in_long_runs / columns;
}

// Bytes of the books per block of the pool, rows left out.
void Books(benchmark::State& state) {
  const auto bytes_of = [](int64_t num_blocks) {
    const int64_t before = NumAllocatedBytes();
    Make(num_blocks, 16, 1024);
    return NumAllocatedBytes() - before;
  };
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const int64_t bytes = bytes_of(state.range(0)) - bytes_of(2);
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
    state.counters["bytes_per_block"] =
        static_cast<double>(bytes) / static_cast<double>(state.range(0));
  }
}

void EveryPool(benchmark::internal::Benchmark* rows) {
  rows->UseManualTime()->ArgName("blocks");
  for (const int64_t blocks : {1000, 100000, 1000000}) rows->Arg(blocks);
}
void EveryPoolAndCount(benchmark::internal::Benchmark* rows) {
  rows->UseManualTime()->ArgNames({"blocks", "n"});
  for (const int64_t blocks : {1000, 100000, 1000000}) {
    for (const int64_t n : {1, 10, 100, 900}) rows->Args({blocks, n});
  }
}

BENCHMARK(Append)->Apply(EveryPoolAndCount);
BENCHMARK(Release)->Apply(EveryPoolAndCount);
BENCHMARK(AppendEvicting)->Apply(EveryPool);
BENCHMARK(Probe)->Apply(EveryPool);
BENCHMARK(Adopt)->Apply(EveryPool);
BENCHMARK(Commit)->Apply(EveryPool);
BENCHMARK(Digest)->UseManualTime();
BENCHMARK(DecodeStep)
    ->UseManualTime()
    ->ArgName("blocks")
    ->Arg(100000)
    ->Arg(1000000);
BENCHMARK(DenseTable)->UseManualTime();
BENCHMARK(Fork)->Apply(EveryPool);
BENCHMARK(Churn)->UseManualTime()->ArgName("blocks")->Arg(100000)->Iterations(
    1);
BENCHMARK(Books)->Apply(EveryPool);

}  // namespace
}  // namespace paged

BENCHMARK_MAIN();
