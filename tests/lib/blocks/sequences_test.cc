// Lives of sequences: append, fork, copy on write, rollback, trim, slide.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "paged/block_manager.h"
#include "tests/lib/blocks/block_support.h"

namespace paged::testing {
namespace {

constexpr int kSize = 4;

BlockManager Make(int64_t num_blocks = 32, int max_blocks_per_seq = 16) {
  return BlockManager::Create({.num_blocks = num_blocks,
                               .block_size = kSize,
                               .max_seqs = 8,
                               .max_blocks_per_seq = max_blocks_per_seq})
      .value();
}

SequenceHandle OpenTokens(BlockManager& manager, int64_t num_tokens) {
  return manager.Open({.num_tokens = num_tokens}).value().handle;
}

// BR-159, BR-160: the slot of the next token exists as soon as the append
// returns, on either side of a block's end.
TEST(SequencesTest, TheNextSlotExistsAroundABlocksEnd) {
  for (const int64_t length : {3, 4, 5, 7, 8, 9}) {
    BlockManager manager = Make();
    const SequenceHandle handle = OpenTokens(manager, length);
    EXPECT_EQ(RowOf(manager, handle).size(),
              static_cast<std::size_t>((length + 3) / 4));
    EXPECT_FALSE(manager.SlotOf(handle, length).ok());
    ASSERT_TRUE(manager.Append(handle, 1).ok());
    const std::vector<int32_t> row = RowOf(manager, handle);
    EXPECT_EQ(manager.SlotOf(handle, length).value(),
              row[static_cast<std::size_t>(length / 4)] * 4 + length % 4);
  }
}

// BR-055: never clamped to the last block.
TEST(SequencesTest, APositionAtTheEndOfTheRowIsAnError) {
  BlockManager manager = Make();
  const SequenceHandle handle = OpenTokens(manager, 8);
  EXPECT_EQ(manager.SlotOf(handle, 8).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(manager.SlotOf(handle, -1).status().code(),
            absl::StatusCode::kOutOfRange);
}

// BR-052, BR-043: the row's last column is the last; nothing is taken beyond.
TEST(SequencesTest, GrowsToItsRowAndNoFurther) {
  BlockManager manager = Make(32, 3);
  const SequenceHandle handle = OpenTokens(manager, 1);
  const SequenceHandle neighbour = OpenTokens(manager, 12);
  const std::vector<int32_t> row = RowOf(manager, neighbour);
  for (int i = 1; i < 12; ++i) ASSERT_TRUE(manager.Append(handle, 1).ok());
  const int64_t free = manager.Statistics().free;
  EXPECT_FALSE(manager.CanAppend(handle, 1));
  EXPECT_EQ(manager.Append(handle, 1).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(manager.Statistics().free, free);
  EXPECT_EQ(RowOf(manager, neighbour), row);
}

// BR-142, BR-143: both children write into copies of their own, and the source
// lives until the copies are done.
TEST(SequencesTest, ForksCopyThePartialBlockThatTheyWrite) {
  BlockManager manager = Make();
  const SequenceHandle parent = OpenTokens(manager, 6);
  FinishStep(manager);
  const SequenceHandle child = manager.Fork(parent).value();
  const std::vector<int32_t> shared = RowOf(manager, parent);
  EXPECT_EQ(RowOf(manager, child), shared);

  ASSERT_TRUE(manager.Append(parent, 1).ok());
  ASSERT_TRUE(manager.Append(child, 1).ok());
  const std::vector<int32_t> a = RowOf(manager, parent);
  const std::vector<int32_t> b = RowOf(manager, child);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(std::set<int32_t>({a[1], b[1], shared[1]}).size(), 3u);
  const SubmittedStep step = manager.SubmitStep().value();
  EXPECT_EQ(step.copies, absl::MakeConstSpan(std::vector<BlockCopy>{
                             {shared[1], a[1]}, {shared[1], b[1]}}));
  EXPECT_TRUE(manager.copies().empty());
  EXPECT_EQ(manager.Statistics().used, 4);
  ASSERT_TRUE(manager.RetireStep(step.id).ok());
  EXPECT_EQ(manager.Statistics().used, 3);
  EXPECT_TRUE(manager.Audit().ok());
}

TEST(SequencesTest, ForksAtABlocksEndCopyNothing) {
  BlockManager manager = Make();
  const SequenceHandle parent = OpenTokens(manager, 8);
  const SequenceHandle child = manager.Fork(parent).value();
  ASSERT_TRUE(manager.Append(parent, 1).ok());
  ASSERT_TRUE(manager.Append(child, 1).ok());
  EXPECT_TRUE(manager.copies().empty());
}

// A copy runs before its step's writes: it would miss what they bring.
TEST(SequencesTest, ABlockIsNotCopiedByTheStepThatWritesIt) {
  BlockManager manager = Make();
  const SequenceHandle parent = OpenTokens(manager, 6);
  const SequenceHandle child = manager.Fork(parent).value();
  EXPECT_FALSE(manager.CanAppend(child, 1));
  EXPECT_EQ(manager.Append(child, 1).code(),
            absl::StatusCode::kFailedPrecondition);
  FinishStep(manager);
  EXPECT_TRUE(manager.Append(child, 1).ok());
}

// BR-133: the references are those of the distinct owners, whoever goes first.
TEST(SequencesTest, ForkedAndSlidSequencesFreeEachBlockOnce) {
  constexpr int64_t kWindow = 8;
  for (const int64_t length : {7, 8, 9, 16}) {
    for (const bool parent_first : {true, false}) {
      BlockManager manager = Make();
      const SequenceHandle parent = OpenTokens(manager, length);
      const SequenceHandle child = manager.Fork(parent).value();
      ASSERT_TRUE(manager.Slide(child, kWindow, 0).ok());
      ASSERT_TRUE(manager.Audit().ok());
      ASSERT_TRUE(manager.Release(parent_first ? parent : child).ok());
      ASSERT_TRUE(manager.Audit().ok());
      ASSERT_TRUE(manager.Release(parent_first ? child : parent).ok());
      EXPECT_EQ(manager.Statistics().free, 31);
    }
  }
}

// BR-147: logical positions stay; what is gone is an error, not block 0.
TEST(SequencesTest, SlidingKeepsLogicalColumns) {
  BlockManager manager = Make();
  const SequenceHandle handle = OpenTokens(manager, 23);
  const std::vector<int32_t> before = RowOf(manager, handle);
  ASSERT_TRUE(manager.Slide(handle, 6, 4).ok());
  // The next token, at 23, sees from 18 on: block 4. The sink is block 0.
  EXPECT_EQ(RowOf(manager, handle),
            std::vector<int32_t>({before[0], 0, 0, 0, before[4], before[5]}));
  for (int64_t position = 0; position < 23; ++position) {
    EXPECT_EQ(manager.SlotOf(handle, position).ok(),
              position < 4 || position >= 16)
        << position;
  }
  EXPECT_FALSE(manager.TrimTo(handle, 15).ok());
  EXPECT_TRUE(manager.TrimTo(handle, 16).ok());
  EXPECT_TRUE(manager.Append(handle, 5).ok());
  EXPECT_TRUE(manager.Audit().ok());
}

// BR-167: rolled back and grown again, over a border, to a multiple, within.
TEST(SequencesTest, RollbackAndRegrowthGiveTheSameSlots) {
  for (const int64_t length : {5, 8, 9, 11, 12}) {
    BlockManager manager = Make();
    const SequenceHandle handle = OpenTokens(manager, 13);
    const std::vector<int32_t> row = RowOf(manager, handle);
    ASSERT_TRUE(manager.RollbackTo(handle, length).ok());
    EXPECT_EQ(manager.Length(handle).value(), length);
    ASSERT_TRUE(manager.Append(handle, 13 - length).ok());
    EXPECT_EQ(RowOf(manager, handle), row);
  }
}

// BR-169.
TEST(SequencesTest, DroppingAndAddingTokensOneByOneChangesNothing) {
  BlockManager manager = Make();
  const SequenceHandle handle = OpenTokens(manager, 10);
  const std::vector<int32_t> row = RowOf(manager, handle);
  for (int64_t length = 9; length >= 3; --length) {
    ASSERT_TRUE(manager.RollbackTo(handle, length).ok());
  }
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(manager.Append(handle, 1).ok());
  EXPECT_EQ(RowOf(manager, handle), row);
  EXPECT_TRUE(manager.Audit().ok());
}

// BR-167: a trim into shared blocks must not edit them.
TEST(SequencesTest, TrimmingIntoSharedBlocksCopiesBeforeWriting) {
  BlockManager manager = Make();
  const Prompt prompt = MakePrompt(12, kSize);
  const SequenceHandle handle = OpenAndCommit(manager, prompt);
  const std::vector<int32_t> row = RowOf(manager, handle);
  ASSERT_TRUE(manager.TrimTo(handle, 6).ok());
  ASSERT_TRUE(manager.Append(handle, 1).ok());
  EXPECT_NE(RowOf(manager, handle)[1], row[1]);
  ASSERT_EQ(manager.copies().size(), 1u);
  EXPECT_EQ(manager.copies()[0].source, row[1]);
  // The cached content is whole.
  const auto again = manager.Open(MakePrompt(13, kSize).request());
  EXPECT_EQ(again.value().cached_tokens, 12);
}

TEST(SequencesTest, ComputedTokensAreNotRolledBack) {
  BlockManager manager = Make();
  const SequenceHandle handle = OpenTokens(manager, 6);
  FinishStep(manager);
  ASSERT_TRUE(manager.Commit(handle, 6, {}).ok());
  ASSERT_TRUE(manager.Append(handle, 3).ok());
  EXPECT_FALSE(manager.RollbackTo(handle, 5).ok());
  EXPECT_TRUE(manager.RollbackTo(handle, 6).ok());
}

// BR-165: preemption asks what it brings now.
TEST(SequencesTest, ReleaseTellsHowManyBlocksBecameAvailable) {
  BlockManager manager = Make();
  const SequenceHandle parent = OpenTokens(manager, 9);
  const SequenceHandle child = manager.Fork(parent).value();
  EXPECT_EQ(manager.Release(parent).value(), 0);
  EXPECT_EQ(manager.Release(child).value(), 3);
}

// BR-141, BR-137: nothing is lost, and nothing grows, in the long run.
TEST(SequencesTest, ManyShortLivesLoseNoBlock) {
  BlockManager manager = Make();
  for (int i = 0; i < 10000; ++i) {
    const SequenceHandle handle = OpenTokens(manager, 1 + i % 30);
    ASSERT_TRUE(manager.Append(handle, 1 + i % 7).ok());
    ASSERT_TRUE(manager.Release(handle).ok());
  }
  EXPECT_EQ(manager.Statistics().used, 0);
  EXPECT_EQ(manager.Statistics().free, 31);
  EXPECT_TRUE(manager.Audit().ok());
}

TEST(SequencesTest, AFreshPoolHandsOutNeighbours) {
  BlockManager manager = Make();
  EXPECT_EQ(RowOf(manager, OpenTokens(manager, 12)),
            std::vector<int32_t>({1, 2, 3}));
}

}  // namespace
}  // namespace paged::testing
