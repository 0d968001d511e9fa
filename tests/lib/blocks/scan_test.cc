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
  double append = 1e9, release = 1e9, fork = 1e9;
  double evict = 1e9, commit = 1e9, probe = 1e9, adopt = 1e9;
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

void Measure(int64_t num_blocks, LeastTimes& least) {
  std::mt19937_64 random(1);
  BlockManager manager = BlockManager::Create({.num_blocks = num_blocks,
                                               .max_seqs = 4,
                                               .max_blocks_per_seq = kBlocks})
                             .value();
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
    Time(least.commit, [&] {
      EXPECT_TRUE(
          manager.Commit(handle, kBlocks * kSize, {.digests = digests}).ok());
    });
    EXPECT_TRUE(manager.Release(handle).ok());
    const SequenceRequest cached{.num_tokens = kBlocks * kSize + 1 - kSize,
                                 .prefix = {.digests = digests}};
    Time(least.probe,
         [&] { EXPECT_EQ(manager.Probe(cached)->cached_blocks, kBlocks - 1); });
    OpenedSequence adopted;
    Time(least.adopt, [&] { adopted = manager.Open(cached).value(); });
    EXPECT_EQ(adopted.cached_tokens, (kBlocks - 1) * kSize);
    EXPECT_TRUE(manager.Release(adopted.handle).ok());
  }
}

double WorstRatio(const LeastTimes& large, const LeastTimes& small) {
  return std::max({large.append / small.append, large.release / small.release,
                   large.fork / small.fork, large.evict / small.evict,
                   large.commit / small.commit, large.probe / small.probe,
                   large.adopt / small.adopt});
}

// BR-175.
TEST(ScanTest, AMillionBlocksCostAtMostThreeTimesWhatAThousandDo) {
  LeastTimes small, medium, large;
  // Neighbours take the caches away, for a while: two more attempts.
  for (int attempt = 0; attempt < 3; ++attempt) {
    Measure(1000, small);
    Measure(100000, medium);
    Measure(1000000, large);
    if (std::max(WorstRatio(medium, small), WorstRatio(large, small)) < 3) {
      break;
    }
  }
  for (const LeastTimes& times : {medium, large}) {
    EXPECT_LT(times.append, 3 * small.append);
    EXPECT_LT(times.release, 3 * small.release);
    EXPECT_LT(times.fork, 3 * small.fork);
    EXPECT_LT(times.evict, 3 * small.evict);
    EXPECT_LT(times.commit, 3 * small.commit);
    EXPECT_LT(times.probe, 3 * small.probe);
    EXPECT_LT(times.adopt, 3 * small.adopt);
  }
}

}  // namespace
}  // namespace paged::testing
