#include "paged/block_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace paged {
namespace {

using Lens = std::vector<int32_t>;

TEST(BlockTableTest, GivesEverySequenceTheBlocksItNeedsAndNoMore) {
  for (int block_size : {1, 2, 3, 16, 17, 256}) {
    const Lens lens = {0, 1, block_size - 1, block_size, block_size + 1, 1000};
    const BlockTable table =
        BuildBlockTable(lens, {.block_size = block_size}).value();
    std::set<int32_t> used;
    int64_t needed = 0;
    for (int seq = 0; seq < table.num_seqs(); ++seq) {
      const int blocks =
          (lens[static_cast<std::size_t>(seq)] + block_size - 1) / block_size;
      needed += blocks;
      for (int i = 0; i < table.max_blocks_per_seq; ++i) {
        const int32_t entry = table.row(seq)[static_cast<std::size_t>(i)];
        if (i >= blocks) {
          EXPECT_EQ(entry, -1);
          continue;
        }
        EXPECT_GE(entry, 0);
        EXPECT_LT(entry, table.num_blocks);
        EXPECT_TRUE(used.insert(entry).second) << entry << " is dealt twice";
      }
    }
    EXPECT_EQ(table.num_blocks, needed);
    EXPECT_EQ(table.max_blocks_per_seq, (1000 + block_size - 1) / block_size);
  }
}

// BR-070: rows for more than 4096 tokens.
TEST(BlockTableTest, ALongSequenceHasAllOfItsBlocks) {
  for (int block_size : {1, 2, 8, 16, 32, 64, 128, 256}) {
    const BlockTable table =
        BuildBlockTable(Lens{5000, 4097}, {.block_size = block_size}).value();
    for (int seq = 0; seq < 2; ++seq) {
      const int tokens = seq == 0 ? 5000 : 4097;
      const auto row = table.row(seq);
      const auto filled = std::count_if(row.begin(), row.end(),
                                        [](int32_t id) { return id >= 0; });
      EXPECT_EQ(filled, (tokens + block_size - 1) / block_size);
    }
  }
}

TEST(BlockTableTest, ShufflesBlocksAndRepeatsItselfBySeed) {
  const Lens lens = {1000, 1000};
  const auto build = [&](uint32_t seed) {
    return BuildBlockTable(lens, {.num_blocks = 200, .seed = seed})
        .value()
        .entries;
  };
  EXPECT_EQ(build(1), build(1));
  EXPECT_NE(build(1), build(2));
  int neighbours = 0;
  const std::vector<int32_t> entries = build(1);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    neighbours += entries[i] == entries[i - 1] + 1;
  }
  EXPECT_LT(neighbours, 10);
}

TEST(BlockTableTest, FillsExtraColumnsWithTheTailEntry) {
  const Lens lens = {5};
  const BlockTable table =
      BuildBlockTable(lens, {.max_blocks_per_seq = 4, .tail_entry = 2147480000})
          .value();
  ASSERT_EQ(table.row(0).size(), 4u);
  EXPECT_EQ(table.row(0)[0], 0);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(table.row(0)[i], 2147480000);
}

TEST(BlockTableTest, ServesNoSequencesAndEmptySequences) {
  EXPECT_EQ(BuildBlockTable({}, {}).value().num_seqs(), 0);
  const Lens lens = {0, 0};
  const BlockTable table = BuildBlockTable(lens, {}).value();
  EXPECT_EQ(table.num_seqs(), 2);
  EXPECT_TRUE(table.row(1).empty());
  EXPECT_TRUE(CopyToBlocks(table, nullptr, 4, {}).ok());
}

TEST(BlockTableTest, NamesTheRuleThatIsBroken) {
  const Lens negative = {3, -1};
  const Lens lens = {33};
  absl::Status status = BuildBlockTable(negative, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "context_lens must not be negative; got -1 for sequence 1");
  status = BuildBlockTable(lens, {.block_size = 0}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "block_size must be at least 1; got 0");
  status = BuildBlockTable(lens, {.max_blocks_per_seq = 2}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "max_blocks_per_seq must be at least the 3 blocks of the longest "
            "sequence; got 2");
  status = BuildBlockTable(lens, {.num_blocks = 2}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "num_blocks must cover the 3 blocks of all sequences; got 2");
}

// Values name their sequence and position.
TEST(BlockTableTest, CopiesEveryTokenToItsSlotAndTouchesNothingElse) {
  for (int block_size : {1, 3, 16}) {
    const Lens lens = {7, 0, 1, 40};
    const BlockTable table =
        BuildBlockTable(lens, {.block_size = block_size, .num_blocks = 60})
            .value();
    std::vector<int64_t> tokens;
    for (std::size_t seq = 0; seq < lens.size(); ++seq) {
      for (int32_t t = 0; t < lens[seq]; ++t) {
        tokens.push_back(static_cast<int64_t>(seq) * 1000 + t);
      }
    }
    // Slots are three int64 apart, and only the first is written.
    const auto slot_stride = std::size_t{3};
    const auto slots = static_cast<std::size_t>(block_size);
    std::vector<int64_t> pool(60 * slots * slot_stride, -1);
    ASSERT_TRUE(CopyToBlocks(table, tokens.data(), sizeof(int64_t),
                             {.data = pool.data(),
                              .block_stride_bytes = slots * slot_stride * 8,
                              .slot_stride_bytes = slot_stride * 8})
                    .ok());
    std::vector<int64_t> expected(pool.size(), -1);
    for (std::size_t seq = 0; seq < lens.size(); ++seq) {
      for (int32_t t = 0; t < lens[seq]; ++t) {
        const auto block = static_cast<std::size_t>(table.row(
            static_cast<int>(seq))[static_cast<std::size_t>(t / block_size)]);
        const auto slot = static_cast<std::size_t>(t % block_size);
        expected[(block * slots + slot) * slot_stride] =
            static_cast<int64_t>(seq) * 1000 + t;
      }
    }
    EXPECT_EQ(pool, expected);
  }
}

TEST(BlockTableTest, CopyRefusesNullPointersWhenThereAreTokens) {
  const Lens lens = {1};
  const BlockTable table = BuildBlockTable(lens, {}).value();
  EXPECT_EQ(CopyToBlocks(table, nullptr, 4, {}).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace paged
