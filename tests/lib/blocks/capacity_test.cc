// What fits, what does not, and what is promised.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "paged/block_manager.h"
#include "tests/lib/blocks/block_support.h"

namespace paged::testing {
namespace {

constexpr BlockManagerOptions kOptions = {.num_blocks = 16,
                                          .block_size = 4,
                                          .max_seqs = 6,
                                          .max_blocks_per_seq = 12,
                                          .max_steps_in_flight = 1,
                                          .verify_tokens = true,
                                          .max_events = 4};

TEST(CapacityTest, OptionsOutOfRangeAreNamed) {
  const auto refused = [](BlockManagerOptions options) {
    const auto manager = BlockManager::Create(options);
    EXPECT_EQ(manager.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(manager.status().message());
  };
  BlockManagerOptions options = kOptions;
  options.num_blocks = 1;
  EXPECT_THAT(refused(options),
              ::testing::HasSubstr("num_blocks must be in 2.."));
  options = kOptions;
  options.block_size = 0;
  EXPECT_THAT(refused(options), ::testing::HasSubstr("block_size"));
  options = kOptions;
  options.max_seqs = 0;
  EXPECT_THAT(refused(options), ::testing::HasSubstr("max_seqs"));
  options = kOptions;
  options.max_blocks_per_seq = -1;
  EXPECT_THAT(refused(options), ::testing::HasSubstr("max_blocks_per_seq"));
  options = kOptions;
  options.max_seqs = 1 << 20;
  options.max_blocks_per_seq = 1 << 20;
  EXPECT_THAT(refused(options),
              ::testing::HasSubstr("max_seqs * max_blocks_per_seq"));
  options = kOptions;
  options.watermark_blocks = 16;
  EXPECT_THAT(refused(options), ::testing::HasSubstr("watermark_blocks"));
  options = kOptions;
  options.max_steps_in_flight = 0;
  EXPECT_THAT(refused(options), ::testing::HasSubstr("max_steps_in_flight"));
  options = kOptions;
  options.max_events = -1;
  EXPECT_THAT(refused(options), ::testing::HasSubstr("max_events"));
}

// BR-162: fail at the i-th block that a call would take, for every i; with
// free blocks, and with cached ones that must be evicted.
TEST(CapacityTest, AFailureAtAnyTakeChangesNothing) {
  for (const bool cached : {false, true}) {
    for (int spare = 0; spare <= 4; ++spare) {
      BlockManager manager = BlockManager::Create(kOptions).value();
      const SequenceHandle sequence =
          manager.Open({.num_tokens = 3}).value().handle;
      FinishStep(manager);
      const SequenceHandle fork = manager.Fork(sequence).value();
      const Prompt prompt = MakePrompt(4 * spare + 1, 4);
      if (cached && spare > 0) {
        const SequenceHandle idle = OpenAndCommit(manager, prompt);
        ASSERT_TRUE(manager.Release(idle).ok());
      }
      // All but `spare` blocks are held. Twelve columns are the most of a row.
      int64_t rest = 14 - spare;
      while (rest > 0) {
        const int64_t n = std::min<int64_t>(rest, 12);
        ASSERT_TRUE(manager.Open({.num_tokens = 4 * n}).ok());
        rest -= n;
      }
      const std::vector<uint64_t> before = SnapshotOf(manager);
      // Each of these takes four: a copy and three columns, or four columns.
      const auto expect = [&](const char* name, bool ok) {
        EXPECT_EQ(ok, spare == 4) << name << " with " << spare;
        if (!ok) {
          EXPECT_EQ(SnapshotOf(manager), before) << name;
        }
        EXPECT_TRUE(manager.Audit().ok()) << manager.Audit();
      };
      EXPECT_EQ(manager.CanAppend(fork, 13), spare == 4);
      EXPECT_EQ(manager.CanAdmit({.num_tokens = 16}), spare == 4);
      if (spare < 4) {
        expect("Open", manager.Open({.num_tokens = 16}).ok());
        expect(
            "OpenStream",
            manager.OpenStream({.window = 6, .sink = 1, .max_chunk = 2}).ok());
      }
      expect("Append", manager.Append(fork, 13).ok());
    }
  }
}

TEST(CapacityTest, TooManySequencesAreRefused) {
  BlockManager manager = BlockManager::Create(kOptions).value();
  const Prompt prompt = MakePrompt(5, 4);
  const SequenceHandle first = OpenAndCommit(manager, prompt);
  for (int i = 1; i < 6; ++i) ASSERT_TRUE(manager.Fork(first).ok());
  const std::vector<uint64_t> before = SnapshotOf(manager);
  const absl::StatusCode kFull = absl::StatusCode::kResourceExhausted;
  EXPECT_EQ(manager.Fork(first).status().code(), kFull);
  EXPECT_EQ(manager.Open({.num_tokens = 1}).status().code(), kFull);
  EXPECT_EQ(manager.Pin(prompt.prefix()).status().code(), kFull);
  EXPECT_EQ(manager.OpenStream({.window = 1, .max_chunk = 1}).status().code(),
            kFull);
  EXPECT_FALSE(manager.CanAdmit({.num_tokens = 1}));
  EXPECT_EQ(SnapshotOf(manager), before);
}

// BR-164: what can never fit is refused at once; the null block does not count.
TEST(CapacityTest, WhatCanNeverFitIsNotExhaustion) {
  BlockManager manager =
      BlockManager::Create({.num_blocks = 4, .block_size = 4}).value();
  EXPECT_EQ(manager.Probe({.num_tokens = 13}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(manager.Probe({.num_tokens = 12}).value().fits);
  EXPECT_FALSE(manager.Probe({.num_tokens = 12, .lookahead_tokens = 1}).ok());
}

// BR-161: a promise holds, lookahead included, for every lookahead.
TEST(CapacityTest, AdmissionHoldsWithLookahead) {
  for (int64_t lookahead = 0; lookahead <= 8; ++lookahead) {
    for (int64_t held = 0; held < 16; ++held) {
      BlockManagerOptions options = kOptions;
      options.watermark_blocks = 1;
      BlockManager manager = BlockManager::Create(options).value();
      for (int64_t i = 0; i < held && i < 12; ++i) {
        if (i % 6 == 0) {
          ASSERT_TRUE(
              manager.Open({.num_tokens = 4 * std::min<int64_t>(6, held - i)})
                  .ok());
        }
      }
      const SequenceRequest request{.num_tokens = 10,
                                    .lookahead_tokens = lookahead};
      const int64_t available = 15 - std::min<int64_t>(held, 12);
      const int64_t needed = (10 + lookahead + 3) / 4;
      EXPECT_EQ(manager.CanAdmit(request), needed + 1 <= available);
      if (!manager.CanAdmit(request)) continue;
      const SequenceHandle handle = manager.Open(request).value().handle;
      if (lookahead > 0) {
        EXPECT_TRUE(manager.Append(handle, lookahead).ok());
      }
      EXPECT_GE(manager.Statistics().free, 1);
    }
  }
}

}  // namespace
}  // namespace paged::testing
