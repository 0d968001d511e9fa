// No operation costs more in a larger pool than caches explain: none scans it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "paged/block_manager.h"

namespace paged::testing {
namespace {

constexpr int kSize = 16;
constexpr int64_t kBlocks = 400;  // that each operation is about

// The least of many rounds, which a busy machine does not lengthen.
struct LeastTimes {
  double append = 1e9, release = 1e9, fork = 1e9, evict = 1e9, probe = 1e9;
};

template <typename Call>
void Time(double& least, const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  const std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - begin;
  least = std::min(least, time.count());
}

std::vector<BlockDigest> RandomDigests(std::mt19937_64& random) {
  std::vector<BlockDigest> digests(kBlocks);
  for (BlockDigest& digest : digests) {
    for (uint64_t& word : digest.words) word = random();
  }
  return digests;
}

LeastTimes Measure(int64_t num_blocks) {
  std::mt19937_64 random(1);
  BlockManager manager = BlockManager::Create({.num_blocks = num_blocks,
                                               .max_seqs = 4,
                                               .max_blocks_per_seq = kBlocks})
                             .value();
  LeastTimes least;
  for (int round = 0; round < 300; ++round) {
    const SequenceHandle handle =
        manager.Open({.num_tokens = 1}).value().handle;
    EXPECT_TRUE(manager.TrimTo(handle, 0).ok());
    Time(least.append,
         [&] { EXPECT_TRUE(manager.Append(handle, kBlocks * kSize).ok()); });
    SequenceHandle child;
    Time(least.fork, [&] { child = manager.Fork(handle).value(); });
    EXPECT_TRUE(manager.Release(child).ok());
    Time(least.release, [&] { EXPECT_TRUE(manager.Release(handle).ok()); });
  }
  // A full cache: each take evicts.
  while (manager.Statistics().free > 0) {
    const int64_t n = std::min(manager.Statistics().free, kBlocks);
    const SequenceHandle handle =
        manager.Open({.num_tokens = n * kSize}).value().handle;
    EXPECT_TRUE(
        manager.Commit(handle, n * kSize, {.digests = RandomDigests(random)})
            .ok());
    EXPECT_TRUE(manager.Release(handle).ok());
  }
  for (int round = 0; round < 300; ++round) {
    SequenceHandle handle;
    Time(least.evict, [&] {
      handle = manager.Open({.num_tokens = kBlocks * kSize}).value().handle;
    });
    const std::vector<BlockDigest> digests = RandomDigests(random);
    EXPECT_TRUE(
        manager.Commit(handle, kBlocks * kSize, {.digests = digests}).ok());
    EXPECT_TRUE(manager.Release(handle).ok());
    Time(least.probe, [&] {
      EXPECT_EQ(manager
                    .Probe({.num_tokens = kBlocks * kSize + 1 - kSize,
                            .prefix = {.digests = digests}})
                    ->cached_blocks,
                kBlocks - 1);
    });
  }
  return least;
}

TEST(ScanTest, AMillionBlocksCostAtMostThreeTimesWhatAThousandDo) {
  const LeastTimes small = Measure(1000), large = Measure(1000000);
  EXPECT_LT(large.append, 3 * small.append);
  EXPECT_LT(large.release, 3 * small.release);
  EXPECT_LT(large.fork, 3 * small.fork);
  EXPECT_LT(large.probe, 3 * small.probe);
  // Four places of a pool that no cache holds: misses, and no scan either.
  EXPECT_LT(large.evict, 12 * small.evict);
}

}  // namespace
}  // namespace paged::testing
