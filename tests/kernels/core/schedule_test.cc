#include "kernels/core/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <random>
#include <vector>

#include "tests/support/schedule_cases.h"

namespace paged::testing {
namespace {

// What every schedule promises, whatever the lengths. BR-081 for chunks.
void ExpectPartitionsEverySequence(const ScheduleCase& c,
                                   const ScheduleList& list) {
  const auto num_seqs = c.context_lens.size();
  std::vector<std::vector<Chunk>> of_seq(num_seqs);
  ASSERT_LE(list.chunks.size(),
            num_seqs + static_cast<std::size_t>(c.max_extra_chunks));
  for (const Chunk& chunk : list.chunks) {
    ASSERT_GE(chunk.seq, 0);
    ASSERT_LT(static_cast<std::size_t>(chunk.seq), num_seqs);
    of_seq[static_cast<std::size_t>(chunk.seq)].push_back(chunk);
  }
  std::vector<bool> is_taken(
      static_cast<std::size_t>(MaxPartials(c.max_extra_chunks)));
  for (std::size_t seq = 0; seq < num_seqs; ++seq) {
    const int len = std::clamp(c.context_lens[seq], 0, c.max_context_len);
    int next_tile = 0;
    int least = INT_MAX;
    int most = 0;
    for (std::size_t rank = 0; rank < of_seq[seq].size(); ++rank) {
      const Chunk& chunk = of_seq[seq][rank];
      ASSERT_EQ(chunk.context_len, len);
      ASSERT_EQ(static_cast<std::size_t>(chunk.rank), rank);
      ASSERT_EQ(static_cast<std::size_t>(chunk.num_chunks), of_seq[seq].size());
      ASSERT_EQ(chunk.first_tile, next_tile);
      next_tile = chunk.last_tile;
      least = std::min(least, chunk.last_tile - chunk.first_tile);
      most = std::max(most, chunk.last_tile - chunk.first_tile);
      if (chunk.num_chunks == 1) continue;
      const auto partial =
          static_cast<std::size_t>(chunk.first_partial + chunk.rank);
      ASSERT_LT(partial, is_taken.size());
      ASSERT_FALSE(is_taken[partial]);
      is_taken[partial] = true;
    }
    // An empty sequence has a chunk, too: its output must be written.
    ASSERT_FALSE(of_seq[seq].empty());
    ASSERT_EQ(next_tile, (int64_t{len} + 15) / 16);
    ASSERT_LE(most - least, 1);
  }
  EXPECT_EQ(list.header.num_partials,
            std::count(is_taken.begin(), is_taken.end(), true));
}

// Largest first, to a quarter of an octave.
void ExpectLargestFirst(const ScheduleList& list) {
  int64_t smallest = INT_MAX;
  for (const Chunk& chunk : list.chunks) {
    const int64_t tiles = chunk.last_tile - chunk.first_tile;
    ASSERT_LE(4 * (tiles - 1), 5 * smallest);
    smallest = std::min(smallest, tiles);
  }
}

TEST(ScheduleTest, RandomLengthsAreCutAndOrderedAsPromised) {
  std::mt19937 random(20261129);
  for (int i = 0; i < 100000; ++i) {
    const ScheduleCase c = RandomScheduleCase(random);
    const ScheduleList list = MakeScheduleList(c);
    ExpectPartitionsEverySequence(c, list);
    ExpectLargestFirst(list);
    ASSERT_FALSE(HasFatalFailure()) << "case " << i;
  }
}

// The rung below would have had too many chunks.
TEST(ScheduleTest, TheSmallestRungThatFitsIsTaken) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const ScheduleCase c = RandomScheduleCase(random);
    const int rung = MakeScheduleList(c).header.rung;
    ASSERT_GE(rung, c.first_rung);
    if (rung == c.first_rung) continue;
    int64_t chunks = 0;
    for (int len : c.context_lens) {
      const int tiles = NumTiles(std::clamp(len, 0, c.max_context_len));
      const int size = RungTiles(rung - 1);
      chunks += std::max(1, (tiles + size - 1) / size);
    }
    ASSERT_GT(chunks,
              static_cast<int64_t>(c.context_lens.size()) + c.max_extra_chunks);
  }
}

TEST(ScheduleTest, CountChunksDividesRoundingUp) {
  for (int rung = 0; rung < kWholeRung; ++rung) {
    for (int tiles : {1, 2, 3, 7, 8, 9, 100, 4095, 4096, 4097, 1 << 27}) {
      const int64_t size = RungTiles(rung);
      ASSERT_EQ(CountChunks(tiles, rung), (tiles + size - 1) / size)
          << tiles << " tiles at rung " << rung;
    }
    ASSERT_EQ(CountChunks(0, rung), 1);
  }
  EXPECT_EQ(CountChunks(1 << 27, kWholeRung), 1);
}

TEST(ScheduleTest, BucketsFallAsChunksGrow) {
  int bucket = BucketOf(0);
  EXPECT_EQ(bucket, kNumBuckets - 1);
  for (int tiles = 1; tiles < 100000; ++tiles) {
    ASSERT_LE(BucketOf(tiles), bucket);
    ASSERT_GE(BucketOf(tiles), bucket - 1);
    bucket = BucketOf(tiles);
  }
  EXPECT_GE(BucketOf(1 << 27), 0);
}

TEST(ScheduleTest, OneLongAmongShortIsCutAndComesFirst) {
  ScheduleCase c{.context_lens = std::vector<int32_t>(64, 1024),
                 .max_context_len = 131072,
                 .first_rung = RungOf(8),
                 .max_extra_chunks = 128};
  c.context_lens[37] = 131072;
  const ScheduleList list = MakeScheduleList(c);
  // 8192 tiles in pieces of at most 64, the lengths of the others.
  EXPECT_EQ(list.chunks.size(), 63u + 128u);
  EXPECT_EQ(list.header.num_partials, 128);
}

TEST(ScheduleTest, AnEmptyBatchHasNoChunks) {
  const ScheduleList list = MakeScheduleList(
      {.max_context_len = 100, .first_rung = 0, .max_extra_chunks = 5});
  EXPECT_EQ(list.header.num_chunks, 0);
  EXPECT_EQ(list.header.num_partials, 0);
}

}  // namespace
}  // namespace paged::testing
