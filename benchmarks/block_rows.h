// What the rows of block_manager_benchmark set up, and how they are timed.
#ifndef PAGED_BENCHMARKS_BLOCK_ROWS_H_
#define PAGED_BENCHMARKS_BLOCK_ROWS_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "benchmarks/counted_memory.h"
#include "paged/block_manager.h"

namespace paged {

inline constexpr int kBlockSize = 16;

inline BlockManager Make(int64_t num_blocks, int max_seqs, int64_t width) {
  return BlockManager::Create({.num_blocks = num_blocks,
                               .block_size = kBlockSize,
                               .max_seqs = max_seqs,
                               .max_blocks_per_seq = static_cast<int>(width)})
      .value();
}

inline void Check(bool ok) {
  if (!ok) std::abort();
}

// Adds up the time of calls, over `count` blocks each, and their allocations.
class Meter {
 public:
  explicit Meter(benchmark::State& state) : state_(state) {}

  template <typename Calls>
  void Time(int64_t count, const Calls& calls) {
    const int64_t allocations = NumAllocations();
    const auto begin = std::chrono::steady_clock::now();
    calls();
    const std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    num_allocations_ += NumAllocations() - allocations;
    state_.SetIterationTime(time.count());
    seconds_ += time.count();
    count_ += count;
  }
  ~Meter() {
    state_.counters["ns_each"] = 1e9 * seconds_ / static_cast<double>(count_);
    state_.counters["allocations"] = static_cast<double>(num_allocations_);
  }

 private:
  benchmark::State& state_;
  double seconds_ = 0;
  int64_t count_ = 0;
  int64_t num_allocations_ = 0;
};

inline std::vector<BlockDigest> RandomDigests(int64_t count,
                                              std::mt19937_64& random) {
  std::vector<BlockDigest> digests(static_cast<std::size_t>(count));
  for (BlockDigest& digest : digests) {
    for (uint64_t& word : digest.words) word = random();
  }
  return digests;
}

// Fills the pool with cached blocks that nobody holds.
inline void FillCache(BlockManager& manager, int64_t width,
                      std::mt19937_64& random) {
  while (manager.Statistics().free > 0) {
    const int64_t n = std::min(manager.Statistics().free, width);
    const SequenceHandle handle =
        manager.Open({.num_tokens = n * kBlockSize}).value().handle;
    Check(manager
              .Commit(handle, n * kBlockSize,
                      {.digests = RandomDigests(n, random)})
              .ok());
    Check(manager.Release(handle).ok());
  }
}

}  // namespace paged

#endif  // PAGED_BENCHMARKS_BLOCK_ROWS_H_
