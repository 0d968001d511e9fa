#include <gtest/gtest.h>

#include <vector>

#include "paged/block_manager.h"
#include "tests/lib/blocks/block_support.h"

namespace paged::testing {
namespace {

class ViewsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Rows that are no runs: free in another order than taken.
    std::vector<SequenceHandle> filler;
    for (int i = 0; i < 6; ++i) filler.push_back(OpenTokens(4));
    for (const int i : {3, 0, 5, 1, 4, 2}) {
      ASSERT_TRUE(manager_.Release(filler[static_cast<std::size_t>(i)]).ok());
    }
  }
  SequenceHandle OpenTokens(int64_t num_tokens) {
    return manager_.Open({.num_tokens = num_tokens}).value().handle;
  }

  BlockManager manager_ = BlockManager::Create({.num_blocks = 64,
                                                .block_size = 4,
                                                .max_seqs = 8,
                                                .max_blocks_per_seq = 8})
                              .value();
};

// BR-051, BR-053: in any order, with and without hits, each row is its own.
TEST_F(ViewsTest, RowsOfABatchAreThoseOfTheirSequencesInAnyOrder) {
  const Prompt prompt = MakePrompt(9, 4);
  const SequenceHandle miss = OpenTokens(14);
  OpenAndCommit(manager_, prompt);
  const SequenceHandle hit = manager_.Open(prompt.request()).value().handle;
  const SequenceHandle one = OpenTokens(4);
  for (const std::vector<SequenceHandle>& batch :
       std::vector<std::vector<SequenceHandle>>{
           {miss, hit, one}, {one, hit, miss}, {hit, miss}, {}, {hit, hit}}) {
    const int width = 5;
    const std::size_t n = batch.size();
    std::vector<int32_t> dense(n * width + 1, -9), lens(n);
    std::vector<int32_t> indptr(n + 1), indices(20), last(n);
    ASSERT_TRUE(manager_.DenseTable(batch, width, absl::MakeSpan(dense)).ok());
    ASSERT_TRUE(manager_.ContextLens(batch, absl::MakeSpan(lens)).ok());
    const int64_t total =
        manager_
            .CsrTable(batch, absl::MakeSpan(indptr), absl::MakeSpan(indices),
                      absl::MakeSpan(last))
            .value();
    EXPECT_EQ(dense.back(), -9);
    EXPECT_EQ(indptr[n], total);
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<int32_t> row = RowOf(manager_, batch[i]);
      EXPECT_EQ(lens[i], manager_.Length(batch[i]).value());
      EXPECT_EQ(last[i], (lens[i] - 1) % 4 + 1);
      EXPECT_EQ(std::vector<int32_t>(indices.begin() + indptr[i],
                                     indices.begin() + indptr[i + 1]),
                row);
      row.resize(width, 0);
      const auto begin = dense.begin() + static_cast<int64_t>(i) * width;
      EXPECT_EQ(std::vector<int32_t>(begin, begin + width), row);
    }
  }
}

TEST_F(ViewsTest, ARowThatWasTrimmedToNothingHasNoTokens) {
  const SequenceHandle handle = OpenTokens(3);
  ASSERT_TRUE(manager_.TrimTo(handle, 0).ok());
  std::vector<int32_t> indptr(2), indices(1), last(1), lens(1);
  EXPECT_EQ(manager_
                .CsrTable({&handle, 1}, absl::MakeSpan(indptr),
                          absl::MakeSpan(indices), absl::MakeSpan(last))
                .value(),
            0);
  EXPECT_EQ(last[0], 0);
  ASSERT_TRUE(manager_.ContextLens({&handle, 1}, absl::MakeSpan(lens)).ok());
  EXPECT_EQ(lens[0], 0);
}

TEST_F(ViewsTest, RefusesBuffersAndWidthsThatAreTooSmall) {
  const std::vector<SequenceHandle> batch = {OpenTokens(9), OpenTokens(2)};
  std::vector<int32_t> out(6), two(2), three(3);
  EXPECT_TRUE(manager_.DenseTable(batch, 3, absl::MakeSpan(out)).ok());
  EXPECT_FALSE(manager_.DenseTable(batch, 2, absl::MakeSpan(out)).ok());
  EXPECT_FALSE(manager_.DenseTable(batch, 0, absl::MakeSpan(out)).ok());
  EXPECT_FALSE(
      manager_.DenseTable(batch, 3, absl::MakeSpan(out).first(5)).ok());
  EXPECT_FALSE(manager_.ContextLens(batch, absl::MakeSpan(out).first(1)).ok());
  EXPECT_FALSE(manager_
                   .CsrTable(batch, absl::MakeSpan(three),
                             absl::MakeSpan(out).first(3), absl::MakeSpan(two))
                   .ok());
  EXPECT_TRUE(manager_
                  .CsrTable(batch, absl::MakeSpan(three),
                            absl::MakeSpan(out).first(4), absl::MakeSpan(two))
                  .ok());
}

TEST_F(ViewsTest, CommonPrefixIsOfFullBlocksThatAllShare) {
  const SequenceHandle parent = OpenTokens(10);
  FinishStep(manager_);
  const SequenceHandle child = manager_.Fork(parent).value();
  const SequenceHandle other = OpenTokens(10);
  // The third block is shared too, but not full.
  EXPECT_EQ(manager_.CommonPrefixBlocks({{parent, child}}).value(), 2);
  ASSERT_TRUE(manager_.Append(child, 8).ok());
  EXPECT_EQ(manager_.CommonPrefixBlocks({{child, parent}}).value(), 2);
  EXPECT_EQ(manager_.CommonPrefixBlocks({{parent, child, other}}).value(), 0);
  EXPECT_EQ(manager_.CommonPrefixBlocks({&child, 1}).value(), 4);
  EXPECT_EQ(manager_.CommonPrefixBlocks({}).value(), 0);
  ASSERT_TRUE(manager_.TrimTo(parent, 7).ok());
  EXPECT_EQ(manager_.CommonPrefixBlocks({{parent, child}}).value(), 1);
  // The null block is shared by all that slid, and is no content.
  ASSERT_TRUE(manager_.Slide(child, 9, 0).ok());
  EXPECT_EQ(manager_.CommonPrefixBlocks({&child, 1}).value(), 0);
}

TEST_F(ViewsTest, StatisticsCountSlotsThatWait) {
  OpenTokens(5);
  OpenTokens(8);
  const BlockStatistics statistics = manager_.Statistics();
  EXPECT_EQ(statistics.used, 4);
  EXPECT_EQ(statistics.wasted_slots, 3);
  EXPECT_DOUBLE_EQ(statistics.fragmentation, 3.0 / 16);
  EXPECT_EQ(statistics.open, 2);
}

}  // namespace
}  // namespace paged::testing
