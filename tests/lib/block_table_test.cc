#include "paged/block_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
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

TEST(BlockTableTest, CopyRefusesStridesOfOverlappingSlotsAndWritesNothing) {
  const Lens lens = {40};
  const BlockTable table =
      BuildBlockTable(lens, {.block_size = 16, .num_blocks = 4}).value();
  const std::vector<char> tokens(40 * 8, 'x');
  std::vector<char> bytes(4096, '.');
  struct Case {
    std::size_t block_stride;
    std::size_t slot_stride;
    std::string message;
  };
  const std::string rule = ", so that no two slots overlap; got ";
  const Case cases[] = {
      {128, 7, "pool.slot_stride_bytes must be at least 8" + rule + "7"},
      {128, 0, "pool.slot_stride_bytes must be at least 8" + rule + "0"},
      {127, 8, "pool.block_stride_bytes must be at least 128" + rule + "127"},
      {16, 16, "pool.block_stride_bytes must be at least 248" + rule + "16"},
      {0, 8, "pool.block_stride_bytes must be at least 8" + rule + "0"},
      // Slots that are farther apart than blocks step over all four blocks.
      {8, 31, "pool.slot_stride_bytes must be at least 32" + rule + "31"},
      {SIZE_MAX / 2, 8,
       "pool.block_stride_bytes must keep the pool within the address space; "
       "got 9223372036854775807"}};
  for (const Case& c : cases) {
    const absl::Status status =
        CopyToBlocks(table, tokens.data(), 8,
                     {.data = bytes.data(),
                      .block_stride_bytes = c.block_stride,
                      .slot_stride_bytes = c.slot_stride});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), c.message);
  }
  EXPECT_EQ(bytes, std::vector<char>(4096, '.'));
}

TEST(BlockTableTest, CopyTakesEveryPoolWhoseSlotsAreApart) {
  const Lens lens = {40};
  const BlockTable table =
      BuildBlockTable(lens, {.block_size = 16, .num_blocks = 4}).value();
  std::vector<char> tokens(40 * 8);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<char>(i % 127);
  }
  const std::pair<std::size_t, std::size_t> strides[] = {
      {128, 8},     // dense
      {248, 16},    // interleaved, without the other's last slot
      {8, 32},      // [slot][block]
      {1000, 11}};  // gaps everywhere
  for (const auto& [block_stride, slot_stride] : strides) {
    std::vector<char> bytes(4096, -1);
    ASSERT_TRUE(CopyToBlocks(table, tokens.data(), 8,
                             {.data = bytes.data(),
                              .block_stride_bytes = block_stride,
                              .slot_stride_bytes = slot_stride})
                    .ok());
    std::vector<char> read;
    for (std::size_t t = 0; t < 40; ++t) {
      const auto block = static_cast<std::size_t>(table.row(0)[t / 16]);
      const auto at =
          bytes.begin() + static_cast<std::ptrdiff_t>(block * block_stride +
                                                      t % 16 * slot_stride);
      read.insert(read.end(), at, at + 8);
    }
    EXPECT_EQ(read, tokens) << block_stride << " " << slot_stride;
  }
}

TEST(BlockTableTest, CopyIgnoresStridesThatNothingUses) {
  const Lens lens = {3};
  const int32_t tokens[] = {1, 2, 3};
  const BlockTable one_block = BuildBlockTable(lens, {}).value();
  std::vector<int32_t> pool(16);
  EXPECT_TRUE(CopyToBlocks(one_block, tokens, 4,
                           {.data = pool.data(), .slot_stride_bytes = 4})
                  .ok());
  EXPECT_EQ(pool[2], 3);
  const BlockTable one_slot = BuildBlockTable(lens, {.block_size = 1}).value();
  EXPECT_TRUE(CopyToBlocks(one_slot, tokens, 4,
                           {.data = pool.data(), .block_stride_bytes = 4})
                  .ok());
}

}  // namespace
}  // namespace paged
