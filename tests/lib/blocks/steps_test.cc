// Steps in flight: what they hold back, and what they tell the device.
#include <gtest/gtest.h>

#include <vector>

#include "paged/block_events.h"
#include "paged/block_manager.h"
#include "paged/internal/block_manager_state.h"
#include "tests/lib/blocks/block_support.h"

namespace paged::testing {
namespace {

BlockManager Make(ReusePolicy reuse, int64_t num_blocks = 9) {
  return BlockManager::Create({.num_blocks = num_blocks,
                               .block_size = 4,
                               .max_seqs = 4,
                               .max_blocks_per_seq = 8,
                               .max_steps_in_flight = 2,
                               .reuse = reuse})
      .value();
}

// BR-096: a block is not handed out before the steps that may write it ended.
TEST(StepsTest, FreedBlocksWaitForStepsInFlight) {
  BlockManager manager = Make(ReusePolicy::kAfterRetire);
  const SequenceHandle a = manager.Open({.num_tokens = 32}).value().handle;
  const uint64_t first = manager.SubmitStep().value().id;
  EXPECT_EQ(manager.Release(a).value(), 0);
  EXPECT_EQ(manager.Statistics().quarantined, 8);
  EXPECT_FALSE(manager.Open({.num_tokens = 1}).ok());
  const uint64_t second = manager.SubmitStep().value().id;
  ASSERT_TRUE(manager.RetireStep(first).ok());
  EXPECT_EQ(manager.Statistics().free, 8);
  ASSERT_TRUE(manager.RetireStep(second).ok());
  EXPECT_TRUE(manager.Audit().ok());
}

TEST(StepsTest, InSubmissionOrderNothingWaits) {
  BlockManager manager = Make(ReusePolicy::kSubmissionOrder);
  const SequenceHandle a = manager.Open({.num_tokens = 32}).value().handle;
  ASSERT_TRUE(manager.SubmitStep().ok());
  EXPECT_EQ(manager.Release(a).value(), 8);
}

// BR-097: cached content that waits may be read by others, and is not evicted.
TEST(StepsTest, QuarantinedContentIsStillFound) {
  BlockManager manager = Make(ReusePolicy::kAfterRetire);
  const Prompt prompt = MakePrompt(9, 4);
  const SequenceHandle a = OpenAndCommit(manager, prompt);
  const uint64_t step = manager.SubmitStep().value().id;
  ASSERT_TRUE(manager.Release(a).ok());
  EXPECT_EQ(manager.Statistics().quarantined, 3);
  const OpenedSequence b = manager.Open(prompt.request()).value();
  EXPECT_EQ(b.cached_tokens, 8);
  EXPECT_EQ(manager.Statistics().quarantined, 1);
  ASSERT_TRUE(manager.RetireStep(step).ok());
  EXPECT_EQ(manager.Statistics().free, 5);
  EXPECT_TRUE(manager.Audit().ok());
}

// The destination of a copy, freed before the copy has run.
TEST(StepsTest, ACopysDestinationIsNotReusedBeforeItsStepRetires) {
  BlockManager manager = Make(ReusePolicy::kSubmissionOrder, 5);
  const SequenceHandle parent = manager.Open({.num_tokens = 2}).value().handle;
  FinishStep(manager);
  const SequenceHandle child = manager.Fork(parent).value();
  ASSERT_TRUE(manager.Append(child, 1).ok());
  const int32_t destination = manager.copies()[0].destination;
  ASSERT_TRUE(manager.Release(child).ok());
  EXPECT_EQ(manager.Statistics().quarantined, 1);
  const SequenceHandle other = manager.Open({.num_tokens = 8}).value().handle;
  for (const int32_t block : RowOf(manager, other)) {
    EXPECT_NE(block, destination);
  }
  EXPECT_FALSE(manager.CanAppend(other, 1));
  FinishStep(manager);
  EXPECT_TRUE(manager.CanAppend(other, 1));
  EXPECT_TRUE(manager.Audit().ok());
}

TEST(StepsTest, RefusesMoreStepsThanItKeepsAndWhatIsNotInFlight) {
  BlockManager manager = Make(ReusePolicy::kAfterRetire);
  EXPECT_FALSE(manager.RetireStep(1).ok());
  ASSERT_TRUE(manager.SubmitStep().ok());
  const uint64_t second = manager.SubmitStep().value().id;
  EXPECT_EQ(manager.SubmitStep().status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(manager.RetireStep(0).ok());
  ASSERT_TRUE(manager.RetireStep(second).ok());
  EXPECT_FALSE(manager.RetireStep(second).ok());
}

// A row of blocks of 2^20 tokens, in a manager that has run for a while.
TEST(StepsTest, EventsTellNumbersAndLengthsPast32Bits) {
  BlockManager manager =
      BlockManager::Create({.num_blocks = 8192,
                            .block_size = 1 << 20,
                            .max_seqs = 1,
                            .max_blocks_per_seq = 8191,
                            .max_steps_in_flight = 3,
                            .max_events = 1 << 14,
                            .event_detail = EventDetail::kRows})
          .value();
  using Access = internal::BlockManagerAccess;
  Access::SkipSteps(Access::State(manager), 1ull << 32);
  ASSERT_TRUE(manager.Open({.num_tokens = 5'000'000'000}).ok());
  EXPECT_EQ(manager.SubmitStep().value().id, 4294967297u);
  EXPECT_TRUE(manager.RetireStep(4294967297u).ok());
  std::vector<BlockEvent> events(1 << 14);
  events.resize(manager.TakeEvents(absl::MakeSpan(events)));
  ASSERT_GT(events.size(), 2u);
  EXPECT_EQ(EventLine(events.end()[-2]),
            "{\"event\":\"length\",\"row\":0,\"tokens\":5000000000}\n");
  EXPECT_EQ(EventLine(events.back()),
            "{\"event\":\"step\",\"id\":4294967297}\n");
}

// The device's table, fed by changes alone and in pieces, is the host's.
TEST(StepsTest, ChangesBringTheDevicesTableUpToDate) {
  for (const std::size_t piece : {1, 2, 7, 100}) {
    BlockManager manager = Make(ReusePolicy::kSubmissionOrder, 32);
    std::vector<int32_t> table(4 * 8, -7);
    std::vector<TableChange> changes(piece);
    const auto update = [&] {
      std::size_t total = 0;
      while (const std::size_t n =
                 manager.TakeTableChanges(absl::MakeSpan(changes))) {
        for (std::size_t i = 0; i < n; ++i) {
          table[changes[i].index] = changes[i].block;
        }
        total += n;
      }
      return total;
    };
    const auto expect_equal = [&](SequenceHandle handle) {
      const std::vector<int32_t> row = RowOf(manager, handle);
      for (std::size_t i = 0; i < row.size(); ++i) {
        EXPECT_EQ(table[handle.slot * 8 + i], row[i]);
      }
    };
    const SequenceHandle a = manager.Open({.num_tokens = 10}).value().handle;
    EXPECT_EQ(update(), 3u);
    ASSERT_TRUE(manager.Append(a, 2).ok());
    EXPECT_EQ(update(), 0u);
    FinishStep(manager);
    ASSERT_TRUE(manager.RollbackTo(a, 11).ok());
    const SequenceHandle b = manager.Fork(a).value();
    ASSERT_TRUE(manager.Append(b, 4).ok());
    EXPECT_EQ(update(), 4u);
    ASSERT_TRUE(manager.Slide(a, 4, 0).ok());
    ASSERT_TRUE(manager.Append(a, 4).ok());
    EXPECT_EQ(update(), 2u + 2u);
    expect_equal(a);
    expect_equal(b);
    // A row that is closed and opened anew between two updates.
    ASSERT_TRUE(manager.Append(b, 4).ok());
    ASSERT_TRUE(manager.Release(b).ok());
    const SequenceHandle c = manager.Open({.num_tokens = 5}).value().handle;
    EXPECT_EQ(c.slot, b.slot);
    EXPECT_EQ(update(), 2u);
    expect_equal(a);
    expect_equal(c);
  }
}

}  // namespace
}  // namespace paged::testing
